package bench_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/sidecar/internal/bench"
)

// BenchmarkGradient scores paths of two hops and takes the exact gradient.
func BenchmarkGradient(b *testing.B) {
	for _, n := range []struct {
		paths int
		bar   float64 // ms
	}{{1_000, .2}, {100_000, 20}} {
		b.Run(fmt.Sprintf("paths=%d", n.paths), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			problem, calculus := new(credit.Problem), new(credit.Calculus)
			problem.Reset(.5, .2)
			for range n.paths / 2 {
				problem.AddTriplet(.2+.8*random.Float64(), random.Float64())
			}
			for range n.paths {
				problem.AddPath(2*random.Float64()-1, int32(random.IntN(n.paths/2)), int32(random.IntN(n.paths/2)))
			}
			gradient := func() {
				if _, err := calculus.Gradient(problem); err != nil {
					b.Fatal(err)
				}
			}
			require.Zero(b, testing.AllocsPerRun(3, gradient), "allocations after warm-up")
			for b.Loop() {
				gradient()
			}
			require.NoError(b, bench.Record(bench.Row{
				Name: fmt.Sprintf("scoring and gradient, %d paths", n.paths), Unit: "ms",
				Measured: b.Elapsed().Seconds() * 1e3 / float64(b.N), Bar: bench.Bar{Most: n.bar},
			}))
		})
	}
}
