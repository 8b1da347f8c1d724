package evolution

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
	"github.com/evorag/dgraph-evorag/sidecar/internal/lease"
)

// Cluster is what evolution needs of the cluster.
type Cluster interface {
	lease.Store
	// OwnQuery reads as the sidecar itself.
	OwnQuery(ctx context.Context, c graph.Call) (graph.Answer, error)
}

// Labeler names shortcuts by what their paths mean.
type Labeler interface {
	// Label is a short text for a path that is drawn like "Alien -[directed by]-> Ridley Scott".
	// An error means that there is none now; the relations' labels are joined then.
	Label(ctx context.Context, path string) (string, error)
}

// Options of New; all but Labeler, KeepUndo, KeepRuns, Praised, Changed, Observe and Step are needed.
type Options struct {
	Cluster   Cluster
	Namespace uint64 // of Cluster
	Rules     evolve.Rules
	Names     []string // predicates that hold a node's name, best first
	Holder    string   // names this process to others
	Now       func() time.Time
	NewID     func() string // a new run's id, unlike all others
	Batch     int           // most changes that one transaction makes
	Labeler   Labeler       // nil: the relations' labels are joined
	KeepUndo  time.Duration // how long a run can be undone; 0: always
	KeepRuns  time.Duration // how long a run that can't be undone is on record; 0: always
	Log       *slog.Logger

	Praised func(ctx context.Context, most int) ([]Praised, error) // the newest held-out good ratings; nil: runs go live unchecked
	Changed func([]graph.Triplet)                                  // edges were written; nil: nobody wants to know
	Observe func(outcome string, c Counts, took time.Duration)     // of each run and undo: done, undone, failed; nil: nobody
	Step    func(step string)                                      // called before each step of a run; tests end processes there
}

// Runner runs evolution in one namespace. It is safe for concurrent use: the lease sees to it
// that one run or undo is under way in the whole cluster.
type Runner struct {
	Options
	named sync.Map // labels of the Labeler, by metapath
}

// New makes a Runner. The error is evolve.ErrRules.
func New(o Options) (*Runner, error) {
	if err := o.Rules.Check(); err != nil {
		return nil, err
	}
	if o.Changed == nil {
		o.Changed = func([]graph.Triplet) {}
	}
	if o.Observe == nil {
		o.Observe = func(string, Counts, time.Duration) {}
	}
	if o.Step == nil {
		o.Step = func(string) {}
	}
	return &Runner{Options: o}, nil
}

// Lease of a run.
const (
	leaseName = "evolution"
	leaseTTL  = 30 * time.Second
)

// DefaultBatch is a good Options.Batch.
const DefaultBatch = 200

// alone runs work while this process holds the lease; lease.ErrHeld where another does. What
// others began and did not end is finished first.
func (r *Runner) alone(ctx context.Context, work func(context.Context, *lease.Lease) error) error {
	l, err := lease.Acquire(ctx, r.Cluster, lease.Options{Name: leaseName, Holder: r.Holder, TTL: leaseTTL, Now: r.Now})
	if err != nil {
		return err
	}
	err = l.Hold(ctx, func(ctx context.Context) error {
		if err := r.finish(ctx, l); err != nil {
			return err
		}
		return work(ctx, l)
	})
	return errors.Join(err, l.Release(context.WithoutCancel(ctx)))
}

// Plan decides a run and writes nothing.
func (r *Runner) Plan(ctx context.Context) (Run, error) {
	at := &reader{cluster: r.Cluster}
	run, _, err := r.decide(ctx, at, r.NewID())
	if err != nil {
		return Run{}, err
	}
	run.State, run.Counts = Planned, count(run.Changes)
	return run, r.name(ctx, at.query, &run)
}

// Run evolves the graph once. tick is the schedule's, nil on request. Errors: lease.ErrHeld
// while another run or undo is under way, lease.ErrLost where another process took over.
func (r *Runner) Run(ctx context.Context, tick *time.Time) (run Run, err error) {
	began := r.Now()
	defer func() {
		if run.ID != "" || err != nil && !errors.Is(err, lease.ErrHeld) {
			r.Observe(outcome(run, err), run.Counts, r.Now().Sub(began))
		}
	}()
	var id string
	err = r.alone(ctx, func(ctx context.Context, l *lease.Lease) error {
		if tick != nil { // somebody else may have served it while we waited
			if k, err := readKnown(ctx, r.now); err != nil || k.served(*tick) {
				return err
			}
		}
		id = r.NewID()
		if err := r.evolve(ctx, l, id, tick); err != nil {
			return err
		}
		if err := r.prune(ctx, l); err != nil {
			r.Log.Warn("old runs can't be forgotten now", "error", err)
		}
		return nil
	})
	if err != nil || id == "" {
		return Run{}, err
	}
	return r.Show(ctx, id)
}

// outcome is one word for how a run or an undo has ended.
func outcome(run Run, err error) string {
	if err != nil {
		return "failed"
	}
	return string(run.State)
}

// evolve is the life of a run: snapshot, decisions and labels outside any transaction; the
// record with its plan; one transaction for each batch; the gate; the end.
func (r *Runner) evolve(ctx context.Context, l *lease.Lease, id string, tick *time.Time) error {
	r.Step("decide")
	run, j, err := r.decide(ctx, &reader{cluster: r.Cluster}, id)
	if err != nil {
		return err
	}
	run.State, run.Tick = Running, tick
	if len(run.Changes) > 0 {
		if run.Gate, err = r.before(ctx); err != nil {
			return err
		}
	}
	r.Step("record")
	err = r.Cluster.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		if err := l.WriteTx(ctx, tx); err != nil {
			return err
		}
		return recordTx(ctx, tx, l.Fence(), run, j, slices.Collect(slices.Chunk(run.Changes, r.Batch)))
	})
	if err != nil {
		return fmt.Errorf("recording run %s: %w", id, err)
	}
	return r.complete(ctx, l, id, false)
}

// decide makes the plan of a run.
func (r *Runner) decide(ctx context.Context, at *reader, id string) (Run, judge, error) {
	run := Run{ID: id, Began: r.Now().UTC()}
	snapshot, schema, err := at.snapshot(ctx, r.Rules.All)
	if err != nil {
		return run, judge{}, fmt.Errorf("reading what feedback has touched: %w", err)
	}
	proposal, err := evolve.Propose(snapshot, r.Rules, id)
	if err != nil {
		return run, judge{}, err
	}
	taken, err := r.taken(ctx, at.query, schema, proposal.Candidates)
	if err != nil {
		return run, judge{}, fmt.Errorf("looking for edges between the ends of good paths: %w", err)
	}
	set := proposal.Build(taken)
	j := judge{Rules: r.Rules, Thresholds: set.Thresholds, Run: id}
	run.Thresholds = set.Thresholds
	switch {
	case !set.Enough:
		run.Note = fmt.Sprintf("feedback has touched %d triplets; from %d on they are judged (evolution.min_touched)", set.Touched, r.Rules.MinTouched)
	case set.Cut:
		run.Note = "there are more good paths than were looked at; these are the best found"
	}
	run.Changes, err = r.changes(ctx, at.query, set)
	return run, j, err
}

// taken finds the candidates whose ends are joined, among as many of the best as it takes to
// find Rules.MaxShortcuts that are not.
func (r *Runner) taken(ctx context.Context, query facet.Query, schema graph.Schema, candidates []evolve.Shortcut) (map[evolve.Pair]bool, error) {
	taken := map[evolve.Pair]bool{}
	free := 0
	for part := range slices.Chunk(candidates, max(r.Rules.MaxShortcuts, 1)) {
		pairs := make([]evolve.Pair, len(part))
		for i, c := range part {
			pairs[i] = c.Pair()
		}
		found, err := joined(ctx, query, schema, pairs)
		if err != nil {
			return nil, err
		}
		for _, p := range pairs {
			if found[p] {
				taken[p] = true
			} else {
				free++
			}
		}
		if free >= r.Rules.MaxShortcuts {
			break
		}
	}
	return taken, nil
}

// changes lists a changeset: edges first, since what they hide takes shortcuts away.
func (r *Runner) changes(ctx context.Context, query facet.Query, set evolve.Changeset) ([]Change, error) {
	var out []Change
	for _, c := range set.Changes {
		c.After.Score = graph.RoundScore(c.After.Score)
		out = append(out, Change{Kind: EdgeChange, Triplet: c.Triplet, Before: new(c.Before), After: new(c.After), Why: c.Why})
	}
	for _, s := range set.Removed {
		out = append(out, Change{Kind: OldShortcut, Triplet: s.Triplet(), Via: s.Path.String()})
	}
	if len(set.Shortcuts) == 0 {
		return out, nil
	}
	called, err := labels(ctx, query)
	if err != nil {
		return nil, err
	}
	texts, err := r.labels(ctx, query, set.Shortcuts, called)
	if err != nil {
		return nil, err
	}
	for i, s := range set.Shortcuts {
		out = append(out, Change{
			Kind: NewShortcut, Triplet: s.Triplet(), After: &graph.Contribution{Score: graph.RoundScore(s.Score)},
			Label: texts[i], Via: s.Path.String(),
		})
	}
	return out, nil
}

// complete applies the batches of a recorded run that are not applied yet, and ends it.
// cutOff tells that another process began it.
func (r *Runner) complete(ctx context.Context, l *lease.Lease, id string, cutOff bool) error {
	record, err := find(ctx, r.now, id)
	if err != nil {
		return err
	}
	b, err := record.body()
	if err != nil {
		return err
	}
	for i, batch := range record.batches {
		if batch.State != Planned {
			continue
		}
		r.Step("batch")
		if record.batches[i], err = r.apply(ctx, l, b.judge, batch); err != nil {
			return fmt.Errorf("run %s, batch %d: %w", id, batch.Number, err)
		}
	}
	run, err := record.run()
	if err != nil {
		return err
	}
	b.Counts, b.CutOff = count(run.Changes), cutOff
	if b.Gate != nil && r.Praised != nil {
		why, err := r.worse(ctx, b.Gate)
		if err != nil {
			return err
		}
		if why != "" {
			b.Note, b.Keep = joinNotes(b.Note, why), true
			r.Log.Warn("a run is undone", "run", id, "why", why)
			return r.backOut(ctx, l, record, b)
		}
	}
	r.Step("end")
	return r.end(ctx, l, record, Done, b)
}

// end writes how a run has ended.
func (r *Runner) end(ctx context.Context, l *lease.Lease, record record, state State, b body) error {
	now := r.Now().UTC()
	return r.Cluster.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		if err := l.WriteTx(ctx, tx); err != nil {
			return err
		}
		n, err := stateOf(nil, "<"+record.UID.String()+">", state, &now, b)
		if err != nil {
			return err
		}
		_, err = tx.Set(ctx, n)
		return err
	})
}

// finish ends what a process that is gone has begun.
func (r *Runner) finish(ctx context.Context, l *lease.Lease) error {
	k, err := readKnown(ctx, r.now)
	if err != nil {
		return err
	}
	for _, id := range k.open {
		record, err := find(ctx, r.now, id)
		if err != nil {
			return err
		}
		r.Log.Info("finishing a run that was cut off", "run", id, "state", record.State)
		if record.State == Undoing {
			var b body
			if b, err = record.body(); err == nil {
				err = r.takeBack(ctx, l, record, b)
			}
		} else {
			err = r.complete(ctx, l, id, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Resume finishes what a process that is gone has begun; nothing where nothing is open, or
// somebody is at work.
func (r *Runner) Resume(ctx context.Context) error {
	k, err := readKnown(ctx, r.now)
	if err != nil || len(k.open) == 0 {
		return err
	}
	err = r.alone(ctx, func(context.Context, *lease.Lease) error { return nil })
	if errors.Is(err, lease.ErrHeld) {
		return nil
	}
	return err
}

// List gives the newest runs, without their changes.
func (r *Runner) List(ctx context.Context, first int) ([]Run, error) { return list(ctx, r.now, first) }

// Show gives one run with its changes; ErrNoRun where there is none.
func (r *Runner) Show(ctx context.Context, id string) (Run, error) {
	record, err := find(ctx, r.now, id)
	if err != nil {
		return Run{}, err
	}
	run, err := record.run()
	if err != nil {
		return Run{}, err
	}
	return run, r.name(ctx, r.now, &run)
}

// name adds what the nodes and predicates of a run's changes are called.
func (r *Runner) name(ctx context.Context, query facet.Query, run *Run) error {
	seen := map[graph.UID]bool{}
	for _, c := range run.Changes {
		for _, t := range c.depends() {
			seen[t.Head], seen[t.Object] = true, true
		}
	}
	if len(seen) == 0 {
		return nil
	}
	var err error
	if run.Names, err = names(ctx, query, r.Names, slices.Sorted(maps.Keys(seen))); err != nil {
		return err
	}
	run.Labels, err = labels(ctx, query)
	return err
}

// now reads at a fresh timestamp.
func (r *Runner) now(ctx context.Context, text string, vars map[string]string) ([]byte, error) {
	return (&reader{cluster: r.Cluster}).query(ctx, text, vars)
}
