package proxy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

func TestStartNodesOfTheBestResultsStandFirst(t *testing.T) {
	of := func(u graph.UID) graph.Result { return graph.Result{Start: graph.Node{UID: u}} }
	require.Equal(t, []graph.UID{4, 2, 1, 3}, inRankOrder([]graph.UID{1, 2, 3, 4}, []graph.Result{of(4), of(2), of(4)}))
}

func TestManyStartNodesAreOrderedInProportionalTime(t *testing.T) {
	starts := make([]graph.UID, 200_000)
	for i := range starts {
		starts[i] = graph.UID(i)
	}
	began := time.Now()
	require.Equal(t, starts, inRankOrder(starts, nil))
	require.Less(t, time.Since(began), 2*time.Second)
}
