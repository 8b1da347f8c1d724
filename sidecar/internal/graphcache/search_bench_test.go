package graphcache

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
	"github.com/evorag/dgraph-evorag/sidecar/internal/bench"
	"github.com/evorag/dgraph-evorag/sidecar/internal/scale"
)

// generated is a graph of the generator's in memory, without an engine.
func generated(tb testing.TB, edges int) (*scale.Graph, *Graph) {
	tb.Helper()
	g, err := scale.New(scale.Options{Nodes: max(10, edges/5), Edges: edges, Predicates: 100, Scored: .3, Hub: edges / 10, Seed: 1})
	require.NoError(tb, err)
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(tb, err)
	schema := graph.Schema{Predicates: map[string]graph.PredicateSchema{"name": {Name: "name", Type: "string"}}}
	for p := range g.Predicates {
		name := g.Predicate(p)
		schema.Predicates[name] = graph.PredicateSchema{Name: name, Type: "uid", List: true, Reverse: true}
	}
	b := newBuilder(schema, []string{"name"}, nil, hash, 1<<40)
	id := map[string]uint32{}
	for i, p := range b.predicates {
		id[p.name] = uint32(i)
	}
	seen := map[[3]int]bool{}
	for e := range g.Each {
		if key := [3]int{e.Head, e.Predicate, e.Object}; !seen[key] {
			seen[key] = true
			c := graph.Neutral()
			if e.Scored {
				c.Score = e.Score
			}
			b.edge(id[g.Predicate(e.Predicate)], graph.UID(e.Head+1), graph.UID(e.Object+1), c, "")
		}
	}
	for i := range g.Nodes {
		b.name(graph.UID(i+1), g.Name(i))
	}
	return g, b.done(time.Unix(1, 0))
}

// BenchmarkResident measures the memory of 1,000,000 triplets among 200,000 entities with the
// hashed vectors of their names: what the heap holds, and what the graph says of itself.
func BenchmarkResident(b *testing.B) {
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		_, g := generated(b, 1_000_000)
		runtime.GC()
		runtime.ReadMemStats(&after)
		held := float64(after.HeapAlloc) - float64(before.HeapAlloc)
		b.ReportMetric(held/1e6, "heap-MB")
		b.ReportMetric(float64(g.Bytes())/1e6, "told-MB")
		row := bench.Row{Name: "memory held for 1000000 triplets, vectors of names hashed", Unit: "MB", Measured: held / 1e6, Bar: bench.Bar{Most: 1074}}
		require.NoError(b, bench.Record(row))
		runtime.KeepAlive(g)
	}
}

// BenchmarkSearch is what a search costs in memory: ten start nodes, two hops, ten bundles of
// twenty paths each, the question's products with all names included.
func BenchmarkSearch(b *testing.B) {
	const edges = 1_000_000
	g, in := generated(b, edges)
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(b, err)
	b.Logf("%.0f MB", float64(in.Bytes())/1e6)
	for _, with := range []struct {
		name string
		hub  bool
	}{{"start=any", false}, {"start=hub", true}} {
		b.Run(with.name, func(b *testing.B) {
			random := rand.New(rand.NewPCG(0, 3))
			var took []time.Duration
			var work search.Work
			partial := 0
			b.ReportAllocs()
			for b.Loop() {
				starts := make([]search.Node, 10)
				for i := range starts {
					u := graph.UID(random.IntN(g.Nodes) + 1)
					if with.hub && i == 0 {
						u = 1
					}
					starts[i], _ = in.Node(u)
				}
				began := time.Now()
				relevance := in.Relevance(hash.Ask("which castle garden is north of the river"))
				scorer := search.NewHybrid(.5, relevance, in, in.Relations(), nil)
				hubs := &search.Hubs{}
				var wait sync.WaitGroup
				results := make([]search.Result, len(starts))
				for i, start := range starts {
					wait.Go(func() {
						results[i], _ = search.Top(context.Background(), in, scorer, search.Query{
							Start: start, Hops: 2, Paths: 10, Instances: 20, Rule: search.Maximal, Hubs: hubs,
							Budget: search.Budget{Edges: 2_000_000, Expansions: 1_000_000},
						})
					})
				}
				wait.Wait()
				took = append(took, time.Since(began))
				for _, r := range results {
					work.Edges += r.Work.Edges
					work.Expansions += r.Work.Expansions
					if r.Partial {
						partial++
					}
				}
			}
			n := float64(len(took))
			slices.Sort(took)
			b.ReportMetric(float64(work.Expansions)/n, "expansions/op")
			b.ReportMetric(float64(work.Edges)/n, "edges/op")
			b.ReportMetric(float64(partial)/n, "partial/op")
			b.ReportMetric(float64(took[len(took)/2])/1e6, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100])/1e6, "p99-ms")
		})
	}
}
