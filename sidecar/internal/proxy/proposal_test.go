package proxy

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// listing is a graph of which only the lengths of lists are known: node n has the uid n+1.
type listing struct {
	ResidentGraph
	degree map[search.Node]int
}

func (listing) Node(u graph.UID) (search.Node, bool) { return search.Node(u - 1), true }
func (listing) UID(n search.Node) graph.UID          { return graph.UID(n + 1) }
func (listing) Name(search.Node) string              { return "" }
func (listing) Score(uint32) float64                 { return graph.NeutralScore }
func (listing) Relation(r search.Rel) graph.Relation {
	return graph.Relation{Predicate: "p", Inverse: r == 1}
}
func (l listing) Degree(n search.Node, _ search.Rel) int { return l.degree[n] }

func TestAProposalHasEachEdgeOnceHoweverPathsWalkIt(t *testing.T) {
	step := func(to search.Node, edge uint32, r search.Rel) search.Step {
		return search.Step{Rel: r, To: to, Edge: edge}
	}
	f := found{start: 1, bundles: []search.Bundle{{Paths: []search.Path{
		{Steps: []search.Step{step(1, 10, 0), step(2, 11, 0)}},                 // 0 -> 1 -> 2
		{Steps: []search.Step{step(2, 12, 0), step(1, 11, 1), step(3, 13, 0)}}, // 0 -> 2 <- 1 -> 3
	}}}}
	got := proposer{listing{}, []bool{false}}.propose(f)
	var edges []graph.Triplet
	for _, e := range got.edges {
		require.Equal(t, "p", e.step.Predicate)
		edges = append(edges, graph.Triplet{Head: e.step.Head, Object: e.step.Object})
	}
	require.Equal(t, []graph.Triplet{{Head: 1, Object: 2}, {Head: 2, Object: 3}, {Head: 1, Object: 3}, {Head: 2, Object: 4}}, edges)
	var nodes []search.Node
	for _, n := range got.nodes {
		require.Equal(t, graph.UID(n.id+1), n.uid)
		nodes = append(nodes, n.id)
	}
	require.Equal(t, []search.Node{0, 1, 2, 3}, nodes)
}

func TestEdgesAreReadInTheListThatCostsLess(t *testing.T) {
	one := found{start: 1, bundles: []search.Bundle{{Paths: []search.Path{{Steps: []search.Step{{To: 1, Edge: 5}}}}}}}
	many := found{start: 1, bundles: []search.Bundle{{}}}
	for n := range search.Node(20) {
		many.bundles[0].Paths = append(many.bundles[0].Paths, search.Path{Steps: []search.Step{{To: n + 1, Edge: uint32(n)}}})
	}
	for _, c := range []struct {
		name   string
		found  found
		degree map[search.Node]int
		both   bool
		back   bool
	}{
		{"of two lists the shorter", one, map[search.Node]int{0: 100, 1: 1}, true, true},
		{"that of the near end where it is as short", one, map[search.Node]int{0: 1, 1: 1}, true, false},
		{"never one whose length isn't known", one, map[search.Node]int{0: 1000, 1: math.MaxInt32}, true, false},
		{"one for many edges", many, map[search.Node]int{0: 100, 1: 1}, true, false},
		{"the only one where there is no way back", one, map[search.Node]int{0: 100, 1: 1}, false, false},
	} {
		got := proposer{listing{degree: c.degree}, []bool{c.both}}.propose(c.found)
		require.Equal(t, c.back, got.edges[0].back, c.name)
	}
}
