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
	start   graph.Node
	nodes   []graph.Node
	steps   []graph.ScoredTriplet
	terms   []rank.Term
}

func (in *instance) add(s graph.Step, label string, to graph.Node, sr, asked float64) {
	in.nodes = append(in.nodes, to)
	term := rank.Term{Sr: sr, Sc: s.Sc(), Question: asked}
	if in.explain {
		in.terms = append(in.terms, term)
	}
	in.steps = append(in.steps, graph.ScoredTriplet{
		Triplet: s.Triplet, Label: label, Inverse: s.Inverse,
		Score: s.Score, Sr: sr, Sc: s.Sc(), Asked: asked, P: term.P(in.alpha),
	})
}

func (in *instance) done() graph.Instance {
	out := graph.Instance{Nodes: append([]graph.Node{in.start}, in.nodes...), Triplets: in.steps, Z: in.z}
	if in.explain {
		out.Parts = map[string]graph.Float{}
		for _, p := range rank.Explain(in.alpha, in.terms, in.bias) {
			out.Parts[p.Name] = graph.Float(p.Value)
		}
	}
	return out
}

// pathOf is the path behind a shown instance.
func pathOf(in graph.Instance) graph.Path {
	p := graph.Path{Start: in.Nodes[0].UID}
	for _, t := range in.Triplets {
		p.Steps = append(p.Steps, graph.Step{Triplet: t.Triplet, Inverse: t.Inverse, Contribution: graph.Contribution{Score: t.Score}})
	}
	return p
}
