package evolution

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

func drawContribution(t *rapid.T, name string) graph.Contribution {
	return graph.Contribution{
		Score:   rapid.OneOf(rapid.SampledFrom([]float64{0, 60, 100, 150, 200}), rapid.Float64Range(0, 200)).Draw(t, name+" score"),
		Updates: rapid.IntRange(0, 3).Draw(t, name+" n"), Low: rapid.IntRange(0, 3).Draw(t, name+" low"),
		Hidden: rapid.Bool().Draw(t, name+" hidden"),
	}
}

var (
	edge     = graph.Triplet{Head: 1, Predicate: "p", Object: 2}
	second   = graph.Triplet{Head: 2, Predicate: "p", Object: 3}
	shortcut = graph.Triplet{Head: 1, Predicate: graph.ShortcutPredicate, Object: 3}
)

func drawPresent(t *rapid.T, name string) present {
	now := present{edges: map[graph.Triplet]facet.Edge{}, joined: map[evolve.Pair]bool{}}
	for _, tr := range []graph.Triplet{edge, second, shortcut} {
		if rapid.IntRange(0, 4).Draw(t, name+" there") > 0 {
			now.edges[tr] = facet.Edge{Triplet: tr, Contribution: drawContribution(t, name)}
		}
	}
	_, there := now.edges[shortcut]
	now.joined[evolve.Pair{Head: 1, Object: 3}] = there || rapid.IntRange(0, 4).Draw(t, name+" joined") == 0
	return now
}

func drawChange(t *rapid.T) Change {
	via := "0x1 p 0x2 p 0x3"
	switch rapid.SampledFrom([]Kind{EdgeChange, NewShortcut, OldShortcut}).Draw(t, "kind") {
	case EdgeChange:
		before, after := drawContribution(t, "before"), drawContribution(t, "after")
		after.Updates = before.Updates
		return Change{Kind: EdgeChange, Triplet: edge, Before: &before, After: &after, Why: rapid.SampledFrom([]evolve.Why{evolve.Low, evolve.Hide}).Draw(t, "why")}
	case NewShortcut:
		return Change{Kind: NewShortcut, Triplet: shortcut, Via: via, After: &graph.Contribution{Score: 150}}
	}
	return Change{Kind: OldShortcut, Triplet: shortcut, Via: via}
}

// perform is what a batch's transaction does to the edges.
func perform(now present, c Change) present {
	out := present{edges: map[graph.Triplet]facet.Edge{}}
	for k, v := range now.edges {
		out.edges[k] = v
	}
	switch {
	case !c.done():
	case c.After == nil:
		delete(out.edges, c.Triplet)
	default:
		out.edges[c.Triplet] = facet.Edge{Triplet: c.Triplet, Contribution: *c.After}
	}
	return out
}

func TestWhatIsDoneIsUndone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := evolve.DefaultRules()
		rules.Average = rapid.Bool().Draw(t, "average")
		j := judge{Rules: rules, Thresholds: evolve.Thresholds{High: 120, Low: 80, Enough: true}, Run: "run"}
		before := drawPresent(t, "now")
		done := j.settle(drawChange(t), before)
		after := perform(before, done)

		back, why := restore(done, after, false, false)
		require.Empty(t, why, "nothing has happened since")
		require.Equal(t, before.edges, perform(after, back).edges)
	})
}

func TestWhatHasChangedSinceIsRefusedOrKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := judge{Rules: evolve.DefaultRules(), Thresholds: evolve.Thresholds{High: 120, Low: 80, Enough: true}, Run: "run"}
		before := drawPresent(t, "now")
		done := j.settle(drawChange(t), before)
		after := perform(before, done)
		e, there := after.edges[done.Triplet]
		if !done.done() || !there {
			return
		}
		rated := e
		rated.Updates++
		rated.Score = min(200, e.Score+rapid.Float64Range(0, 10).Draw(t, "rated"))
		after.edges[done.Triplet] = rated

		_, why := restore(done, after, false, false)
		require.Contains(t, why, "was rated")
		_, why = restore(done, after, true, true)
		require.Contains(t, why, "by a later run")
		back, why := restore(done, after, true, false)
		require.Empty(t, why)
		if done.Kind == NewShortcut {
			require.False(t, back.done(), "a rated shortcut stays")
			return
		}
		require.Equal(t, done.Before.Hidden, back.After.Hidden)
		require.Equal(t, done.Before.Low, back.After.Low)
		require.Equal(t, rated.Updates, back.After.Updates, "feedback is kept")
	})
}

func TestWhatSomebodyHasSetAnewIsLeftAlone(t *testing.T) {
	edge := graph.Triplet{Head: 1, Predicate: "p", Object: 2}
	before := graph.Contribution{Score: 60, Updates: 4}
	for name, c := range map[string]struct{ after, now graph.Contribution }{
		"all that was learned is gone":      {graph.Contribution{Score: 60, Updates: 4, Low: 1}, graph.Neutral()},
		"the score was given back since":    {graph.Contribution{Score: 60, Updates: 4, Low: 1}, before},
		"what was hidden shows":             {graph.Contribution{Score: 60, Updates: 4, Low: 3, Hidden: true}, graph.Contribution{Score: 60, Updates: 4, Low: 3}},
		"the count that started again went": {graph.Contribution{Score: 120, Updates: 4}, graph.Neutral()},
	} {
		t.Run(name, func(t *testing.T) {
			done := Change{Kind: EdgeChange, Triplet: edge, Before: &before, After: &c.after}
			now := present{edges: map[graph.Triplet]facet.Edge{edge: {Triplet: edge, Contribution: c.now}}}
			back, why := restore(done, now, false, false)
			require.Empty(t, why)
			require.Equal(t, "somebody has set the edge anew", back.Note)
		})
	}
}
