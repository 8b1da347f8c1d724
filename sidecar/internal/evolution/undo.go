package evolution

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
	"github.com/evorag/dgraph-evorag/sidecar/internal/lease"
)

// Undo brings back what was there before a run: learned facets, shortcuts taken away, and no
// shortcut that the run made. What the user has deleted since stays deleted. Where feedback
// has touched one of the edges since it is refused with a Conflict, or, with keep, only the
// run's own part is taken back and rated shortcuts stay. Other errors: ErrNoRun, ErrNotDone,
// ErrFinal, lease.ErrHeld.
func (r *Runner) Undo(ctx context.Context, id string, keep bool) (run Run, err error) {
	began := r.Now()
	defer func() {
		if err == nil {
			r.Observe(outcome(run, nil), Counts{}, r.Now().Sub(began))
		}
	}()
	err = r.alone(ctx, func(ctx context.Context, l *lease.Lease) error {
		record, err := find(ctx, r.now, id)
		if err != nil {
			return err
		}
		if record.State == Final {
			return fmt.Errorf("%w: %s began on %s, and its changes are off the record (evolution.keep_undo)", ErrFinal, id, record.Began.Format(time.DateOnly))
		}
		if record.State != Done {
			return fmt.Errorf("%w: %s is %s", ErrNotDone, id, record.State)
		}
		if err := r.mayUndo(ctx, record, keep); err != nil {
			return err
		}
		b, err := record.body()
		if err != nil {
			return err
		}
		b.Keep = keep
		return r.backOut(ctx, l, record, b)
	})
	if err != nil {
		return Run{}, err
	}
	return r.Show(ctx, id)
}

// backOut records that a run is being undone, and undoes it.
func (r *Runner) backOut(ctx context.Context, l *lease.Lease, record record, b body) error {
	r.Step("undo")
	err := r.Cluster.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		if err := l.WriteTx(ctx, tx); err != nil {
			return err
		}
		n, err := stateOf(nil, "<"+record.UID.String()+">", Undoing, nil, b)
		if err != nil {
			return err
		}
		_, err = tx.Set(ctx, n)
		return err
	})
	if err != nil {
		return err
	}
	return r.takeBack(ctx, l, record, b)
}

// mayUndo is a Conflict where something is in the way.
func (r *Runner) mayUndo(ctx context.Context, record record, keep bool) error {
	conflict := &Conflict{Run: record.ID}
	at := &reader{cluster: r.Cluster}
	schema, err := r.schema(ctx)
	if err != nil {
		return err
	}
	later, err := r.changedLater(ctx, record)
	if err != nil {
		return err
	}
	for _, b := range record.batches {
		changes, err := b.changes()
		if err != nil {
			return err
		}
		now, err := look(ctx, at.query, schema, changes)
		if err != nil {
			return err
		}
		for _, c := range changes {
			if _, why := restore(c, now, keep, later[c.Triplet]); why != "" {
				conflict.Reasons = append(conflict.Reasons, why)
				conflict.Later = conflict.Later || later[c.Triplet]
			}
		}
	}
	if len(conflict.Reasons) > 0 {
		return conflict
	}
	return nil
}

// clocks is how far the clocks of replicas may be apart.
const clocks = 24 * time.Hour

// changedLater lists the edges that runs after this one have changed, and not been undone. Runs
// are in the order of their fences, since clocks may be apart.
func (r *Runner) changedLater(ctx context.Context, than record) (map[graph.Triplet]bool, error) {
	var answer struct {
		Later []struct {
			ID string `json:"id"`
		} `json:"later"`
	}
	if err := read(ctx, r.now, &answer, queries.Text("evolution_later"), map[string]string{"$began": stamp(than.Began.Add(-clocks))}); err != nil {
		return nil, err
	}
	own, err := than.body()
	if err != nil {
		return nil, err
	}
	out := map[graph.Triplet]bool{}
	for _, run := range answer.Later {
		if run.ID == than.ID {
			continue
		}
		record, err := find(ctx, r.now, run.ID)
		if err != nil {
			return nil, err
		}
		b, err := record.body()
		if err != nil {
			return nil, err
		}
		if b.Fence < own.Fence {
			continue
		}
		for _, b := range record.batches {
			changes, err := b.changes()
			if err != nil {
				return nil, err
			}
			for _, c := range changes {
				if c.done() {
					out[c.Triplet] = true
				}
			}
		}
	}
	return out, nil
}

// takeBack undoes the batches of a run that are not undone yet, the last first, and ends it.
// Feedback that comes meanwhile is kept.
func (r *Runner) takeBack(ctx context.Context, l *lease.Lease, record record, b body) (err error) {
	for i, batch := range slices.Backward(record.batches) {
		if batch.State != Done {
			continue
		}
		r.Step("undo batch")
		if record.batches[i], err = r.undo(ctx, l, batch); err != nil {
			return fmt.Errorf("undoing run %s, batch %d: %w", record.ID, batch.Number, err)
		}
	}
	r.Step("undone")
	return r.end(ctx, l, record, Undone, b)
}

// undo is apply's counterpart. The batch keeps the record of what it had done.
func (r *Runner) undo(ctx context.Context, l *lease.Lease, b batch) (batch, error) {
	applied, err := b.changes()
	if err != nil {
		return b, err
	}
	return r.write(ctx, l, b, Done, Undone, func(ctx context.Context, tx graph.Tx, schema graph.Schema) ([]Change, *writing, error) {
		now, err := look(ctx, tx.Query, schema, applied)
		if err != nil {
			return nil, nil, err
		}
		w := &writing{set: map[graph.Triplet][]byte{}}
		done := slices.Clone(applied)
		for i, c := range applied {
			back, _ := restore(c, now, true, false)
			if !back.done() {
				done[i].Note = back.Note
				continue
			}
			switch c.Kind {
			case EdgeChange:
				w.edge(now.edges[c.Triplet], *back.After)
			case OldShortcut:
				w.set[c.Triplet] = []byte(c.NQuads)
			case NewShortcut:
				w.remove(c.Triplet)
			}
		}
		return done, w, nil
	})
}
