package evolution

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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
	order   []graph.Triplet // edges that were there: fenced against deletes beside
	set     map[graph.Triplet][]byte
	deleted []byte
}

func (w *writing) edge(e facet.Edge, c graph.Contribution) {
	e.Contribution = c
	w.set[e.Triplet] = e.AppendTo(nil)
	w.order = append(w.order, e.Triplet)
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
	err = r.Cluster.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
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
		counted := map[string]bool{}
		for _, t := range w.order {
			counted[t.Predicate] = schema.Predicates[t.Predicate].Count
		}
		if err := tx.Delete(ctx, facet.AppendFence(gone, w.order, counted)); err != nil {
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
