package graphcache

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// lettered has a vector for every text that it is told of: a dimension for each letter.
type lettered struct {
	mu   sync.Mutex
	all  bool
	told map[string]bool
	rows relevance.Rows
	of   map[string]uint32
	fail error
}

func newLettered(all bool) *lettered {
	return &lettered{all: all, told: map[string]bool{}, of: map[string]uint32{}}
}

func letters(text string) relevance.Dense {
	v := make([]float32, 40)
	v[0] = .1
	for _, r := range strings.ToLower(text) {
		v[1+int(r)%39]++
	}
	d, err := relevance.NewDense(v)
	if err != nil {
		panic(err)
	}
	return d
}

func (l *lettered) Rows(texts []string) (relevance.Rows, []uint32, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := make([]uint32, len(texts))
	for i, t := range texts {
		if row, known := l.of[t]; known {
			of[i] = row
		} else if t != "" && (l.all || l.told[t]) {
			l.rows, of[i], _ = l.rows.Append(letters(t))
			l.of[t] = of[i]
		}
	}
	return l.rows, of, l.fail
}

func (l *lettered) Changed() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(len(l.told))
}

func (l *lettered) tell(texts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range texts {
		l.told[t] = true
	}
}

func (l *lettered) of1(text string) (relevance.Rows, uint32) {
	rows, of, _ := l.Rows([]string{text})
	return rows, of[0]
}

func (l *lettered) rowsOf(texts []string) (relevance.Rows, []uint32) {
	rows, of, _ := l.Rows(texts)
	return rows, of
}

// sameAs checks that each text of the graph has the row that it is to have.
func (l *lettered) sameAs(t require.TestingT, g *Graph) {
	m := g.model
	for label, row := range shortcutRows(g) {
		_, want := l.of1(label)
		require.Equal(t, want, m.shortcuts[row], "the row of %q", label)
	}
	for n := range search.Node(g.Nodes()) {
		_, row := l.of1(g.Name(n))
		require.Equal(t, row, m.nodes[n], "the row of %q", g.Name(n))
		for _, s := range g.Steps(n) {
			_, row := l.of1(RelationText(g.Relation(s.Rel).Predicate, g.labels))
			require.Equal(t, row, m.relations[s.Rel])
			if m.way == relevance.ByTriplet && s.Rel%2 == 0 {
				label := RelationText(g.Relation(s.Rel).Predicate, g.labels)
				if own, ok := callsOf(g)[graph.Triplet{Head: g.UID(n), Predicate: g.Relation(s.Rel).Predicate, Object: g.UID(s.To)}]; ok {
					label = own
				}
				text := relevance.TripletText(g.Name(n), label, g.Name(s.To))
				_, row := l.of1(text)
				require.Equal(t, row, m.edges[s.Edge], "the row of %q", text)
			}
		}
	}
}

func shortcutRows(g *Graph) map[string]uint32 {
	if g.shortcuts == nil {
		return nil
	}
	return g.shortcuts.rows
}

func TestAfterAnyChangesEachTextHasItsVector(t *testing.T) {
	hash := testHash(t)
	rapid.Check(t, func(t *rapid.T) {
		l := newLettered(rapid.Bool().Draw(t, "all texts have vectors"))
		for _, name := range []string{"Bob", "knows", "Bob knows Alice", "Alice likes Bob", " boss Bob", "born in", "Bob born in Alice"} {
			if rapid.Bool().Draw(t, name) {
				l.told[name] = true
			}
		}
		way := rapid.SampledFrom(relevance.Ways).Draw(t, "way")
		m := model{edges: someEdges.Draw(t, "edges"), names: rapid.MapOf(someUID, someName).Draw(t, "names")}
		g := m.build(hash)
		g.model = g.modelled(&modelled{way: way}, l.rowsOf)
		l.sameAs(t, g)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			c := Change{Edges: map[graph.Triplet]Fact{}, Names: map[graph.UID]string{}}
			for _, triplet := range rapid.SliceOf(someTriplet).Draw(t, "set") {
				f := Fact{Score: 100, Here: rapid.IntRange(0, 3).Draw(t, "deleted") > 0}
				if triplet.Predicate == graph.ShortcutPredicate {
					f.Label = someCall.Draw(t, "called")
				}
				c.Edges[triplet] = f
			}
			maps.Copy(c.Names, rapid.MapOf(someUID, someName).Draw(t, "renamed"))
			if rapid.IntRange(0, 4).Draw(t, "labelled") == 0 {
				c.Labels = map[string]string{"knows": rapid.SampledFrom([]string{"knows", "is a friend of"}).Draw(t, "label")}
			}
			g = g.with(c, hash, l.rowsOf)
			l.sameAs(t, g)
		}
		q := hash.Ask("who is bob's friend")
		q.Model = letters("who is bob's friend")
		sr := g.Relevance(q)
		for n := range search.Node(g.Nodes()) {
			for _, s := range g.Steps(n) {
				got := sr.Sr(uint32(n), uint32(s.Rel), uint32(s.To), s.Edge)
				require.LessOrEqual(t, got, min(sr.Bound(uint32(n), uint32(s.Rel)), sr.BoundFrom(uint32(n)), sr.BoundOf(uint32(s.Rel)), sr.Max()))
			}
		}
	})
}

func TestANewEdgeOfACorrectionCountsByItsHashedWords(t *testing.T) {
	hash := testHash(t)
	m := model{
		edges: map[graph.Triplet]float64{{Head: 1, Predicate: "knows", Object: 2}: 100},
		names: map[graph.UID]string{1: "Bob", 2: "Alice"},
	}
	g := m.build(hash)
	l := newLettered(true)
	g.model = g.modelled(&modelled{way: relevance.ByTriplet}, l.rowsOf)
	fresh := graph.Triplet{Head: 2, Predicate: "knows", Object: 1}
	c := g.Corrected(map[graph.Triplet]Fact{fresh: {Here: true, Score: 100}})
	q := hash.Ask("who knows bob")
	hashed := g.Relevance(q)
	q.Model = letters("who knows bob")
	sr := c.Relevance(q)
	from, ok := c.Node(2)
	require.True(t, ok)
	step, ok := c.find(from, 2*search.Rel(slices.IndexFunc(g.predicates, func(p predicate) bool { return p.name == "knows" })), 0)
	require.True(t, ok)
	require.Equal(t, 1, int(step.Edge))
	require.Equal(t, hashed.Sr(uint32(from), uint32(step.Rel), 0, 1), sr.Sr(uint32(from), uint32(step.Rel), 0, 1))
	require.NotEqual(t, hashed.Sr(0, uint32(step.Rel), 1, 0), sr.Sr(0, uint32(step.Rel), 1, 0), "the edge that was there has its vector")
}

func TestTheNearestNodesAreThoseOfEveryComparison(t *testing.T) {
	hash := testHash(t)
	rapid.Check(t, func(t *rapid.T) {
		m := model{names: rapid.MapOf(someUID, rapid.StringMatching(`[a-f]{0,4}`)).Draw(t, "names")}
		g := m.build(hash)
		l := newLettered(true)
		g.model = g.modelled(&modelled{way: relevance.ByHash}, l.rowsOf)
		x := letters(rapid.StringMatching(`[a-f]{1,6}`).Draw(t, "question"))
		n, least := rapid.IntRange(0, 5).Draw(t, "n"), rapid.Float64Range(0, 1).Draw(t, "least")
		type near struct {
			uid graph.UID
			cos float64
		}
		var want []near
		for uid, name := range m.names {
			if name != "" {
				if cos := letters(name).Cosine(x); cos >= least {
					want = append(want, near{uid, cos})
				}
			}
		}
		slices.SortFunc(want, func(a, b near) int {
			switch {
			case a.cos > b.cos || a.cos == b.cos && a.uid < b.uid:
				return -1
			}
			return 1
		})
		nodes, cosines := g.Nearest(x, n, least)
		require.Len(t, nodes, min(n, len(want)))
		for i := range nodes {
			require.Equal(t, want[i].uid, g.UID(nodes[i]))
			require.Equal(t, want[i].cos, cosines[i])
		}
	})
	nodes, _ := (&Graph{}).Nearest(letters("a"), 3, 0)
	require.Empty(t, nodes, "without vectors there is nothing near")
}

func TestVectorsThatCantBeReadLeaveHashedWords(t *testing.T) {
	hash := testHash(t)
	g := model{names: map[graph.UID]string{1: "Bob"}}.build(hash)
	l := newLettered(false)
	l.fail = errors.New("the disk is gone")
	k := &keeper{Cache: New(Options{Vectors: l, Way: relevance.ByComposed, Embedder: hash, Now: time.Now, Log: slog.New(slog.DiscardHandler)})}
	k.embed(g, nil)
	q := hash.Ask("who is bob")
	hashed := g.Relevance(q).Max()
	q.Model = letters("who is bob")
	require.Equal(t, hashed, g.Relevance(q).Max())
	require.False(t, math.IsNaN(hashed))
}

// With a real engine: vectors that come while the cache runs are taken in.
func TestVectorsThatComeLaterAreTakenIn(t *testing.T) {
	cluster := newCluster(t)
	cluster.Mutate(t, fmt.Sprintf("<%s> <knows> <%s> .", cluster.uids[0], cluster.uids[1]))
	l := newLettered(false)
	cache := cluster.start(t, Options{Refresh: time.Hour, Vectors: l, Way: relevance.ByTriplet})
	var g *Graph
	require.Eventually(t, func() bool { var ok bool; g, ok = cache.Graph(0); return ok }, time.Minute, 10*time.Millisecond)
	l.sameAs(t, g)
	texts, err := Texts(t.Context(), cluster.client, []string{"name"}, true, func(int) {})
	require.NoError(t, err)
	require.Contains(t, texts, "knows")
	require.True(t, slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, " knows node ") }))
	l.tell(texts...)
	require.Eventually(t, func() bool {
		g, ok := cache.Graph(0)
		return ok && g.Edges() == 1 && !slices.Contains(g.model.relations, relevance.NoRow) && len(g.model.edges) == g.scored && !slices.Contains(g.model.edges, relevance.NoRow)
	}, time.Minute, 10*time.Millisecond)
	g, _ = cache.Graph(0)
	l.sameAs(t, g)
}
