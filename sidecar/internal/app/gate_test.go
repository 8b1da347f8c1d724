package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

func TestAQuestionOfManyStartNodesIsAskedAgainFromThePraisedOnes(t *testing.T) {
	var r graph.Retrieval
	for u := range graph.UID(2 * proxy.MostEntities) {
		r.Results = append(r.Results, graph.Result{Start: graph.Node{UID: u + 1}})
	}
	last := r.Results[len(r.Results)-1].Start.UID
	again := askedAgain(r, []graph.Path{{Start: last}})
	require.Len(t, again.Entities, proxy.MostEntities)
	require.Equal(t, []string{last.String(), "0x1"}, again.Entities[:2])
}
