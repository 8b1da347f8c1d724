package embed

import (
	"context"
	"sync"
	"time"
)

// mostWanted bounds the texts that wait for the background; further ones are named again by a
// later query.
const mostWanted = 10_000

// Pauses of the background after a failure.
const (
	firstPause   = 5 * time.Second
	longestPause = 5 * time.Minute
)

// wanted are the texts that queries found without a vector.
type wanted struct {
	mu    sync.Mutex
	texts map[string]bool
	vain  map[string]bool // the model's vector was none to go by; not asked for again
	wake  chan struct{}
}

func newWanted() wanted {
	return wanted{texts: map[string]bool{}, vain: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// Want names texts that have no vector, for the background to see to. It does not wait.
func (v *Vectors) Want(texts []string) {
	v.mu.RLock()
	full := v.full
	v.mu.RUnlock()
	if !v.Lazy || full {
		return
	}
	w := &v.wanted
	w.mu.Lock()
	for _, t := range texts {
		if t != "" && !w.vain[t] && len(w.texts) < mostWanted {
			w.texts[t] = true
		}
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// next takes a batch.
func (w *wanted) next(n int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var batch []string
	for t := range w.texts {
		if len(batch) == n {
			break
		}
		batch = append(batch, t)
		delete(w.texts, t)
	}
	return batch
}

func (w *wanted) refuse(texts []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range texts {
		w.vain[t] = true
	}
}

// Run embeds what queries have wanted, one batch after the other, until ctx ends. After a failure
// the batch waits for its turn again.
func (v *Vectors) Run(ctx context.Context) {
	wait := firstPause
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.wanted.wake:
		}
		for {
			batch := v.without(v.wanted.next(v.Batch))
			if len(batch) == 0 {
				break
			}
			bad, _, err := v.ask(ctx, batch)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				v.Log.Warn("texts can't be embedded now; trying again", "texts", len(batch), "in", wait, "error", err)
				v.Want(batch)
				select {
				case <-ctx.Done():
					return
				case <-time.After(wait):
				}
				wait = min(2*wait, longestPause)
				continue
			}
			wait = firstPause
			if len(bad) > 0 {
				v.Log.Warn("the model's vectors of some texts are zero or no numbers; these texts count by their hashed words", "texts", len(bad))
				v.wanted.refuse(bad)
			}
		}
	}
}

// without leaves out the texts that have a vector meanwhile.
func (v *Vectors) without(texts []string) []string {
	_, of, err := v.Rows(texts)
	if err != nil {
		v.Log.Warn("vectors can't be read", "error", err)
	}
	var rest []string
	for i, t := range texts {
		if of[i] == 0 {
			rest = append(rest, t)
		}
	}
	return rest
}
