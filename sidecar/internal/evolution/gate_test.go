package evolution_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/evolution"
)

// path is one of the films' paths; steps are "predicate object".
func (c *cluster) path(start string, steps ...string) graph.Path {
	p := graph.Path{Start: c.uids[start]}
	from := start
	for _, s := range steps {
		predicate, to, _ := strings.Cut(s, " ")
		p.Steps = append(p.Steps, graph.Step{Triplet: graph.Triplet{Head: c.uids[from], Predicate: predicate, Object: c.uids[to]}})
		from = to
	}
	return p
}

// praise is held-out praise of one path. The question is answered with all paths from its
// start whose edges are there and not hidden.
func (c *cluster) praise(t *testing.T, id string, praised graph.Path, retrievable ...graph.Path) evolution.Praised {
	return evolution.Praised{ID: id, Paths: []graph.Path{praised}, Ask: func(context.Context) ([]graph.Path, error) {
		shown := map[string]bool{}
		names := map[graph.UID]string{}
		for name, u := range c.uids {
			names[u] = name
		}
		for _, line := range c.state(t) {
			if f := strings.Fields(line); !strings.Contains(line, "evorag.hidden") {
				shown[strings.Join(f[:3], " ")] = true
			}
		}
		return slices.DeleteFunc(slices.Clone(retrievable), func(p graph.Path) bool {
			return slices.ContainsFunc(p.Steps, func(s graph.Step) bool { return !shown[names[s.Head]+" "+s.Predicate+" "+names[s.Object]] })
		}), nil
	}}
}

func gated(praised ...evolution.Praised) func(*evolution.Options) {
	return func(o *evolution.Options) {
		o.Rules.Runs = 1 // what is low is hidden at once
		o.Praised = func(context.Context, int) ([]evolution.Praised, error) { return praised, nil }
	}
}

func TestARunThatLosesGoodPathsIsUndoneAndSaysWhy(t *testing.T) {
	c := start(t)
	before, export := c.state(t), c.export(t)
	fox := c.path("alien", "produced_by studio", "owned_by fox")
	hill := c.path("alien", "produced_by studio", "founded_by hill")
	r := c.runner(t, gated(c.praise(t, "the owner", fox, fox), c.praise(t, "the founder", hill, hill)))
	run, err := r.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, evolution.Undone, run.State)
	require.Contains(t, run.Note, "undone by the gate: of the paths that earned 2 held-out good ratings 100.0% were retrieved before and 50.0% after it")
	require.Equal(t, &evolution.Gate{Ratings: 2, Before: 1, After: 0.5}, run.Gate)
	require.Equal(t, before, c.state(t))
	require.Equal(t, export, c.export(t))
}

func TestARunThatKeepsGoodPathsStands(t *testing.T) {
	c := start(t)
	hill := c.path("alien", "produced_by studio", "founded_by hill")
	short := c.path("alien", graph.ShortcutPredicate+" hill")
	lost := c.path("alien", "produced_by studio", "owned_by disney")
	founder := c.praise(t, "the founder", hill)
	asked := 0
	founder.Ask = func(context.Context) ([]graph.Path, error) {
		if asked++; asked == 1 {
			return []graph.Path{hill}, nil
		}
		return []graph.Path{short}, nil // it has taken the path's place
	}
	r := c.runner(t, gated(founder, c.praise(t, "never retrieved", lost)))
	run, err := r.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, evolution.Done, run.State, run.Note)
	require.Equal(t, 2, asked)
	require.Equal(t, &evolution.Gate{Ratings: 2, Before: 0.5, After: 0.5}, run.Gate)

	second, err := c.runner(t, gated()).Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, evolution.Done, second.State, "without held-out ratings nothing speaks against a run")
}

func TestARunThatCanNotBeMeasuredDoesNotStand(t *testing.T) {
	c := start(t)
	before := c.state(t)
	asked := 0
	broken := c.praise(t, "the owner", c.path("studio", "owned_by fox"))
	broken.Ask = func(context.Context) ([]graph.Path, error) {
		if asked++; asked > 1 {
			return nil, errors.New("no answer")
		}
		return nil, nil
	}
	run, err := c.runner(t, gated(broken)).Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, evolution.Undone, run.State)
	require.Contains(t, run.Note, "could not ask")
	require.Equal(t, before, c.state(t))

	asked = 5
	_, err = c.runner(t, gated(broken)).Run(t.Context(), nil)
	require.ErrorContains(t, err, "no answer")
	runs, err := c.runner(t).List(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, runs, 1, "nothing is begun that can't be measured before")
}

func TestAGatedRunThatIsKilledAtAnyStepEndsAsIfItWereNot(t *testing.T) {
	c := start(t)
	before, export := c.state(t), c.export(t)
	fox := c.path("alien", "produced_by studio", "owned_by fox")
	change := gated(c.praise(t, "the owner", fox, fox))
	for _, after := range []bool{false, true} {
		undone := 0
		for n := 1; c.killed(t, n, after, func(ctx context.Context, r *evolution.Runner) error {
			_, err := r.Run(ctx, nil)
			return err
		}, change); n++ {
			require.NoError(t, c.runner(t, change).Resume(t.Context()))
			runs, err := c.runner(t).List(t.Context(), 1)
			require.NoError(t, err)
			if len(runs) > 0 {
				require.Equal(t, evolution.Undone, runs[0].State)
				undone++
			}
			require.Equal(t, before, c.state(t))
		}
		require.Greater(t, undone, 10, "batches there and back")
	}
	require.Equal(t, export, c.export(t))
}
