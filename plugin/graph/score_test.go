package graph_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

func TestAKeptScoreIsReadBackFromSixDecimals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.Float64Range(0, graph.MaxScore).Draw(t, "raw")
		kept := graph.RoundScore(raw)
		back, err := strconv.ParseFloat(strconv.FormatFloat(kept, 'f', 6, 64), 64)
		require.NoError(t, err)
		require.Equal(t, kept, back)
		require.InDelta(t, raw, kept, 5.1e-7)
		require.Equal(t, kept, graph.RoundScore(kept))
		require.LessOrEqual(t, kept, graph.MaxScore)
	})
}
