package evolution_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/evolution"
)

// What a process of its own is told: this test binary, started again.
const (
	childAlpha = "EVORAG_TEST_ALPHA" // the alpha's gRPC address; set in such processes only
	childUndo  = "EVORAG_TEST_UNDO"  // a run's id to undo; empty: run
	childAhead = "EVORAG_TEST_AHEAD" // of its clock by the real one
	childDies  = "EVORAG_TEST_DIES"  // at its n-th transaction, before the commit, or after it where n is below 0
)

// suicidal is a cluster as a process sees it that is killed at its n-th transaction.
type suicidal struct {
	*dgraph.Client
	at     int
	after  bool
	mu     sync.Mutex
	number int
}

func (s *suicidal) RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error {
	s.mu.Lock()
	s.number++
	dies := s.number == s.at
	s.mu.Unlock()
	err := s.Client.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		err := fn(ctx, tx)
		if err == nil && dies && !s.after {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return err
	})
	if dies {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return err
}

// childMain is a process that runs or undoes once.
func childMain(alpha string) error {
	client, err := dgraph.Dial(dgraph.Options{Target: dgraph.Target{Addr: alpha}})
	if err != nil {
		return err
	}
	ahead, err := time.ParseDuration(os.Getenv(childAhead))
	if err != nil {
		return err
	}
	dies, err := strconv.Atoi(os.Getenv(childDies))
	if err != nil {
		return err
	}
	o := filmOptions(&suicidal{Client: client, at: max(dies, -dies), after: dies < 0}, ahead)
	o.Holder = fmt.Sprintf("process %d", os.Getpid())
	o.NewID = func() string { return fmt.Sprintf("run-%d-%d", time.Now().UnixNano(), os.Getpid()) }
	r, err := evolution.New(o)
	if err != nil {
		return err
	}
	fmt.Println("begins")
	if id := os.Getenv(childUndo); id != "" {
		_, err = r.Undo(context.Background(), id, true)
	} else {
		_, err = r.Run(context.Background(), nil)
	}
	return err
}

// filmOptions are those of a runner that judges from the first triplet on and tries nothing out.
func filmOptions(on evolution.Cluster, ahead time.Duration) evolution.Options {
	rules := evolve.DefaultRules()
	rules.MinTouched, rules.Explore, rules.Runs = 5, 0, 2
	return evolution.Options{
		Cluster: on, Rules: rules, Names: []string{"name"}, Holder: "test", Batch: 2,
		Now: func() time.Time { return time.Now().Add(ahead) }, Log: slog.New(slog.DiscardHandler),
	}
}

// certainly is more transactions than a process does: it is killed from outside.
const certainly = 1000

// process starts one; it has begun its work when process returns.
func (c *cluster) process(t *testing.T, undo string, ahead time.Duration, dies int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childAlpha+"="+c.GRPCAddr(), childUndo+"="+undo, childAhead+"="+ahead.String(), childDies+"="+strconv.Itoa(dies))
	if dies < certainly {
		cmd.Stderr = os.Stderr
	}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan(), "the process says that it begins")
	return cmd
}

// killedBySignal tells a process that was killed from one that came to its end.
func killedBySignal(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled()
}

func TestAProcessIsKilledAtAnyTransactionAndTheNextEndsItsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("kills some fifty processes")
	}
	c := start(t)
	before, export := c.state(t), c.export(t)
	undoing := "" // a run that processes are killed while undoing
	for _, direction := range []int{1, -1} {
		for _, work := range []string{"run", "undo"} {
			kills := 0
			for n := 1; ; n++ {
				if work == "undo" {
					run, err := c.runner(t).Run(t.Context(), nil)
					require.NoError(t, err)
					undoing = run.ID
				} else {
					undoing = ""
				}
				err := c.process(t, undoing, c.ahead, direction*n).Wait()
				if !killedBySignal(err) {
					require.NoError(t, err)
				} else {
					kills++
					c.ahead += time.Minute // its lease is over
				}
				r := c.runner(t)
				require.NoError(t, r.Resume(t.Context()))
				runs, listErr := r.List(t.Context(), 1)
				require.NoError(t, listErr)
				if len(runs) > 0 && runs[0].State == evolution.Done {
					require.Equal(t, evolved(before, runs[0].ID), c.state(t), "killed at %d", direction*n)
					_, err := r.Undo(t.Context(), runs[0].ID, false)
					require.NoError(t, err)
				}
				require.Equal(t, before, c.state(t), "killed at %d", direction*n)
				if err == nil {
					break
				}
			}
			require.Greater(t, kills, 7, "lease, record, four batches, end and release")
		}
	}
	require.Equal(t, export, c.export(t))
}

// Processes run and undo at the same time, with clocks that are apart, are killed at any
// moment, and users write and delete edges meanwhile: whoever comes last brings everything to
// its end, and can take it all back. EVORAG_CHAOS sets the rounds, one for each hundred.
func TestChaosOfRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for a while")
	}
	rounds := 6
	if text := os.Getenv("EVORAG_CHAOS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		rounds = max(n/100, 1)
	}
	c := start(t)
	before := c.state(t)
	random := rand.New(rand.NewPCG(6, 1))
	stop := make(chan struct{})
	var users sync.WaitGroup
	for i := range 2 {
		users.Go(func() { c.user(i, stop) })
	}
	kills := 0
	for round := range rounds {
		var both []*exec.Cmd
		for replica := range 2 {
			undo := ""
			if runs, err := c.runner(t).List(t.Context(), 1); err == nil && len(runs) > 0 && runs[0].State == evolution.Done && random.IntN(2) == 0 {
				undo = runs[0].ID
			}
			// The second one's clock says that the first has been silent for too long.
			both = append(both, c.process(t, undo, c.ahead+time.Duration(replica)*time.Minute, certainly))
		}
		time.Sleep(time.Duration(random.IntN(80)) * time.Millisecond) // the moment of the kill
		for _, p := range both {
			if random.IntN(4) > 0 {
				_ = p.Process.Kill()
			}
			if killedBySignal(p.Wait()) {
				kills++
			}
		}
		c.ahead += 2 * time.Minute
		require.NoError(t, c.runner(t).Resume(t.Context()))
		runs, err := c.runner(t).List(t.Context(), 1000)
		require.NoError(t, err)
		for _, r := range runs {
			require.Contains(t, []evolution.State{evolution.Done, evolution.Undone}, r.State, "round %d", round)
		}
	}
	close(stop)
	users.Wait()
	runs, err := c.runner(t).List(t.Context(), 1000)
	require.NoError(t, err)
	runs = slices.DeleteFunc(runs, func(r evolution.Run) bool { return r.State != evolution.Done })
	standing := len(runs)
	for len(runs) > 0 { // an undo says which must come first
		left := slices.DeleteFunc(slices.Clone(runs), func(r evolution.Run) bool {
			_, err := c.runner(t).Undo(t.Context(), r.ID, true)
			if err != nil {
				require.ErrorContains(t, err, "undo the later run first")
			}
			return err == nil
		})
		require.Less(t, len(left), len(runs))
		runs = left
	}
	written := func(line string) bool { // by users
		return strings.HasPrefix(line, "alien produced_by studio") || strings.HasPrefix(line, "aliens produced_by a")
	}
	require.Equal(t, slices.DeleteFunc(before, written), slices.DeleteFunc(c.state(t), written), "what nobody wrote is as it was, and no shortcut is left")
	t.Logf("%d rounds, %d processes killed, %d runs stood at the end", rounds, kills, standing)
	require.Positive(t, kills)
}

// user sets and deletes edges as users do, around the sidecar.
func (c *cluster) user(i int, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-time.After(5 * time.Millisecond):
		}
		head, object := c.uids["aliens"], c.uids["a"]
		if i == 0 {
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
}
