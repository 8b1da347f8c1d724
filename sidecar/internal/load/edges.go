package load

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// write writes the edges and values that the cluster lacks, several transactions at once:
// they conflict only where two writers mean the same edge.
func (l *loader) write(ctx context.Context) error {
	edges, values := l.table.edges, l.table.values
	l.meter.begin(PhaseEdges, int64(len(edges)+len(values)))
	var mu sync.Mutex
	var done int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(l.opts.Workers)
	run := func(n int, into *Count, batch func(context.Context) (int, error)) {
		group.Go(func() error {
			added, err := batch(ctx)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			into.New += added
			into.Existing += n - added
			done += int64(n)
			l.meter.set(done)
			return nil
		})
	}
	for _, b := range batches(len(edges), l.opts.Batch) {
		part := edges[b[0]:b[1]]
		run(len(part), &l.report.Edges, func(ctx context.Context) (int, error) { return l.writeEdges(ctx, part) })
	}
	for _, b := range batches(len(values), l.opts.Batch) {
		part := values[b[0]:b[1]]
		run(len(part), &l.report.Values, func(ctx context.Context) (int, error) { return l.writeValues(ctx, part) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("writing edges: %w", err)
	}
	l.meter.end()
	return nil
}

// attempt runs work in one transaction, or for a dry run on plain reads. again tells that an
// earlier attempt was aborted, so that somebody else is writing the same.
func (l *loader) attempt(ctx context.Context, work func(ctx context.Context, query querier, again bool) (nquads []byte, added int, err error)) (int, error) {
	if l.opts.DryRun {
		_, added, err := work(ctx, l.cluster.Read, false)
		return added, err
	}
	var added int
	again := false
	err := l.cluster.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		nquads, n, err := work(ctx, tx.Query, again)
		if err != nil {
			return err
		}
		added, again = n, true
		if len(nquads) == 0 {
			return nil
		}
		_, err = tx.Set(ctx, nquads)
		return err
	})
	return added, err
}

func (l *loader) writeEdges(ctx context.Context, part []edge) (int, error) {
	return l.attempt(ctx, func(ctx context.Context, query querier, again bool) ([]byte, int, error) {
		have, err := l.existing(ctx, query, part, again)
		if err != nil {
			return nil, 0, err
		}
		var b []byte
		added := 0
		for _, e := range part {
			t := l.triplet(e)
			if have[t] {
				continue
			}
			added++
			b = fmt.Appendf(b, "<%s> <%s> <%s>", t.Head, t.Predicate, t.Object)
			if e.facets > 0 {
				b = fmt.Appendf(b, " (%s)", l.table.facets[e.facets])
			}
			b = append(b, " .\n"...)
		}
		return b, added, nil
	})
}

func (l *loader) triplet(e edge) graph.Triplet {
	return graph.Triplet{Head: l.table.entities[e.head].uid, Predicate: l.table.relations[e.relation].Predicate, Object: l.table.entities[e.object].uid}
}

// existing tells which of the edges the cluster has. Those with an end that this load
// created are not asked for, unless another writer is known to be at work on them.
func (l *loader) existing(ctx context.Context, query querier, part []edge, all bool) (map[graph.Triplet]bool, error) {
	asked := map[string]ends{}
	for _, e := range part {
		head, object, t := l.table.entities[e.head], l.table.entities[e.object], l.triplet(e)
		_, old := l.schema.Predicates[t.Predicate]
		if t.Head == 0 || t.Object == 0 || (!all && (!old || head.created || object.created)) {
			continue
		}
		p := asked[t.Predicate]
		asked[t.Predicate] = ends{append(p.heads, t.Head), append(p.objects, t.Object)}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	predicates := slices.Sorted(maps.Keys(asked))
	data, err := query(ctx, edgesQuery(predicates, asked), nil)
	if err != nil {
		return nil, err
	}
	var answer map[string][]struct {
		UID     graph.UID `json:"uid"`
		Objects []node    `json:"objects"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	have := make(map[graph.Triplet]bool, len(part))
	for i, p := range predicates {
		for _, head := range answer[fmt.Sprintf("p%d", i)] {
			for _, o := range head.Objects {
				have[graph.Triplet{Head: head.UID, Predicate: p, Object: o.UID}] = true
			}
		}
	}
	return have, nil
}

// ends are the heads and objects of edges, in the same order.
type ends struct{ heads, objects []graph.UID }

// edgesQuery asks each predicate for what it has between its heads and its objects.
func edgesQuery(predicates []string, asked map[string]ends) string {
	var b strings.Builder
	b.WriteString("{\n")
	for i, p := range predicates {
		fmt.Fprintf(&b, "  p%d(func: uid(%s)) { uid objects: <%s> @filter(uid(%s)) { uid } }\n", i, uidList(asked[p].heads), p, uidList(asked[p].objects))
	}
	b.WriteString("}\n")
	return b.String()
}

// uidList writes each uid once.
func uidList(uids []graph.UID) string {
	uids = slices.Compact(slices.Sorted(slices.Values(uids)))
	text := make([]string, len(uids))
	for i, u := range uids {
		text[i] = u.String()
	}
	return strings.Join(text, ", ")
}
