package proxy

import (
	"context"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// terms are what feedback has taught about a question like this one: how it moves Sc of each
// relation, and z of each hop count. Without weights all are 0.
type terms struct {
	weights *rank.Weights
	x       graph.Features
	bias    []float64 // by hop count; nil stands for zeros
	known   map[graph.Relation]float64
}

// ask turns a block's question into its vector and its terms. Weights over another embedder's
// features are set aside.
func (q *query) ask(ctx context.Context, b *plan.Block, topics []string) (*relevance.Question, *terms) {
	asked := q.hash.Ask(b.Question, topics...)
	switch {
	case b.Embedding != nil:
		asked.Model = dense(b.Embedding)
	case q.modelled():
		asked.Model = q.embed(ctx, asked.Text)
	}
	t := &terms{x: graph.Features(asked.Features), known: map[graph.Relation]float64{}}
	if w := q.Weights(namespace(q.call.Credentials)); w != nil && w.Template == q.hash.Template() {
		t.weights = w
	}
	t.bias = t.weights.Bias(t.x, search.MaxHops)
	q.features = t.x
	return asked, t
}

// asked is w_r.x/200 of a relation.
func (t *terms) asked(r graph.Relation) float64 {
	if t.weights == nil {
		return 0
	}
	term, ok := t.known[r]
	if !ok {
		term = t.weights.Term(rank.WeightOf{Relation: r.String()}, t.x)
		t.known[r] = term
	}
	return term
}

// hops is c_h.x/200 of a hop count.
func (t *terms) hops(n int) float64 {
	if n >= len(t.bias) {
		return 0
	}
	return t.bias[n]
}

// resident lists asked by the ids of a graph in memory; nil stands for zeros.
func (t *terms) resident(g ResidentGraph) []float64 {
	if t.weights == nil {
		return nil
	}
	out := make([]float64, g.Relations())
	for _, of := range t.weights.Of() {
		if of.Relation == "" {
			continue
		}
		r := graph.ParseRelation(of.Relation)
		if id, ok := g.Rel(r); ok {
			out[id] = t.asked(r)
		}
	}
	return out
}
