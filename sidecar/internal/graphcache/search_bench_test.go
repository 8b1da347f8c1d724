package graphcache

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
	"github.com/evorag/dgraph-evorag/sidecar/internal/bench"
	"github.com/evorag/dgraph-evorag/sidecar/internal/embed"
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

// BenchmarkModelled measures the memory of 1,000,000 triplets among 200,000 entities with a model's
// vectors of 384 dimensions, held as a sidecar holds them: of names and labels (composed), and of
// every triplet too (triplet). It fails where either takes more than 1 GiB.
func BenchmarkModelled(b *testing.B) {
	for _, way := range []relevance.Way{relevance.ByComposed, relevance.ByTriplet} {
		b.Run("way="+string(way), func(b *testing.B) {
			var before, after runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				g, vectors := withVectors(b, 1_000_000, way)
				runtime.GC() // what lies in pools is garbage at the second collection only
				debug.FreeOSMemory()
				runtime.ReadMemStats(&after)
				held := float64(after.HeapAlloc) - float64(before.HeapAlloc)
				n, bytes := vectors.Status()
				require.NotContains(b, g.model.nodes, uint32(relevance.NoRow))
				if way == relevance.ByTriplet {
					require.NotContains(b, g.model.edges, uint32(relevance.NoRow))
				}
				b.ReportMetric(held/1e6, "heap-MB")
				b.ReportMetric(float64(g.Bytes())/1e6, "graph-MB")
				b.ReportMetric(float64(bytes)/1e6, "vectors-MB")
				b.ReportMetric(float64(n), "vectors")
				b.ReportMetric(resident(b), "process-MB")
				row := bench.Row{Name: "memory held for 1000000 triplets, 384-dimensional vectors, " + string(way), Unit: "MB", Measured: held / 1e6, Bar: bench.Bar{Most: 1074}}
				require.NoError(b, bench.Record(row))
				if !row.Met() {
					b.Errorf("%s: the bar is missed", row.Name)
				}
				runtime.KeepAlive(g)
			}
		})
	}
}

// withVectors is generated with random vectors for all of its texts.
func withVectors(tb testing.TB, edges int, way relevance.Way) (*Graph, *embed.Vectors) {
	tb.Helper()
	_, g := generated(tb, edges)
	model := &randomModel{random: rand.New(rand.NewPCG(1, 1))}
	store, err := embed.OpenStore(tb.TempDir(), model.Name())
	require.NoError(tb, err)
	vectors := embed.New(embed.Options{Model: model, Store: store, Memory: 1 << 30, Batch: 50_000, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	var texts []string
	g.modelled(&modelled{way: way}, func(of []string) (relevance.Rows, []uint32) { // what it would look up
		texts = append(texts, of...)
		return relevance.Rows{}, make([]uint32, len(of))
	})
	_, err = vectors.Index(context.Background(), texts, embed.IndexOptions{})
	require.NoError(tb, err)
	g.model = g.modelled(&modelled{way: way}, func(of []string) (relevance.Rows, []uint32) {
		rows, ids, err := vectors.Rows(of)
		require.NoError(tb, err)
		return rows, ids
	})
	return g, vectors
}

// randomModel gives vectors of 384 dimensions.
type randomModel struct{ random *rand.Rand }

func (*randomModel) Name() string { return "random" }

func (m *randomModel) Embed(_ context.Context, texts []string) ([][]float32, int, error) {
	out := make([][]float32, len(texts))
	for i := range out {
		out[i] = make([]float32, 384)
		for d := range out[i] {
			out[i][d] = m.random.Float32() - .4 // a model's vectors lean to one side
		}
	}
	return out, len(texts), nil
}

// resident is the memory that the system counts for this process, in MB; 0 where it doesn't tell.
func resident(tb testing.TB) float64 {
	tb.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if kb, found := strings.CutPrefix(line, "VmRSS:"); found {
			n, err := strconv.Atoi(strings.Fields(kb)[0])
			require.NoError(tb, err)
			return float64(n) / 1000
		}
	}
	return 0
}

// BenchmarkSearch is what a search costs in memory: ten start nodes, two hops, ten bundles of
// twenty paths each, the question's products with all names included.
func BenchmarkSearch(b *testing.B) {
	const edges = 1_000_000
	way := relevance.Way(cmp.Or(os.Getenv("EVORAG_BENCH_WAY"), string(relevance.ByHash))) // with random vectors in other ways
	g, in := generated(b, edges)
	ask := func(q *relevance.Question) *relevance.Question { return q }
	if way != relevance.ByHash {
		in, _ = withVectors(b, edges, way)
		model := &randomModel{random: rand.New(rand.NewPCG(2, 2))}
		ask = func(q *relevance.Question) *relevance.Question {
			v, _, _ := model.Embed(context.Background(), []string{""})
			var err error
			q.Model, err = relevance.NewDense(v[0])
			require.NoError(b, err)
			return q
		}
	}
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(b, err)
	b.Logf("%.0f MB", float64(in.Bytes())/1e6)
	for _, with := range []struct {
		name string
		rule search.Rule
		hub  bool
	}{{"start=any", search.All, false}, {"start=hub", search.All, true}, {"rule=maximal", search.Maximal, false}} {
		b.Run(with.name, func(b *testing.B) {
			random := rand.New(rand.NewPCG(0, 3))
			var took []time.Duration
			var work search.Work
			partial := 0
			spent := bench.CPU()
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
				relevance := in.Relevance(ask(hash.Ask("which castle garden is north of the river")))
				scorer := search.NewHybrid(.5, relevance, in, in.Relations(), nil)
				hubs := &search.Hubs{}
				var wait sync.WaitGroup
				results := make([]search.Result, len(starts))
				for i, start := range starts {
					wait.Go(func() {
						results[i], _ = search.Top(context.Background(), in, scorer, search.Query{
							Start: start, Hops: 2, Paths: 10, Instances: 20, Rule: with.rule, Hubs: hubs,
							Budget: search.Budget{Edges: 2_000_000, Expansions: 1_000_000},
						})
					})
				}
				wait.Wait()
				hubs.Release()
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
			b.ReportMetric(float64(bench.CPU()-spent)/1e6/n, "cpu-mean-ms")
			slices.Sort(took)
			b.ReportMetric(float64(work.Expansions)/n, "expansions/op")
			b.ReportMetric(float64(work.Edges)/n, "edges/op")
			b.ReportMetric(float64(partial)/n, "partial/op")
			b.ReportMetric(float64(took[len(took)/2])/1e6, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100])/1e6, "p99-ms")
		})
	}
}
