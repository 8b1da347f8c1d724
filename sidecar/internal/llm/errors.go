package llm

import (
	"errors"
	"fmt"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/credit"
)

// Errors of every call. Those that time may mend have ErrWait in their chain: what needed the
// model stays pending and is tried again later; nothing is guessed in its place.
var (
	ErrWait = errors.New("wait and try again")

	ErrTimeout     = fmt.Errorf("the model server was silent for too long; %w", ErrWait)
	ErrUnavailable = fmt.Errorf("the model server doesn't answer; %w", ErrWait)
	ErrBusy        = fmt.Errorf("too many calls of the model at once; %w", ErrWait)
	ErrBudget      = fmt.Errorf("the hour's budget for the model is used up (llm.calls_per_hour, llm.tokens_per_hour); %w", ErrWait)
	ErrSetup       = fmt.Errorf("the model server refuses our calls: look at llm.base_url, llm.model and the API key, then %w", ErrWait)
	ErrOutput      = fmt.Errorf("the model's output is not what was asked for; %w", ErrWait)
	ErrCut         = fmt.Errorf("the model server ended in the middle of its answer; %w", ErrWait)
	ErrEmpty       = fmt.Errorf("the model gave no answer at all; %w", ErrWait)
)

// ErrEmbedSetup is ErrSetup of an Embedder.
var ErrEmbedSetup = fmt.Errorf("the embeddings server refuses our calls: look at embedding.base_url, embedding.model and the API key, then %w", ErrWait)

// ErrNoResponse is returned where there is nothing to evaluate. Waiting does not mend it.
var ErrNoResponse = fmt.Errorf("there is nothing to judge: %w", credit.ErrNoResponse)

// Refusal is the error of a model that declines to answer, with its words, which may be
// empty. Waiting may help an evaluation: errors.Is finds ErrWait.
type Refusal struct{ Words string }

// Error gives the model's words.
func (r *Refusal) Error() string {
	if r.Words == "" {
		return "the model declines to answer"
	}
	return "the model declines to answer: " + r.Words
}

// Unwrap is ErrWait.
func (r *Refusal) Unwrap() error { return ErrWait }

// later says when waiting is over.
type later struct {
	error
	after time.Duration
}

func (l *later) Unwrap() error { return l.error }

// RetryAfter tells how long to wait at least before the next try, where err knows; else 0.
func RetryAfter(err error) time.Duration {
	var l *later
	if errors.As(err, &l) {
		return l.after
	}
	return 0
}
