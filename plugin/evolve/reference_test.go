package evolve_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// reference finds shortcuts by walking every simple path, with nothing left out early.
func reference(s evolve.Snapshot, r evolve.Rules, t evolve.Thresholds, hidden map[graph.Triplet]bool) []evolve.Shortcut {
	joined := map[evolve.Pair]bool{}
	from := map[graph.UID][]graph.Step{}
	for _, e := range s.Edges {
		joined[evolve.Pair{Head: e.Head, Object: e.Object}] = true
		if hidden[e.Triplet] || e.Hidden || e.Predicate == graph.ShortcutPredicate && !r.Nested {
			continue
		}
		from[e.Head] = append(from[e.Head], graph.Step{Triplet: e.Triplet, Contribution: e.Contribution})
		if s.Inverse[e.Predicate] {
			from[e.Object] = append(from[e.Object], graph.Step{Triplet: e.Triplet, Contribution: e.Contribution, Inverse: true})
		}
	}
	best := map[evolve.Pair]evolve.Shortcut{}
	var walk func(graph.Path, []graph.UID)
	walk = func(p graph.Path, seen []graph.UID) {
		if n := p.Hops(); n >= 2 {
			sum, all := 0.0, true
			for _, st := range p.Steps {
				sum += st.Score
				all = all && st.Score > t.High
			}
			found := evolve.Shortcut{Path: p, Score: sum / float64(n)}
			good := all
			if r.Average {
				good = found.Score > t.High && p.Steps[0].Score >= t.High
			}
			old, known := best[found.Pair()]
			if good && !joined[found.Pair()] && (!known || compare(found, old) < 0) {
				best[found.Pair()] = found
			}
		}
		if p.Hops() == r.Hops {
			return
		}
		for _, st := range from[p.End()] {
			if !slices.Contains(seen, st.To()) {
				walk(graph.Path{Start: p.Start, Steps: append(slices.Clip(p.Steps), st)}, append(slices.Clip(seen), st.To()))
			}
		}
	}
	for u := range from {
		walk(graph.Path{Start: u}, []graph.UID{u})
	}
	var out []evolve.Shortcut
	for _, sc := range best {
		out = append(out, sc)
	}
	slices.SortFunc(out, compare)
	return out
}

// compare puts the better shortcut first.
func compare(a, b evolve.Shortcut) int {
	if c := cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Path.Hops(), b.Path.Hops()), cmp.Compare(a.Path.Start, b.Path.Start)); c != 0 {
		return c
	}
	for i, x := range a.Path.Steps {
		y := b.Path.Steps[i]
		inverse := 0
		if x.Inverse != y.Inverse {
			inverse = map[bool]int{true: 1, false: -1}[x.Inverse]
		}
		if c := cmp.Or(strings.Compare(x.Predicate, y.Predicate), inverse, cmp.Compare(x.To(), y.To())); c != 0 {
			return c
		}
	}
	return 0
}

// drawSnapshot is a small graph with loops, parallel edges, both directions, few distinct scores.
func drawSnapshot(t *rapid.T) evolve.Snapshot {
	s := evolve.Snapshot{Inverse: map[string]bool{}}
	predicates := []string{"a", "b", "c", graph.ShortcutPredicate}
	for _, p := range predicates {
		s.Inverse[p] = rapid.Bool().Draw(t, "inverse "+p)
	}
	nodes := rapid.Uint64Range(1, uint64(rapid.IntRange(2, 9).Draw(t, "nodes")))
	seen := map[graph.Triplet]bool{}
	for range rapid.IntRange(0, 24).Draw(t, "edges") {
		e := evolve.Edge{Triplet: graph.Triplet{
			Head: graph.UID(nodes.Draw(t, "head")), Predicate: rapid.SampledFrom(predicates).Draw(t, "predicate"), Object: graph.UID(nodes.Draw(t, "object")),
		}}
		if seen[e.Triplet] {
			continue
		}
		seen[e.Triplet] = true
		e.Score = rapid.OneOf(rapid.SampledFrom([]float64{0, 80, 100, 120, 150, 150.5, 200}), rapid.Float64Range(0, 200)).Draw(t, "score")
		e.Updates = rapid.IntRange(0, 2).Draw(t, "updates")
		e.Low = rapid.IntRange(0, 3).Draw(t, "low")
		e.Hidden = rapid.IntRange(0, 5).Draw(t, "hidden") == 0
		s.Edges = append(s.Edges, e)
	}
	s.Total = len(s.Edges) + rapid.IntRange(0, 50).Draw(t, "others")
	return s
}

func drawRules(t *rapid.T) evolve.Rules {
	r := evolve.DefaultRules()
	r.MinTouched = 1
	r.All, r.Average, r.Nested = rapid.Bool().Draw(t, "all"), rapid.Bool().Draw(t, "average"), rapid.Bool().Draw(t, "nested")
	r.Hops = rapid.IntRange(2, 5).Draw(t, "hops")
	r.Runs = rapid.IntRange(1, 4).Draw(t, "runs")
	r.MaxHidden = rapid.IntRange(0, 5).Draw(t, "max hidden")
	r.Explore = rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(t, "explore")
	return r
}

func TestFusionFindsWhatWalkingEveryPathFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, r := drawSnapshot(t), drawRules(t)
		p, err := evolve.Propose(s, r, "run")
		require.NoError(t, err)
		require.False(t, p.Cut)
		if !p.Enough {
			require.Empty(t, p.Candidates)
			return
		}
		hidden := map[graph.Triplet]bool{}
		for _, c := range p.Changes {
			hidden[c.Triplet] = c.After.Hidden
		}
		want := reference(s, r, p.Thresholds, hidden)
		require.Equal(t, lines(want), lines(p.Candidates))

		joined := map[evolve.Pair]bool{}
		r.MaxShortcuts = rapid.IntRange(1, 4).Draw(t, "max shortcuts")
		for _, sc := range want {
			joined[sc.Pair()] = rapid.IntRange(0, 3).Draw(t, "joined") == 0
		}
		var chosen []evolve.Shortcut
		for _, sc := range want[:min(len(want), 4*r.MaxShortcuts)] {
			if !joined[sc.Pair()] && len(chosen) < r.MaxShortcuts {
				chosen = append(chosen, sc)
			}
		}
		p, err = evolve.Propose(s, r, "run")
		require.NoError(t, err)
		require.Equal(t, lines(chosen), lines(p.Build(joined).Shortcuts))
	})
}

func TestTheOrderOfASnapshotDecidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, r := drawSnapshot(t), drawRules(t)
		r.All = false // a sum in another order is rounded otherwise
		first, err := evolve.Propose(s, r, "run")
		require.NoError(t, err)
		s.Edges = rapid.Permutation(s.Edges).Draw(t, "permutation")
		second, err := evolve.Propose(s, r, "run")
		require.NoError(t, err)
		if first.Thresholds == second.Thresholds {
			require.Equal(t, first.Changes, second.Changes)
			require.Equal(t, lines(first.Candidates), lines(second.Candidates))
		}
	})
}

func TestEveryChangesetKeepsTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, r := drawSnapshot(t), drawRules(t)
		r.Budget = rapid.IntRange(1, 200).Draw(t, "budget")
		p, err := evolve.Propose(s, r, "run")
		require.NoError(t, err)
		before := map[graph.Triplet]graph.Contribution{}
		joined := map[evolve.Pair]bool{}
		for _, e := range s.Edges {
			before[e.Triplet] = e.Contribution
			joined[evolve.Pair{Head: e.Head, Object: e.Object}] = true
		}
		hidden := 0
		for _, c := range p.Changes {
			require.Equal(t, before[c.Triplet], c.Before)
			require.NotEqual(t, c.Before, c.After)
			require.Equal(t, c.Before.Updates, c.After.Updates, "a run is not feedback")
			if !c.Before.Hidden {
				require.Equal(t, c.Before.Score, c.After.Score, "only hidden triplets decay")
			}
			if c.Before.Hidden {
				near := func(x float64) float64 { return max(x-100, 100-x) }
				require.LessOrEqual(t, near(c.After.Score), near(c.Before.Score))
			}
			if c.After.Hidden && !c.Before.Hidden {
				hidden++
				require.Less(t, c.Before.Score, 85.0, "a neutral triplet is never hidden")
				require.GreaterOrEqual(t, c.Before.Low+1, r.Runs)
			}
		}
		require.LessOrEqual(t, hidden, r.MaxHidden)
		require.GreaterOrEqual(t, p.High, 105.0)
		require.LessOrEqual(t, p.Thresholds.Low, 85.0)
		pairs := map[evolve.Pair]bool{}
		for _, sc := range p.Candidates {
			require.False(t, pairs[sc.Pair()], "one for each ordered pair")
			pairs[sc.Pair()] = true
			require.False(t, joined[sc.Pair()])
			require.NotEqual(t, sc.Path.Start, sc.Path.End())
			require.Greater(t, sc.Score, p.High)
		}
	})
}

func lines(all []evolve.Shortcut) []string {
	out := make([]string, 0, len(all))
	for _, s := range all {
		out = append(out, fmt.Sprintf("%v %s", s.Score, s.Path))
	}
	return out
}
