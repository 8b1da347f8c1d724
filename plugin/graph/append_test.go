package graph_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

func TestARetrievalIsAppendedAsEncodingJSONWritesIt(t *testing.T) {
	for _, f := range []float64{0, math.Copysign(0, -1), 1e-7, 1e21, -2.5, math.MaxFloat64, .1} {
		same(t, graph.Retrieval{Alpha: f, Results: []graph.Result{{Z: f, Bias: f, Instances: []graph.Instance{{Z: f, Triplets: []graph.ScoredTriplet{{Asked: f, P: f}}}}}}})
	}
	for _, s := range []string{"", "plain", `"quoted" \ back`, "<b>&</b>", "München 北京\u2028", "\x00\x1f\x7f", "\xff"} {
		same(t, graph.Retrieval{ID: s, Question: s, Context: s, Reason: s, Results: []graph.Result{{Block: s, Metapath: []string{s}, Start: graph.Node{Name: s}}}})
	}
	rapid.Check(t, func(t *rapid.T) { same(t, rapid.Make[graph.Retrieval]().Draw(t, "retrieval")) })
}

func same(t require.TestingT, r graph.Retrieval) {
	want, wantErr := json.Marshal(r)
	got, err := r.AppendJSON([]byte("before"))
	if wantErr != nil {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	require.Equal(t, "before"+string(want), string(got))
}
