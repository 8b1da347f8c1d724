package proxy

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestChainsAreSortedByZAsIfCompared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.SliceOf(rapid.OneOf(
			rapid.SampledFrom([]float64{0, math.Copysign(0, -1), -1, 1, math.Inf(-1), math.Inf(1), -13.8, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64}),
			rapid.Float64Range(-20, 2),
		)).Draw(t, "z")
		keys, want := make([]sortKey, len(z)), make([]int32, len(z))
		for i := range z {
			keys[i], want[i] = keyOf(z[i], i), int32(i)
		}
		later := func(x, y int32) int { return cmp.Compare(y, x) }
		slices.SortFunc(want, func(x, y int32) int { return cmp.Or(cmp.Compare(z[y], z[x]), later(x, y)) })
		got := []int32{}
		for _, k := range sortByZ(keys, make([]sortKey, len(z)), new(digits), later) {
			got = append(got, k.at)
		}
		require.Equal(t, want, got)
	})
}
