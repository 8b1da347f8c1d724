package credit

import (
	"errors"
	"fmt"
	"math"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Ratings.
const (
	MinRating     = 1.0
	NeutralRating = 3.0 // teaches nothing
	MaxRating     = 5.0
)

// ErrNotFinite is returned for a NaN or an infinity among the numbers of a lesson.
var ErrNotFinite = errors.New("not a finite number")

// Answer is what was answered to a retrieval's question.
type Answer struct {
	Question string
	Response string
	Gold     []string // reference answers, where the sender gave some
}

// Evaluation is what one retained result of a retrieval had to do with the response, each
// in [-1,1]: how far it is evidence for it, how much it contributed, how far it contradicts it.
type Evaluation struct {
	Support  float64 `json:"support"`
	Fidelity float64 `json:"fidelity"`
	Conflict float64 `json:"conflict"`
}

// Gate decides which results count.
type Gate struct {
	MinFidelity float64 // in [-1,1]
	MaxConflict float64 // in [-1,1]
}

// DefaultGate is that of docs/METHOD.md.
func DefaultGate() Gate { return Gate{MinFidelity: 0.3, MaxConflict: 0} }

// Passes tells whether a result counts.
func (g Gate) Passes(e Evaluation) bool {
	return e.Fidelity >= g.MinFidelity && e.Conflict <= g.MaxConflict
}

// Value is v = (FS-3)/2, in [-1,1], of a rating FS in [1,5].
func Value(rating float64) (float64, error) {
	if !(rating >= MinRating && rating <= MaxRating) {
		return 0, fmt.Errorf("a rating of %v; write a number from 1 to 5", rating)
	}
	return (rating - NeutralRating) / 2, nil
}

// Utilities gives U_i = v*support, in [-1,1], for each result; one that the gate holds back
// gets 0. Errors: ErrNotFinite, a number out of range, or too few or too many evaluations
// for the retrieval.
func Utilities(v float64, g Gate, r graph.Retrieval, evaluations []Evaluation) ([]float64, error) {
	if len(evaluations) != len(r.Results) {
		return nil, fmt.Errorf("%d evaluations for %d results; give one for each, in their order", len(evaluations), len(r.Results))
	}
	if !(v >= -1 && v <= 1) {
		return nil, fmt.Errorf("the value of a rating is %v; it lies in [-1,1]", v)
	}
	out := make([]float64, len(evaluations))
	for i, e := range evaluations {
		for _, x := range []float64{e.Support, e.Fidelity, e.Conflict} {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("the evaluation of result %d: %w", i+1, ErrNotFinite)
			}
			if x < -1 || x > 1 {
				return nil, fmt.Errorf("the evaluation of result %d holds %v; its numbers lie in [-1,1]", i+1, x)
			}
		}
		if g.Passes(e) {
			out[i] = v * e.Support
		}
	}
	return out, nil
}
