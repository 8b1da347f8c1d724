package graphcache

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

func TestTheDistributionCountsEachEdgeOnce(t *testing.T) {
	knows := func(o graph.UID) graph.Triplet { return graph.Triplet{Head: 1, Predicate: "knows", Object: o} }
	g := model{edges: map[graph.Triplet]float64{knows(2): 100, knows(3): 100, knows(4): 40, knows(5): 200, knows(6): 0}}.build(testHash(t))
	g = g.with(Change{Edges: map[graph.Triplet]Fact{knows(3): {}, knows(7): {Score: 101.5, Here: true}}}, testHash(t), nil) // one goes, one comes
	d := g.Distribution()
	require.Equal(t, uint64(5), d.Count)
	require.InDelta(t, 441.5, d.Sum, 1e-9)
	below := map[float64]uint64{}
	for i, b := range ScoreBounds {
		below[b] = d.Below[i]
	}
	require.Equal(t, uint64(1), below[10], "0")
	require.Equal(t, uint64(1), below[30])
	require.Equal(t, uint64(2), below[40], "bounds are part of what is below them")
	require.Equal(t, uint64(2), below[99])
	require.Equal(t, uint64(3), below[101], "the untouched one")
	require.Equal(t, uint64(4), below[105])
	require.Equal(t, uint64(5), below[graph.MaxScore])
}

func TestADistributionIsKeptForAWhile(t *testing.T) {
	now := time.Unix(1000, 0)
	c := New(Options{Now: func() time.Time { return now }})
	require.Zero(t, c.Distribution().Count, "there is no graph yet")
	edge := graph.Triplet{Head: 1, Predicate: "knows", Object: 2}
	one := model{edges: map[graph.Triplet]float64{edge: 100}}.build(testHash(t))
	c.current.Store(one)
	require.Equal(t, uint64(1), c.Distribution().Count)
	c.current.Store(one.with(Change{Edges: map[graph.Triplet]Fact{edge: {}}}, testHash(t), nil))
	require.Equal(t, uint64(1), c.Distribution().Count)
	now = now.Add(distributionAge)
	require.Zero(t, c.Distribution().Count)
}

func TestSuppressedEdgesAreCountedAndNotHeld(t *testing.T) {
	c := newCluster(t)
	uids := c.Mutate(t, `
		_:a <name> "Ann" .
		_:b <name> "Bob" .
		_:c <name> "Cid" .
		_:a <knows> _:b (evorag.score=20.0, evorag.hidden=true) .
		_:a <knows> _:c .`)
	cache := c.start(t, Options{})
	require.Eventually(t, func() bool { return cache.Status().State == Resident }, 30*time.Second, 20*time.Millisecond)
	require.Equal(t, 1, cache.Status().Edges)
	require.Equal(t, 1, cache.Status().Hidden)
	c.Mutate(t, "<"+uids["a"]+"> <knows> <"+uids["c"]+"> (evorag.score=10.0, evorag.hidden=true) .\n<"+uids["a"]+"> <knows> <"+uids["b"]+"> (evorag.score=90.0) .")
	head, err := graph.ParseUID(uids["a"])
	require.NoError(t, err)
	var changed []graph.Triplet
	for _, name := range []string{"b", "c"} {
		object, err := graph.ParseUID(uids[name])
		require.NoError(t, err)
		changed = append(changed, graph.Triplet{Head: head, Predicate: "knows", Object: object})
	}
	cache.Changed(changed[1:]) // Bob's edge is still as it was, for all that the cache hears
	has := func(g *Graph, t graph.Triplet) bool {
		rel, _ := g.Rel(graph.Relation{Predicate: t.Predicate})
		from, f := g.Node(t.Head)
		to, o := g.Node(t.Object)
		if !f || !o {
			return false
		}
		_, there := g.find(from, rel, to)
		return there
	}
	require.Eventually(t, func() bool {
		g, ok := cache.Graph(0)
		return ok && !has(g, changed[1])
	}, 30*time.Second, 20*time.Millisecond)
	cache.Changed(changed[:1])
	require.Eventually(t, func() bool {
		g, ok := cache.Graph(0)
		return ok && has(g, changed[0]) && !has(g, changed[1])
	}, 30*time.Second, 20*time.Millisecond)
	require.Equal(t, 1, cache.Status().Hidden)
	require.Equal(t, 1, cache.Status().Edges)
}
