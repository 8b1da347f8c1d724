package evolution

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
	"github.com/evorag/dgraph-evorag/sidecar/internal/lease"
)

// apply runs one batch of a plan in one transaction: it reads all that the batch goes by,
// settles each change on it, and writes what is changed, the edges that it depends on, the
// lease's fence and the batch's new state. Whoever commits one of these first makes it abort
// and start over.
func (r *Runner) apply(ctx context.Context, l *lease.Lease, j judge, b batch) (batch, error) {
	plan, err := b.changes()
	if err != nil {
		return b, err
	}
	return r.write(ctx, l, b, Planned, Done, func(ctx context.Context, tx graph.Tx, schema graph.Schema) ([]Change, *writing, error) {
		now, err := look(ctx, tx.Query, schema, plan)
		if err != nil {
			return nil, nil, err
		}
		w := &writing{set: map[graph.Triplet][]byte{}}
		done := make([]Change, len(plan))
		for i, c := range plan {
			c = j.settle(c, now)
			done[i] = c
			if !c.done() {
				continue
			}
			switch c.Kind {
			case EdgeChange:
				w.edge(now.edges[c.Triplet], *c.After)
			case OldShortcut:
				w.remove(c.Triplet)
			case NewShortcut:
				for _, s := range c.path().Steps { // what it depends on must still be so at the commit
					if _, changed := w.set[s.Triplet]; !changed {
						w.edge(now.edges[s.Triplet], now.edges[s.Triplet].Contribution)
					}
				}
				w.set[c.Triplet] = fmt.Appendf(nil, "<%s> <%s> <%s> (%s=%s, %s=%s, %s=%s, %s=%s) .\n",
					c.Head, c.Predicate, c.Object, facet.Score, facet.Float(c.After.Score),
					graph.LabelFacet, graph.Quote(c.Label), graph.ViaFacet, graph.Quote(c.Via), graph.RunFacet, graph.Quote(j.Run))
			}
		}
		return done, w, nil
	})
}

// writing is what a batch's transaction sets and deletes.
type writing struct {
	order   []graph.Triplet
	set     map[graph.Triplet][]byte
	deleted []byte
}

func (w *writing) edge(e facet.Edge, c graph.Contribution) {
	e.Contribution = c
	w.set[e.Triplet] = e.AppendTo(nil)
	w.order = append(w.order, e.Triplet) // was there: may be revived by us
}

func (w *writing) remove(t graph.Triplet) {
	w.set[t] = nil
	w.deleted = fmt.Appendf(w.deleted, "<%s> <%s> <%s> .\n", t.Head, t.Predicate, t.Object)
}

// look reads what changes go by.
func look(ctx context.Context, query facet.Query, schema graph.Schema, changes []Change) (present, error) {
	var all []graph.Triplet
	var pairs []evolve.Pair
	seen := map[graph.Triplet]bool{}
	for _, c := range changes {
		for _, t := range c.depends() {
			if !seen[t] {
				seen[t] = true
				all = append(all, t)
			}
		}
		if c.Kind == NewShortcut {
			pairs = append(pairs, evolve.Pair{Head: c.Head, Object: c.Object})
		}
	}
	var now present
	var err error
	if now.edges, err = facet.Read(ctx, query, all); err != nil {
		return now, err
	}
	now.joined, err = joined(ctx, query, schema, pairs)
	return now, err
}

// write runs a batch's transaction. decide may run more than once.
func (r *Runner) write(ctx context.Context, l *lease.Lease, b batch, from, to State, decide func(context.Context, graph.Tx, graph.Schema) ([]Change, *writing, error)) (batch, error) {
	schema, err := r.schema(ctx)
	if err != nil {
		return b, err
	}
	var done []Change
	var w *writing
	at, err := r.Cluster.RunTxAt(ctx, func(ctx context.Context, tx graph.Tx) error {
		if err := l.WriteTx(ctx, tx); err != nil {
			return err
		}
		var answer struct {
			Batch []batch `json:"batch"`
		}
		if err := read(ctx, tx.Query, &answer, queries.Text("evolution_batch"), map[string]string{"$batch": b.UID.String()}); err != nil {
			return err
		}
		if len(answer.Batch) == 0 || answer.Batch[0].State != from {
			return errTakenOut
		}
		var err error
		if done, w, err = decide(ctx, tx, schema); err != nil {
			return err
		}
		var n []byte
		for _, text := range w.set {
			n = append(n, text...)
		}
		if n, err = batchState(n, b.UID, to, done); err != nil {
			return err
		}
		gone := fmt.Appendf(w.deleted, "<%s> <evorag.change.plan> * .\n", b.UID) // what was done says more
		if err := tx.Delete(ctx, gone); err != nil {
			return err
		}
		_, err = tx.Set(ctx, n)
		return err
	})
	if errors.Is(err, errTakenOut) { // the commit's answer was lost on the way
		var answer struct {
			Batch []batch `json:"batch"`
		}
		if err := read(ctx, r.now, &answer, queries.Text("evolution_batch"), map[string]string{"$batch": b.UID.String()}); err != nil {
			return b, err
		}
		if len(answer.Batch) == 0 || answer.Batch[0].State != to {
			return b, fmt.Errorf("%w, in another state", errTakenOut)
		}
		return answer.Batch[0], nil
	}
	if err != nil {
		return b, err
	}
	if err := r.sinkRevived(ctx, at, w.order); err != nil {
		return b, err
	}
	r.Changed(slices.Collect(maps.Keys(w.set)))
	b.State = to
	b.Done, err = marshal(done)
	return b, err
}

// schema is that of the cluster now.
func (r *Runner) schema(ctx context.Context) (graph.Schema, error) {
	data, err := r.now(ctx, "schema {}", nil)
	if err != nil {
		return graph.Schema{}, err
	}
	return graph.ParseSchema(data)
}

// sinkRevived takes out again the edges that a wildcard delete of the user's had taken away
// between our read and our commit: such a delete makes nothing abort, so our write has
// brought them back. An edge that was set anew since, without what was learned, stays.
func (r *Runner) sinkRevived(ctx context.Context, at graph.Txn, edges []graph.Triplet) error {
	if len(edges) == 0 || at.CommitTS == 0 {
		return nil
	}
	gone, err := r.missing(ctx, at.CommitTS-1, edges)
	if err != nil || len(gone) == 0 {
		return err
	}
	// Old states go in time: only where the older one is still there is the newer one to be believed.
	missing, err := r.missing(ctx, at.StartTS, gone)
	if err != nil {
		return err
	}
	gone = slices.DeleteFunc(gone, func(t graph.Triplet) bool { return slices.Contains(missing, t) })
	return r.Cluster.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		now, err := facet.Read(ctx, tx.Query, gone)
		if err != nil {
			return err
		}
		var n []byte
		for _, t := range gone {
			if now[t].Learned {
				n = fmt.Appendf(n, "<%s> <%s> <%s> .\n", t.Head, t.Predicate, t.Object)
			}
		}
		if len(n) == 0 {
			return nil
		}
		return tx.Delete(ctx, n)
	})
}

// missing lists the edges that were not there at a timestamp. With access control nobody may
// read at a timestamp that was not given to him: then none is known to be missing.
func (r *Runner) missing(ctx context.Context, ts uint64, edges []graph.Triplet) ([]graph.Triplet, error) {
	there, err := facet.Exist(ctx, (&reader{cluster: r.Cluster, startTS: ts}).query, edges)
	if err != nil && strings.Contains(err.Error(), "hash mismatch") {
		return nil, nil //nolint:nilerr // see above
	}
	if err != nil {
		return nil, fmt.Errorf("looking for edges that were deleted meanwhile: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(edges), func(t graph.Triplet) bool { return there[t] }), nil
}
