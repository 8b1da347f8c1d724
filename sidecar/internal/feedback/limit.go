package feedback

import (
	"sync"
	"time"
)

// bucket lets through rate deliveries a second, and two seconds' worth at once.
type bucket struct {
	rate float64
	now  func() time.Time

	mu   sync.Mutex
	full float64
	at   time.Time
}

// take is false where there were too many.
func (b *bucket) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if b.at.IsZero() {
		b.full = 2 * b.rate
	} else {
		b.full = min(2*b.rate, b.full+b.rate*now.Sub(b.at).Seconds())
	}
	b.at = now
	if b.full < 1 {
		return false
	}
	b.full--
	return true
}
