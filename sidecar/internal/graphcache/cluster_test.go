package graphcache

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/search"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

const clusterSchema = `knows: [uid] @reverse .
likes: [uid] .
boss: uid .
evorag.shortcut: [uid] @reverse .
name: string @index(exact) .
title: string .
age: int .
evorag.predicate: string @index(exact) .
evorag.relation.label: string .
type Person {
  name
  knows
  boss
}`

type cluster struct {
	*enginetest.Engine
	client *dgraph.Client
	uids   []string
}

func newCluster(t testing.TB) *cluster {
	e := enginetest.Shared(t)
	e.Reset(t)
	e.Alter(t, clusterSchema)
	target, err := dgraph.ParseTarget(e.GRPCAddr())
	require.NoError(t, err)
	client, err := dgraph.Dial(dgraph.Options{Target: target})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	c := &cluster{Engine: e, client: client}
	text := ""
	for i := range 30 {
		text += fmt.Sprintf("_:n%d <name> \"node %d\" .\n_:n%d <dgraph.type> \"Person\" .\n", i, i, i)
	}
	for _, u := range e.Mutate(t, text) {
		c.uids = append(c.uids, u)
	}
	return c
}

// start runs a cache; with a feed it doesn't simply read a small graph again.
func (c *cluster) start(t testing.TB, o Options, change ...func(*Cache)) *Cache {
	o.Reader, o.Names, o.Embedder = c.client, []string{"name", "title"}, testHash(t)
	o.Now, o.Log = time.Now, slog.New(slog.DiscardHandler)
	if o.Memory == 0 {
		o.Memory = 1 << 30
	}
	cache := New(o)
	if o.Feed != nil {
		cache.fast = 0
	}
	for _, f := range change {
		f(cache)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { cache.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return cache
}

// content is all that a graph says, without ids.
type content struct {
	edges  map[graph.Triplet]float64
	names  map[graph.UID]string
	labels map[string]string
	calls  map[graph.Triplet]string
}

func contentOf(t require.TestingT, g *Graph) content {
	c := content{edgesOf(t, g), map[graph.UID]string{}, g.labels, callsOf(g)}
	for n := range search.Node(g.Nodes()) {
		if len(g.Steps(n)) > 0 {
			c.names[g.UID(n)] = g.Name(n)
		}
	}
	return c
}

// now reads the whole cluster afresh.
func (c *cluster) now(t testing.TB) content {
	b, _, err := fill(t.Context(), c.client, []string{"name", "title"}, func(s graph.Schema, labels map[string]string) *builder {
		return newBuilder(s, []string{"name", "title"}, labels, testHash(t), 1<<40)
	}, func(int) {})
	require.NoError(t, err)
	return contentOf(t, b.done(time.Time{}))
}

// equal waits until the cache says what the cluster says.
func (c *cluster) equal(t testing.TB, cache *Cache, within time.Duration) {
	t.Helper()
	want := c.now(t)
	var got content
	deadline := time.Now().Add(within)
	for time.Now().Before(deadline) {
		if g, ok := cache.Graph(0); ok {
			got = contentOf(t, g)
			if maps.Equal(want.edges, got.edges) && maps.Equal(want.names, got.names) && maps.Equal(want.labels, got.labels) && maps.Equal(want.calls, got.calls) {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	require.Equal(t, want, got)
}

func (c *cluster) delete(t testing.TB, nquads string) {
	t.Helper()
	require.NoError(t, c.client.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error { return tx.Delete(ctx, []byte(nquads)) }))
}

// something changes the cluster in one of many ways.
func (c *cluster) something(t testing.TB, random *rand.Rand) {
	node := func() string { return "<" + c.uids[random.IntN(len(c.uids))] + ">" }
	predicate := []string{"<knows>", "<likes>", "<boss>"}[random.IntN(3)]
	switch random.IntN(13) {
	case 0:
		c.delete(t, node()+" "+predicate+" "+node()+" .")
	case 1:
		c.delete(t, node()+" "+predicate+" * .")
	case 2:
		c.delete(t, node()+" * * .")
	case 3:
		c.Mutate(t, fmt.Sprintf("%s <name> \"renamed %d\" .", node(), random.IntN(1000)))
	case 4:
		c.delete(t, node()+" <name> * .")
	case 5:
		c.Mutate(t, fmt.Sprintf("%s <title> \"title %d\" .\n%s <age> \"7\" .", node(), random.IntN(1000), node()))
	case 6:
		c.Mutate(t, fmt.Sprintf("%s %s %s (evorag.hidden=true) .", node(), predicate, node()))
	case 7:
		c.Mutate(t, fmt.Sprintf("_:new <name> \"new %d\" .\n_:new %s %s .", random.IntN(1000), predicate, node()))
	case 8:
		c.Mutate(t, fmt.Sprintf("_:r <evorag.predicate> \"likes\" .\n_:r <evorag.relation.label> \"is fond of %d\" .", random.IntN(1000)))
	case 9:
		c.Mutate(t, fmt.Sprintf("%s <evorag.shortcut> %s (evorag.score=150.0, evorag.label=\"born %d\") .", node(), node(), random.IntN(3)))
	default:
		text := ""
		for range 1 + random.IntN(10) {
			text += fmt.Sprintf("%s %s %s (evorag.score=%.1f, since=1999) .\n", node(), predicate, node(), 200*random.Float64())
		}
		c.Mutate(t, text)
	}
}

func TestWithAChangeFeedTheCacheComesToEqualTheClusterAfterAnything(t *testing.T) {
	c := newCluster(t)
	random := rand.New(rand.NewPCG(5, 6))
	for range 30 {
		c.something(t, random)
	}
	cache := c.start(t, Options{Feed: OpenFeed(c.CDCDir()), Refresh: time.Hour})
	c.equal(t, cache, 30*time.Second)
	began := cache.Status().AsOf
	for round, special := range []func(){
		func() {},
		func() { c.Alter(t, "hates: [uid] .") },
		func() { require.NoError(t, c.client.DropPredicate(t.Context(), "likes")) },
	} {
		special()
		for range 40 {
			c.something(t, random)
		}
		if round == 1 {
			c.Mutate(t, fmt.Sprintf("<%s> <hates> <%s> .", c.uids[0], c.uids[1]))
		}
		c.equal(t, cache, 30*time.Second)
	}
	require.Eventually(t, func() bool { return cache.Status().AsOf.After(began) }, 30*time.Second, 50*time.Millisecond)
	c.Reset(t)
	c.Alter(t, clusterSchema)
	c.Mutate(t, `_:a <knows> _:b .`)
	c.equal(t, cache, 30*time.Second)
}

// quick makes every graph one that is read quickly, however busy the machine is.
func quick(c *Cache) { c.fast = time.Minute }

func TestASmallGraphIsSimplyReadAgain(t *testing.T) {
	c := newCluster(t)
	cache := c.start(t, Options{Refresh: time.Hour}, quick)
	random := rand.New(rand.NewPCG(7, 8))
	for range 5 {
		for range 10 {
			c.something(t, random)
		}
		c.equal(t, cache, time.Minute)
	}
	c.Alter(t, "hates: [uid] .")
	c.Mutate(t, fmt.Sprintf("<%s> <hates> <%s> .", c.uids[0], c.uids[1]))
	c.equal(t, cache, time.Minute)
	c.Reset(t)
	c.equal(t, cache, time.Minute)
}

func TestAfterAWriteThatPassedByASmallGraphIsNotUsedUntilItIsReadAgain(t *testing.T) {
	c := newCluster(t)
	cache := c.start(t, Options{Refresh: time.Hour}, quick)
	c.equal(t, cache, time.Minute)
	for i := range 20 {
		c.Mutate(t, fmt.Sprintf("<%s> <knows> <%s> (evorag.score=%d.0) .", c.uids[i], c.uids[i+1], i))
		cache.Wrote()
		if g, ok := cache.Graph(0); ok {
			require.Equal(t, c.now(t), contentOf(t, g))
		}
		require.Eventually(t, func() bool { _, ok := cache.Graph(0); return ok }, time.Minute, time.Millisecond)
		g, _ := cache.Graph(0)
		require.Equal(t, c.now(t), contentOf(t, g))
	}
}

func TestEdgesThatWeChangedAreReadAtOnce(t *testing.T) {
	c := newCluster(t)
	cache := c.start(t, Options{Refresh: time.Hour, Feed: OpenFeed(t.TempDir())})
	c.equal(t, cache, time.Minute)
	head, err := graph.ParseUID(c.uids[0])
	require.NoError(t, err)
	object, err := graph.ParseUID(c.uids[1])
	require.NoError(t, err)
	for _, facets := range []string{"", " (evorag.score=150.0)", " (evorag.score=20.0, evorag.hidden=true)", " (evorag.score=20.0, evorag.hidden=false)"} {
		c.Mutate(t, fmt.Sprintf("<%s> <knows> <%s>%s .", c.uids[0], c.uids[1], facets))
		cache.Changed([]graph.Triplet{{Head: head, Predicate: "knows", Object: object}})
		c.equal(t, cache, time.Minute)
	}
	c.delete(t, fmt.Sprintf("<%s> <knows> <%s> .", c.uids[0], c.uids[1]))
	cache.Changed([]graph.Triplet{{Head: head, Predicate: "knows", Object: object}, {Head: head, Predicate: "unheard", Object: object}})
	c.equal(t, cache, time.Minute)
}

func TestEdgesOfACallThroughUsAreThereForWhoeverAsksAfterIt(t *testing.T) {
	c := newCluster(t)
	cache := c.start(t, Options{Refresh: time.Hour, Feed: OpenFeed(t.TempDir())}, func(c *Cache) { c.settles = time.Minute })
	c.equal(t, cache, time.Minute)
	for i := range 10 {
		head, err := graph.ParseUID(c.uids[i])
		require.NoError(t, err)
		object, err := graph.ParseUID(c.uids[i+1])
		require.NoError(t, err)
		edge := graph.Triplet{Head: head, Predicate: "knows", Object: object}
		nquad := fmt.Sprintf("<%s> <knows> <%s>", c.uids[i], c.uids[i+1])
		want := fmt.Sprintf("%d.5", 10*i)
		if i%2 == 0 {
			cache.Writing([]graph.Triplet{edge})
			c.Mutate(t, nquad+" (evorag.score="+want+") .")
			cache.Wrote()
		} else {
			c.Mutate(t, nquad+" (evorag.score="+want+") .")
			cache.Written([]graph.Triplet{edge})
		}
		g, ok := cache.Graph(0)
		require.True(t, ok)
		require.Equal(t, c.now(t), contentOf(t, g))
	}
}

func TestANodeThatComesWithOneOfItsEdgesIsNotTakenToHaveNoOthers(t *testing.T) {
	for name, feed := range map[string]Feed{"unheard of": nil, "until the feed has told of it": OpenFeed(t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			began, later := time.Now(), atomic.Int64{}
			cache := c.start(t, Options{Refresh: time.Hour, Feed: feed}, func(c *Cache) {
				c.fast, c.settles = 0, time.Minute
				c.Now = func() time.Time { return began.Add(time.Duration(later.Load())) }
			})
			c.equal(t, cache, time.Minute)
			old := parsed(t, c.uids[0])
			c.Mutate(t, fmt.Sprintf("_:new <name> \"new\" .\n_:new <knows> <%s> .\n_:new <likes> <%s> .", c.uids[0], c.uids[0]))
			var answer struct{ Q []struct{ UID string } }
			require.NoError(t, json.Unmarshal(c.Query(t, `{ q(func: eq(name, "new")) { uid } }`, nil), &answer))
			node := parsed(t, answer.Q[0].UID)
			cache.Written([]graph.Triplet{{Head: node, Predicate: "knows", Object: old}})

			whole := func(u graph.UID) (bool, int) {
				g, ok := cache.Graph(0)
				require.True(t, ok)
				n, known := g.Node(u)
				require.True(t, known)
				rel, _ := g.Rel(graph.Relation{Predicate: "likes"})
				return g.Whole(n), g.Degree(n, rel)
			}
			is, degree := whole(node)
			require.False(t, is, "it has an edge that nobody has told of")
			require.Equal(t, math.MaxInt32, degree)
			is, degree = whole(old)
			require.True(t, is)
			require.Zero(t, degree)

			if feed != nil {
				require.Eventually(t, func() bool {
					later.Add(int64(feedDelay + time.Second))
					is, _ := whole(node)
					return is
				}, time.Minute, 2*tick)
				return
			}
			later.Store(int64(2 * time.Hour)) // it is read anew
			c.equal(t, cache, time.Minute)
			is, degree = whole(node)
			require.True(t, is)
			require.Equal(t, 1, degree)
		})
	}
}

// slow is a Reader whose scans of whole predicates wait once told to.
type slow struct {
	Reader
	wait atomic.Pointer[chan struct{}]
	held atomic.Int32
}

func (s *slow) OwnQuery(ctx context.Context, call graph.Call) (graph.Answer, error) {
	if wait := s.wait.Load(); wait != nil && strings.Contains(call.Query, "s0(func: has(") {
		s.held.Add(1)
		<-*wait
	}
	return s.Reader.OwnQuery(ctx, call)
}

func TestWhileTheGraphIsReadAnewItIsKeptTrue(t *testing.T) {
	c := newCluster(t)
	reader := &slow{Reader: c.client}
	cache := c.start(t, Options{Refresh: time.Hour, Feed: OpenFeed(t.TempDir())}, func(c *Cache) { c.Reader, c.settles = reader, time.Minute })
	c.equal(t, cache, time.Minute)
	wait := make(chan struct{})
	goOn := sync.OnceFunc(func() { reader.wait.Store(nil); close(wait) })
	t.Cleanup(goOn)
	reader.wait.Store(&wait)
	c.Alter(t, "hates: [uid] .")
	cache.Altered()
	require.Eventually(t, func() bool { return reader.held.Load() > 0 }, time.Minute, time.Millisecond)
	old, ok := cache.Graph(0)
	require.True(t, ok)
	c.Mutate(t, fmt.Sprintf("<%s> <knows> <%s> (evorag.score=150.0) .\n<%s> <hates> <%s> .", c.uids[0], c.uids[1], c.uids[2], c.uids[3]))
	head, object := parsed(t, c.uids[0]), parsed(t, c.uids[1])
	cache.Written([]graph.Triplet{{Head: head, Predicate: "knows", Object: object}, {Head: parsed(t, c.uids[2]), Predicate: "hates", Object: parsed(t, c.uids[3])}})
	g, ok := cache.Graph(0)
	require.True(t, ok)
	require.Equal(t, 1, g.Edges()-old.Edges(), "the edge is there, the predicate not yet")
	goOn()
	c.equal(t, cache, time.Minute)
	require.Len(t, c.now(t).edges, g.Edges()+1)
}

// gate is a Reader whose reads of names wait until it is open.
type gate struct {
	Reader
	reached, open chan struct{}
}

func (g *gate) OwnQuery(ctx context.Context, call graph.Call) (graph.Answer, error) {
	if strings.Contains(call.Query, "n: <name>") {
		select {
		case g.reached <- struct{}{}:
			<-g.open
		case <-g.open:
		}
	}
	return g.Reader.OwnQuery(ctx, call)
}

func TestWhileTheGraphIsFilledItIsNotUsedAndItsEdgesAreCounted(t *testing.T) {
	c := newCluster(t)
	for i := range 20 {
		c.Mutate(t, fmt.Sprintf("<%s> <knows> <%s> .", c.uids[i], c.uids[i+1]))
	}
	g := &gate{Reader: c.client, reached: make(chan struct{}), open: make(chan struct{})}
	cache := c.start(t, Options{Refresh: time.Hour}, func(c *Cache) { c.Reader = g })
	<-g.reached
	s := cache.Status()
	require.Equal(t, Filling, s.State)
	require.Equal(t, 20, s.Edges)
	_, ok := cache.Graph(0)
	require.False(t, ok)
	_, _, ok = cache.Around(t.Context(), 0, Reach{})
	require.False(t, ok)
	close(g.open)
	require.Eventually(t, func() bool { return cache.Status().State == Resident }, time.Minute, time.Millisecond)
	require.NotZero(t, cache.Status().Bytes)
}

func parsed(t *testing.T, text string) graph.UID {
	u, err := graph.ParseUID(text)
	require.NoError(t, err)
	return u
}

func TestAGraphThatIsTooLargeIsNotHeld(t *testing.T) {
	c := newCluster(t)
	c.Mutate(t, fmt.Sprintf("<%s> <knows> <%s> .", c.uids[0], c.uids[1]))
	cache := c.start(t, Options{Refresh: time.Hour, Memory: 10})
	require.Eventually(t, func() bool { return cache.Status().State == TooLarge }, time.Minute, 10*time.Millisecond)
	_, ok := cache.Graph(0)
	require.False(t, ok)
}

func TestOnlyTheOwnNamespaceIsHeld(t *testing.T) {
	c := newCluster(t)
	cache := c.start(t, Options{Refresh: time.Hour})
	c.equal(t, cache, time.Minute)
	_, ok := cache.Graph(1)
	require.False(t, ok)
}

func TestPagesOfAScanJoinWithoutLossOrDouble(t *testing.T) {
	c := newCluster(t)
	text := ""
	for i := range 2*nodesPerScan + 10 {
		text += fmt.Sprintf("_:a%d <likes> _:b .\n_:a%d <knows> _:b .\n", i, i)
	}
	c.Mutate(t, text)
	require.Len(t, c.now(t).edges, 2*(2*nodesPerScan+10))
}
