package proxy_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/graphcache"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// tooLarge gives a proxy over a cache that holds a fifth of randomGraph or so.
func (c *cluster) tooLarge(t testing.TB) (*cluster, *graphcache.Cache) {
	t.Helper()
	cache := c.cacheOf(t, 15_000)
	p := &cluster{newProxyOf(t, proxy.Options{Engine: c.client, Resident: live{cache}}), c.client}
	require.Eventually(t, func() bool { return cache.Status().State == graphcache.TooLarge }, time.Minute, time.Millisecond)
	return p, cache
}

func TestAnswersOverAPartEqualThoseOnDemand(t *testing.T) {
	c := newCluster(t)
	require.NoError(t, c.client.Alter(t.Context(), randomSchema))
	random := rand.New(rand.NewPCG(31, 32))
	c.set(t, randomGraph(random))
	c.SchemaChanged()
	part, cache := c.tooLarge(t)
	for range 150 {
		r := same(t, part, c, randomQuery(random), "$q", []string{"which queen was born in the north", "who knows a film", "stone 7", "zzz"}[random.IntN(4)])
		require.Equal(t, graph.CachePart, r.Cache.Mode)
		require.NotZero(t, r.Cache.AsOf)
	}
	s := cache.Status()
	require.NotZero(t, s.Hits)
	require.NotZero(t, s.Evictions)
}

func TestWhatIsHeldIsNotReadFromTheClusterAgain(t *testing.T) {
	c := newCluster(t)
	require.NoError(t, c.client.Alter(t.Context(), randomSchema))
	c.set(t, randomGraph(rand.New(rand.NewPCG(33, 34))))
	c.SchemaChanged()
	part, _ := c.tooLarge(t)
	const text = `query a($q: string) { q(func: anyofterms(name, "7")) @evorag(query: $q, hops: 1, via: [directed_by]) { name } }`
	part.query(t, text, "$q", "a queen")
	_, r := part.query(t, text, "$q", "a queen")
	require.LessOrEqual(t, r.Timings.RoundTrips, 2, "the start nodes and one reading again")
	hidden, err := part.Query(t.Context(), proxy.Request{Call: graph.Call{Query: `{ q(func: anyofterms(name, "7")) @evorag(query: "x", hidden: true) { name } }`}})
	require.NoError(t, err)
	require.Equal(t, graph.CacheOnDemand, hidden.Retrieval.Cache.Mode, "hidden edges are not held")
}

func TestWhatChangedSinceAPartWasReadNeverShows(t *testing.T) {
	c := newCluster(t)
	require.NoError(t, c.client.Alter(t.Context(), randomSchema))
	random := rand.New(rand.NewPCG(35, 36))
	c.set(t, randomGraph(random))
	c.SchemaChanged()
	part, cache := c.tooLarge(t)
	const text = `query a($q: string) { q(func: anyofterms(name, "1")) @evorag(query: $q, hops: 1, paths: 5, instances: 3) { name } }`
	for range 30 {
		_, r := part.query(t, text, "$q", "queen of the north")
		require.Equal(t, graph.CachePart, r.Cache.Mode)
		c.changeOne(t, random, r)
		before := cache.Status().Misses
		sameBut(t, withoutTotals, part, c, text, "$q", "queen of the north")
		sameBut(t, withoutTotals, part, c, text, "$q", "queen of the north")
		require.Greater(t, cache.Status().Misses, before, "the cache is told, and lets it go")
	}
}
