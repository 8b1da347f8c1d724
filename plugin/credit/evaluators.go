package credit

import (
	"context"
	"errors"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/entity"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

// Errors of the built-in evaluators: the lesson can't be judged, now or later.
var (
	ErrNoResponse = errors.New("no response to compare the paths with; send it as response")
	ErrNoGold     = errors.New("no reference answer; send it as answer, or leave the evaluator gold out")
)

// ErrUnusable is in the chain of an evaluator's error that is no matter of time: it evaluates, but
// what it gives can't be used.
var ErrUnusable = errors.New("the evaluator gives nothing that can be used")

// Template names what the features of questions are made by; steps along others are no use to
// today's weights.
var Template = relevance.TemplateOf(relevance.DefaultDim)

// Embedding evaluates without a model: a path contributed when it names an object that the
// response names, else as far as their texts are alike.
type Embedding struct{ hash *relevance.Hash }

// NewEmbedding uses the built-in hashing embedder.
func NewEmbedding() (*Embedding, error) {
	hash, err := relevance.NewHash(relevance.DefaultDim)
	if err != nil {
		return nil, err
	}
	return &Embedding{hash}, nil
}

// Evaluate gives support = fidelity = 1 to a result on which the response's words are found,
// else max(0, cos) of path and response; conflict is 0. The error is ErrNoResponse.
func (e *Embedding) Evaluate(_ context.Context, a Answer, r graph.Retrieval) ([]Evaluation, error) {
	if strings.TrimSpace(a.Response) == "" {
		return nil, ErrNoResponse
	}
	m, about := newMentions(r, a.Response), topics(r)
	response := e.hash.Embed(a.Response)
	out := make([]Evaluation, len(r.Results))
	for i, result := range r.Results {
		named, near := false, 0.0
		for _, in := range result.Instances {
			for _, n := range in.Nodes {
				named = named || (!about[n.UID] && m.has(n))
			}
			near = max(near, response.Dot(e.hash.Embed(text(in))))
		}
		if named {
			near = 1
		}
		near = min(1, near)
		out[i] = Evaluation{Support: near, Fidelity: near}
	}
	return out, nil
}

// text is a path in words.
func text(in graph.Instance) string {
	var b strings.Builder
	for i, n := range in.Nodes {
		if i > 0 {
			b.WriteString(" " + in.Triplets[i-1].Label + " ")
		}
		b.WriteString(n.Name)
	}
	return b.String()
}

// Gold compares the far ends of each result with the reference answers.
type Gold struct{}

// Evaluate gives support = 2*F1 - 1 with F1 between the names at the far ends of the result
// and the reference answers, fidelity 1 and conflict 0. The error is ErrNoGold.
func (Gold) Evaluate(_ context.Context, a Answer, r graph.Retrieval) ([]Evaluation, error) {
	gold := map[string]bool{}
	for _, g := range a.Gold {
		if f := entity.Normalize(g); f != "" {
			gold[f] = true
		}
	}
	if len(gold) == 0 {
		return nil, ErrNoGold
	}
	out := make([]Evaluation, len(r.Results))
	for i, result := range r.Results {
		ends := map[string]bool{}
		for _, in := range result.Instances {
			if n := len(in.Nodes); n > 0 {
				ends[entity.Normalize(in.Nodes[n-1].Name)] = true
			}
		}
		both := 0
		for e := range ends {
			if gold[e] {
				both++
			}
		}
		f1 := 2 * float64(both) / float64(len(ends)+len(gold))
		out[i] = Evaluation{Support: 2*f1 - 1, Fidelity: 1}
	}
	return out, nil
}
