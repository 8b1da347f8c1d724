package graphcache

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// fewStars is a budget of about eight of the thirty nodes: they are put out all the time.
const fewStars = 6000

// startPart runs a cache whose graph is too large for it.
func (c *cluster) startPart(t testing.TB, o Options, change ...func(*Cache)) *Cache {
	t.Helper()
	o.Memory = fewStars
	cache := c.start(t, o, change...)
	require.Eventually(t, func() bool { return cache.Status().State == TooLarge }, time.Minute, time.Millisecond)
	require.NotNil(t, cache.part.Load())
	return cache
}

var walkable = []graph.Relation{
	{Predicate: "knows"}, {Predicate: "knows", Inverse: true}, {Predicate: "likes"}, {Predicate: "boss"},
	{Predicate: "evorag.shortcut"}, {Predicate: "evorag.shortcut", Inverse: true},
}

// someReach is a neighbourhood of up to three nodes over some of the relations.
func (c *cluster) someReach(t testing.TB, random *rand.Rand) Reach {
	r := Reach{Hops: 1 + random.IntN(2), Edges: 1 << 30}
	for range 1 + random.IntN(3) {
		u, err := graph.ParseUID(c.uids[random.IntN(len(c.uids))])
		require.NoError(t, err)
		r.Starts = append(r.Starts, u)
	}
	for _, rel := range walkable {
		if random.IntN(3) > 0 {
			r.Via = append(r.Via, rel)
		}
	}
	return r
}

// within is what lies within reach.
func (c content) within(r Reach) content {
	out := content{map[graph.Triplet]float64{}, map[graph.UID]string{}, c.labels, map[graph.Triplet]string{}}
	via := map[graph.Relation]bool{}
	for _, rel := range r.Via {
		via[rel] = true
	}
	reached := map[graph.UID]int{}
	for _, u := range r.Starts {
		reached[u] = 0
	}
	for hop := range r.Hops {
		for e, score := range c.edges {
			from, forward := reached[e.Head]
			to, inverse := reached[e.Object]
			forward = forward && from == hop && via[graph.Relation{Predicate: e.Predicate}]
			inverse = inverse && to == hop && via[graph.Relation{Predicate: e.Predicate, Inverse: true}]
			if !forward && !inverse {
				continue
			}
			out.edges[e] = score
			if call, ok := c.calls[e]; ok {
				out.calls[e] = call
			}
			for _, u := range [2]graph.UID{e.Head, e.Object} {
				out.names[u] = c.names[u]
				if _, known := reached[u]; !known {
					reached[u] = hop + 1
				}
			}
		}
	}
	return out
}

func (c content) equal(o content) bool {
	return maps.Equal(c.edges, o.edges) && maps.Equal(c.names, o.names) && maps.Equal(c.labels, o.labels) && maps.Equal(c.calls, o.calls)
}

// equalPart waits until some neighbourhoods say what the cluster says; for 0 it doesn't wait.
func (c *cluster) equalPart(t testing.TB, cache *Cache, random *rand.Rand, within time.Duration) {
	t.Helper()
	all := c.now(t)
	deadline := time.Now().Add(within)
	for range 12 {
		r := c.someReach(t, random)
		want := all.within(r)
		for {
			g, reached, ok := cache.Around(t.Context(), 0, r)
			if ok {
				require.Empty(t, reached.Reason)
				got := contentOf(t, g)
				if got.equal(want) {
					break
				}
				if time.Now().After(deadline) {
					require.Equal(t, want, got, r)
				}
			}
			require.False(t, !ok && time.Now().After(deadline), "no part")
			time.Sleep(20 * time.Millisecond)
		}
		require.LessOrEqual(t, cache.Status().Bytes, int64(fewStars))
	}
}

func TestWithAChangeFeedAPartComesToEqualTheClusterAfterAnything(t *testing.T) {
	c := newCluster(t)
	random := rand.New(rand.NewPCG(15, 16))
	for range 60 {
		c.something(t, random)
	}
	cache := c.startPart(t, Options{Feed: OpenFeed(c.CDCDir()), Refresh: time.Hour})
	for _, special := range []func(){
		func() {},
		func() { c.Alter(t, "hates: [uid] .") },
		func() { require.NoError(t, c.client.DropPredicate(t.Context(), "boss")); c.Alter(t, "boss: uid .") },
		func() {},
	} {
		c.equalPart(t, cache, random, 30*time.Second)
		special()
		for range 40 {
			c.something(t, random)
		}
		c.equalPart(t, cache, random, 30*time.Second)
	}
	s := cache.Status()
	require.NotZero(t, s.Hits)
	require.NotZero(t, s.Misses)
	require.NotZero(t, s.Evictions)
	c.Reset(t)
	c.Alter(t, clusterSchema)
	c.uids = nil
	for _, u := range c.Mutate(t, "_:a <knows> _:b .\n_:b <likes> _:c (evorag.score=3.0) .") {
		c.uids = append(c.uids, u)
	}
	c.equalPart(t, cache, random, 30*time.Second)
}

func TestWithoutAChangeFeedAPartIsAsFarBehindAsIsAllowed(t *testing.T) {
	c := newCluster(t)
	random := rand.New(rand.NewPCG(17, 18))
	for range 60 {
		c.something(t, random)
	}
	cache := c.startPart(t, Options{Refresh: 2 * time.Second})
	for range 3 {
		before := time.Now()
		g, _, ok := cache.Around(t.Context(), 0, c.someReach(t, random))
		require.True(t, ok)
		require.Less(t, before.Sub(g.AsOf()), 2*time.Second+tick, "what it may be behind, it tells")
		for range 20 {
			c.something(t, random)
		}
		c.equalPart(t, cache, random, 10*time.Second)
	}
}

// What passed by us is there for whoever asks after it, however many ask meanwhile.
func TestWritesThroughUsAreInThePartAtOnceWhileOthersRead(t *testing.T) {
	c := newCluster(t)
	random := rand.New(rand.NewPCG(19, 20))
	for range 60 {
		c.something(t, random)
	}
	cache := c.startPart(t, Options{Refresh: time.Hour})
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 3 {
		readers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 21))
			for {
				select {
				case <-stop:
					return
				default:
					cache.Around(t.Context(), 0, c.someReach(t, random))
				}
			}
		})
	}
	for round := range 40 {
		head, object := parsed(t, c.uids[random.IntN(30)]), parsed(t, c.uids[random.IntN(30)])
		edge := graph.Triplet{Head: head, Predicate: "knows", Object: object}
		nquad := fmt.Sprintf("<%s> <knows> <%s>", head, object)
		switch round % 3 {
		case 0: // feedback's
			c.Mutate(t, fmt.Sprintf("%s (evorag.score=%d.5) .", nquad, round))
			cache.Written([]graph.Triplet{edge})
		case 1: // a caller's
			cache.Writing([]graph.Triplet{edge})
			c.Mutate(t, fmt.Sprintf("%s (evorag.score=%d.5) .", nquad, round))
			cache.Wrote()
		case 2: // found to be other
			c.delete(t, nquad+" .")
			cache.Changed([]graph.Triplet{edge})
		}
		r := Reach{Starts: []graph.UID{head, object}, Via: walkable[:2], Hops: 1, Edges: 1 << 30}
		g, _, ok := cache.Around(t.Context(), 0, r)
		require.True(t, ok)
		require.Equal(t, c.now(t).within(r).edges, contentOf(t, g).edges)
	}
	close(stop)
	readers.Wait()
	c.equalPart(t, cache, random, 0)
}

func TestANeighbourhoodThatIsHeldIsNotReadAgain(t *testing.T) {
	c := newCluster(t)
	random := rand.New(rand.NewPCG(22, 23))
	for range 60 {
		c.something(t, random)
	}
	cache := c.startPart(t, Options{Refresh: time.Hour})
	u := parsed(t, c.uids[3])
	r := Reach{Starts: []graph.UID{u}, Via: walkable[:1], Hops: 1, Edges: 1 << 30}
	first, reached, ok := cache.Around(t.Context(), 0, r)
	require.True(t, ok)
	require.Equal(t, 2, reached.Reads, "edges, names")
	again, reached, ok := cache.Around(t.Context(), 0, r)
	require.True(t, ok)
	require.Zero(t, reached.Reads)
	require.Equal(t, contentOf(t, first), contentOf(t, again))
	r.Via = walkable[:3]
	_, reached, ok = cache.Around(t.Context(), 0, r)
	require.True(t, ok)
	require.NotZero(t, reached.Reads, "other relations")
	_, _, ok = cache.Around(t.Context(), 1, r)
	require.False(t, ok, "another namespace")
	r.Via = []graph.Relation{{Predicate: "unheard"}}
	_, _, ok = cache.Around(t.Context(), 0, r)
	require.False(t, ok, "a relation that it doesn't know")
	r = Reach{Starts: []graph.UID{u}, Via: walkable, Hops: 2, Edges: 1}
	cache.part.Load().stars.forgetAll()
	_, reached, ok = cache.Around(t.Context(), 0, r)
	require.True(t, ok)
	require.Contains(t, reached.Reason, "more than 1 edges lie within reach")
}

func TestAGraphThatMayFitAgainIsRead(t *testing.T) {
	c := newCluster(t)
	text := ""
	for i := range 30 {
		for j := range 10 {
			text += fmt.Sprintf("<%s> <knows> <%s> .\n", c.uids[i], c.uids[(i+j+1)%30])
		}
	}
	c.Mutate(t, text)
	cache := c.startPart(t, Options{Refresh: time.Hour})
	fits, err := cache.mayFit(t.Context())
	require.NoError(t, err)
	require.False(t, fits, "300 edges of 32 bytes")
	c.delete(t, fmt.Sprintf("<%s> <knows> * .\n", c.uids[0]))
	for i := range 20 {
		c.delete(t, fmt.Sprintf("<%s> <knows> * .\n", c.uids[i]))
	}
	fits, err = cache.mayFit(t.Context())
	require.NoError(t, err)
	require.True(t, fits)
}

// What is put while something is forgotten was read before.
func TestWhatIsForgottenWhileItIsReadIsNotHeld(t *testing.T) {
	s := newStars(1 << 20)
	during := s.begin()
	s.forget(1)
	after := s.begin()
	read := map[graph.UID]*star{1: {}, 2: {spokes: []spoke{{to: 3, relation: 5}}}}
	lacking := func() []graph.UID { return s.get([]graph.UID{1, 2}, "a", 0, map[graph.UID]*star{}) }
	s.put(during, "a", read)
	require.Equal(t, []graph.UID{1}, lacking())
	s.put(after, "a", read)
	require.Empty(t, lacking())
	require.Len(t, s.get([]graph.UID{1, 2}, "b", 0, map[graph.UID]*star{}), 2, "other relations")
	require.Len(t, s.get([]graph.UID{1, 2}, "a", 1, map[graph.UID]*star{}), 2, "too long ago")
	for what, forget := range map[string]func(){
		"a way back": func() { s.forgetTo(map[back]bool{{3, 5}: true}, nil) },
		"a name":     func() { s.forgetTo(nil, map[graph.UID]bool{3: true}) },
		"its name":   func() { s.forgetTo(nil, map[graph.UID]bool{2: true}) },
		"an end":     func() { s.forget(2) },
	} {
		again := s.begin()
		s.put(again, "a", read)
		require.Empty(t, lacking(), what)
		forget()
		require.Contains(t, lacking(), graph.UID(2), what)
		s.put(again, "a", read)
		require.Contains(t, lacking(), graph.UID(2), what+": it was read before")
		s.end(again)
	}
	s.forgetAll()
	s.put(after, "a", read)
	require.Len(t, lacking(), 2)
	s.end(during)
	s.end(after)
	require.Empty(t, s.takings)
}

// Stars are held within the budget, whatever is put, asked for and forgotten.
func TestStarsAreCountedToTheByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStars(rapid.Int64Range(0, 5000).Draw(t, "budget"))
		taken := s.begin()
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			u := graph.UID(rapid.IntRange(1, 8).Draw(t, "node"))
			set := rapid.SampledFrom([]relationSet{"a", "b"}).Draw(t, "relations")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				s.get([]graph.UID{u}, set, 0, map[graph.UID]*star{})
			case 1:
				s.forget(u)
			case 2:
				s.forgetTo(map[back]bool{{u, 1}: true}, nil)
				taken = s.begin()
			default:
				st := &star{labels: []string{"a label"}, called: called{letters: "a name"}}
				for i := range rapid.IntRange(0, 20).Draw(t, "edges") {
					st.spokes = append(st.spokes, spoke{to: graph.UID(i), relation: 1, label: 1})
				}
				s.put(taken, set, map[graph.UID]*star{u: st})
			}
			var bytes int64
			spokes := 0
			for _, key := range s.lru.Keys() {
				st, _ := s.lru.Peek(key)
				bytes += st.bytes()
				spokes += len(st.spokes)
			}
			_, gotSpokes, gotBytes, _ := s.held()
			if bytes != gotBytes || spokes != gotSpokes || bytes > s.most {
				t.Fatalf("%d bytes, told %d of %d", bytes, gotBytes, s.most)
			}
		}
	})
}

func TestAPartGivesTheRelevanceThatTheWholeGives(t *testing.T) {
	c := newCluster(t)
	random := rand.New(rand.NewPCG(24, 25))
	for range 60 {
		c.something(t, random)
	}
	hash := testHash(t)
	for _, way := range relevance.Ways {
		vectors := newLettered(true)
		whole := c.start(t, Options{Refresh: time.Hour, Way: way, Vectors: vectors})
		require.Eventually(t, func() bool { _, ok := whole.Graph(0); return ok }, time.Minute, time.Millisecond)
		all, _ := whole.Graph(0)
		part := c.startPart(t, Options{Refresh: time.Hour, Way: way, Vectors: vectors})
		q := hash.Ask("who was born where the queen renamed 7 lives")
		q.Model = letters(q.Text)
		want := all.Relevance(q)
		compared := 0
		for range 10 {
			g, _, ok := part.Around(t.Context(), 0, c.someReach(t, random))
			require.True(t, ok)
			got := g.Relevance(q)
			for n := range search.Node(g.Nodes()) {
				for _, s := range g.Steps(n) {
					from, _ := all.Node(g.UID(n))
					to, _ := all.Node(g.UID(s.To))
					rel, _ := all.Rel(g.Relation(s.Rel))
					same, ok := all.find(from, rel, to)
					require.True(t, ok)
					require.InDelta(t, want.Sr(uint32(from), uint32(rel), uint32(to), same.Edge), got.Sr(uint32(n), uint32(s.Rel), uint32(s.To), s.Edge), 1e-6)
					require.LessOrEqual(t, got.Sr(uint32(n), uint32(s.Rel), uint32(s.To), s.Edge), got.Bound(uint32(n), uint32(s.Rel)))
					compared++
				}
			}
		}
		require.NotZero(t, compared)
	}
}
