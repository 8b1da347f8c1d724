package evolution_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/evolution"
)

func TestOldRunsAreForgottenAndSayBeforeThatTheyCanNotBeUndone(t *testing.T) {
	const day = 24 * time.Hour
	c := start(t)
	run := func(after time.Duration, tick *time.Time) evolution.Run {
		c.ahead = after
		got, err := c.runner(t, func(o *evolution.Options) { o.KeepUndo, o.KeepRuns = 90*day, 365*day }).Run(t.Context(), tick)
		require.NoError(t, err)
		return got
	}
	states := func() map[string]evolution.State {
		runs, err := c.runner(t).List(t.Context(), 100)
		require.NoError(t, err)
		out := map[string]evolution.State{}
		for _, r := range runs {
			out[r.ID] = r.State
		}
		return out
	}
	undone := run(0, nil)
	_, err := c.runner(t).Undo(t.Context(), undone.ID, false)
	require.NoError(t, err)
	first := run(day, nil)
	require.NotEmpty(t, first.Changes)
	tick := time.Now().Add(2 * day)
	ticked := run(2*day, &tick)
	require.Equal(t, map[string]evolution.State{undone.ID: evolution.Undone, first.ID: evolution.Done, ticked.ID: evolution.Done}, states())

	last := run(100*day, nil)
	require.Equal(t, map[string]evolution.State{undone.ID: evolution.Undone, first.ID: evolution.Final, ticked.ID: evolution.Final, last.ID: evolution.Done}, states())
	require.Contains(t, strings.Join(c.state(t), "\n"), "evorag.run="+first.ID, "what a run has done stays")
	got, err := c.runner(t).Show(t.Context(), first.ID)
	require.NoError(t, err)
	require.Empty(t, got.Changes)
	require.Equal(t, first.Counts, got.Counts)
	require.Contains(t, got.Note, "off the record")
	before := c.state(t)
	_, err = c.runner(t).Undo(t.Context(), first.ID, true)
	require.ErrorIs(t, err, evolution.ErrFinal)
	require.ErrorContains(t, err, "evolution.keep_undo")
	require.Equal(t, before, c.state(t))

	newest := run(800*day, nil)
	require.Equal(t, map[string]evolution.State{ticked.ID: evolution.Final, last.ID: evolution.Final, newest.ID: evolution.Done}, states(), "the last tick that was served stays known")
	_, err = c.runner(t).Show(t.Context(), first.ID)
	require.ErrorIs(t, err, evolution.ErrNoRun)
	c.ahead = 801 * day
	_, err = c.runner(t).Undo(t.Context(), newest.ID, false)
	require.NoError(t, err)
	require.Contains(t, string(c.Query(t, `{ changes(func: type(evorag.Change)) { evorag.change.run } }`, nil)), newest.ID)
	require.NotContains(t, string(c.Query(t, `{ changes(func: type(evorag.Change)) { evorag.change.run } }`, nil)), "run-1", "nothing is left of what is forgotten")
}
