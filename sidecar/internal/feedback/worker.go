package feedback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/queries"
)

// enoughFailures of one rating alone, Wait apart, make it void.
const enoughFailures = 10

// work applies ratings until ctx ends: fresh ones as feed hands them on, and what is to be found in the cluster.
func (s *Service) work(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	ready := make(chan prepared)
	group.Go(func() { s.feed(ctx, ready) })
	learner, left := s.Learner(), leftovers{}
	every := time.NewTicker(s.Wait)
	defer every.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case p := <-ready:
			err = s.teach(ctx, p)
			s.fresh.done(p.ratings())
		case <-every.C:
			err = s.look(ctx, learner, &left)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		s.fresh.lookSoon()
		s.Log.Warn("ratings can't be applied now; they are kept", "error", err)
	}
}

// leftovers is what the last look in the cluster has found.
type leftovers struct {
	looked  time.Time
	pending map[string]bool // by uid
}

// look applies what waits in the cluster, Retry after the last look: ratings that wait for something, and
// those that are pending though no sidecar is about to apply them. At first, and where something of
// our own is to be found again, that is all that are not fresh here; later those that were pending at the last look
// already, as other replicas apply their own.
func (s *Service) look(ctx context.Context, learner credit.Learner, left *leftovers) error {
	now, all := s.Now(), left.looked.IsZero() || s.fresh.lookNow()
	if !all && now.Sub(left.looked) < s.Retry {
		return nil
	}
	pending := map[string]bool{}
	err := s.drain(ctx, learner, statusPending, func(e stored) bool {
		if s.fresh.has(e.uid) {
			return false
		}
		pending[e.uid] = true
		return all || left.pending[e.uid]
	})
	if err != nil || now.Sub(left.looked) < s.Retry {
		return err
	}
	*left = leftovers{now, pending}
	return s.drain(ctx, learner, statusWaiting, func(stored) bool { return true })
}

// drain applies ratings of one status that are to be taken.
func (s *Service) drain(ctx context.Context, learner credit.Learner, status string, taken func(stored) bool) error {
	for after := "0x0"; ; {
		events, err := s.events(ctx, status, after)
		if err != nil || len(events) == 0 {
			return err
		}
		after = events[len(events)-1].uid
		events = slices.DeleteFunc(events, func(e stored) bool { return !taken(e) })
		for p := range s.ahead(ctx, learner, slices.Chunk(events, s.Batch)) {
			if err := s.teach(ctx, p); err != nil {
				return err
			}
		}
	}
}

// ahead prepares batches, each while the one before it is applied.
func (s *Service) ahead(ctx context.Context, learner credit.Learner, batches iter.Seq[[]stored]) iter.Seq[prepared] {
	return func(yield func(prepared) bool) {
		ctx, cancel := context.WithCancel(ctx)
		next := make(chan prepared)
		var group sync.WaitGroup
		defer group.Wait()
		defer cancel()
		group.Go(func() {
			defer close(next)
			s.produce(ctx, learner, batches, next)
		})
		for p := range next {
			if !yield(p) {
				return
			}
		}
	}
}

// produce prepares batches and hands them on, those together that become ready at about the same
// time. It ends with the first error, and with ctx.
func (s *Service) produce(ctx context.Context, learner credit.Learner, batches iter.Seq[[]stored], next chan<- prepared) {
	var ready prepared
	var since time.Time
	hand := func() {
		if ready.empty() {
			return
		}
		select {
		case next <- ready:
		case <-ctx.Done():
		}
		ready = prepared{}
	}
	for batch := range batches {
		if ready.empty() {
			since = time.Now()
		}
		p := s.evaluate(ctx, batch, learner)
		if p.err != nil || !s.together(ready, p) {
			hand()
		}
		if ctx.Err() != nil {
			return
		}
		if ready = ready.with(p); ready.err != nil {
			break
		}
		if time.Since(since) < patience {
			continue
		}
		select {
		case next <- ready:
			ready = prepared{}
		default: // the one before is still being applied
		}
	}
	hand()
}

// evaluate is prepare, traced, after a look whether data were dropped.
func (s *Service) evaluate(ctx context.Context, batch []stored, learner credit.Learner) prepared {
	began := time.Now()
	ctx, end := s.traceBatch(ctx, "evaluate", batch)
	p := prepared{err: s.lookAfterAlter(ctx)}
	if p.err == nil {
		p = s.prepare(ctx, batch, learner)
	}
	p.took = time.Since(began)
	end(p.err)
	return p
}

// teach applies one batch. Where others write the same edges all the time smaller ones are tried.
// Where it fails for a reason that lies in one of the ratings, each is tried alone, and the one that fails is void.
func (s *Service) teach(ctx context.Context, p prepared) error {
	if p.err != nil {
		return p.err
	}
	began := time.Now()
	applying, end := s.traceBatch(ctx, "apply", p.ratings())
	done, err := s.apply(applying, p.lessons, p.rest)
	end(err)
	if err == nil {
		s.count(done, p.lessons, p.rest, p.took+time.Since(began))
		for _, e := range p.ratings() {
			delete(s.failures, e.uid)
		}
		return nil
	}
	if ctx.Err() != nil || transient(err) {
		return err
	}
	size := 1
	if errors.Is(err, errCrowded) {
		size = s.Batch
	}
	if parts := p.parts(size); len(parts) > 1 {
		for _, part := range parts {
			if err := s.teach(ctx, part); err != nil {
				return err
			}
		}
		return nil
	}
	e := p.rating()
	if s.failures[e.uid]++; s.failures[e.uid] < enoughFailures {
		s.fresh.lookSoon()
		s.Log.Warn("a rating can't be applied now", "feedback", e.uid, "error", err)
		return nil
	}
	s.Log.Error("a rating can't be applied", "feedback", e.uid, "error", err)
	delete(s.failures, e.uid)
	_, err = s.apply(ctx, nil, []fate{{e, statusVoid, "it can't be applied: " + err.Error()}})
	return err
}

func (s *Service) count(done *ledger, lessons []lesson, rest []fate, took time.Duration) {
	n, edges := map[string]int{}, map[string]int{}
	for _, e := range done.batch.Entries {
		if e.Kind == kindRepaired {
			edges["repaired"] += len(e.Steps)
			continue
		}
		n[e.Kind]++
		edges["moved"] += len(e.Steps)
		edges["void"] += len(e.Void)
	}
	now := s.Now()
	for _, l := range lessons {
		if done.status[l.uid] == statusApplied {
			s.Meter.Lag(now.Sub(l.received))
		}
	}
	for _, f := range rest {
		if f.status == statusWaiting {
			n[statusWaiting]++
		}
	}
	for outcome, count := range n {
		s.Meter.Feedback(outcome, count)
	}
	for outcome, count := range edges {
		s.Meter.Edges(outcome, count)
	}
	s.backlog.Add(-int64(n[kindApplied] + n[kindSuperseded] + n[kindHeld] + n[kindVoid]))
	if len(done.batch.Entries) > 0 {
		s.Meter.Batch(took)
	}
}

// events reads ratings of one status, the next Most after a uid.
func (s *Service) events(ctx context.Context, status, after string) ([]stored, error) {
	data, err := s.read(ctx, queries.Text("feedback_events"), map[string]string{"$status": status, "$first": fmt.Sprint(s.Most), "$after": after})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Events []struct {
			UID      string    `json:"uid"`
			Received time.Time `json:"received"`
			Body     string    `json:"body"`
		} `json:"events"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("reading ratings: %w", err)
	}
	out := make([]stored, len(answer.Events))
	for i, e := range answer.Events {
		out[i] = stored{uid: e.UID, received: e.Received}
		if err := json.Unmarshal([]byte(e.Body), &out[i].Event); err != nil {
			out[i].broken = fmt.Errorf("the stored rating is not readable: %w", err)
		}
	}
	return out, nil
}

// transient tells errors that say nothing about the ratings: the engine is away or not ready.
func transient(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	switch status.Code(err) {
	case codes.Unknown, codes.InvalidArgument:
		text := strings.ToLower(err.Error())
		for _, passing := range []string{"retry", "not ready", "unavailable", "connection", "leader", "deadline", "closed", "draining", "overloaded", "pending"} {
			if strings.Contains(text, passing) {
				return true
			}
		}
		return false
	}
	return true
}
