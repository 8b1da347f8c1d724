package feedback_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/bench"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
)

const (
	benchEvents = 2000
	benchPairs  = 5 // of a run: one alone swings by a fifth either way
)

// BenchmarkFeedback sends ratings of 10-path retrievals of two hops from 8 senders, until the
// last is applied. The baseline commits the very same edges with a score, one transaction a
// rating, from 8 goroutines: what a client without a journal, an inbox or a gradient would do.
// Both take turns, five times; the bar is half its rate, at the median of these.
func BenchmarkFeedback(b *testing.B) {
	c := newCluster(b)
	retrievals := c.wide(b, 200)
	var bare, through []time.Duration
	for b.Loop() {
		for range benchPairs {
			bare = append(bare, c.bare(b, retrievals))
			through = append(through, c.rated(b, retrievals))
		}
	}
	ratio := bench.MedianRatio(bare, through)
	perSecond := func(d []time.Duration) float64 { return 1000 * benchEvents / bench.Median(d) }
	row := bench.Row{
		Name: "feedback to applied score", Unit: "events/s", Measured: perSecond(through), Baseline: perSecond(bare), Paired: ratio, Bar: bench.Bar{MinRatio: .5},
	}
	b.ReportMetric(row.Measured, "ratings/s")
	b.ReportMetric(row.Baseline, "bare-commits/s")
	require.NoError(b, bench.Record(row))
	require.NoError(b, bench.Print(os.Stdout, []bench.Row{row}))
}

// wide makes retrievals of ten two-hop paths, each from a start of its own, over objects
// that many share.
func (c *cluster) wide(b *testing.B, n int) []*graph.Retrieval {
	var nquads strings.Builder
	for i := range n {
		for j := range 10 {
			fmt.Fprintf(&nquads, "_:s%d <owned_by> _:m%d_%d .\n_:m%d_%d <owned_by> _:o%d .\n", i, i, j, i, j, (i+j)%50)
		}
	}
	uids := map[string]graph.UID{}
	for name, text := range c.Mutate(b, nquads.String()) {
		uid, err := graph.ParseUID(text)
		require.NoError(b, err)
		uids[name] = uid
	}
	out := make([]*graph.Retrieval, n)
	for i := range out {
		start := graph.Node{UID: uids[fmt.Sprintf("s%d", i)], Name: fmt.Sprintf("Start %d", i)}
		r := &graph.Retrieval{ID: c.signer.New(0, time.Now()), Question: "Who owns the owner?", Alpha: .5}
		for j := range 10 {
			mid := graph.Node{UID: uids[fmt.Sprintf("m%d_%d", i, j)], Name: fmt.Sprintf("Middle %d %d", i, j)}
			end := graph.Node{UID: uids[fmt.Sprintf("o%d", (i+j)%50)], Name: fmt.Sprintf("Owner%dx", j)}
			step := func(h, o graph.UID) graph.ScoredTriplet {
				return graph.ScoredTriplet{Triplet: graph.Triplet{Head: h, Predicate: "owned_by", Object: o}, Label: "owned by", Score: 100, Sr: .6 + .03*float64(j), Sc: .5}
			}
			r.Results = append(r.Results, graph.Result{N: j + 1, Start: start, Metapath: []string{"owned_by", "owned_by"}, Total: 1, Instances: []graph.Instance{{
				Nodes: []graph.Node{start, mid, end}, Triplets: []graph.ScoredTriplet{step(start.UID, mid.UID), step(mid.UID, end.UID)},
			}}})
		}
		out[i] = r
	}
	return out
}

func (c *cluster) bare(b *testing.B, retrievals []*graph.Retrieval) time.Duration {
	began := time.Now()
	eight(func(i int) {
		var nquads []byte
		for _, r := range retrievals[i%len(retrievals)].Results {
			for _, t := range r.Instances[0].Triplets {
				nquads = fmt.Appendf(nquads, "<%s> <%s> <%s> (evorag.score=100.5, evorag.n=1) .\n", t.Head, t.Predicate, t.Object)
			}
		}
		err := c.Client.RunTx(b.Context(), func(ctx context.Context, tx graph.Tx) error {
			_, err := tx.Commit(ctx, nil, nquads, nil)
			return err
		})
		if err != nil {
			b.Error(err)
		}
	})
	return time.Since(began)
}

func (c *cluster) rated(b *testing.B, retrievals []*graph.Retrieval) time.Duration {
	s := c.start(b, func(o *feedback.Options) { o.Wait, o.Retry = time.Second, 5*time.Second }) // as by default
	defer s.stop()
	for _, r := range retrievals {
		s.Remember(r)
	}
	for s.count("retrievals stored") < len(retrievals) {
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	eight(func(i int) {
		s.rate(b, map[string]any{"retrieval": retrievals[i%len(retrievals)].ID, "rater": fmt.Sprint(i), "score": 1 + 4*(i%2), "response": fmt.Sprintf("Owner%dx", i%10)})
	})
	for s.count("applied") < benchEvents {
		time.Sleep(time.Millisecond)
	}
	return time.Since(began)
}

// eight runs work for each event, from eight goroutines.
func eight(work func(i int)) {
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := g; i < benchEvents; i += 8 {
				work(i)
			}
		})
	}
	group.Wait()
}
