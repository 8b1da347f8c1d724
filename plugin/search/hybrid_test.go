package search_test

import (
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
func (t table) Max() float64             { return max(t.Bound(0, 0), t.Bound(0, 1)) }
func (t table) Sc(edge uint32) float64   { return t.sc[edge] }
func (t table) MaxSc(r search.Rel) float64 {
	return max(t.sc[2*r], t.sc[2*r+1])
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
