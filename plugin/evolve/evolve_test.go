package evolve_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

func edge(head graph.UID, predicate string, object graph.UID, score float64) evolve.Edge {
	return evolve.Edge{
		Triplet:      graph.Triplet{Head: head, Predicate: predicate, Object: object},
		Contribution: graph.Contribution{Score: score, Updates: 1},
	}
}

func rules() evolve.Rules {
	r := evolve.DefaultRules()
	r.MinTouched, r.Explore = 1, 0
	return r
}

// The situation of the paper's Figure 6: a chain of three good triplets that a retrieval of
// two hops can't cover, beside a good triplet that leads nowhere and an outdated one.
func TestAChainOfGoodTripletsIsFusedAndTheOutdatedOneSuppressed(t *testing.T) {
	const film, studio, founder, city, owner, former = 1, 2, 3, 4, 5, 6
	s := evolve.Snapshot{Edges: []evolve.Edge{
		edge(film, "produced_by", studio, 160),
		edge(studio, "founded_by", founder, 150),
		edge(founder, "born_in", city, 170),
		edge(studio, "owned_by", owner, 100),
		edge(studio, "owned_by", former, 40),
		edge(film, "directed_by", 7, 100),
	}}
	r := rules()
	for run := 1; run <= r.Runs; run++ {
		p, err := evolve.Propose(s, r, "run")
		require.NoError(t, err)
		require.InDelta(t, 120, p.Mu, 1e-9)
		require.InDelta(t, 45.092498, p.Sigma, 1e-6)
		require.Empty(t, p.Candidates, "one triplet of the three is above mu+sigma")

		require.Len(t, p.Changes, 1)
		c := p.Changes[0]
		require.Equal(t, graph.UID(former), c.Object)
		require.Equal(t, run, c.After.Low)
		require.Equal(t, run == r.Runs, c.After.Hidden)
		s.Edges[4].Contribution = c.After
	}

	s.Edges = append(s.Edges, edge(8, "p", 9, 100), edge(9, "p", 10, 100), edge(10, "p", 11, 100), edge(11, "p", 12, 100))
	p, err := evolve.Propose(s, r, "run")
	require.NoError(t, err)
	require.Equal(t, []string{
		"160 0x2 founded_by 0x3 born_in 0x4",
		"160 0x1 produced_by 0x2 founded_by 0x3 born_in 0x4",
		"155 0x1 produced_by 0x2 founded_by 0x3",
	}, lines(p.Candidates))
	require.Equal(t, "produced by, founded_by, born in", evolve.Label(p.Candidates[1].Path, map[string]string{"produced_by": "produced by", "born_in": "born in"}))
}

func TestPathsThatMixDirectionsAreFusedWhereRetrievalMayWalkThem(t *testing.T) {
	// Which films share a director with film 1? The way there begins against the edge's direction.
	s := evolve.Snapshot{Edges: []evolve.Edge{
		edge(10, "directed", 1, 180), edge(10, "directed", 2, 180),
		edge(1, "genre", 20, 60), edge(2, "genre", 21, 60), edge(3, "genre", 20, 60),
	}}
	p, err := evolve.Propose(s, rules(), "run")
	require.NoError(t, err)
	require.Empty(t, p.Candidates, "directed can't be walked backwards")

	s.Inverse = map[string]bool{"directed": true}
	p, err = evolve.Propose(s, rules(), "run")
	require.NoError(t, err)
	require.Equal(t, []string{"180 0x1 ~directed 0xa directed 0x2", "180 0x2 ~directed 0xa directed 0x1"}, lines(p.Candidates))
	require.Equal(t, "directed (of), directed", evolve.Label(p.Candidates[0].Path, nil))
}

func TestNoShortcutIsMade(t *testing.T) {
	chain := []evolve.Edge{edge(1, "p", 2, 190), edge(2, "p", 3, 190), edge(7, "q", 8, 50), edge(8, "q", 9, 50), edge(9, "q", 10, 50)}
	for name, change := range map[string]func(*evolve.Snapshot, *evolve.Rules){
		"where an edge joins the ends": func(s *evolve.Snapshot, _ *evolve.Rules) {
			s.Edges = append(s.Edges, edge(1, "other", 3, 100))
		},
		"where a hidden edge joins the ends": func(s *evolve.Snapshot, _ *evolve.Rules) {
			e := edge(1, "other", 3, 20)
			e.Hidden = true
			s.Edges = append(s.Edges, e)
		},
		"where a shortcut joins the ends": func(s *evolve.Snapshot, _ *evolve.Rules) {
			s.Edges = append(s.Edges, edge(1, graph.ShortcutPredicate, 3, 100))
		},
		"where too few triplets were touched": func(_ *evolve.Snapshot, r *evolve.Rules) { r.MinTouched = 6 },
		"where none may be made":              func(_ *evolve.Snapshot, r *evolve.Rules) { r.MaxShortcuts = 0 },
		"from triplets that are nearly neutral": func(s *evolve.Snapshot, r *evolve.Rules) {
			s.Edges[0].Score, s.Edges[1].Score = 104, 104
			r.All, s.Total = true, 1000
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := evolve.Snapshot{Edges: slices.Clone(chain)}, rules()
			change(&s, &r)
			p, err := evolve.Propose(s, r, "run")
			require.NoError(t, err)
			require.Empty(t, p.Build(nil).Shortcuts)
		})
	}
	p, err := evolve.Propose(evolve.Snapshot{Edges: chain}, rules(), "run")
	require.NoError(t, err)
	require.Len(t, p.Build(nil).Shortcuts, 1)
	require.Empty(t, p.Build(map[evolve.Pair]bool{{Head: 1, Object: 3}: true}).Shortcuts, "joined outside the snapshot")
}

func TestAHiddenTripletComesBack(t *testing.T) {
	r := rules()
	th := evolve.Thresholds{High: 105, Low: 90, Enough: true}
	e := edge(1, "p", 2, 40)
	e.Hidden, e.Low = true, 3
	runs := 0
	for e.Hidden {
		before := e.Score
		var why evolve.Why
		e.Contribution, why = r.Fate(th, e, "run")
		require.Greater(t, e.Score, before)
		if e.Hidden {
			require.Equal(t, evolve.Decayed, why)
		} else {
			require.Equal(t, evolve.Recover, why)
			require.Greater(t, e.Score, th.Low+r.Hysteresis)
			require.Zero(t, e.Low)
		}
		runs++
		require.Less(t, runs, 50)
	}
	require.Equal(t, 21, runs)

	again, why := r.Fate(th, e, "run")
	require.Equal(t, evolve.Kept, why, "hysteresis keeps it from flickering")
	require.Equal(t, e.Contribution, again)
}

func TestAShareOfTheHiddenIsTriedAgain(t *testing.T) {
	r := rules()
	r.Explore = 0.02
	th := evolve.Thresholds{High: 105, Low: 60, Enough: true}
	tried := map[string]int{}
	same := 0
	for i := range graph.UID(20_000) {
		e := edge(i+1, "p", i+2, 10)
		e.Hidden, e.Low = true, 3
		var was bool
		for _, seed := range []string{"run 1", "run 2"} {
			after, why := r.Fate(th, e, seed)
			if why == evolve.OnTrial {
				tried[seed]++
				require.False(t, after.Hidden)
				e2 := evolve.Edge{Triplet: e.Triplet, Contribution: after}
				_, why := r.Fate(th, e2, seed)
				require.Equal(t, evolve.Hide, why, "one more low run hides it again")
				if was {
					same++
				}
				was = true
			}
		}
	}
	require.InDelta(t, 400, tried["run 1"], 80)
	require.InDelta(t, 400, tried["run 2"], 80)
	require.Less(t, same, 40, "each run tries others")
}

func TestAShortcutGoesWithThePathUnderIt(t *testing.T) {
	path := func(text string) graph.Path {
		p, err := graph.ParsePath(text)
		require.NoError(t, err)
		return p
	}
	bad := edge(5, "p", 6, 10)
	bad.Low = 2
	s := evolve.Snapshot{
		Edges: []evolve.Edge{bad, edge(1, "p", 2, 150), edge(2, "p", 3, 150)},
		Shortcuts: []evolve.Standing{
			{Shortcut: evolve.Shortcut{Path: path("0x1 p 0x2 p 0x3")}},
			{Shortcut: evolve.Shortcut{Path: path("0x7 p 0x8 p 0x9")}, Gone: true},
			{Shortcut: evolve.Shortcut{Path: path("0x4 p 0x5 p 0x6")}},
		},
	}
	p, err := evolve.Propose(s, rules(), "run")
	require.NoError(t, err)
	require.Len(t, p.Removed, 2)
	require.Equal(t, graph.UID(4), p.Removed[0].Pair().Head, "an edge of its path was hidden")
	require.Equal(t, graph.UID(7), p.Removed[1].Pair().Head, "an edge of its path is gone")
}

func TestTheWorstAreHiddenFirst(t *testing.T) {
	r := rules()
	r.MaxHidden, r.Runs = 2, 1
	p, err := evolve.Propose(evolve.Snapshot{Edges: []evolve.Edge{
		edge(1, "p", 2, 3), edge(2, "p", 3, 1), edge(3, "p", 4, 2),
		edge(4, "p", 5, 150), edge(5, "p", 6, 150), edge(6, "p", 7, 150), edge(7, "p", 8, 150), edge(8, "p", 9, 150),
	}}, r, "run")
	require.NoError(t, err)
	var hidden []graph.UID
	for _, c := range p.Changes {
		if c.After.Hidden {
			hidden = append(hidden, c.Head)
		}
	}
	require.Equal(t, []graph.UID{2, 3}, hidden)
}

func TestWhatCanNotBeJudgedIsRefused(t *testing.T) {
	for name, s := range map[string]evolve.Snapshot{
		"a score that is not a number": {Edges: []evolve.Edge{edge(1, "p", 2, math.NaN())}},
		"a score out of range":         {Edges: []evolve.Edge{edge(1, "p", 2, 201)}},
		"a triplet twice":              {Edges: []evolve.Edge{edge(1, "p", 2, 1), edge(1, "p", 2, 2)}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := evolve.Propose(s, rules(), "run")
			require.ErrorIs(t, err, evolve.ErrSnapshot)
		})
	}
	for name, change := range map[string]func(*evolve.Rules){
		"one hop":                    func(r *evolve.Rules) { r.Hops = 1 },
		"hysteresis that has no end": func(r *evolve.Rules) { r.Hysteresis = 15 },
		"a share above one":          func(r *evolve.Rules) { r.Explore = 1.1 },
		"decay that is not a number": func(r *evolve.Rules) { r.Decay = math.NaN() },
		"no runs":                    func(r *evolve.Rules) { r.Runs = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			r := rules()
			change(&r)
			_, err := evolve.Propose(evolve.Snapshot{}, r, "run")
			require.ErrorIs(t, err, evolve.ErrRules)
			require.ErrorContains(t, err, "write a number")
		})
	}
}

func TestAnEmptySnapshotChangesNothing(t *testing.T) {
	p, err := evolve.Propose(evolve.Snapshot{}, evolve.DefaultRules(), "run")
	require.NoError(t, err)
	require.True(t, p.Build(nil).Empty())
}
