package proxy

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

func TestStartNodesOfTheBestResultsStandFirst(t *testing.T) {
	of := func(u graph.UID) graph.Result { return graph.Result{Start: graph.Node{UID: u}} }
	require.Equal(t, []graph.UID{4, 2, 1, 3}, inRankOrder([]graph.UID{1, 2, 3, 4}, []graph.Result{of(4), of(2), of(4)}))
}

// BenchmarkInRankOrder shows that a start node costs the same among many as among few.
func BenchmarkInRankOrder(b *testing.B) {
	for _, n := range []int{2_000, 200_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			starts := make([]graph.UID, n)
			for i := range starts {
				starts[i] = graph.UID(i)
			}
			for b.Loop() {
				inRankOrder(starts, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/start")
		})
	}
}
