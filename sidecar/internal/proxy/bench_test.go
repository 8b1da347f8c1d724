package proxy_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
	"github.com/evorag/dgraph-evorag/sidecar/internal/bench"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/graphcache"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
	"github.com/evorag/dgraph-evorag/sidecar/internal/scale"
)

// fewest is how many questions a bar is measured with at least: its p99 needs some hundred.
const fewest = 300

// BenchmarkRetrieval asks questions over 1,000,000 triplets (EVORAG_BENCH_EDGES for another
// number), 100 predicates, a hub of a tenth of them: ten start nodes, two hops, ten results
// each. The baseline in the same run is the same answer by level-by-level DQL, without a graph in
// memory, end to end; beside it stands the engine's time of that alone, in which nobody has read what it
// says. Every path is a candidate, as by default; beside it stands ranking.path_rule maximal. It fails
// where a bar is missed.
func BenchmarkRetrieval(b *testing.B) {
	edges := mostEdges(b)
	s := newScaled(b, edges)
	var searched, maximal, read measured
	b.Run("resident", func(b *testing.B) { searched = s.measure(b, s.resident, 2, 1, max(b.N, fewest)) })
	b.Run("resident-maximal", func(b *testing.B) { maximal = s.measure(b, s.maximal, 2, 1, max(b.N, fewest)) })
	b.Run("level-by-level", func(b *testing.B) { read = s.measure(b, s.onDemand, 2, 1, 10) }) // each takes seconds
	if len(searched.total) == 0 || len(maximal.total) == 0 || len(read.total) == 0 {
		return // -bench chose others
	}
	what := fmt.Sprintf(", %d triplets", edges)
	rows := []bench.Row{
		{Name: "k-hop search, own time, median" + what, Unit: "ms", Measured: ms(searched.own, .5), Bar: bench.Bar{Most: 10}},
		{Name: "k-hop search, own time, p99" + what, Unit: "ms", Measured: ms(searched.own, .99), Bar: bench.Bar{Most: 60}},
		{Name: "k-hop search, engine round trips, most", Unit: "trips", Measured: float64(searched.trips), Bar: bench.Bar{Most: 2}},
		{Name: "k-hop search, end to end, median" + what, Unit: "ms", Measured: ms(searched.total, .5), Baseline: ms(read.total, .5), Bar: bench.Bar{Faster: 50}},
		{Name: "k-hop search, end to end, against the engine's time of that DQL", Unit: "ms", Measured: ms(searched.total, .5), Baseline: ms(read.engine, .5)},
		{Name: "k-hop search, maximal paths, own time, median" + what, Unit: "ms", Measured: ms(maximal.own, .5)},
		{Name: "k-hop search, maximal paths, end to end, median" + what, Unit: "ms", Measured: ms(maximal.total, .5), Baseline: ms(read.total, .5)},
		{Name: "k-hop search, cut short by a budget", Unit: "of 100", Measured: 100 * float64(searched.partial) / float64(len(searched.total))},
		{Name: "memory of the graph" + what, Unit: "MB", Measured: float64(s.cache.Status().Bytes) / 1e6, Bar: bench.Bar{Most: 1074}},
	}
	for _, r := range rows {
		require.NoError(b, bench.Record(r))
		if !r.Met() {
			b.Errorf("%s: the bar is missed", r.Name)
		}
	}
	require.NoError(b, bench.Print(os.Stdout, rows))
}

// bytesPerEdge is what a graph in memory takes for each of its edges, names included.
const bytesPerEdge = 80

// BenchmarkPart asks the same over a cache that has room for a quarter of the graph, and prints it
// beside the level-by-level DQL: one question that comes again and again, five in turn, and ones
// that are new each time. Ten start nodes, of which none is likelier than another, have most of the
// nodes of this graph within two hops of them, so that the neighbourhoods of few questions fit.
func BenchmarkPart(b *testing.B) {
	s := newLoaded(b, mostEdges(b))
	cache := s.hold(b, int64(mostEdges(b))*bytesPerEdge/4)
	for cache.Status().State != graphcache.TooLarge {
		time.Sleep(10 * time.Millisecond)
	}
	p := byDefault(newProxyOf(b, proxy.Options{Engine: s.engine, Resident: live{cache}, Budget: s.budget}))
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "questions\ttotal p50\ttotal p99\tms, nodes held\tof asked\tput out\tMB\t")
	add := func(what string, n int, p *proxy.Proxy) {
		b.Run(what, func(b *testing.B) {
			before := cache.Status()
			m := s.measure(b, p, 2, 1, n)
			after := cache.Status()
			fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%d\t%d\t%d\t%.0f\t\n", what, ms(m.total, .5), ms(m.total, .99),
				after.Hits-before.Hits, after.Hits+after.Misses-before.Hits-before.Misses, after.Evictions-before.Evictions, float64(after.Bytes)/1e6)
		})
	}
	add("level by level", 5, s.onDemand)
	for range 3 {
		add("one, again", 1, p)
	}
	add("5 in turn", 5, p)
	add("5 in turn, again", 5, p)
	add("20, new", 20, p)
	require.NoError(b, t.Flush())
	fmt.Print(table.String())
}

func mostEdges(b *testing.B) int {
	s := os.Getenv("EVORAG_BENCH_EDGES")
	if s == "" {
		return 1_000_000
	}
	n, err := strconv.Atoi(s)
	require.NoError(b, err)
	return n
}

// BenchmarkGrowth prints how times and memory grow with the graph, with hops and with
// concurrent callers.
func BenchmarkGrowth(b *testing.B) {
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "triplets\thops\tcallers\town CPU\town p50\town p99\ttotal p50\ttotal p99\tms, partial\tgraph MB\theap MB\t")
	for edges := 10_000; edges <= mostEdges(b); edges *= 10 {
		s := newScaled(b, edges)
		for hops := 1; hops <= 4; hops++ {
			for _, callers := range []int{1, 8, 32} {
				b.Run(fmt.Sprintf("edges=%d/hops=%d/callers=%d", edges, hops, callers), func(b *testing.B) {
					m := s.measure(b, s.resident, hops, callers, max(b.N, 3*callers))
					var heap runtime.MemStats
					runtime.ReadMemStats(&heap)
					if b.N == 1 {
						return // the first, short run
					}
					fmt.Fprintf(t, "%d\t%d\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%d of %d\t%.0f\t%.0f\t\n", edges, hops, callers, m.cpu,
						ms(m.own, .5), ms(m.own, .99), ms(m.total, .5), ms(m.total, .99), m.partial, len(m.total),
						float64(s.cache.Status().Bytes)/1e6, float64(heap.HeapAlloc)/1e6)
				})
			}
		}
	}
	require.NoError(b, t.Flush())
	fmt.Print(table.String())
}

// scaled is a large graph in an engine, and two proxies in front of it.
type scaled struct {
	*scale.Graph
	cache                       *graphcache.Cache
	engine                      *timed
	resident, maximal, onDemand *proxy.Proxy
	budget                      proxy.Budget
	client                      *dgraph.Client
}

func newScaled(b *testing.B, edges int) *scaled {
	s := newLoaded(b, edges)
	s.cache = s.hold(b, 1<<30)
	began := time.Now()
	for {
		if _, ok := s.cache.Graph(0); ok {
			break
		}
		require.Less(b, time.Since(began), 10*time.Minute)
		time.Sleep(10 * time.Millisecond)
	}
	status := s.cache.Status()
	fmt.Printf("cache filled in %.1f s: %d nodes, %d edges, %.0f MB\n", time.Since(began).Seconds(), status.Nodes, status.Edges, float64(status.Bytes)/1e6)
	s.maximal = newProxyOf(b, proxy.Options{Engine: s.engine, Resident: live{s.cache}, Budget: s.budget})
	s.resident = byDefault(newProxyOf(b, proxy.Options{Engine: s.engine, Resident: live{s.cache}, Budget: s.budget}))
	return s
}

// newLoaded is scaled without a graph in memory.
func newLoaded(b *testing.B, edges int) *scaled {
	g, err := scale.New(scale.Options{Nodes: max(10, edges/5), Edges: edges, Predicates: 100, Scored: .3, Hub: edges / 10, Seed: 1})
	require.NoError(b, err)
	address := os.Getenv("EVORAG_BENCH_DGRAPH") // of an engine that has the graph already
	if address == "" {
		address = loadOffline(b, g)
	}
	target, err := dgraph.ParseTarget(address)
	require.NoError(b, err)
	client, err := dgraph.Dial(dgraph.Options{Target: target})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, client.Close()) })
	s := &scaled{Graph: g, engine: &timed{Client: client}, client: client, budget: proxy.Budget{Edges: 2_000_000, Steps: 2_000_000, Time: time.Minute}}
	s.onDemand = byDefault(newProxyOf(b, proxy.Options{Engine: s.engine, Budget: s.budget}))
	return s
}

// byDefault lets a proxy take every path for a candidate, as it does unless told otherwise.
func byDefault(p *proxy.Proxy) *proxy.Proxy {
	p.Rule = search.All
	return p
}

// hold runs a cache of some bytes on the graph.
func (s *scaled) hold(b *testing.B, memory int64) *graphcache.Cache {
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(b, err)
	cache := graphcache.New(graphcache.Options{
		Reader: s.client, Names: defaults.Names, Embedder: hash, Memory: memory, Refresh: time.Hour, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { cache.Run(ctx) })
	b.Cleanup(func() { cancel(); wg.Wait() })
	return cache
}

// loadOffline loads the graph and starts an engine on it.
func loadOffline(b *testing.B, g *scale.Graph) string {
	dir := b.TempDir()
	write := func(name string, to func(io.Writer) error) string {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(b, err)
		require.NoError(b, to(f))
		require.NoError(b, f.Close())
		return f.Name()
	}
	began := time.Now()
	e := enginetest.Bulk(b, write("graph.rdf", g.WriteRDF), write("graph.schema", g.WriteSchema))
	fmt.Printf("%d edges loaded offline, engine started: %.0f s\n", g.Edges, time.Since(began).Seconds())
	return e.GRPCAddr()
}

// timed tells a query how long it has waited for the engine.
type timed struct{ *dgraph.Client }

type waitedKey struct{}

// waited is the time in which at least one call was under way.
type waited struct {
	mu    sync.Mutex
	calls int
	since time.Time
	took  time.Duration
}

func (w *waited) call(more int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls == 0 {
		w.since = time.Now()
	}
	if w.calls += more; w.calls == 0 {
		w.took += time.Since(w.since)
	}
}

func (e *timed) Query(ctx context.Context, c graph.Call) (graph.Answer, error) {
	w := ctx.Value(waitedKey{}).(*waited)
	w.call(1)
	defer w.call(-1)
	return e.Client.Query(ctx, c)
}

type measured struct {
	own, engine, total []time.Duration // sorted
	trips              int             // most
	partial            int             // questions whose search a budget cut short
	cpu                float64         // ms of processor time of this process for each question
}

// measure asks n questions from some callers at once. One in twenty starts at the hub too.
func (s *scaled) measure(b *testing.B, p *proxy.Proxy, hops, callers, n int) measured {
	var m measured
	var mu sync.Mutex
	ask := func(random *rand.Rand) {
		names := make([]string, 10)
		for i := range names {
			names[i] = strconv.Quote(s.Name(random.IntN(s.Nodes)))
		}
		if random.IntN(20) == 0 {
			names[0] = strconv.Quote(s.Name(0))
		}
		text := fmt.Sprintf(`query a($q: string) { q(func: eq(name, [%s])) @evorag(query: $q, hops: %d, paths: 10) { name } }`, strings.Join(names, ", "), hops)
		var engine waited
		began := time.Now()
		r, err := p.Query(context.WithValue(context.Background(), waitedKey{}, &engine), proxy.Request{Call: graph.Call{
			Query: text, Vars: map[string]string{"$q": "which castle garden is north of the river"}, ReadOnly: true, BestEffort: true,
		}})
		took := time.Since(began)
		if err != nil {
			b.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		m.total, m.engine, m.own = append(m.total, took), append(m.engine, engine.took), append(m.own, took-engine.took)
		m.trips = max(m.trips, r.Retrieval.Timings.RoundTrips)
		if r.Retrieval.Partial {
			m.partial++
		}
	}
	warm := rand.New(rand.NewPCG(9, 9))
	for range 1 + n/3 {
		ask(warm)
	}
	m = measured{}
	b.ResetTimer()
	spent := bench.CPU()
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(caller), 3))
			for range (n + callers - 1) / callers {
				ask(random)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	m.cpu = float64(bench.CPU()-spent) / 1e6 / float64(len(m.total))
	b.ReportMetric(m.cpu, "own-cpu-mean-ms")
	for _, d := range [][]time.Duration{m.own, m.engine, m.total} {
		slices.Sort(d)
	}
	b.ReportMetric(ms(m.own, .5), "own-p50-ms")
	b.ReportMetric(ms(m.own, .99), "own-p99-ms")
	b.ReportMetric(ms(m.total, .5), "total-p50-ms")
	b.ReportMetric(ms(m.total, .99), "total-p99-ms")
	b.ReportMetric(float64(m.trips), "trips-max")
	b.ReportMetric(float64(m.partial)/float64(len(m.total)), "partial")
	return m
}

func ms(sorted []time.Duration, quantile float64) float64 {
	return float64(sorted[int(quantile*float64(len(sorted)-1))].Microseconds()) / 1000
}
