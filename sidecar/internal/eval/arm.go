package eval

import (
	"math/rand/v2"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

// Source says who rates a response.
type Source string

// Sources of ratings.
const (
	Gold      Source = "gold"      // F1 with the reference answers
	Embedding Source = "embedding" // cosine of the built-in embedder with them
	LLM       Source = "llm"       // the configured model
)

// Arm is one way to run a trial. The zero Arm but for its name is: the sidecar's defaults, ratings by
// F1, no evolution.
type Arm struct {
	Name     string            `json:"name"`
	Settings map[string]string `json:"settings,omitempty"` // of the sidecar, by path
	Source   Source            `json:"source,omitempty"`   // default Gold
	Judge    string            `json:"judge,omitempty"`    // evaluator that attributes ratings to paths; default the sidecar's
	Inverted float64           `json:"inverted,omitempty"` // share of ratings turned around
	Shuffled bool              `json:"shuffled,omitempty"` // control: chance responses with other questions' ratings
	Evolve   bool              `json:"evolve,omitempty"`   // a run after each iteration
	Probes   []Probe           `json:"-"`                  // asked besides, before the first and after the last iteration
	Single   bool              `json:"single,omitempty"`   // paths one by one, as in the paper
}

// Probe is another way to ask the held-out questions.
type Probe struct {
	Name   string
	Change func(*ask)
}

// example is a retrieval with the response that a reader gave to it.
type example struct {
	question Question
	found    *graph.Retrieval
	response []string // names
	text     string   // names in words, or what a model wrote
	score    float64  // 1 to 5
}

// respond is the reader without a model: it knows an answer when it sees one in the first Budget
// tokens of the context; else it takes the best result's ends for the answer.
func respond(r Reading) []string {
	if len(r.Seen) > 0 {
		return r.Seen
	}
	return r.Top
}

// rated gives each example its rating.
func (a Arm) rated(examples []example, hash *relevance.Hash, r *rand.Rand) {
	for i := range examples {
		e := &examples[i]
		switch {
		case a.Source == LLM: // see runner.judged
		case a.Source == Embedding:
			e.score = 1 + 4*min(1, max(0, hash.Embed(e.text).Dot(hash.Embed(strings.Join(e.question.Answers, ", ")))))
		case e.response == nil: // a model's words
			acc, _, f1 := Text(e.text, e.question.Answers)
			e.score = 1 + 4*max(acc, f1)
		default:
			e.score = 1 + 4*F1(e.response, e.question.Answers)
		}
	}
	if a.Shuffled {
		scores := make([]float64, len(examples))
		for i, j := range r.Perm(len(examples)) {
			scores[i] = examples[j].score
		}
		for i := range examples {
			e := &examples[i]
			e.score = scores[i]
			e.response = endsOf(e.found.Results[r.IntN(len(e.found.Results))])
			e.text = strings.Join(e.response, ", ")
		}
	}
	for i := range examples {
		if r.Float64() < a.Inverted {
			examples[i].score = 6 - examples[i].score
		}
	}
}
