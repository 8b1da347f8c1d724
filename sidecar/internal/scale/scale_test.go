package scale_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/scale"
)

func TestTheSameOptionsGiveTheSameGraph(t *testing.T) {
	write := func(seed uint64) string {
		g, err := scale.New(scale.Options{Nodes: 100, Edges: 500, Predicates: 7, Scored: .3, Hub: 50, Seed: seed})
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, g.WriteSchema(&b))
		require.NoError(t, g.WriteRDF(&b))
		require.NoError(t, g.WriteTSV(&b))
		return b.String()
	}
	require.Equal(t, write(1), write(1))
	require.NotEqual(t, write(1), write(2))
}

func TestTheGraphIsAsAskedFor(t *testing.T) {
	g, err := scale.New(scale.Options{Nodes: 2000, Edges: 10_000, Predicates: 20, Scored: .25, Hub: 3000})
	require.NoError(t, err)
	edges, scored := 0, 0
	in := make([]int, 2000)
	predicates := map[int]bool{}
	for e := range g.Each {
		edges++
		in[e.Object]++
		predicates[e.Predicate] = true
		if e.Scored {
			scored++
			require.GreaterOrEqual(t, e.Score, 0.0)
			require.LessOrEqual(t, e.Score, 200.0)
		}
	}
	require.Equal(t, 10_000, edges)
	require.InDelta(t, 2500, scored, 200)
	require.Len(t, predicates, 20)
	require.GreaterOrEqual(t, in[0], 3000)
	require.Greater(t, in[1], 20*in[1000]+20, "a power law")

	names := map[string]bool{}
	for i := range 2000 {
		names[g.Name(i)] = true
	}
	require.Len(t, names, 2000)
	var tsv bytes.Buffer
	require.NoError(t, g.WriteTSV(&tsv))
	require.Equal(t, 10_000, strings.Count(tsv.String(), "\n"))
}

func TestOptionsThatMakeNoGraphAreNamed(t *testing.T) {
	for want, o := range map[string]scale.Options{
		"nodes is 1; write 2 or more":                 {Nodes: 1, Predicates: 1},
		"edges is -1; write 0 or more":                {Nodes: 2, Predicates: 1, Edges: -1},
		"predicates is 0; write 1 or more":            {Nodes: 2},
		"scored is 2; write a share from 0 to 1":      {Nodes: 2, Predicates: 1, Scored: 2},
		"hub is 9; write a number from 0 to edges, 3": {Nodes: 2, Predicates: 1, Edges: 3, Hub: 9},
	} {
		_, err := scale.New(o)
		require.EqualError(t, err, want)
	}
}
