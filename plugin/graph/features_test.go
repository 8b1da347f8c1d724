package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

func TestFeaturesReadBackEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := graph.Features{Index: rapid.SliceOfN(rapid.Uint16(), 1, 90).Draw(t, "index")}
		f.Weight = rapid.SliceOfN(rapid.Float32(), len(f.Index), len(f.Index)).Draw(t, "weight")
		text, err := f.MarshalText()
		require.NoError(t, err)
		var back graph.Features
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, f, back)
	})
	require.Error(t, new(graph.Features).UnmarshalText([]byte("AAA=")))
}
