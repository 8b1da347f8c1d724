package search_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

func TestTheSearchEqualsEnumeration(t *testing.T) { searchEqualsEnumeration(t, drawWorld) }

func TestTheSearchFromAHubEqualsEnumeration(t *testing.T) { searchEqualsEnumeration(t, drawStar) }

func searchEqualsEnumeration(t *testing.T, draw func(*rapid.T) *world) {
	rapid.Check(t, func(t *rapid.T) {
		w := draw(t)
		q := drawQuery(t, w)
		var scorer search.Scorer = w
		if rapid.Bool().Draw(t, "scorer without BoundFrom") {
			scorer = struct{ search.Scorer }{w}
		}
		got, err := search.Top(context.Background(), w, scorer, q)
		if err != nil || got.Partial {
			t.Fatalf("error %v, reason %q", err, got.Reason)
		}
		want := w.reference(q)
		if !reflect.DeepEqual(want, got.Bundles) {
			t.Fatalf("want %s\n got %s", show(want), show(got.Bundles))
		}
		if q.Hubs != nil {
			q.Hubs.Release() // other cases get its memory as it was left
		}
	})
}

func TestACutSearchKeepsOnlyCandidatesInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		q := drawQuery(t, w)
		q.Budget.Edges = rapid.IntRange(1, 12).Draw(t, "edges")
		q.Budget.Expansions = rapid.IntRange(1, 6).Draw(t, "expansions")
		got, err := search.Top(context.Background(), w, w, q)
		if err != nil {
			t.Fatal(err)
		}
		if got.Partial != (got.Reason != "") {
			t.Fatalf("partial %v, reason %q", got.Partial, got.Reason)
		}
		if got.Work.Edges > q.Budget.Edges || got.Work.Expansions > q.Budget.Expansions {
			t.Fatalf("%+v goes beyond %+v", got.Work, q.Budget)
		}
		all := q
		all.Paths, all.Instances = 1<<20, 1<<20
		candidates := map[string]float64{}
		for _, b := range w.reference(all) {
			for _, p := range b.Paths {
				candidates[fmt.Sprint(p.Steps)] = p.Z
			}
		}
		last := math.Inf(1)
		for _, b := range got.Bundles {
			if b.Paths[0].Z > last {
				t.Fatalf("out of order: %s", show(got.Bundles))
			}
			last = b.Paths[0].Z
			for i, p := range b.Paths {
				if z, ok := candidates[fmt.Sprint(p.Steps)]; !ok || z != p.Z {
					t.Fatalf("%v is not a candidate", p)
				}
				if i > 0 && p.Z > b.Paths[i-1].Z {
					t.Fatalf("instances out of order: %s", show(got.Bundles))
				}
			}
		}
		if !got.Partial && !reflect.DeepEqual(w.reference(q), got.Bundles) {
			t.Fatal("not partial, and yet not what enumeration gives")
		}
	})
}

func show(bundles []search.Bundle) string {
	var s string
	for _, b := range bundles {
		s += fmt.Sprintf("\n  %v total %d:", b.Metapath, b.Total)
		for _, p := range b.Paths {
			s += fmt.Sprintf("\n    %v z %.17g sc %g", p.Steps, p.Z, p.MeanSc)
		}
	}
	return s
}

// star is a start node, a hub behind it, and n leaves behind the hub, all of one relation.
func star(n int) *world {
	w := newWorld(n+2, 2)
	w.steps[0] = []search.Step{{Rel: 0, To: 1}}
	w.p[key{0, w.steps[0][0]}] = .5
	for i := range n {
		s := search.Step{Rel: 1, To: search.Node(i + 2), Edge: uint32(i + 1)}
		w.steps[1] = append(w.steps[1], s)
		w.p[key{1, s}] = .5
	}
	w.p[key{1, w.steps[1][n/2]}] = .9
	w.maxScore = .9
	w.loose = true
	return w
}

func TestAHubIsOneBundle(t *testing.T) {
	w := star(60_000)
	got, err := search.Top(context.Background(), w, w, search.Query{Hops: 2, Paths: 10, Instances: 20})
	require.NoError(t, err)
	require.False(t, got.Partial)
	require.Len(t, got.Bundles, 2)
	hub := got.Bundles[0]
	require.Equal(t, []search.Rel{0, 1}, hub.Metapath)
	require.Len(t, hub.Paths, 20)
	require.EqualValues(t, 30_002, hub.Paths[0].Steps[1].To, "the best of them leads")
	require.EqualValues(t, 2, hub.Paths[1].Steps[1].To, "then the lowest uids, which tie")
	require.True(t, hub.AtLeast, "counting stops")
	require.GreaterOrEqual(t, hub.Total, search.DefaultCount-1)
	require.LessOrEqual(t, got.Work.Edges, 2*60_001+1, "each edge is scored once to choose and once to fill")
}

// A hub is scored in parts by several goroutines, in memory that other questions have used.
func TestALargeHubGivesWhatItsStepsGive(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, leaves := range []int{20_000, 1_000, 33_001} {
		w := star(leaves)
		for _, s := range w.steps[1] {
			w.p[key{1, s}], w.sc[key{1, s}] = .1+.8*random.Float64(), random.Float64()
		}
		for _, hops := range []int{2, 3} { // the hub is on the last hop, and before it
			q := search.Query{Hops: hops, Paths: 10, Instances: 30, Rule: search.Maximal, Budget: search.Budget{Edges: 1 << 20, Expansions: 1 << 20}}
			want, err := search.Top(context.Background(), w, w, q)
			require.NoError(t, err)
			require.False(t, want.Partial)
			q.Hubs = &search.Hubs{}
			got, err := search.Top(context.Background(), w, w, q)
			require.NoError(t, err)
			require.Equal(t, want.Bundles, got.Bundles)
			q.Hubs.Release()
		}
	}
}

func TestWhatCannotWinIsNotScored(t *testing.T) {
	w := star(60_000)
	w.loose = false
	for _, s := range w.steps[1] {
		w.p[key{1, s}] = .01
	}
	w.maxScore = .5
	got, err := search.Top(context.Background(), w, w, search.Query{Hops: 2, Paths: 1, Instances: 1})
	require.NoError(t, err)
	require.Equal(t, []search.Rel{0}, got.Bundles[0].Metapath)
	require.Equal(t, 1, got.Work.Edges, "the hub's relation is passed over whole")
}

func TestBudgets(t *testing.T) {
	w := star(1000)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, stop := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer stop()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		budget search.Budget
		reason string
		found  int
	}{
		{"edges end a search in the middle of a hub", context.Background(), search.Budget{Edges: 100}, "the budget of 100 edges was used up", 2},
		{"expansions end it before the hub", context.Background(), search.Budget{Expansions: 1}, "the budget of 1 expansions was used up", 1},
		{"a cancelled caller gets nothing", cancelled, search.Budget{}, "time was up: context canceled", 0},
		{"a deadline in the past gives nothing", late, search.Budget{}, "time was up: context deadline exceeded", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := search.Top(c.ctx, w, w, search.Query{Hops: 2, Paths: 10, Instances: 5, Budget: c.budget})
			require.NoError(t, err)
			require.True(t, got.Partial)
			require.Equal(t, c.reason, got.Reason)
			require.Len(t, got.Bundles, c.found)
		})
	}
	got, err := search.Top(context.Background(), w, w, search.Query{Hops: 2, Paths: 10, Instances: 5, Budget: search.Budget{Edges: 100}})
	require.NoError(t, err)
	require.Len(t, got.Bundles[1].Paths, 5, "the last quarter fills the bundles")
}

func TestQueriesThatMeanNothingAreRefused(t *testing.T) {
	w := newWorld(1, 1)
	for _, c := range []struct {
		q    search.Query
		text string
	}{
		{search.Query{Hops: 0, Paths: 1, Instances: 1}, "search: hops: 0; write a number from 1 to 6"},
		{search.Query{Hops: 7, Paths: 1, Instances: 1}, "search: hops: 7; write a number from 1 to 6"},
		{search.Query{Hops: 1, Paths: 0, Instances: 1}, "search: paths: 0; write 1 or more"},
		{search.Query{Hops: 1, Paths: 1, Instances: 0}, "search: instances: 0; write 1 or more"},
	} {
		_, err := search.Top(context.Background(), w, w, c.q)
		require.ErrorIs(t, err, search.ErrQuery)
		require.EqualError(t, err, c.text)
	}
}

func TestALonelyNodeHasNoPaths(t *testing.T) {
	w := newWorld(1, 1)
	w.add(0, search.Step{To: 0}, .5, .5)
	got, err := search.Top(context.Background(), w, w, search.Query{Hops: 3, Paths: 5, Instances: 5})
	require.NoError(t, err)
	require.Empty(t, got.Bundles, "a loop leads to no new node")
	require.False(t, got.Partial)
}

func TestSearchesMayRunAtOnce(t *testing.T) {
	g := zipf(5_000)
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	scorer := g.scorer(relevance.DefaultTemplate, hash.Ask("which castle is north of the river"))
	query := func(n int) search.Query {
		return search.Query{Start: search.Node(n), Hops: 3, Paths: 5, Instances: 5}
	}
	var want []search.Result
	for n := range 50 {
		result, err := search.Top(context.Background(), g, scorer, query(n))
		require.NoError(t, err)
		want = append(want, result)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := range 50 {
				result, err := search.Top(context.Background(), g, scorer, query(n))
				assert.NoError(t, err)
				assert.Equal(t, want[n], result)
			}
		})
	}
	all.Wait()
}

func TestZIsRanksZ(t *testing.T) {
	w := newWorld(3, 1)
	w.add(0, search.Step{To: 1, Edge: 0}, .3, .5)
	w.add(1, search.Step{To: 2, Edge: 1}, .7, .5)
	got, err := search.Top(context.Background(), w, w, search.Query{Hops: 2, Paths: 5, Single: true, Rule: search.Maximal, HopBias: []float64{0, 0, .1}})
	require.NoError(t, err)
	require.Len(t, got.Bundles, 1)
	require.Equal(t, rank.Z([]float64{.3, .7}, .1), got.Bundles[0].Paths[0].Z, "bit for bit")
}
