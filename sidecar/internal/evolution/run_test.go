package evolution_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/evolution"
)

// shortcuts are what a run makes of the films: one for each good path whose ends no edge joins.
// "aliens" is the sequel of "alien", which joins them from head to object, not the other way.
var shortcuts = map[string]string{
	"studio evorag.shortcut beach":  "evorag.label=founded_by, born_in evorag.run=RUN evorag.score=163",
	"alien evorag.shortcut beach":   "evorag.label=produced_by, founded_by, born_in evorag.run=RUN evorag.score=162",
	"alien evorag.shortcut hill":    "evorag.label=produced_by, founded_by evorag.run=RUN evorag.score=157.75",
	"weaver evorag.shortcut studio": "evorag.label=starred_in, produced_by evorag.run=RUN evorag.score=157.5",
	"weaver evorag.shortcut hill":   "evorag.label=starred_in, produced_by, founded_by evorag.run=RUN evorag.score=156.833333",
	"aliens evorag.shortcut alien":  "evorag.label=starred_in (of), starred_in evorag.run=RUN evorag.score=153",
}

// evolved is the state of the films after a first run.
func evolved(before []string, run string) []string {
	out := slices.Clone(before)
	for edge, facets := range shortcuts {
		out = append(out, edge+" "+strings.Replace(facets, "RUN", run, 1))
	}
	for i, line := range out {
		if strings.HasPrefix(line, "studio owned_by fox") {
			out[i] = strings.Replace(line, "fox ", "fox evorag.low=1 ", 1)
		}
	}
	slices.Sort(out)
	return out
}

func TestTwoRunsMakeShortcutsAndHideWhatStaysBadAndUndoRestores(t *testing.T) {
	c := start(t)
	r := c.runner(t)
	before, export := c.state(t), c.export(t)

	plan, err := r.Plan(t.Context())
	require.NoError(t, err)
	require.Equal(t, evolution.Planned, plan.State)
	require.Equal(t, evolution.Counts{Shortcuts: 6, Counted: 1}, plan.Counts)
	require.Equal(t, before, c.state(t), "a dry run writes nothing")
	require.Equal(t, export, c.export(t))
	runs, err := r.List(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, runs)

	first, err := r.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, evolution.Done, first.State)
	require.Equal(t, plan.Counts, first.Counts, "what was planned was done")
	require.Equal(t, "Walter Hill", first.Names[c.uids["hill"]])
	require.Equal(t, evolved(before, first.ID), c.state(t))

	second, err := r.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, evolution.Counts{Hidden: 1}, second.Counts)
	hidden := `"edges|evorag.hidden":true`
	fox := func() string {
		return string(c.Query(t, "{ q(func: uid("+c.uids["studio"].String()+")) { edges: owned_by @filter(uid("+c.uids["fox"].String()+")) @facets { uid } } }", nil))
	}
	require.Contains(t, fox(), hidden, "any client sees it")

	_, err = r.Undo(t.Context(), first.ID, false)
	require.ErrorIs(t, err, evolution.ErrTouched)
	require.ErrorContains(t, err, "undo the later run first")
	_, err = r.Undo(t.Context(), "no such run", false)
	require.ErrorIs(t, err, evolution.ErrNoRun)

	for _, id := range []string{second.ID, first.ID} {
		undone, err := r.Undo(t.Context(), id, false)
		require.NoError(t, err)
		require.Equal(t, evolution.Undone, undone.State)
		require.NotContains(t, fox(), hidden)
	}
	require.Equal(t, before, c.state(t))
	require.Equal(t, export, c.export(t))
	_, err = r.Undo(t.Context(), first.ID, false)
	require.ErrorIs(t, err, evolution.ErrNotDone)

	runs, err = r.List(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, runs, 2)
	require.Equal(t, second.ID, runs[0].ID, "the newest first")
}

func TestUndoRefusesWhereFeedbackHasTouchedAnEdgeOrKeepsIt(t *testing.T) {
	c := start(t)
	r := c.runner(t)
	before := c.state(t)
	run, err := r.Run(t.Context(), nil)
	require.NoError(t, err)
	c.rate(t, "studio", "owned_by", "fox", +4.5)
	c.rate(t, "alien", graph.ShortcutPredicate, "beach", +3)
	c.rate(t, "studio", "owned_by", "disney", +1) // the run did not change it
	after := c.state(t)

	_, err = r.Undo(t.Context(), run.ID, false)
	require.ErrorIs(t, err, evolution.ErrTouched)
	require.ErrorContains(t, err, "keep_feedback")
	var conflict *evolution.Conflict
	require.ErrorAs(t, err, &conflict)
	require.Len(t, conflict.Reasons, 2)
	require.Equal(t, after, c.state(t), "a refusal changes nothing")

	undone, err := r.Undo(t.Context(), run.ID, true)
	require.NoError(t, err)
	require.Equal(t, evolution.Undone, undone.State)
	want := slices.Clone(before)
	for i, line := range want {
		line = strings.Replace(line, "fox evorag.n=4 evorag.score=60", "fox evorag.n=5 evorag.score=64.5", 1)
		want[i] = strings.Replace(line, "disney evorag.n=1 evorag.score=100", "disney evorag.n=2 evorag.score=101", 1)
	}
	want = append(want, "alien evorag.shortcut beach evorag.label=produced_by, founded_by, born_in evorag.n=1 evorag.run="+run.ID+" evorag.score=165")
	slices.Sort(want)
	require.Equal(t, want, c.state(t))
}

func TestAShortcutGoesWithItsPathAndUndoBringsItBack(t *testing.T) {
	c := start(t)
	r := c.runner(t)
	_, err := r.Run(t.Context(), nil)
	require.NoError(t, err)
	c.rate(t, "alien", graph.ShortcutPredicate, "beach", +3)
	c.delete(t, fmt.Sprintf("<%s> <founded_by> <%s> .", c.uids["studio"], c.uids["hill"]))
	export := c.export(t)

	run, err := r.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 4, run.Counts.Removed)
	for _, line := range c.state(t) {
		require.NotContains(t, line, "evorag.shortcut beach")
		require.NotContains(t, line, "evorag.shortcut hill")
	}
	_, err = r.Undo(t.Context(), run.ID, false)
	require.NoError(t, err)
	require.Equal(t, export, c.export(t))
}

func TestTooFewTouchedTripletsAreNotJudged(t *testing.T) {
	c := start(t)
	r := c.runner(t, func(o *evolution.Options) { o.Rules.MinTouched = 30 })
	before := c.state(t)
	run, err := r.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, evolution.Done, run.State)
	require.Contains(t, run.Note, "touched 14 triplets; from 30 on")
	require.Equal(t, before, c.state(t))
}

func TestAllTripletsMayCount(t *testing.T) {
	c := start(t)
	r := c.runner(t, func(o *evolution.Options) { o.Rules.All = true })
	plan, err := r.Plan(t.Context())
	require.NoError(t, err)
	require.InDelta(t, (60+160+155.5+170.5+155+151+99+100*8)/15, plan.Thresholds.Mu, 1e-9, "15 edges, one of them never touched")
}

func TestALabelerNamesShortcuts(t *testing.T) {
	c := start(t)
	model := &labeler{asked: map[string]int{}, answers: map[string]string{
		"Alien -[produced_by]-> Brandywine -[founded_by]-> Walter Hill -[born_in]-> Long Beach": "made in the home town of",
		"Alien -[produced_by]-> Brandywine -[founded_by]-> Walter Hill":                         "two\nlines",
		"Aliens <-[starred_in]- Sigourney Weaver -[starred_in]-> Alien":                         strings.Repeat("long ", 20),
	}}
	r := c.runner(t, func(o *evolution.Options) { o.Labeler = model })
	plan, err := r.Plan(t.Context())
	require.NoError(t, err)
	got := map[string]bool{}
	for _, ch := range plan.Changes {
		got[ch.Label] = true
	}
	require.True(t, got["made in the home town of"])
	require.True(t, got["produced_by, founded_by"], "a label of two lines is of no use")
	require.True(t, got["starred_in (of), starred_in"], "nor is a long one")
	require.LessOrEqual(t, model.failed, 3, "a model that fails is left alone")
	good := "Alien -[produced_by]-> Brandywine -[founded_by]-> Walter Hill -[born_in]-> Long Beach"
	require.Equal(t, 1, model.asked[good])
	_, err = r.Plan(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, model.asked[good], "an answer of use is not asked for again")
}

type labeler struct {
	answers map[string]string
	asked   map[string]int
	failed  int
}

func (l *labeler) Label(_ context.Context, path string) (string, error) {
	l.asked[path]++
	if a, ok := l.answers[path]; ok {
		return a, nil
	}
	l.failed++
	return "", errors.New("no answer")
}

func TestARunsOwnScoresAreNotTakenForLaterFeedback(t *testing.T) {
	c := start(t)
	require.NoError(t, c.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
		_, err := tx.Set(ctx, fmt.Appendf(nil, "<%s> <owned_by> <%s> (evorag.score=60.0, evorag.n=4, evorag.low=2, evorag.hidden=true, until=2019) .", c.uids["studio"], c.uids["fox"]))
		return err
	}))
	r := c.runner(t, func(o *evolution.Options) { o.Rules.Decay = 1.0 / 7 })
	export := c.export(t)
	for range 3 {
		_, err := r.Run(t.Context(), nil)
		require.NoError(t, err)
	}
	require.Contains(t, strings.Join(c.state(t), "\n"), "studio owned_by fox evorag.hidden=true evorag.low=2 evorag.n=4 evorag.score=74.810496 until=2019", "100 - 40*(6/7)^3")
	for range 3 {
		runs, err := r.List(t.Context(), 10)
		require.NoError(t, err)
		i := slices.IndexFunc(runs, func(r evolution.Run) bool { return r.State == evolution.Done })
		_, err = r.Undo(t.Context(), runs[i].ID, false)
		require.NoError(t, err)
	}
	require.Equal(t, export, c.export(t))
}
