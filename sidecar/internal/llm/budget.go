package llm

import (
	"sync"
	"time"
)

// budget bounds what one hour may cost. The hour begins with its first call.
type budget struct {
	calls, tokens int // per hour; 0: no bound

	mu                sync.Mutex
	began             time.Time
	spentCalls, spent int
}

// admit counts one call or returns ErrBudget. Tokens are known after the call only, so the
// last one may go beyond.
func (b *budget) admit(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.began.IsZero() || now.Sub(b.began) >= time.Hour {
		b.began, b.spentCalls, b.spent = now, 0, 0
	}
	if b.calls > 0 && b.spentCalls >= b.calls || b.tokens > 0 && b.spent >= b.tokens {
		return &later{ErrBudget, b.began.Add(time.Hour).Sub(now)}
	}
	b.spentCalls++
	return nil
}

// spend counts the tokens of a call.
func (b *budget) spend(tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent += tokens
}
