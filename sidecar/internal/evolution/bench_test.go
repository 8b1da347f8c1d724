package evolution_test

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/schema"
	"github.com/evorag/dgraph-evorag/sidecar/internal/bench"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/evolution"
	"github.com/evorag/dgraph-evorag/sidecar/internal/scale"
)

// BenchmarkEvolution evolves graphs that grow while what feedback has touched stays the same, up
// to 1,000,000 triplets (EVORAG_BENCH_EDGES for another number), and graphs of that size of
// which feedback has touched more and more, up to 30,000. It prints what a run costs, and
// fails where deciding takes more than 5 s or writing 5,000 shortcuts more than 60 s.
func BenchmarkEvolution(b *testing.B) {
	most := 1_000_000
	if s := os.Getenv("EVORAG_BENCH_EDGES"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(b, err)
		most = n
	}
	var table []string
	for _, g := range []struct{ edges, touched int }{
		{most / 100, 3_000}, {most / 10, 3_000}, {most, 3_000}, {most, 30_000},
	} {
		edges := max(g.edges, g.touched)
		b.Run(fmt.Sprintf("edges=%d/touched=%d", edges, g.touched), func(b *testing.B) {
			client := touchedGraph(b, edges, g.touched)
			rules := evolve.DefaultRules()
			rules.MaxShortcuts, rules.Explore = 5_000, 0
			r, err := evolution.New(evolution.Options{
				Cluster: client, Rules: rules, Names: []string{"name"}, Holder: "bench", Batch: evolution.DefaultBatch, Now: time.Now,
				NewID: func() string { return strconv.FormatInt(time.Now().UnixNano(), 36) }, Log: slog.New(slog.DiscardHandler),
			})
			require.NoError(b, err)
			for range b.N {
				began := time.Now()
				plan, err := r.Plan(b.Context())
				require.NoError(b, err)
				decided := time.Since(began)
				began = time.Now()
				run, err := r.Run(b.Context(), nil)
				require.NoError(b, err)
				written := time.Since(began) - decided
				began = time.Now()
				_, err = r.Undo(b.Context(), run.ID, false)
				require.NoError(b, err)
				b.ReportMetric(decided.Seconds(), "s/decided")
				b.ReportMetric(written.Seconds(), "s/written")
				b.ReportMetric(float64(run.Counts.Shortcuts), "shortcuts")
				table = append(table, fmt.Sprintf("%9d triplets, %6d touched: decided in %5.2f s (bar 5), %d shortcuts and %d edges written in %5.2f s (bar 60), undone in %5.2f s",
					edges, plan.Thresholds.Touched, decided.Seconds(), run.Counts.Shortcuts, run.Counts.Counted, written.Seconds(), time.Since(began).Seconds()))
				for _, row := range []bench.Row{
					{Name: fmt.Sprintf("evolution decided, %d triplets", edges), Unit: "s", Measured: decided.Seconds(), Bar: bench.Bar{Most: 5}},
					{Name: fmt.Sprintf("evolution written, %d triplets", edges), Unit: "s", Measured: written.Seconds(), Bar: bench.Bar{Most: 60}},
				} {
					require.NoError(b, bench.Record(row))
				}
				if decided > 5*time.Second || written > time.Minute {
					b.Error("the bar is missed")
				}
			}
		})
	}
	for _, line := range table {
		fmt.Println(line)
	}
}

// touchedGraph is a cluster with that many triplets, of which feedback has touched some.
func touchedGraph(b *testing.B, edges, touched int) *dgraph.Client {
	b.Helper()
	g, err := scale.New(scale.Options{Nodes: edges / 5, Edges: edges, Predicates: 100, Scored: float64(touched) / float64(edges), Hub: max(edges/100, 1), Seed: 1})
	require.NoError(b, err)
	dir := b.TempDir()
	write := func(name string, fill func(*bufio.Writer)) string {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		require.NoError(b, err)
		w := bufio.NewWriterSize(f, 1<<20)
		fill(w)
		require.NoError(b, w.Flush())
		require.NoError(b, f.Close())
		return path
	}
	rdf := write("graph.rdf", func(w *bufio.Writer) {
		for n := range edges / 5 {
			fmt.Fprintf(w, "_:n%d <name> %s .\n", n, graph.Quote(g.Name(n)))
		}
		for e := range g.Each {
			p := g.Predicate(e.Predicate)
			fmt.Fprintf(w, "_:n%d <%s> _:n%d", e.Head, p, e.Object)
			if e.Scored {
				fmt.Fprintf(w, " (evorag.score=%.1f, evorag.n=1) .\n_:n%d <evorag.touched> %s", e.Score, e.Head, graph.Quote(p))
			}
			fmt.Fprint(w, " .\n")
		}
	})
	text := write("graph.schema", func(w *bufio.Writer) {
		require.NoError(b, g.WriteSchema(w))
		fmt.Fprint(w, schema.Text)
	})
	eng := enginetest.Bulk(b, rdf, text)
	client, err := dgraph.Dial(dgraph.Options{Target: dgraph.Target{Addr: eng.GRPCAddr()}})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, client.Close()) })
	return client
}
