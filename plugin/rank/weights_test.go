package rank_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/rank"
)

func TestWeightsAreAddedAlongTheQuestion(t *testing.T) {
	x := graph.Features{Index: []uint16{3, 7}, Weight: []float32{.6, .8}}
	other := graph.Features{Index: []uint16{7}, Weight: []float32{1}}
	knows, two := rank.WeightOf{Relation: "~knows"}, rank.WeightOf{Hops: 2}
	var none *rank.Weights
	require.Zero(t, none.Term(knows, x))
	require.Nil(t, none.Bias(x, 3))
	w := none.With("t", []rank.Change{{Of: knows, Delta: 10, X: x}, {Of: two, Delta: -4, X: x}})
	require.InDelta(t, 10/graph.MaxScore, w.Term(knows, x), 1e-7, "x has unit length: its product moves by the whole step")
	require.InDelta(t, 8/graph.MaxScore, w.Term(knows, other), 1e-7, "another question has its share")
	bias := w.Bias(x, 3)
	require.Len(t, bias, 4)
	require.InDelta(t, -4/graph.MaxScore, bias[2], 1e-7)
	require.Zero(t, bias[1]+bias[3])

	back := w.With("t", []rank.Change{{Of: knows, Delta: -10, X: x}})
	require.Zero(t, back.Term(knows, x), "a step taken back leaves nothing")
	require.InDelta(t, 10/graph.MaxScore, w.Term(knows, x), 1e-7, "what others hold stays as it is")
	require.Equal(t, []rank.WeightOf{two, knows}, w.Of())
}
