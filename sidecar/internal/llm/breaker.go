package llm

import (
	"fmt"
	"sync"
	"time"
)

// breaker keeps calls away from a server that fails: after so many failures in a row it is
// open for a while, then one call may try.
type breaker struct {
	failures int           // in a row, that open it
	cooldown time.Duration // for which it stays open

	mu    sync.Mutex
	row   int
	until time.Time // while open
}

// admit returns ErrUnavailable while the breaker is open. When the cooldown has passed it
// lets one call through and stays closed to the others until that one has reported.
func (b *breaker) admit(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.row < b.failures {
		return nil
	}
	if left := b.until.Sub(now); left > 0 {
		return &later{fmt.Errorf("%w (%d calls in a row failed; the next is tried in %s)", ErrUnavailable, b.row, left.Round(time.Second)), left}
	}
	b.until = now.Add(b.cooldown)
	return nil
}

// report tells how an admitted call went.
func (b *breaker) report(ok bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ok {
		b.row = 0
		return
	}
	b.row++
	if b.row >= b.failures {
		b.until = now.Add(b.cooldown)
	}
}
