package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/mutation"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/embed"
	"github.com/evorag/dgraph-evorag/sidecar/internal/graphcache"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

// newCache makes the cache of the sidecar's own namespace. cdcDir is the folder of the change
// feed, empty where there is none; vectors may be nil.
func newCache(cfg config.Config, client *dgraph.Client, cdcDir string, vectors *embed.Vectors, log *slog.Logger) (*graphcache.Cache, error) {
	hash, err := relevance.NewHash(relevance.DefaultDim)
	if err != nil {
		return nil, err
	}
	o := graphcache.Options{
		Reader: client, Namespace: client.Namespace(), Names: cfg.Names, Embedder: hash,
		Memory: int64(cfg.Cache.MemoryMB) << 20, Refresh: cfg.Cache.Refresh, Now: time.Now, Log: log,
	}
	if vectors != nil {
		o.Vectors, o.Way = vectors, relevance.Way(cfg.Embedding.Way)
	}
	if cdcDir != "" {
		o.Feed = graphcache.OpenFeed(cdcDir)
	}
	return graphcache.New(o), nil
}

// resident is a cache as the proxy wants it.
type resident struct{ *graphcache.Cache }

// Graph is the newest state of a namespace's graph.
func (r resident) Graph(namespace uint64) (proxy.ResidentGraph, bool) {
	g, ok := r.Cache.Graph(namespace)
	return residentGraph{g}, ok
}

// Around is the neighbourhood of nodes where a part of the graph is held.
func (r resident) Around(ctx context.Context, namespace uint64, reach proxy.Reach) (proxy.ResidentGraph, proxy.Reached, bool) {
	g, reached, ok := r.Cache.Around(ctx, namespace, graphcache.Reach(reach))
	return residentGraph{g}, proxy.Reached(reached), ok
}

type residentGraph struct{ *graphcache.Graph }

// Corrected is the graph with edges as they are.
func (g residentGraph) Corrected(edges []graph.Step) proxy.ResidentGraph {
	facts := make(map[graph.Triplet]graphcache.Fact, len(edges))
	for _, e := range edges {
		facts[e.Triplet] = graphcache.Fact{Score: e.Score, Here: !e.Hidden}
	}
	return residentGraph{g.Graph.Corrected(facts)}
}

// keeper tells the cache which edges a call sets, before it does.
type keeper struct {
	*proxy.Proxy
	cache *graphcache.Cache
}

// Learned is proxy.Learned.
func (k keeper) Learned(ctx context.Context, c graph.Call, edges []mutation.Edge) (mutation.Learned, graph.Txn, error) {
	var known []graph.Triplet
	for _, e := range edges {
		if e.Subject.UID != 0 && e.Object.UID != 0 {
			known = append(known, graph.Triplet{Head: e.Subject.UID, Predicate: e.Predicate, Object: e.Object.UID})
		}
	}
	k.cache.Writing(known)
	return k.Proxy.Learned(ctx, c, edges)
}

// watch shows the cache in the metrics.
func watch(m *telemetry.Metrics, c *graphcache.Cache) {
	m.Watch("dgraph_evorag_cache_nodes", "Nodes of the graph held in memory.", func() float64 { return float64(c.Status().Nodes) })
	m.Watch("dgraph_evorag_cache_edges", "Edges of the graph held in memory; while it is being filled, those read so far.", func() float64 { return float64(c.Status().Edges) })
	m.Watch("dgraph_evorag_cache_hidden_edges", "Suppressed edges of the graph held in memory; they are not among its edges.", func() float64 { return float64(c.Status().Hidden) })
	m.Watch("dgraph_evorag_suppressed_share", "Share of all edges that is suppressed, 0 to 1; 0 while there is no graph in memory.", func() float64 {
		s := c.Status()
		if s.AsOf.IsZero() || s.Edges+s.Hidden == 0 {
			return 0
		}
		return float64(s.Hidden) / float64(s.Edges+s.Hidden)
	})
	m.WatchScores(func() telemetry.Scores {
		d := c.Distribution()
		return telemetry.Scores{Bounds: graphcache.ScoreBounds, Below: d.Below, Count: d.Count, Sum: d.Sum}
	})
	m.Watch("dgraph_evorag_cache_bytes", "Memory of the graph held in memory, about.", func() float64 { return float64(c.Status().Bytes) })
	m.Count("dgraph_evorag_cache_hits_total", "Nodes that searches found held, of a graph that is larger than cache.memory_mb.", func() float64 { return float64(c.Status().Hits) })
	m.Count("dgraph_evorag_cache_misses_total", "Nodes that searches had to read, of a graph that is larger than cache.memory_mb.", func() float64 { return float64(c.Status().Misses) })
	m.Count("dgraph_evorag_cache_evictions_total", "Nodes that were put out for others, of a graph that is larger than cache.memory_mb.", func() float64 { return float64(c.Status().Evictions) })
	m.Watch("dgraph_evorag_cache_ready", "1 while there is a graph in memory to search in.", func() float64 {
		if c.Status().AsOf.IsZero() {
			return 0
		}
		return 1
	})
	m.Watch("dgraph_evorag_cache_behind_seconds", "How far the graph in memory may be behind the cluster; 0 while there is none.", func() float64 {
		s := c.Status()
		if s.AsOf.IsZero() {
			return 0
		}
		return max(0, time.Since(s.AsOf).Seconds())
	})
}
