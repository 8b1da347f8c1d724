package relevance

import (
	"fmt"
	"math"
)

// Question is a question's vector x, ready to be compared with Tables.
type Question struct {
	Vector   Vector // unit length
	Features Vector // x of the learned weights, unit length
	Model    Dense  // of an embedding model; none: the question counts by Vector
	dense    []float32
}

// Hashed is the question without its vector of a model.
func (q *Question) Hashed() *Question {
	hashed := *q
	hashed.Model = Dense{}
	return &hashed
}

// Ask embeds a question. The words of the linked topic entities, given by their names, are
// left out: they would draw every triplet that repeats the name, where the question is about
// what lies around it. When nothing would be left the question is taken whole.
func (h *Hash) Ask(text string, topics ...string) *Question {
	words := Words(text)
	named := make(map[string]bool)
	for _, t := range topics {
		for _, camelCase := range []bool{false, true} { // the question may spell it either way
			for _, w := range split(t, camelCase) {
				named[w] = true
			}
		}
	}
	var rest []string
	for _, w := range words {
		if !named[w] {
			rest = append(rest, w)
		}
	}
	if len(rest) == 0 {
		rest = words
	}
	v := h.embed(rest)
	return &Question{Vector: v, Features: h.weigh(rest, 1, learnedGram), dense: v.Dense(h.Dim())}
}

// learnedGram is the weight of a word's pieces in Features, against 1 of the word. There the
// words of form count in full: who, when and where tell which relation is meant.
const learnedGram = 0.5

// Template names what Features are made by, so that weights over others are set aside.
func (h *Hash) Template() string { return TemplateOf(h.Dim()) }

// TemplateOf is Template of the Hash of a dimension.
func TemplateOf(dim int) string { return fmt.Sprintf("hash-v1/%d/words=1,pieces=%g", dim, learnedGram) }

// Given takes a question's vector from the caller instead of a text. It is brought to unit
// length; another dimension, a number that is not finite and the zero vector are errors.
func (h *Hash) Given(x []float32) (*Question, error) {
	if len(x) != h.Dim() {
		return nil, fmt.Errorf("the embedding has %d numbers; %s wants %d", len(x), h.Name(), h.Dim())
	}
	var square float64
	for i, f := range x {
		if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
			return nil, fmt.Errorf("number %d of the embedding is %v; write finite numbers", i+1, f)
		}
		square += float64(f) * float64(f)
	}
	if square == 0 {
		return nil, fmt.Errorf("the embedding is zero everywhere; write a vector with a direction")
	}
	norm := math.Sqrt(square)
	var v Vector
	for i, f := range x {
		if f != 0 {
			v.Index = append(v.Index, uint16(i))
			v.Weight = append(v.Weight, float32(float64(f)/norm))
		}
	}
	return &Question{Vector: v, Features: v, dense: v.Dense(h.Dim())}, nil
}
