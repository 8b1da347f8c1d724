package relevance

import (
	"fmt"
	"strings"
)

// Question is a question's vector x, ready to be compared with Tables.
type Question struct {
	Text     string // without the names of the topics, as Vector is; all of it where nothing would remain
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
	left := text
	for _, w := range words {
		if !named[w] {
			rest = append(rest, w)
		}
	}
	if len(rest) == 0 {
		rest = words
	}
	if len(rest) < len(words) {
		left = strings.Join(rest, " ")
	}
	v := h.embed(rest)
	return &Question{Text: left, Vector: v, Features: h.weigh(rest, 1, learnedGram), dense: v.Dense(h.Dim())}
}

// learnedGram is the weight of a word's pieces in Features, against 1 of the word. There the
// words of form count in full: who, when and where tell which relation is meant.
const learnedGram = 0.5

// Template names what Features are made by, so that weights over others are set aside.
func (h *Hash) Template() string { return TemplateOf(h.Dim()) }

// TemplateOf is Template of the Hash of a dimension.
func TemplateOf(dim int) string { return fmt.Sprintf("hash-v1/%d/words=1,pieces=%g", dim, learnedGram) }
