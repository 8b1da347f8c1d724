package rank_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/rank"
)

func TestASumGivesTheKeyOfItsPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 6).Draw(t, "hops")
		numbers := rapid.SliceOfN(rapid.Float64Range(rank.Epsilon, 1), n, n)
		p, sc := numbers.Draw(t, "p"), numbers.Draw(t, "sc")
		bias := rapid.Float64Range(-1, 1).Draw(t, "bias")
		var sum rank.Sum
		var meanSc float64
		for i := range p {
			sum = sum.Add(p[i], sc[i])
			meanSc += sc[i]
		}
		meanSc /= max(1, float64(n))
		if got, want := sum.Key(bias), (rank.Key{Z: rank.Z(p, bias), MeanSc: meanSc, Hops: n}); got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}
