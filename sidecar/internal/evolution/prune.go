package evolution

import (
	"context"
	"fmt"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
	"github.com/evorag/dgraph-evorag/sidecar/internal/lease"
)

// never is the age of everything where nothing is forgotten.
var never = time.Unix(0, 0)

// prune forgets what is old, a run in a transaction. A run that began longer ago than KeepUndo
// loses its changes, can't be undone any more, and says so; records of runs that can't be
// undone go when they began longer ago than KeepRuns.
func (r *Runner) prune(ctx context.Context, l *lease.Lease) error {
	before := func(keep time.Duration) string {
		if keep == 0 {
			return stamp(never)
		}
		return stamp(r.Now().Add(-keep))
	}
	type named []struct {
		ID string `json:"id"`
	}
	var old struct {
		Undo named `json:"undo"`
		Keep named `json:"keep"`
	}
	if err := read(ctx, r.now, &old, queries.Text("evolution_old"), map[string]string{"$undo": before(r.KeepUndo), "$keep": before(r.KeepRuns)}); err != nil {
		return err
	}
	for _, run := range old.Undo {
		if err := r.settleForGood(ctx, l, run.ID); err != nil {
			return err
		}
	}
	for _, run := range old.Keep {
		if err := r.forget(ctx, l, run.ID); err != nil {
			return err
		}
	}
	return nil
}

// settleForGood takes a run's changes off the record.
func (r *Runner) settleForGood(ctx context.Context, l *lease.Lease, id string) error {
	record, err := find(ctx, r.now, id)
	if err != nil {
		return err
	}
	b, err := record.body()
	if err != nil {
		return err
	}
	if len(record.batches) > 0 {
		r.Log.Info("a run can't be undone any more (evolution.keep_undo)", "run", id, "began", record.Began)
		b.Note = joinNotes(b.Note, "its changes went off the record on "+r.Now().UTC().Format(time.DateOnly)+" (evolution.keep_undo)")
	}
	return r.Cluster.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		if err := l.WriteTx(ctx, tx); err != nil {
			return err
		}
		if len(record.batches) > 0 {
			if err := tx.Delete(ctx, withoutBatches(nil, record)); err != nil {
				return err
			}
		}
		n, err := stateOf(nil, "<"+record.UID.String()+">", Final, nil, b)
		if err != nil {
			return err
		}
		_, err = tx.Set(ctx, n)
		return err
	})
}

// forget removes all that is recorded of a run.
func (r *Runner) forget(ctx context.Context, l *lease.Lease, id string) error {
	record, err := find(ctx, r.now, id)
	if err != nil {
		return err
	}
	r.Log.Info("the record of a run is forgotten (evolution.keep_runs)", "run", id, "state", record.State, "began", record.Began)
	n := withoutBatches(nil, record)
	for _, p := range []string{"dgraph.type", "evorag.run.id", "evorag.run.state", "evorag.run.began", "evorag.run.ended", "evorag.run.tick", "evorag.run.body"} {
		n = fmt.Appendf(n, "<%s> <%s> * .\n", record.UID, p)
	}
	return r.Cluster.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		if err := l.WriteTx(ctx, tx); err != nil {
			return err
		}
		return tx.Delete(ctx, n)
	})
}

// withoutBatches appends what deletes a run's batches.
func withoutBatches(n []byte, r record) []byte {
	for _, b := range r.batches {
		for _, p := range []string{"dgraph.type", "evorag.change.run", "evorag.change.number", "evorag.change.state", "evorag.change.plan", "evorag.change.done"} {
			n = fmt.Appendf(n, "<%s> <%s> * .\n", b.UID, p)
		}
	}
	return n
}

func joinNotes(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
