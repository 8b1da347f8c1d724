package rank_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/rank"
)

// golden is the worked example of docs/METHOD.md.
var golden = struct {
	sr, sc []float64
	paths  [][]int
	p      []float64
}{
	sr:    []float64{.8, .6, .9, .5},
	sc:    []float64{.5, .5, .7, .3},
	paths: [][]int{{0, 1}, {0, 2}, {3}, {0, 2, 3}},
	p:     []float64{.258666327, .311963329, .173046120, .256324224},
}

func TestTheGoldenCaseGivesItsProbabilities(t *testing.T) {
	var z []float64
	for _, path := range golden.paths {
		var ps []float64
		for _, i := range path {
			ps = append(ps, rank.P(rank.DefaultAlpha, golden.sr[i], golden.sc[i]))
		}
		z = append(z, rank.Z(ps, 0))
	}
	require.InDeltaSlice(t, golden.p, rank.Softmax(nil, z), 5e-10)
}

func TestPIsTheClampedHybrid(t *testing.T) {
	for _, c := range []struct {
		name          string
		alpha, sr, sc float64
		want          float64
	}{
		{"halves meet in the middle", .5, .8, .4, .6},
		{"alpha 0.1 listens to relevance", .1, 1, 0, .9},
		{"alpha 0.9 listens to contribution", .9, 1, 0, .1},
		{"nothing relevant and nothing learned is kept above zero", 1, .5, 0, rank.Epsilon},
		{"above one is one", .5, 1.5, 1, 1},
		{"NaN is the least score", .5, math.NaN(), 1, rank.Epsilon},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.InDelta(t, c.want, rank.P(c.alpha, c.sr, c.sc), 1e-15)
		})
	}
}

func TestZIsTheMeanLogarithm(t *testing.T) {
	require.InDelta(t, math.Log(.5), rank.Z([]float64{.5, .5, .5}, 0), 1e-15)
	require.InDelta(t, math.Log(.5)+.25, rank.Z([]float64{1, .25}, .25), 1e-15)
	require.Equal(t, math.Inf(-1), rank.Z(nil, 0))
}

func TestOrder(t *testing.T) {
	want := []rank.Key{{-.1, .1, 3}, {-.2, .9, 2}, {-.2, .5, 1}, {-.2, .5, 2}}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, rank.Compare)
	require.Equal(t, want, got, "z, then mean Sc, then fewer hops")
	require.Zero(t, rank.Compare(want[3], want[3]))
}

func TestSoftmaxIsAShareAndSurvivesExtremes(t *testing.T) {
	require.Equal(t, []float64{.5, .5}, rank.Softmax(nil, []float64{-1e4, -1e4}))
	require.Empty(t, rank.Softmax(nil, nil))
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.SliceOfN(rapid.Float64Range(-700, 700), 1, 30).Draw(t, "z")
		p := rank.Softmax(nil, z)
		var sum float64
		for i := range p {
			sum += p[i]
			for j := range p {
				if z[i] > z[j] && p[i] < p[j] {
					t.Fatalf("z %v > %v but p %v < %v", z[i], z[j], p[i], p[j])
				}
			}
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("shares sum to %v", sum)
		}
	})
}

func TestThePartsSumToZ(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alpha := rapid.Float64Range(rank.MinAlpha, rank.MaxAlpha).Draw(t, "alpha")
		bias := rapid.Float64Range(-1, 1).Draw(t, "bias")
		path := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) rank.Term {
			return rank.Term{
				Sr:       rapid.Float64Range(1e-3, 1).Draw(t, "Sr"),
				Sc:       rapid.Float64Range(0, 1).Draw(t, "Sc"),
				Question: rapid.Float64Range(-1, 1).Draw(t, "question"),
			}
		}), 1, 6).Draw(t, "path")
		var ps []float64
		for _, term := range path {
			ps = append(ps, term.P(alpha))
		}
		var sum float64
		for _, part := range rank.Explain(alpha, path, bias) {
			sum += part.Value
		}
		if z := rank.Z(ps, bias); math.Abs(sum-z) > 1e-12*max(1, math.Abs(z)) {
			t.Fatalf("parts sum to %v, z is %v", sum, z)
		}
	})
}

func TestAnUntouchedPathIsExplainedByRelevanceAlone(t *testing.T) {
	parts := rank.Explain(.5, []rank.Term{{Sr: .8, Sc: rank.NeutralSc}}, 0)
	require.Equal(t, rank.Part{Name: "relevance", Value: math.Log(.65)}, parts[0])
	for _, p := range parts[1:] {
		require.Zero(t, p.Value, p.Name)
	}
	require.Nil(t, rank.Explain(.5, nil, 0))
}

func TestRetainKeepsTheBestGroups(t *testing.T) {
	group := []int{7, 8, 7, 9, 7, 8}
	got := rank.Retain([]int{4, 1, 0, 3, 2, 5}, func(c int) int { return group[c] }, 2, 2)
	require.Equal(t, []rank.Bundle{
		{Members: []int{4, 0}, Total: 3},
		{Members: []int{1, 5}, Total: 2},
	}, got)
}
