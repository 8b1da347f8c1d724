package evolution_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/evolution"
	"github.com/evorag/dgraph-evorag/sidecar/internal/lease"
)

// mortal is a cluster as a process sees it that dies at its n-th transaction: before the
// commit, or after it, when the answer is on its way.
type mortal struct {
	*dgraph.Client
	end    context.CancelFunc
	at     int
	after  bool
	mu     sync.Mutex
	number int
}

var errKilled = errors.New("killed")

func (m *mortal) RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error {
	m.mu.Lock()
	m.number++
	dies := m.number == m.at
	dead := m.number > m.at
	m.mu.Unlock()
	if dead {
		return errKilled
	}
	err := m.Client.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		if dies && !m.after {
			return errKilled
		}
		return nil
	})
	if dies {
		m.end()
		return errKilled
	}
	return err
}

// killed runs work in a process that dies at its n-th transaction; false where it had fewer.
func (c *cluster) killed(t *testing.T, n int, after bool, work func(context.Context, *evolution.Runner) error, change ...func(*evolution.Options)) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := &mortal{Client: c.Client, end: cancel, at: n, after: after}
	err := work(ctx, c.runner(t, append(change, func(o *evolution.Options) { o.Cluster = m })...))
	if m.number < n {
		require.NoError(t, err)
		return false
	}
	require.Error(t, err)
	c.ahead += time.Minute // its lease is over
	return true
}

func TestARunThatIsKilledAtAnyStepIsFinishedByTheNext(t *testing.T) {
	c := start(t)
	before, export := c.state(t), c.export(t)
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			if !c.killed(t, n, after, func(ctx context.Context, r *evolution.Runner) error {
				_, err := r.Run(ctx, nil)
				return err
			}) {
				require.Greater(t, n, 7, "lease, record, four batches, end and release")
				c.undoLast(t)
				break
			}
			r := c.runner(t)
			require.NoError(t, r.Resume(t.Context()))
			runs, err := r.List(t.Context(), 1)
			require.NoError(t, err)
			name := fmt.Sprintf("killed at %d, after the commit: %t", n, after)
			if len(runs) == 0 || runs[0].State == evolution.Undone { // nothing was recorded
				require.Equal(t, before, c.state(t), name)
				continue
			}
			require.Equal(t, evolution.Done, runs[0].State, name)
			require.Equal(t, evolution.Counts{Shortcuts: 6, Counted: 1}, runs[0].Counts, name)
			require.Equal(t, evolved(before, runs[0].ID), c.state(t), name)
			c.undoLast(t)
			require.Equal(t, before, c.state(t), name)
		}
	}
	require.Equal(t, export, c.export(t))
}

func (c *cluster) undoLast(t *testing.T) {
	t.Helper()
	r := c.runner(t)
	runs, err := r.List(t.Context(), 1)
	require.NoError(t, err)
	_, err = r.Undo(t.Context(), runs[0].ID, false)
	require.NoError(t, err)
}

func TestAnUndoThatIsKilledAtAnyStepIsFinishedByTheNext(t *testing.T) {
	c := start(t)
	before, export := c.state(t), c.export(t)
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			run, err := c.runner(t).Run(t.Context(), nil)
			require.NoError(t, err)
			if !c.killed(t, n, after, func(ctx context.Context, r *evolution.Runner) error {
				_, err := r.Undo(ctx, run.ID, false)
				return err
			}) {
				break
			}
			r := c.runner(t)
			require.NoError(t, r.Resume(t.Context()))
			got, err := r.Show(t.Context(), run.ID)
			require.NoError(t, err)
			if got.State == evolution.Done { // the undoing was not recorded
				_, err = r.Undo(t.Context(), run.ID, false)
				require.NoError(t, err)
			} else {
				require.Equal(t, evolution.Undone, got.State)
			}
			require.Equal(t, before, c.state(t))
		}
	}
	require.Equal(t, export, c.export(t))
}

func TestARunSurvivesTheDeathOfTheEngine(t *testing.T) {
	dir := t.TempDir()
	first, err := engine.Start(t.Context(), engine.Options{Bin: enginetest.Bin(t), DataDir: dir})
	require.NoError(t, err)
	kill := sync.OnceFunc(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		_ = first.Stop(now) // at once: SIGKILL
	})
	defer kill()
	c := fill(t, &enginetest.Engine{Engine: first})
	before := c.state(t)
	batches := 0
	_, err = c.runner(t, func(o *evolution.Options) {
		o.Step = func(step string) {
			if step == "batch" {
				if batches++; batches == 3 {
					kill()
				}
			}
		}
	}).Run(t.Context(), nil)
	require.Error(t, err)

	c.Engine = enginetest.Start(t, engine.Options{DataDir: dir})
	c.Client = dial(t, c.Engine)
	c.ahead = time.Minute
	r := c.runner(t)
	require.NoError(t, r.Resume(t.Context()))
	runs, err := r.List(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, runs, 1)
	require.Equal(t, evolution.Done, runs[0].State)
	require.Equal(t, evolved(before, runs[0].ID), c.state(t))
}

func TestAReplicaThatLostItsLeaseCannotCommitAndTheOtherFinishes(t *testing.T) {
	c := start(t)
	before := c.state(t)
	slow, resume := make(chan struct{}), make(chan struct{})
	var once sync.Once
	a := c.runner(t, func(o *evolution.Options) {
		o.Holder = "a"
		o.Step = func(step string) {
			if step == "batch" {
				once.Do(func() { close(slow); <-resume })
			}
		}
	})
	failed := make(chan error, 1)
	go func() { _, err := a.Run(context.Background(), nil); failed <- err }()
	<-slow

	onTime := c.runner(t, func(o *evolution.Options) { o.Holder = "b" })
	_, err := onTime.Run(t.Context(), nil)
	require.ErrorIs(t, err, lease.ErrHeld)
	require.NoError(t, onTime.Resume(t.Context()), "somebody is at work")

	c.ahead = time.Minute
	ahead := c.runner(t) // its clock says that a has been silent for too long
	require.NoError(t, ahead.Resume(t.Context()))
	runs, err := ahead.List(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, runs, 1)
	require.Equal(t, evolution.Done, runs[0].State)
	require.Equal(t, evolved(before, runs[0].ID), c.state(t))

	close(resume)
	require.ErrorIs(t, <-failed, lease.ErrLost)
	require.Equal(t, evolved(before, runs[0].ID), c.state(t), "nothing was done twice")
}

// rival lets somebody else act between a transaction's reads and its commit, once.
type rival struct {
	*dgraph.Client
	act func()
}

func (r *rival) RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error {
	return r.Client.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		if act := r.act; act != nil {
			r.act = nil
			act()
		}
		return nil
	})
}

func TestWhatOthersChangeMeanwhileIsNeitherLostNorBroughtBack(t *testing.T) {
	for name, act := range map[string]func(*testing.T, *cluster){
		"an edge of a path is deleted": func(t *testing.T, c *cluster) {
			c.delete(t, fmt.Sprintf("<%s> <founded_by> <%s> .", c.uids["studio"], c.uids["hill"]))
		},
		"all edges of a node are deleted": func(t *testing.T, c *cluster) {
			c.delete(t, fmt.Sprintf("<%s> <founded_by> * .", c.uids["studio"]))
		},
		"an edge that is counted is deleted": func(t *testing.T, c *cluster) {
			c.delete(t, fmt.Sprintf("<%s> <owned_by> <%s> .", c.uids["studio"], c.uids["fox"]))
		},
		"all owners are deleted": func(t *testing.T, c *cluster) {
			c.delete(t, fmt.Sprintf("<%s> <owned_by> * .", c.uids["studio"]))
		},
		"feedback raises the edge that is counted": func(t *testing.T, c *cluster) {
			c.rate(t, "studio", "owned_by", "fox", +70)
		},
		"feedback lowers an edge of a path": func(t *testing.T, c *cluster) {
			c.rate(t, "studio", "founded_by", "hill", -60)
		},
		"the ends of a path are joined": func(t *testing.T, c *cluster) {
			c.Mutate(t, fmt.Sprintf("<%s> <owned_by> <%s> .", c.uids["alien"], c.uids["beach"]))
		},
	} {
		for _, when := range []string{"before a batch", "within a batch's transaction"} {
			t.Run(name+" "+when, func(t *testing.T) {
				c := start(t)
				r := &rival{Client: c.Client}
				run := c.runner(t, func(o *evolution.Options) {
					o.Cluster, o.Batch = r, 200
					o.Step = func(step string) {
						if step != "batch" {
							return
						}
						if when == "before a batch" {
							act(t, c)
						} else {
							r.act = func() { act(t, c) }
						}
					}
				})
				got, err := run.Run(t.Context(), nil)
				require.NoError(t, err)
				require.Equal(t, evolution.Done, got.State)
				state := c.state(t)

				// The same, done by the user before any run: what is there must be as if so.
				c2 := start(t)
				act(t, c2)
				user := c2.state(t)
				for _, line := range user {
					if !slices.ContainsFunc(state, func(l string) bool { return sameButLearned(l, line) }) {
						t.Errorf("%q is lost", line)
					}
				}
				for _, line := range state {
					if !isShortcut(line) && !slices.ContainsFunc(user, func(l string) bool { return sameButLearned(l, line) }) {
						t.Errorf("%q was brought back", line)
					}
				}
			})
		}
	}
}

func TestUsersWriteAndDeleteWhileTheGraphEvolvesAndIsUndone(t *testing.T) {
	c := start(t)
	r := c.runner(t)
	stop := make(chan struct{})
	var users sync.WaitGroup
	for i := range 4 {
		users.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				head, object := c.uids["aliens"], c.uids["a"]
				if i%2 == 0 {
					head, object = c.uids["alien"], c.uids["studio"]
				}
				edge := fmt.Sprintf("<%s> <produced_by> <%s>", head, object)
				_ = c.RunTx(context.Background(), func(ctx context.Context, tx graph.Tx) error {
					if n%3 == 2 {
						return tx.Delete(ctx, []byte(edge+" ."))
					}
					_, err := tx.Set(ctx, fmt.Appendf(nil, "%s (writer=%d) .", edge, i))
					return err
				})
			}
		})
	}
	for range 5 {
		run, err := r.Run(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, evolution.Done, run.State)
		if _, err = r.Undo(t.Context(), run.ID, true); err != nil {
			require.ErrorIs(t, err, evolution.ErrTouched)
		}
	}
	close(stop)
	users.Wait()
	_, err := r.Run(t.Context(), nil)
	require.NoError(t, err)
	_, err = r.Run(t.Context(), nil)
	require.NoError(t, err)
	var answer string
	for _, l := range c.state(t) {
		answer += l + "\n"
	}
	require.Contains(t, answer, "weaver starred_in alien evorag.n=1 evorag.score=155", "what nobody wrote is as it was")
}
