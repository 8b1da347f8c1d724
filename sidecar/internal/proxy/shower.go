package proxy

import (
	"math"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// shower turns what searches found from dense ids into what is shown. Most edges are on several
// paths: each is made ready once.
type shower struct {
	query     *query
	block     *plan.Block
	graph     Graph
	relevance search.Relevance
	terms     *terms
	number    map[walked]int32 // into steps
	steps     []shownStep
	nodes     []graph.Node          // room
	triplets  []graph.ScoredTriplet // likewise
}

// walked is an edge with its direction.
type walked struct {
	edge uint32
	from search.Node
}

// shownStep is a step as it is shown, and its far end.
type shownStep struct {
	triplet graph.ScoredTriplet
	to      graph.Node
}

func (q *query) newShower(b *plan.Block, g Graph, sr search.Relevance, t *terms, all []found) *shower {
	paths, steps := 0, 0
	for _, f := range all {
		for _, bundle := range f.bundles {
			paths += len(bundle.Paths)
			steps += len(bundle.Paths) * len(bundle.Metapath)
		}
	}
	return &shower{
		query: q, block: b, graph: g, relevance: sr, terms: t, number: make(map[walked]int32, paths), steps: make([]shownStep, 0, paths),
		nodes: make([]graph.Node, 0, paths+steps), triplets: make([]graph.ScoredTriplet, 0, steps),
	}
}

// bundle is a bundle of a start node as a result.
func (s *shower) bundle(start graph.UID, found search.Bundle) graph.Result {
	first, _ := s.graph.Node(start)
	r := graph.Result{
		Block: s.block.Key, Start: graph.Node{UID: start, Name: s.graph.Name(first)},
		Total: found.Total, AtLeast: found.AtLeast, Z: math.Inf(-1), Bias: s.terms.hops(len(found.Metapath)),
		Instances: make([]graph.Instance, 0, len(found.Paths)),
	}
	for _, rel := range found.Metapath {
		r.Metapath = append(r.Metapath, s.graph.Relation(rel).String())
	}
	for _, p := range found.Paths {
		n, t := len(s.nodes), len(s.triplets)
		in := instance{
			explain: s.block.Explain, alpha: s.block.Alpha, z: p.Z, bias: r.Bias,
			nodes: append(s.nodes[n:], r.Start), steps: s.triplets[t:],
		}
		from := first
		for _, st := range p.Steps {
			shown := s.step(from, st)
			in.take(shown.triplet, shown.to)
			from = st.To
		}
		s.nodes, s.triplets = s.nodes[:n+len(in.nodes)], s.triplets[:t+len(in.steps)]
		in.nodes, in.steps = in.nodes[:len(in.nodes):len(in.nodes)], in.steps[:len(in.steps):len(in.steps)]
		r.Instances = append(r.Instances, in.done())
		r.Z = max(r.Z, p.Z)
	}
	return r
}

func (s *shower) step(from search.Node, st search.Step) *shownStep {
	key := walked{st.Edge, from}
	n, ok := s.number[key]
	if !ok {
		step := stepOf(s.graph, from, st)
		sr := s.relevance.Sr(uint32(from), uint32(st.Rel), uint32(st.To), st.Edge)
		n = int32(len(s.steps))
		s.number[key] = n
		s.steps = append(s.steps, shownStep{
			scored(step, s.query.view.label(step.Predicate), sr, s.terms.asked(step.Relation()), s.block.Alpha),
			graph.Node{UID: step.To(), Name: s.graph.Name(st.To)},
		})
	}
	return &s.steps[n]
}
