package proxy_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
	"github.com/evorag/dgraph-evorag/sidecar/internal/graphcache"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// held is a graph that stays as it was read until a test says otherwise.
type held struct {
	mu      sync.Mutex
	graph   *graphcache.Graph
	changed []graph.Triplet
}

func (h *held) Graph(uint64) (proxy.ResidentGraph, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return heldGraph{h.graph}, h.graph != nil
}

func (h *held) Around(context.Context, uint64, proxy.Reach) (proxy.ResidentGraph, proxy.Reached, bool) {
	return nil, proxy.Reached{}, false
}

func (h *held) Changed(edges []graph.Triplet) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changed = append(h.changed, edges...)
}

type heldGraph struct{ *graphcache.Graph }

func (g heldGraph) Corrected(edges []graph.Step) proxy.ResidentGraph {
	facts := map[graph.Triplet]graphcache.Fact{}
	for _, e := range edges {
		facts[e.Triplet] = graphcache.Fact{Score: e.Score, Here: !e.Hidden}
	}
	return heldGraph{g.Graph.Corrected(facts)}
}

// cache runs a cache on the cluster.
func (c *cluster) cache(t testing.TB) *graphcache.Cache {
	t.Helper()
	cache := c.cacheOf(t, 1<<30)
	require.Eventually(t, func() bool { _, ok := cache.Graph(0); return ok }, time.Minute, time.Millisecond)
	return cache
}

// cacheOf runs a cache of some bytes.
func (c *cluster) cacheOf(t testing.TB, memory int64) *graphcache.Cache {
	t.Helper()
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	cache := graphcache.New(graphcache.Options{
		Reader: c.client, Names: defaults.Names, Embedder: hash, Memory: memory, Refresh: time.Hour, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { cache.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return cache
}

// hold gives a proxy over the graph as it is now.
func (c *cluster) hold(t testing.TB) (*cluster, *held) {
	t.Helper()
	g, ok := c.cache(t).Graph(0)
	require.True(t, ok)
	h := &held{graph: g}
	return &cluster{newProxyOf(t, proxy.Options{Engine: c.client, Resident: h}), c.client}, h
}

// same asks both ways and wants one answer.
func same(t *testing.T, resident, onDemand *cluster, text string, vars ...string) *graph.Retrieval {
	t.Helper()
	return sameBut(t, func(*graph.Retrieval) {}, resident, onDemand, text, vars...)
}

// sameBut wants one answer after both have been changed.
func sameBut(t *testing.T, change func(*graph.Retrieval), resident, onDemand *cluster, text string, vars ...string) *graph.Retrieval {
	t.Helper()
	gotData, got := resident.query(t, text, vars...)
	wantData, want := onDemand.query(t, text, vars...)
	change(got)
	change(want)
	require.Equal(t, graph.CacheOff, want.Cache.Mode)
	trips := got.Timings.RoundTrips
	for _, r := range []*graph.Retrieval{got, want} {
		r.ID, r.Timings = "", graph.Timings{}
	}
	cached := *got
	got.Cache = want.Cache
	require.Equal(t, want, got, text)
	require.Equal(t, wantData, gotData, text)
	got.Cache, got.Timings.RoundTrips = cached.Cache, trips
	return got
}

// randomGraph is triplets with hubs, loops and parallel edges among 60 nodes of few names.
func randomGraph(random *rand.Rand) string {
	words := []string{"river", "queen", "film", "north", "stone"}
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "_:n%d <name> \"%s %s %d\" .\n", i, words[random.IntN(5)], words[random.IntN(5)], i%20)
	}
	for range 400 {
		facets := ""
		switch random.IntN(5) {
		case 0:
			facets = fmt.Sprintf(" (evorag.score=%.2f)", 200*random.Float64())
		case 1:
			facets = " (evorag.score=150.0, evorag.hidden=true, since=1999)"
		}
		head := random.IntN(60)
		if random.IntN(3) == 0 {
			head = random.IntN(3)
		}
		fmt.Fprintf(&b, "_:n%d <%s> _:n%d%s .\n", head, []string{"born_in", "directed_by", "knows", "boss"}[random.IntN(4)], random.IntN(60), facets)
	}
	return b.String()
}

const randomSchema = "born_in: [uid] @reverse .\ndirected_by: [uid] .\nknows: [uid] @reverse .\nboss: uid .\nname: string @index(exact, term) ."

func TestCachedAnswersEqualThoseOnDemand(t *testing.T) {
	c := newCluster(t)
	require.NoError(t, c.client.Alter(t.Context(), randomSchema))
	random := rand.New(rand.NewPCG(1, 2))
	c.set(t, randomGraph(random))
	c.SchemaChanged()
	resident, h := c.hold(t)
	for range 150 {
		text := randomQuery(random)
		r := same(t, resident, c, text, "$q", []string{"which queen was born in the north", "who knows a film", "stone 7", "zzz"}[random.IntN(4)])
		require.Equal(t, graph.CacheResident, r.Cache.Mode)
		require.NotZero(t, r.Cache.AsOf)
		require.LessOrEqual(t, r.Timings.RoundTrips, 2, "the start nodes and one reading again")
	}
	require.Empty(t, h.changed)
}

// randomQuery is a search over randomGraph.
func randomQuery(random *rand.Rand) string {
	fields := []string{"name", "uid name", "n: name uid", "uid", "name dgraph.type"}[random.IntN(5)]
	args := fmt.Sprintf("hops: %d, paths: %d, instances: %d, bundle: %t, explain: %t", 1+random.IntN(3), 1+random.IntN(10), 1+random.IntN(5), random.IntN(2) == 0, random.IntN(2) == 0)
	switch random.IntN(4) {
	case 0:
		args += ", via: [knows, ~knows, boss]"
	case 1:
		args += fmt.Sprintf(", alpha: 0.%d", 1+random.IntN(9))
	}
	return fmt.Sprintf(`query a($q: string) { q(func: anyofterms(name, "%d")) @evorag(query: $q, %s) { %s } }`, random.IntN(20), args, fields)
}

// askedGraph counts how often it is asked a question.
type askedGraph struct {
	heldGraph
	asked *atomic.Int32
}

func (g askedGraph) Relevance(q *relevance.Question) search.Relevance {
	g.asked.Add(1)
	return g.heldGraph.Relevance(q)
}

type askedGraphs struct {
	*held
	asked atomic.Int32
}

func (h *askedGraphs) Graph(uint64) (proxy.ResidentGraph, bool) {
	return askedGraph{heldGraph{h.graph}, &h.asked}, true
}

// A question is compared with the graph without the start nodes' names, and while the engine looks for
// these, so they are guessed; a wrong guess costs a second time.
func TestAQuestionIsComparedWithTheGraphOnce(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	_, h := c.hold(t)
	graphs := &askedGraphs{held: h}
	resident := &cluster{newProxyOf(t, proxy.Options{Engine: c.client, Resident: graphs}), c.client}
	const question = "who directed Alien, what is its name"
	for _, x := range []struct {
		root string
		want int32
	}{
		{`eq(name, "Alien")`, 1},
		{`eq(name, $n)`, 1},
		{`uid(` + strings.Trim(uidOf(t, c, "Alien"), "<>") + `)`, 1},
		{`evorag.entities(query: $q)`, 1},
		{`anyofterms(name, "alien")`, 1},
		{`has(starring)) @filter(eq(name, "Alien")`, 2},
	} {
		graphs.asked.Store(0)
		text := `query a($q: string, $n: string) { q(func: ` + x.root + `) @evorag(query: $q, hops: 2) { name } }`
		r := same(t, resident, c, text, "$q", question, "$n", "Alien")
		require.NotEmpty(t, r.Results, x.root)
		require.Equal(t, x.want, graphs.asked.Load(), x.root)
	}
}

func TestNothingIsComparedForABlockThatShowsHiddenEdges(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	_, h := c.hold(t)
	graphs := &askedGraphs{held: h}
	resident := &cluster{newProxyOf(t, proxy.Options{Engine: c.client, Resident: graphs}), c.client}
	_, r := resident.query(t, `{ q(func: eq(name, "Alien")) @evorag(query: "x", hidden: true) { name } }`)
	require.Equal(t, graph.CacheOnDemand, r.Cache.Mode)
	require.Zero(t, graphs.asked.Load())
}

// sent tells when the engine is asked for the start nodes.
type sent struct {
	proxy.Engine
	once  sync.Once
	asked chan struct{}
}

func (e *sent) Query(ctx context.Context, call graph.Call) (graph.Answer, error) {
	if strings.Contains(call.Query, "q(func: eq(") {
		e.once.Do(func() { close(e.asked) })
	}
	return e.Engine.Query(ctx, call)
}

// late has its graph once the engine is asked.
type late struct {
	*held
	engine *sent
	waited atomic.Int32
}

func (l *late) Graph(namespace uint64) (proxy.ResidentGraph, bool) {
	select {
	case <-l.engine.asked:
	case <-time.After(5 * time.Second):
		l.waited.Add(1)
	}
	return l.held.Graph(namespace)
}

func TestTheEngineIsAskedWhileAGraphIsWaitedFor(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	_, h := c.hold(t)
	engine := &sent{Engine: c.client, asked: make(chan struct{})}
	graphs := &late{held: h, engine: engine}
	resident := &cluster{newProxyOf(t, proxy.Options{Engine: engine, Resident: graphs}), c.client}
	_, r := resident.query(t, `{ q(func: eq(name, "Alien")) @evorag(query: "x") { name } }`)
	require.Equal(t, graph.CacheResident, r.Cache.Mode)
	require.Zero(t, graphs.waited.Load(), "the engine had been asked before")
}

func TestAShortcutIsFoundByItsOwnLabel(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	alien, scott := uidOf(t, c, "Alien"), uidOf(t, c, "Ridley Scott")
	c.set(t, alien+` <evorag.shortcut> `+scott+` (evorag.label="composed the anthem of") .
		`+alien+` <evorag.shortcut> _:x (evorag.label="filmed, paid for") .
		_:x <name> "somebody" .`)
	resident, _ := c.hold(t)
	for want, question := range map[string]string{"Ridley Scott": "who composed the anthem of it", "somebody": "who paid for what was filmed"} {
		for _, bundle := range []string{"true", "false"} {
			text := `query a($q: string) { q(func: eq(name, "Alien")) @evorag(query: $q, hops: 1, paths: 1, instances: 1, bundle: ` + bundle + `) { name } }`
			r := same(t, resident, c, text, "$q", question)
			require.Equal(t, []string{graph.ShortcutPredicate}, r.Results[0].Metapath)
			require.Equal(t, []string{want}, ends(r.Results[0]))
		}
	}
}

func TestWhatChangedSinceTheGraphWasReadNeverShows(t *testing.T) {
	c := newCluster(t)
	require.NoError(t, c.client.Alter(t.Context(), randomSchema))
	random := rand.New(rand.NewPCG(3, 4))
	c.set(t, randomGraph(random))
	c.SchemaChanged()
	resident, h := c.hold(t)
	const text = `query a($q: string) { q(func: anyofterms(name, "1 2")) @evorag(query: $q, hops: 2, paths: 5, instances: 3) { name } }`
	for range 30 {
		_, r := c.query(t, text, "$q", "queen of the north")
		changed := c.changeOne(t, random, r)
		sameBut(t, withoutTotals, resident, c, text, "$q", "queen of the north")
		require.Contains(t, h.changed, changed, "the cache is told")
	}
}

// changeOne deletes, hides or lowers one of the edges shown, around all sidecars.
func (c *cluster) changeOne(t *testing.T, random *rand.Rand, r *graph.Retrieval) graph.Triplet {
	t.Helper()
	var shown []graph.ScoredTriplet
	for _, result := range r.Results {
		for _, in := range result.Instances {
			shown = append(shown, in.Triplets...)
		}
	}
	edge := shown[random.IntN(len(shown))]
	nquad := fmt.Sprintf("<%s> <%s> <%s>", edge.Head, edge.Predicate, edge.Object)
	how, lower := random.IntN(3), fmt.Sprintf("%.2f", edge.Score/2)
	if how == 2 && lower == fmt.Sprintf("%.2f", edge.Score) { // it can't be lowered
		how = 1
	}
	switch how {
	case 0:
		require.NoError(t, c.client.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error { return tx.Delete(ctx, []byte(nquad+" .")) }))
	case 1:
		c.set(t, nquad+" (evorag.hidden=true, evorag.score=120.0) .")
	case 2: // lowered: an edge that rises unseen is found when the cache hears of it
		c.set(t, nquad+" (evorag.score="+lower+") .")
	}
	return edge.Triplet
}

// withoutTotals leaves out how many instances a bundle has besides those shown: they are not
// read again, so their number is that of the graph in memory.
func withoutTotals(r *graph.Retrieval) {
	r.Context = ""
	for i := range r.Results {
		r.Results[i].Total = 0
	}
}

func TestNamesAreShownAsTheCallerReadsThem(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	resident, _ := c.hold(t)
	c.set(t, uidOf(t, c, "Ridley Scott")+` <name> "Sir Ridley Scott" .`)
	_, r := resident.query(t, `{ q(func: eq(name, "Alien")) @evorag(query: "director", hops: 1, via: [directed_by]) { name } }`)
	require.Equal(t, graph.CacheResident, r.Cache.Mode)
	require.Equal(t, []string{"Sir Ridley Scott"}, ends(r.Results[0]))
}

func uidOf(t *testing.T, c *cluster, name string) string {
	t.Helper()
	r, err := c.Retrieve(t.Context(), proxy.RetrieveRequest{Question: "x", Entities: []string{name}})
	require.NoError(t, err)
	return "<" + r.Entities[0].UID.String() + ">"
}

func TestANameThatNoQuestionCanHoldIsGivenWhole(t *testing.T) {
	c := newCluster(t)
	long := "Jobs was born in San Francisco, grew up in Mountain View, and began NeXT after he had left Apple"
	c.load(t, "Steve Jobs, mentioned in, ???\n")
	c.set(t, uidOf(t, c, "Steve Jobs")+" <mentioned_in> _:chunk .\n_:chunk <name> "+graph.Quote(long)+" .")
	for _, name := range []string{long, "???"} {
		r, err := c.Retrieve(t.Context(), proxy.RetrieveRequest{Question: "x", Entities: []string{name}, Hops: 1})
		require.NoError(t, err)
		require.Len(t, r.Entities, 1)
		require.Equal(t, name, r.Entities[0].Name)
		require.Equal(t, []string{"Steve Jobs"}, ends(r.Results[0]))
	}
	for _, r := range []proxy.RetrieveRequest{{Question: "x", Entities: []string{long + " again"}}, {Question: "???"}} {
		_, err := c.Retrieve(t.Context(), r)
		require.ErrorIs(t, err, proxy.ErrNothingLinked)
	}
}

// inPart has a graph that knows its nodes by some of their edges.
type inPart struct{ *held }

func (h inPart) Graph(uint64) (proxy.ResidentGraph, bool) {
	g, ok := h.held.Graph(0)
	return graphInPart{g.(heldGraph)}, ok
}

type graphInPart struct{ heldGraph }

func (graphInPart) Whole(search.Node) bool { return false }

func TestWhereTheGraphInMemoryWontDoTheClusterIsAsked(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	resident, h := c.hold(t)
	const text = `{ q(func: eq(name, "Alien")) @evorag(query: "x", hops: 1%s) { name } }`
	mode := func(text string, startTS uint64) string {
		r, err := resident.Query(t.Context(), proxy.Request{Call: graph.Call{Query: text, StartTS: startTS}})
		require.NoError(t, err)
		return r.Retrieval.Cache.Mode
	}
	plain := fmt.Sprintf(text, "")
	require.Equal(t, graph.CacheResident, mode(plain, 0))
	require.Equal(t, graph.CacheOnDemand, mode(fmt.Sprintf(text, ", hidden: true"), 0), "hidden edges are not held")
	first, err := c.Query(t.Context(), proxy.Request{Call: graph.Call{Query: plain}})
	require.NoError(t, err)
	require.Equal(t, graph.CacheOnDemand, mode(plain, first.Txn.StartTS), "a transaction may have writes of its own")

	c.load(t, "Heat, starring, Al Pacino")
	resident.SchemaChanged()
	require.Equal(t, graph.CacheOnDemand, mode(`{ q(func: eq(name, "Heat")) @evorag(query: "x") { name } }`, 0), "a start node that the graph doesn't know")
	_, r := (&cluster{newProxyOf(t, proxy.Options{Engine: c.client, Resident: inPart{h}}), c.client}).query(t, plain)
	require.Equal(t, graph.CacheOnDemand, r.Cache.Mode, "one that has edges that the graph doesn't know")
	require.Equal(t, graph.CacheResident, mode(plain, 0))
	c.load(t, "Heat, produced by, Warner")
	resident.SchemaChanged()
	require.Equal(t, graph.CacheOnDemand, mode(plain, 0), "a relation that the graph doesn't know")
	require.Equal(t, graph.CacheResident, mode(fmt.Sprintf(text, ", via: [starring]"), 0))

	resident.Proxy = newProxyOf(t, proxy.Options{Engine: c.client, Resident: &held{}})
	require.Equal(t, graph.CacheOnDemand, mode(fmt.Sprintf(text, ", via: [starring]"), 0), "a graph that isn't filled yet")
}

func TestManyCallersWhileTheGraphIsWritten(t *testing.T) {
	c := newCluster(t)
	require.NoError(t, c.client.Alter(t.Context(), randomSchema))
	random := rand.New(rand.NewPCG(5, 6))
	c.set(t, randomGraph(random))
	c.SchemaChanged()
	cache := c.cache(t)
	p := &cluster{newProxyOf(t, proxy.Options{Engine: c.client, Resident: live{cache}}), c.client}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writer, callers sync.WaitGroup
	writer.Go(func() {
		random := rand.New(rand.NewPCG(7, 8))
		uids := allUIDs(t, c)
		for ctx.Err() == nil {
			head, object := uids[random.IntN(len(uids))], uids[random.IntN(len(uids))]
			nquad := fmt.Sprintf("<%s> <knows> <%s>", head, object)
			err := c.client.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
				if random.IntN(3) == 0 {
					return tx.Delete(ctx, []byte(nquad+" ."))
				}
				_, err := tx.Set(ctx, fmt.Appendf(nil, "%s (evorag.score=%.1f) .", nquad, 200*random.Float64()))
				return err
			})
			if err != nil {
				t.Error(err)
			}
			cache.Changed([]graph.Triplet{{Head: head, Predicate: "knows", Object: object}})
		}
	})
	modes := make([]map[string]int, 16)
	for i := range modes {
		modes[i] = map[string]int{}
		callers.Go(func() {
			for range 15 {
				r, err := p.Query(t.Context(), proxy.Request{Call: graph.Call{Query: fmt.Sprintf(`{ q(func: anyofterms(name, "%d")) @evorag(query: "who knows the queen", hops: 2) { name } }`, i)}})
				if err != nil {
					t.Error(err)
					return
				}
				modes[i][r.Retrieval.Cache.Mode]++
				for _, result := range r.Retrieval.Results {
					if !slices.IsSortedFunc(result.Instances, func(a, b graph.Instance) int { return int(1e9 * (b.Z - a.Z)) }) {
						t.Error("instances out of order")
					}
				}
			}
		})
	}
	callers.Wait()
	cancel()
	writer.Wait()
	total := map[string]int{}
	for _, m := range modes {
		for k, n := range m {
			total[k] += n
		}
	}
	t.Log(total)
	require.Equal(t, 16*15, total[graph.CacheResident])
}

// live is a running cache.
type live struct{ *graphcache.Cache }

func (l live) Around(ctx context.Context, namespace uint64, r proxy.Reach) (proxy.ResidentGraph, proxy.Reached, bool) {
	g, reached, ok := l.Cache.Around(ctx, namespace, graphcache.Reach(r))
	return heldGraph{g}, proxy.Reached(reached), ok
}

func (l live) Graph(namespace uint64) (proxy.ResidentGraph, bool) {
	g, ok := l.Cache.Graph(namespace)
	return heldGraph{g}, ok
}

func allUIDs(t testing.TB, c *cluster) []graph.UID {
	t.Helper()
	data, err := c.client.Read(t.Context(), `{ q(func: has(name)) { uid } }`, nil)
	require.NoError(t, err)
	var out []graph.UID
	for part := range strings.SplitSeq(string(data), `"`) {
		if u, err := graph.ParseUID(part); err == nil {
			out = append(out, u)
		}
	}
	return out
}
