package embed

import (
	"context"
	"fmt"
	"sync"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

// questionsKept is how many questions' vectors are remembered at least, twice that at most.
const questionsKept = 512

// questions remembers the vectors of questions. They are not written to disk: it is nobody's
// business there what was asked.
type questions struct {
	mu         sync.Mutex
	known, old map[string]relevance.Dense
}

func (q *questions) get(text string) (relevance.Dense, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	d, ok := q.known[text]
	if !ok {
		if d, ok = q.old[text]; ok {
			q.keep(text, d)
		}
	}
	return d, ok
}

func (q *questions) keep(text string, d relevance.Dense) {
	if len(q.known) >= questionsKept {
		q.known, q.old = map[string]relevance.Dense{}, q.known
	}
	q.known[text] = d
}

// Embed gives the vector of a question. One that is not remembered is sent to the model, alone,
// and waited for within Options.Question. Errors: ErrLate, ErrDimension, relevance.ErrVector, and the model's own.
func (v *Vectors) Embed(ctx context.Context, question string) (relevance.Dense, error) {
	if d, ok := v.questions.get(question); ok {
		return d, nil
	}
	ctx, cancel := context.WithTimeout(ctx, v.Question)
	defer cancel()
	vectors, _, err := v.Model.Embed(ctx, []string{question})
	if ctx.Err() != nil {
		return relevance.Dense{}, fmt.Errorf("%w: more than embedding.question_timeout, %s", ErrLate, v.Question)
	}
	if err != nil {
		return relevance.Dense{}, err
	}
	d, err := relevance.NewDense(vectors[0])
	if err != nil {
		return d, err
	}
	if dim := v.Dim(); dim != 0 && len(d.Weight) != dim {
		return relevance.Dense{}, fmt.Errorf("%w: the question's vector has %d numbers, those of the graph have %d; set embedding.dimensions", ErrDimension, len(d.Weight), dim)
	}
	v.questions.mu.Lock()
	defer v.questions.mu.Unlock()
	v.questions.keep(question, d)
	return d, nil
}
