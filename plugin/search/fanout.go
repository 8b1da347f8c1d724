package search

import (
	"cmp"
	"slices"
)

// Fanout is an Adjacency that walks at most n steps of a relation from a node: those with
// the highest P, then the highest Sc, then in the order of nodes and edges. It remembers
// what it has chosen, so it serves one question, and one goroutine at a time.
func Fanout(adj Adjacency, scorer Scorer, n int) Adjacency {
	return &fanout{Adjacency: adj, scorer: scorer, n: n, chosen: make(map[Node][]Step)}
}

type fanout struct {
	Adjacency
	scorer Scorer
	n      int
	chosen map[Node][]Step
}

func (f *fanout) Steps(at Node) []Step {
	if steps, ok := f.chosen[at]; ok {
		return steps
	}
	var steps []Step
	for rest := f.Adjacency.Steps(at); len(rest) > 0; {
		size := groupLen(rest)
		steps = append(steps, f.top(at, rest[:size])...)
		rest = rest[size:]
	}
	f.chosen[at] = steps
	return steps
}

// top is the n best steps of a group, in the order in which they stand there.
func (f *fanout) top(at Node, group []Step) []Step {
	if len(group) <= f.n {
		return group
	}
	type scored struct {
		step  Step
		p, sc float64
	}
	all := make([]scored, len(group))
	for i, s := range group {
		p, sc := f.scorer.Score(at, s)
		all[i] = scored{s, p, sc}
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.p, a.p), cmp.Compare(b.sc, a.sc),
			f.CompareNodes(a.step.To, b.step.To), cmp.Compare(a.step.Edge, b.step.Edge))
	})
	best := make(map[Step]bool, f.n)
	for _, s := range all[:f.n] {
		best[s.step] = true
	}
	return slices.DeleteFunc(slices.Clone(group), func(s Step) bool { return !best[s] })
}
