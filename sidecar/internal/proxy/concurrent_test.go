package proxy_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/sidecar/internal/graphcache"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
	"github.com/evorag/dgraph-evorag/sidecar/internal/scale"
)

// TestThirtyTwoCallersWhileTheGraphIsWritten asks from 32 callers at once while scores move,
// edges come and go and the graph in memory is told. What is shown is what one timestamp of
// the cluster says; once all is quiet both ways to search agree.
func TestThirtyTwoCallersWhileTheGraphIsWritten(t *testing.T) {
	const nodes, edges, callers, questions, writes = 400, 4000, 32, 8, 150
	c := newCluster(t)
	g, err := scale.New(scale.Options{Nodes: nodes, Edges: edges, Predicates: 5, Scored: .3, Hub: edges / 10, Seed: 7})
	require.NoError(t, err)
	uids, all := c.generate(t, g)
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	cache := graphcache.New(graphcache.Options{
		Reader: c.client, Names: defaults.Names, Embedder: hash, Memory: 1 << 30, Refresh: 100 * time.Millisecond, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { cache.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	require.Eventually(t, func() bool { _, ok := cache.Graph(0); return ok }, time.Minute, time.Millisecond)
	resident := &cluster{newProxyOf(t, proxy.Options{Engine: c.client, Resident: live{cache}}), c.client}

	var took []time.Duration
	var modes = map[string]int{}
	var mu sync.Mutex
	ask := func(random *rand.Rand) error {
		text := fmt.Sprintf(`query a($q: string) { q(func: uid(%s, %s)) @evorag(query: $q, hops: 2, paths: 5, instances: 5) { name } }`, uids[random.IntN(nodes)], uids[random.IntN(3)])
		began := time.Now()
		r, err := resident.Query(t.Context(), proxy.Request{Call: graph.Call{Query: text, Vars: map[string]string{"$q": "castle in the north"}, ReadOnly: true}})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		took = append(took, time.Since(began))
		modes[r.Retrieval.Cache.Mode]++
		return nil
	}
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(caller), 1))
			for range questions {
				if err := ask(random); err != nil {
					t.Error(err)
				}
			}
		})
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range writes {
		e := all[random.IntN(len(all))]
		nquad := []byte(fmt.Sprintf("<%s> <%s> <%s> (evorag.score=%.1f) .", e.Head, e.Predicate, e.Object, 200*random.Float64()))
		remove := random.IntN(4) == 0
		if remove {
			nquad = []byte(fmt.Sprintf("<%s> <%s> <%s> .", e.Head, e.Predicate, e.Object))
		}
		err := c.client.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
			if remove {
				return tx.Delete(ctx, nquad)
			}
			_, err := tx.Set(ctx, nquad)
			return err
		})
		require.NoError(t, err)
		cache.Changed([]graph.Triplet{e})
	}
	group.Wait()
	slices.Sort(took)
	require.Len(t, took, callers*questions)
	require.Positive(t, modes[graph.CacheResident], "the graph in memory was searched while it changed")
	t.Logf("%d questions from %d callers beside %d writes: p50 %v, p99 %v, max %v; %v",
		len(took), callers, writes, took[len(took)/2], took[len(took)*99/100], took[len(took)-1], modes)

	wantEventually(t, func() string {
		text := fmt.Sprintf(`query a($q: string) { q(func: uid(%s)) @evorag(query: $q, hops: 2, paths: 5, instances: 5) { name } }`, uids[0])
		gotData, got := resident.query(t, text, "$q", "castle in the north")
		wantData, _ := c.query(t, text, "$q", "castle in the north")
		if got.Cache.Mode != graph.CacheResident || gotData != wantData {
			return fmt.Sprintf("%+v: %s, not %s", got.Cache, gotData, wantData)
		}
		return ""
	})
}

// wantEventually asks until there is nothing left to say.
func wantEventually(t *testing.T, still func() string) {
	t.Helper()
	var last string
	require.Eventually(t, func() bool { last = still(); return last == "" }, time.Minute, 20*time.Millisecond, "at last: %s", last)
}

// generate writes a generated graph and gives its nodes' uids and its edges.
func (c *cluster) generate(t *testing.T, g *scale.Graph) (uids []graph.UID, edges []graph.Triplet) {
	t.Helper()
	schema := "name: string @index(exact, term) .\n"
	for p := range g.Predicates {
		schema += fmt.Sprintf("<%s>: [uid] @reverse .\n", g.Predicate(p))
	}
	require.NoError(t, c.client.Alter(t.Context(), schema))
	var nquads strings.Builder
	for i := range g.Nodes {
		fmt.Fprintf(&nquads, "_:n%d <name> %q .\n", i, g.Name(i))
	}
	for e := range g.Each {
		fmt.Fprintf(&nquads, "_:n%d <%s> _:n%d", e.Head, g.Predicate(e.Predicate), e.Object)
		if e.Scored {
			fmt.Fprintf(&nquads, " (evorag.score=%.1f)", e.Score)
		}
		nquads.WriteString(" .\n")
	}
	var named map[string]graph.UID
	require.NoError(t, c.client.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) (err error) {
		named, err = tx.Set(ctx, []byte(nquads.String()))
		return err
	}))
	for i := range g.Nodes {
		uids = append(uids, named[fmt.Sprintf("n%d", i)])
	}
	for e := range g.Each {
		edges = append(edges, graph.Triplet{Head: uids[e.Head], Predicate: g.Predicate(e.Predicate), Object: uids[e.Object]})
	}
	c.SchemaChanged()
	return uids, edges
}
