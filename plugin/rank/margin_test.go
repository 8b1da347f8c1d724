package rank_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/rank"
)

// one is a result of one hop, of start node u, as the search gives it.
func one(u graph.UID, sr, sc, asked, bias float64) graph.Result {
	z := rank.Z([]float64{rank.P(rank.DefaultAlpha, sr, rank.Shifted(sc, asked))}, bias)
	return graph.Result{
		Start: graph.Node{UID: u}, Z: z, Bias: bias,
		Instances: []graph.Instance{{Z: z, Triplets: []graph.ScoredTriplet{{Sr: sr, Sc: sc, Asked: asked}}}},
	}
}

func TestWhatFeedbackPutFarBehindIsLeftOut(t *testing.T) {
	best := one(1, .7, .5, .3, 0)
	for name, c := range map[string]struct {
		margin rank.Margin
		other  graph.Result
		left   int
	}{
		"far behind, and taught so by the question's relation": {rank.DefaultMargin, one(1, .6, .5, 0, 0), 1},
		"far behind, and taught so by its own score":           {rank.DefaultMargin, one(1, .7, .2, .3, 0), 1},
		"far behind, by its hop count alone":                   {rank.DefaultMargin, one(1, .7, .5, .3, -.25), 0},
		"far behind, by its relevance alone":                   {rank.DefaultMargin, one(1, .1, .5, .3, 0), 0},
		"taught so, but hardly behind":                         {rank.DefaultMargin, one(1, 1, .5, .1, 0), 0},
		"of another start node":                                {rank.DefaultMargin, one(2, .6, .5, 0, 0), 0},
		"nothing is left out with a margin of 0":               {0, one(1, .1, 0, 0, -1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			kept, beyond := c.margin.Within(rank.DefaultAlpha, []graph.Result{best, c.other})
			require.Len(t, beyond, c.left)
			require.Len(t, kept, 2-c.left)
			require.Equal(t, best, kept[0])
		})
	}
}

func TestBeforeAnyFeedbackNothingIsLeftOut(t *testing.T) {
	var all []graph.Result
	for _, sr := range []float64{1, .9, .5, .2, .01, 1e-9} {
		all = append(all, one(1, sr, rank.NeutralSc, 0, 0))
	}
	kept, beyond := rank.Margin(rank.DefaultMargin).Within(rank.DefaultAlpha, all)
	require.Empty(t, beyond)
	require.Len(t, kept, 6)
	kept, beyond = rank.Margin(rank.DefaultMargin).Within(rank.DefaultAlpha, nil)
	require.Empty(t, beyond)
	require.Empty(t, kept)
}
