package search_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/search"
)

// table is Relevance and Contribution as plain numbers.
type table struct{ sr, sc []float64 }

func (t table) Sr(_, _, _, edge uint32) float64 { return t.sr[edge] }
func (t table) Bound(_, relation uint32) float64 {
	return max(t.sr[2*relation], t.sr[2*relation+1])
}
func (t table) BoundFrom(uint32) float64 { return t.Max() }
func (t table) Max() float64             { return slices.Max(t.sr) }
func (t table) Sc(edge uint32) float64   { return t.sc[edge] }
func (t table) MaxSc(r search.Rel) float64 {
	return max(t.sc[2*r], t.sc[2*r+1])
}

func (t table) BoundOf(relation uint32) float64 { return t.Bound(0, relation) }
func (t table) Pull(relation uint32) float64    { return t.Bound(0, relation) }
func (t table) Srs(dst []float64, _, _ uint32, _, edge []uint32) {
	for i, e := range edge {
		dst[i] = t.sr[e]
	}
}
func (t table) Scs(dst []float64, edges []uint32) {
	for i, e := range edges {
		dst[i] = t.sc[e]
	}
}

// local is a table in which a node has the relations of a set.
type local struct {
	table
	at []search.Buckets
}

func (l local) At(n search.Node) (search.Buckets, float64) {
	var most float64
	for e, sc := range l.sc {
		if l.at[n]&search.BucketOf(search.Rel(e/2)) != 0 {
			most = max(most, sc)
		}
	}
	return l.at[n], most
}

// falling is a table whose edges are listed by falling Sc.
type falling struct{ table }

func (falling) FallingSc() {}

func TestHybridBoundsTheRestOfARelation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SliceOfN(rapid.Float64Range(0, 1), 8, 8)
		known := table{sr: unit.Draw(t, "Sr"), sc: unit.Draw(t, "Sc")}
		slices.SortFunc(known.sc[:2], func(a, b float64) int { return cmp.Compare(b, a) })
		question := rapid.SliceOfN(rapid.Float64Range(-1, 1), 0, 1).Draw(t, "question")
		for _, c := range []search.Contribution{known, falling{known}} {
			h := search.NewHybrid(rapid.Float64Range(0, 1).Draw(t, "alpha"), known, c, 4, question)
			for first := range uint32(2) {
				bound := h.BoundRest(0, search.Step{Edge: first})
				if bound > h.Bound(0, 0) {
					t.Fatalf("bound of the rest %v, of all %v", bound, h.Bound(0, 0))
				}
				for edge := first; edge < 2; edge++ {
					if p, _ := h.Score(0, search.Step{Edge: edge}); p > bound {
						t.Fatalf("P of %d %v, bound from %d on %v", edge, p, first, bound)
					}
				}
			}
		}
	})
}

func TestHybridIsEquationTwo(t *testing.T) {
	known := table{sr: []float64{.8, .6, .9, .5}, sc: []float64{.5, .5, .7, .3}}
	h := search.NewHybrid(.5, known, known, 2, nil)
	p, sc := h.Score(0, search.Step{Edge: 2})
	require.InDelta(t, .8, p, 1e-15)
	require.Equal(t, .7, sc)
	asked := search.NewHybrid(.5, known, known, 2, []float64{0, .9})
	p, sc = asked.Score(0, search.Step{Rel: 1, Edge: 2})
	require.InDelta(t, .95, p, 1e-15, "the question lifts Sc to 1 and not beyond")
	require.Equal(t, .7, sc, "the triplet's own contribution decides ties")
}

func TestHybridBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SliceOfN(rapid.Float64Range(0, 1), 4, 4)
		known := table{sr: unit.Draw(t, "Sr"), sc: unit.Draw(t, "Sc")}
		question := rapid.SliceOfN(rapid.Float64Range(-1, 1), 0, 2).Draw(t, "question")
		h := search.NewHybrid(rapid.Float64Range(0, 1).Draw(t, "alpha"), known, known, 2, question)
		for edge := range uint32(4) {
			rel := search.Rel(edge / 2)
			p, _ := h.Score(0, search.Step{Rel: rel, Edge: edge})
			if bound, from := h.Bound(0, rel), h.BoundFrom(0); p > bound || bound > from || from > h.Max() {
				t.Fatalf("P %v, bound %v, from the node %v, max %v", p, bound, from, h.Max())
			}
		}
	})
}

func TestHybridBoundsANodeByWhatMeetsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SliceOfN(rapid.Float64Range(0, 1), 8, 8)
		known := local{table: table{sr: unit.Draw(t, "Sr"), sc: unit.Draw(t, "Sc")}}
		sets := rapid.SampledFrom([]search.Buckets{0, search.BucketOf(0), search.BucketOf(2), search.BucketOf(1) | search.BucketOf(3)})
		known.at = rapid.SliceOfN(sets, 3, 3).Draw(t, "relations of nodes")
		question := rapid.SliceOfN(rapid.Float64Range(-1, 1), 0, 4).Draw(t, "question")
		h := search.NewHybrid(rapid.Float64Range(0, 1).Draw(t, "alpha"), known, known, 4, question)
		for n := range search.Node(3) {
			for edge := range uint32(8) {
				rel := search.Rel(edge / 2)
				if known.at[n]&search.BucketOf(rel) == 0 {
					continue
				}
				p, _ := h.Score(n, search.Step{Rel: rel, Edge: edge})
				bound, from, of := h.Bound(n, rel), h.BoundFrom(n), h.BoundOf(rel)
				if p > min(bound, from, of) || max(from, of) > h.Max() {
					t.Fatalf("P %v, bound %v, from the node %v, of the relation %v, max %v", p, bound, from, of, h.Max())
				}
			}
		}
	})
}

func TestHybridScoresAGroupAsItsSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SliceOfN(rapid.Float64Range(0, 1), 4, 4)
		known := table{sr: unit.Draw(t, "Sr"), sc: unit.Draw(t, "Sc")}
		h := search.NewHybrid(rapid.Float64Range(0, 1).Draw(t, "alpha"), known, known, 2, []float64{.1, -.3})
		for r := range search.Rel(2) {
			c := &search.Columns{To: []uint32{0, 0, 0, 0}, Edge: []uint32{0, 1, 2, 3}, P: make([]float64, 4), Sc: make([]float64, 4)}
			h.ScoreGroup(0, r, c)
			for i, edge := range c.Edge {
				if p, sc := h.Score(0, search.Step{Rel: r, Edge: edge}); p != c.P[i] || sc != c.Sc[i] {
					t.Fatalf("alone %v %v, in the group %v %v", p, sc, c.P[i], c.Sc[i])
				}
			}
		}
	})
}
