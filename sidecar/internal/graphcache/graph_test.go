package graphcache

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// model is a graph as plainly as can be.
type model struct {
	edges map[graph.Triplet]float64
	names map[graph.UID]string
	calls map[graph.Triplet]string // labels of shortcuts
}

var testSchema = graph.Schema{Predicates: map[string]graph.PredicateSchema{
	"knows": {Name: "knows", Type: "uid", List: true, Reverse: true},
	"boss":  {Name: "boss", Type: "uid"},
	"likes": {Name: "likes", Type: "uid", List: true},
	"name":  {Name: "name", Type: "string"},

	graph.ShortcutPredicate: {Name: graph.ShortcutPredicate, Type: "uid", List: true},
}}

func testHash(t require.TestingT) *relevance.Hash {
	h, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	return h
}

// build fills a graph from the model as a scan would.
func (m model) build(hash *relevance.Hash) *Graph {
	b := newBuilder(testSchema, []string{"name"}, nil, hash, 1<<40)
	for _, t := range inOrder(m.edges) {
		p := slices.IndexFunc(b.predicates, func(p predicate) bool { return p.name == t.Predicate })
		b.edge(uint32(p), t.Head, t.Object, graph.Contribution{Score: m.edges[t]}, m.calls[t])
	}
	for u, n := range m.names {
		b.name(u, n)
	}
	return b.done(time.Time{})
}

// edgesOf reads a graph back, and checks how it is laid out.
func edgesOf(t require.TestingT, g *Graph) map[graph.Triplet]float64 {
	forward, back := map[graph.Triplet]float64{}, map[graph.Triplet]float64{}
	ids := map[graph.Triplet]uint32{}
	for n := range search.Node(g.Nodes()) {
		known, ok := g.Node(g.UID(n))
		require.True(t, ok)
		require.Equal(t, n, known)
		require.True(t, slices.IsSortedFunc(g.Steps(n), g.compareSteps))
		for _, s := range g.Steps(n) {
			r := g.Relation(s.Rel)
			step := graph.Triplet{Head: g.UID(n), Predicate: r.Predicate, Object: g.UID(s.To)}
			into := forward
			if r.Inverse {
				step.Head, step.Object, into = step.Object, step.Head, back
			}
			if id, other := ids[step]; other {
				require.Equal(t, id, s.Edge, "both directions are one edge")
			}
			ids[step] = s.Edge
			if _, twice := into[step]; twice {
				require.Fail(t, "an edge stands twice", step)
			}
			into[step] = g.Score(s.Edge)
			require.LessOrEqual(t, g.Sc(s.Edge), g.MaxSc(s.Rel))
			relations, most := g.At(n)
			require.NotZero(t, relations&search.BucketOf(s.Rel))
			require.LessOrEqual(t, g.Sc(s.Edge), most)
		}
	}
	require.Equal(t, forward, back)
	require.Len(t, forward, g.Edges())
	return forward
}

// callsOf reads the labels of shortcuts back.
func callsOf(g *Graph) map[graph.Triplet]string {
	calls := map[graph.Triplet]string{}
	if g.shortcuts == nil {
		return calls
	}
	for n := range search.Node(g.Nodes()) {
		for _, s := range g.Steps(n) {
			row, ok := g.shortcuts.row[s.Edge]
			if r := g.Relation(s.Rel); ok && !r.Inverse {
				for label, of := range g.shortcuts.rows {
					if of == row {
						calls[graph.Triplet{Head: g.UID(n), Predicate: r.Predicate, Object: g.UID(s.To)}] = label
					}
				}
			}
		}
	}
	return calls
}

func (m model) equal(t require.TestingT, hash *relevance.Hash, g *Graph) {
	require.Equal(t, m.edges, edgesOf(t, g))
	require.Equal(t, m.calls, callsOf(g))
	q := hash.Ask("who is bob's friend")
	cos, greatest := g.vectors.Products(nil, q)
	for n := range search.Node(g.Nodes()) {
		require.Equal(t, m.names[g.UID(n)], g.Name(n))
		one := &relevance.Table{}
		one.Set(0, hash.Embed(g.Name(n)))
		want, _ := one.Products(nil, q)
		require.Equal(t, want[0], cos[n], "the vector of %q", g.Name(n))
		require.LessOrEqual(t, cos[n], greatest)
	}
}

var (
	someUID     = rapid.Map(rapid.IntRange(1, 300), func(i int) graph.UID { return graph.UID(i * 7) })
	someTriplet = rapid.Custom(func(t *rapid.T) graph.Triplet {
		return graph.Triplet{Head: someUID.Draw(t, "head"), Predicate: rapid.SampledFrom([]string{"knows", "boss", "likes", graph.ShortcutPredicate}).Draw(t, "predicate"), Object: someUID.Draw(t, "object")}
	})
	someScore = rapid.SampledFrom([]float64{100, 100, 0, 120.5, 200})
	someName  = rapid.SampledFrom([]string{"Bob", "Alice", "", "friend of Bob", "Ева"})
	someCall  = rapid.SampledFrom([]string{"", "born in", "founded by, born in"})
	someEdges = rapid.MapOf(someTriplet, someScore)
)

// call gives a shortcut some label or none.
func (m model) call(t *rapid.T, triplet graph.Triplet) string {
	if triplet.Predicate != graph.ShortcutPredicate {
		return ""
	}
	label := someCall.Draw(t, "label")
	if delete(m.calls, triplet); label != "" {
		m.calls[triplet] = label
	}
	return label
}

func TestAfterAnyChangesTheGraphIsAsIfBuiltAnewAndTheOldOnesStay(t *testing.T) {
	hash := testHash(t)
	rapid.Check(t, func(t *rapid.T) {
		m := model{edges: someEdges.Draw(t, "edges"), names: rapid.MapOf(someUID, someName).Draw(t, "names"), calls: map[graph.Triplet]string{}}
		for _, triplet := range inOrder(m.edges) {
			m.call(t, triplet)
		}
		g := m.build(hash)
		m.equal(t, hash, g)
		old, was := g, edgesOf(t, g)
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			c := Change{Edges: map[graph.Triplet]Fact{}, Names: map[graph.UID]string{}}
			for _, triplet := range rapid.SliceOf(someTriplet).Draw(t, "set") {
				f := Fact{Score: someScore.Draw(t, "score"), Here: true}
				f.Label = m.call(t, triplet)
				c.Edges[triplet], m.edges[triplet] = f, f.Score
			}
			known := slices.SortedFunc(maps.Keys(m.edges), func(a, b graph.Triplet) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			for range rapid.IntRange(0, 10).Draw(t, "deletions") {
				if len(known) > 0 {
					gone := rapid.SampledFrom(known).Draw(t, "gone")
					c.Edges[gone] = Fact{}
					delete(m.edges, gone)
					delete(m.calls, gone)
				}
			}
			maps.Copy(m.names, rapid.MapOf(someUID, someName).Draw(t, "renamed"))
			maps.Copy(c.Names, m.names) // a new node's name is read with its first edge
			g = g.with(c, hash, nil)
			m.equal(t, hash, g)
		}
		require.Equal(t, was, edgesOf(t, old))
	})
}

func TestWhatASearchFindsDependsOnNoBound(t *testing.T) {
	hash := testHash(t)
	rapid.Check(t, func(t *rapid.T) {
		m := model{edges: someEdges.Draw(t, "edges"), names: rapid.MapOf(someUID, someName).Draw(t, "names")}
		g := m.build(hash)
		c := Change{Edges: map[graph.Triplet]Fact{}}
		for _, triplet := range inOrder(m.edges) {
			c.Edges[triplet] = Fact{Score: someScore.Draw(t, "score"), Here: true}
		}
		for range rapid.IntRange(0, 200).Draw(t, "steps of a hub") {
			c.Edges[graph.Triplet{Head: someUID.Draw(t, "at the hub"), Predicate: "knows", Object: 7}] = Fact{Score: someScore.Draw(t, "score"), Here: true}
		}
		g = g.with(c, hash, nil)
		sr := g.Relevance(hash.Ask("who is bob's friend"))
		scorer := search.NewHybrid(.5, sr, g, g.Relations(), nil)
		for n := range search.Node(min(3, g.Nodes())) {
			q := search.Query{Start: n, Hops: 2, Paths: 5, Instances: 10, Budget: search.Budget{Count: 1 << 40}}
			want, err := search.Top(t.Context(), g, struct{ search.Scorer }{scorer}, q)
			require.NoError(t, err)
			q.Hubs = &search.Hubs{Least: 20}
			got, err := search.Top(t.Context(), g, scorer, q)
			require.NoError(t, err)
			require.Equal(t, want.Bundles, got.Bundles)
		}
	})
}

func TestAScoreThatChangesTakesNoMoreMemory(t *testing.T) {
	edges := map[graph.Triplet]float64{}
	for i := range graph.UID(1000) {
		edges[graph.Triplet{Head: i + 2, Predicate: "knows", Object: 1}] = 100
	}
	g := model{edges: edges}.build(testHash(t))
	sizes := map[int64]bool{}
	for score := range 20 {
		g = g.Corrected(map[graph.Triplet]Fact{{Head: 2, Predicate: "knows", Object: 1}: {Score: float64(score), Here: true}})
		sizes[g.Bytes()] = true
	}
	require.Len(t, sizes, 1)
}

func TestManyChangedNamesAreFoldedIntoThePackedTable(t *testing.T) {
	hash := testHash(t)
	m := model{edges: map[graph.Triplet]float64{}, names: map[graph.UID]string{}, calls: map[graph.Triplet]string{}}
	g := m.build(hash)
	for batch := range 10 {
		c := Change{Edges: map[graph.Triplet]Fact{}, Names: map[graph.UID]string{}}
		for i := range 1000 {
			u := graph.UID(batch*700 + i + 1)
			t := graph.Triplet{Head: u, Predicate: "knows", Object: 1}
			c.Edges[t], m.edges[t] = Fact{Score: 100, Here: true}, 100
			c.Names[u] = fmt.Sprintf("bob the %dth", batch+i)
			m.names[u] = c.Names[u]
		}
		g = g.with(c, hash, nil)
	}
	m.equal(t, hash, g)
	require.LessOrEqual(t, len(g.vectors.of), foldAt)
	require.Greater(t, g.vectors.packed.Len(), foldAt)
	require.Len(t, g.Steps(0), 7300+1, "a hub's row, with its own loop in both directions")
}

func TestACorrectionServesOneQueryOnly(t *testing.T) {
	hash := testHash(t)
	a, b := graph.Triplet{Head: 1, Predicate: "knows", Object: 2}, graph.Triplet{Head: 1, Predicate: "likes", Object: 2}
	g := model{edges: map[graph.Triplet]float64{a: 100, b: 120}}.build(hash)
	stranger := graph.Triplet{Head: 1, Predicate: "knows", Object: 99}
	c := g.Corrected(map[graph.Triplet]Fact{a: {}, b: {Score: 190, Here: true}, stranger: {Score: 100, Here: true}})
	require.Equal(t, map[graph.Triplet]float64{b: 190}, edgesOf(t, c))
	require.Equal(t, map[graph.Triplet]float64{a: 100, b: 120}, edgesOf(t, g))
	_, known := g.Node(99)
	require.False(t, known, "a query gives no ids")
	likes, _ := g.Rel(graph.Relation{Predicate: "likes"})
	require.Equal(t, []float64{.6, .95}, []float64{g.MaxSc(likes), c.MaxSc(likes)})
}

func TestTheOrderOfRelationsAndNodesIsThatOfTheirNames(t *testing.T) {
	g := model{edges: map[graph.Triplet]float64{{Head: 9, Predicate: "knows", Object: 2}: 100}}.build(testHash(t))
	var rels []search.Rel
	for r := range search.Rel(g.Relations()) {
		rels = append(rels, r)
	}
	slices.SortFunc(rels, g.CompareRels)
	var order []string
	for _, r := range rels {
		order = append(order, g.Relation(r).String())
		back, ok := g.Rel(g.Relation(r))
		require.True(t, ok)
		require.Equal(t, r, back)
	}
	require.Equal(t, "boss ~boss evorag.shortcut ~evorag.shortcut knows ~knows likes ~likes", strings.Join(order, " "))
	nine, _ := g.Node(9)
	two, _ := g.Node(2)
	require.Positive(t, g.CompareNodes(nine, two))
	_, ok := g.Rel(graph.Relation{Predicate: "unheard"})
	require.False(t, ok)
	require.Equal(t, 1, g.Degree(two, 5))
	require.Zero(t, g.Degree(two, 4))
}

func TestABuildEndsWhenTheGraphOutgrowsItsBudget(t *testing.T) {
	b := newBuilder(testSchema, nil, nil, testHash(t), 10_000)
	require.NoError(t, b.check())
	for i := range graph.UID(100) {
		b.edge(0, 1, i+2, graph.Neutral(), "")
	}
	require.ErrorIs(t, b.check(), errMemory)
}

func TestTheEstimateOfMemoryIsNearTheMeasure(t *testing.T) {
	hash := testHash(t)
	b := newBuilder(testSchema, []string{"name"}, nil, hash, 1<<40)
	for i := range graph.UID(20_000) {
		for j := range graph.UID(5) {
			b.edge(0, i+1, (i*13+j*7919)%20_000+1, graph.Neutral(), "")
		}
		b.name(i+1, fmt.Sprintf("entity number %d of the north", i))
	}
	estimate := float64(b.estimate())
	measured := float64(b.done(time.Time{}).Bytes())
	require.InEpsilon(t, measured, estimate, .4)
	t.Logf("%.1f MB estimated, %.1f MB measured", estimate/1e6, measured/1e6)
}
