package search_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// BenchmarkTop searches from ten start nodes, M = 10 each, one question per iteration, its
// vector and products computed anew: the whole of what a ranked query costs in memory.
func BenchmarkTop(b *testing.B) {
	for _, edges := range []int{100_000, 1_000_000} {
		g := zipf(edges)
		for _, hops := range []int{2, 3} {
			for _, single := range []bool{false, true} {
				b.Run(fmt.Sprintf("edges=%d/hops=%d/single=%v", edges, hops, single), func(b *testing.B) {
					random := rand.New(rand.NewPCG(3, 4))
					benchmark(b, g, search.Query{Hops: hops, Paths: 10, Instances: 20, Single: single}, func() (string, []search.Node) {
						starts := make([]search.Node, 10)
						for i := range starts {
							starts[i] = search.Node(random.IntN(len(g.names)))
						}
						return "which castle garden is north of the river in " + g.names[starts[0]], starts
					})
				})
			}
		}
	}
}

// BenchmarkFreebase does the same over a real graph of a million triplets: ten start nodes
// are the topic entities of ten questions in a row.
func BenchmarkFreebase(b *testing.B) {
	g, all := readSet(b, "scale-freebase-1m")
	questions := sample(g, all, 0, len(all))
	for _, hops := range []int{2, 3} {
		b.Run(fmt.Sprintf("hops=%d", hops), func(b *testing.B) {
			next := 0
			benchmark(b, g, search.Query{Hops: hops, Paths: 10, Instances: 20}, func() (string, []search.Node) {
				starts := make([]search.Node, 10)
				for i := range starts {
					starts[i] = g.ids[questions[(next+i)%len(questions)].Topics[0]]
				}
				text := questions[next%len(questions)].Question
				next += len(starts)
				return text, starts
			})
		})
	}
}

func benchmark(b *testing.B, g *resident, q search.Query, next func() (string, []search.Node)) {
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(b, err)
	composed := relevance.NewComposed(relevance.DefaultTemplate, g.entities, g.relations)
	var work search.Work
	partial := 0
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		text, starts := next()
		begun := time.Now()
		composed.Ask(hash.Ask(text))
		scorer := search.NewHybrid(.5, composed, neutral{}, 2*len(g.labels), nil)
		for _, start := range starts {
			q.Start = start
			result, err := search.Top(context.Background(), g, scorer, q)
			if err != nil {
				b.Fatal(err)
			}
			work.Expansions += result.Work.Expansions
			work.Edges += result.Work.Edges
			if result.Partial {
				partial++
			}
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	n := float64(len(took))
	b.ReportMetric(float64(work.Expansions)/n, "expansions/op")
	b.ReportMetric(float64(work.Edges)/n, "edges/op")
	b.ReportMetric(float64(partial)/n, "partial/op")
	b.ReportMetric(float64(took[len(took)/2])/1e6, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100])/1e6, "p99-ms")
}
