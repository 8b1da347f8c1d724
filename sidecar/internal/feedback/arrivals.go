package feedback

import (
	"context"
	"sync"
	"time"
)

const (
	// lull is how long nobody rates, no delivery under way, before ratings are applied that would wait for more.
	lull = 100 * time.Millisecond
	// arrivalBytes bounds the ratings that are kept at hand until they are applied.
	arrivalBytes = 64 << 20
)

// arrivals are ratings that this sidecar has just stored, so that they need not be read back to be
// applied. It is bounded: what doesn't fit, what could not be applied, and what others have stored or
// left is found in the cluster.
type arrivals struct {
	news chan struct{} // something was added

	mu     sync.Mutex
	queue  []stored
	mine   map[string]int // bytes by uid, of those in the queue or on their way into a batch
	bytes  int            // of all mine
	behind bool           // something is to be looked for in the cluster
	rested time.Time      // since when no batch is being carried out
}

func newArrivals() *arrivals {
	return &arrivals{news: make(chan struct{}, 1), mine: map[string]int{}}
}

// add takes ratings that were stored just now.
func (a *arrivals) add(events []stored) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range events {
		n := e.bytes()
		if a.bytes+n > arrivalBytes {
			a.behind = true
			continue
		}
		a.queue, a.bytes, a.mine[e.uid] = append(a.queue, e), a.bytes+n, n
	}
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// take gives at most so many, in the order in which they were stored.
func (a *arrivals) take(most int) []stored {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.queue[:min(most, len(a.queue))]
	a.queue = a.queue[len(out):]
	return out
}

// has tells whether a rating is in the queue or on its way into a batch.
func (a *arrivals) has(uid string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, mine := a.mine[uid]
	return mine
}

// done lets ratings go whose batch was carried out or given up.
func (a *arrivals) done(events []stored) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rested = time.Now()
	for _, e := range events {
		a.bytes -= a.mine[e.uid]
		delete(a.mine, e.uid)
	}
}

// lookSoon has the cluster looked at at the next opportunity.
func (a *arrivals) lookSoon() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.behind = true
}

// lookNow tells, once, whether the cluster is to be looked at.
func (a *arrivals) lookNow() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	behind := a.behind
	a.behind = false
	return behind
}

// since is from when a batch waits for more: from its first rating, at the earliest the end of the batch before.
func (a *arrivals) since(first time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rested.After(first) {
		return a.rested
	}
	return first
}

// feed evaluates fresh ratings as they come and hands them on in batches, until ctx ends. What
// is applied at once costs the engine much less than the same in many batches. So one
// grows while ratings keep coming, up to Most, until Wait has passed since its first and since the batch before it; fewer
// than Batch wait for Wait alone.
func (s *Service) feed(ctx context.Context, out chan<- prepared) {
	learner := s.Learner()
	var ready prepared
	var first, last time.Time // when its ratings came
	for ctx.Err() == nil {
		full := ready.size() >= s.Most || ready.steps() >= mostSteps
		due := s.Wait - time.Since(first)
		if ready.size() >= s.Batch {
			due = s.Wait - time.Since(s.fresh.since(first))
			if s.inbox.coming.Load() == 0 {
				due = min(due, lull-time.Since(last))
			}
		}
		if full || !ready.empty() && due <= 0 {
			select {
			case out <- ready:
				ready = prepared{}
				continue
			default: // the one before is still being applied
			}
		}
		if !full {
			if batch := s.fresh.take(min(s.Batch, s.Most-ready.size())); len(batch) > 0 {
				if last = time.Now(); ready.empty() {
					first = last
				}
				p := s.evaluate(ctx, batch, learner)
				if p.err != nil {
					s.fresh.done(batch)
					s.fresh.lookSoon()
				}
				ready = ready.with(prepared{lessons: p.lessons, rest: p.rest, took: p.took})
				continue
			}
		}
		news, hand, later := s.fresh.news, out, (<-chan time.Time)(nil)
		switch {
		case full:
			news = nil
		case ready.empty():
			hand = nil
		case due > 0:
			hand, later = nil, time.After(min(due, lull))
		}
		select {
		case <-ctx.Done():
		case hand <- ready:
			ready = prepared{}
		case <-news:
		case <-later:
		}
	}
}
