package evolve_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// touched is what feedback has touched of a graph with that many triplets: every fourth node
// has few edges, some hundred have many, scores are spread as after some weeks of ratings.
func touched(n int) evolve.Snapshot {
	r := rand.New(rand.NewPCG(1, 2))
	s := evolve.Snapshot{Inverse: map[string]bool{"p0": true, "p1": true, "p2": true}}
	seen := map[graph.Triplet]bool{}
	for len(s.Edges) < n {
		node := func() graph.UID {
			if r.IntN(10) == 0 {
				return graph.UID(1 + r.IntN(100))
			}
			return graph.UID(1 + r.IntN(n))
		}
		e := evolve.Edge{Triplet: graph.Triplet{Head: node(), Predicate: fmt.Sprintf("p%d", r.IntN(9)), Object: node()}}
		if seen[e.Triplet] {
			continue
		}
		seen[e.Triplet] = true
		e.Score = max(0, min(200, 100+30*r.NormFloat64()))
		e.Updates = 1 + r.IntN(5)
		s.Edges = append(s.Edges, e)
	}
	return s
}

// BenchmarkPropose grows with what feedback has touched; the size of the graph is no part of it.
func BenchmarkPropose(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 30_000, 100_000} {
		s := touched(n)
		r := evolve.DefaultRules()
		r.MaxShortcuts = 5_000
		b.Run(fmt.Sprintf("touched=%d", n), func(b *testing.B) {
			var p evolve.Proposal
			for b.Loop() {
				var err error
				p, err = evolve.Propose(s, r, "run")
				require.NoError(b, err)
			}
			b.ReportMetric(float64(len(p.Build(nil).Shortcuts)), "shortcuts")
			b.ReportMetric(float64(len(p.Changes)), "changes")
		})
	}
}
