package proxy

import (
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/rank"
)

// instance puts one path of a result together, step by step from its start.
type instance struct {
	explain bool
	alpha   float64
	z       float64
	bias    float64
	nodes   []graph.Node // the start first
	steps   []graph.ScoredTriplet
	terms   []rank.Term
}

func (in *instance) add(s graph.Step, label string, to graph.Node, sr, asked float64) {
	in.take(scored(s, label, sr, asked, in.alpha), to)
}

// take is add for what has been scored already.
func (in *instance) take(t graph.ScoredTriplet, to graph.Node) {
	in.nodes, in.steps = append(in.nodes, to), append(in.steps, t)
	if in.explain {
		in.terms = append(in.terms, rank.Term{Sr: t.Sr, Sc: t.Sc, Question: t.Asked})
	}
}

// scored is a step as it is shown.
func scored(s graph.Step, label string, sr, asked, alpha float64) graph.ScoredTriplet {
	term := rank.Term{Sr: sr, Sc: s.Sc(), Question: asked}
	return graph.ScoredTriplet{
		Triplet: s.Triplet, Label: label, Inverse: s.Inverse,
		Score: s.Score, Sr: sr, Sc: term.Sc, Asked: asked, P: term.P(alpha),
	}
}

func (in *instance) done() graph.Instance {
	out := graph.Instance{Nodes: in.nodes, Triplets: in.steps, Z: in.z}
	if in.explain {
		out.Parts = map[string]graph.Float{}
		for _, p := range rank.Explain(in.alpha, in.terms, in.bias) {
			out.Parts[p.Name] = graph.Float(p.Value)
		}
	}
	return out
}

// stepOfShown is the step behind a shown triplet.
func stepOfShown(t graph.ScoredTriplet) graph.Step {
	return graph.Step{Triplet: t.Triplet, Inverse: t.Inverse, Contribution: graph.Contribution{Score: t.Score}}
}
