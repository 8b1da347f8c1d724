package load

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// entityBatch is how many names one query looks up and one transaction creates.
const entityBatch = 1000

// node is an entity that the cluster has.
type node struct {
	UID  graph.UID `json:"uid"`
	Name string    `json:"name"`
	IRI  string    `json:"iri"`
}

// resolve gives every entity its uid, creating what is missing. One transaction at a time:
// with @upsert, two that create names with a word in common abort each other.
func (l *loader) resolve(ctx context.Context) error {
	var named, iris []uint32
	for i, e := range l.table.entities {
		if e.iri != "" {
			iris = append(iris, uint32(i)) //nolint:gosec // fewer than 2^32 lines
		} else {
			named = append(named, uint32(i)) //nolint:gosec // likewise
		}
	}
	l.meter.begin(PhaseEntities, int64(len(l.table.entities)))
	done := 0
	for _, kind := range []struct {
		ids       []uint32
		predicate string
	}{{named, l.opts.NamePredicate}, {iris, iriPredicate}} {
		for _, b := range batches(len(kind.ids), entityBatch) {
			ids := kind.ids[b[0]:b[1]]
			if err := l.resolveBatch(ctx, ids, kind.predicate); err != nil {
				return fmt.Errorf("entities %d to %d of %d: %w", done+1, done+len(ids), len(l.table.entities), err)
			}
			done += len(ids)
			l.meter.set(int64(done))
		}
	}
	l.meter.end()
	return nil
}

func (l *loader) resolveBatch(ctx context.Context, ids []uint32, predicate string) error {
	if l.opts.DryRun {
		_, ambiguous, err := l.find(ctx, l.cluster.Read, ids, predicate)
		if err == nil {
			l.count(ids, ambiguous)
		}
		return err
	}
	var ambiguous int
	err := l.cluster.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		renamed, n, err := l.find(ctx, tx.Query, ids, predicate)
		if err != nil {
			return err
		}
		ambiguous = n
		nquads := l.creations(ids, renamed)
		if len(nquads) == 0 {
			return nil
		}
		uids, err := tx.Set(ctx, nquads)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if e := &l.table.entities[id]; e.created {
				e.uid = uids[fmt.Sprintf("e%d", id)]
			}
		}
		return nil
	})
	if err == nil {
		l.count(ids, ambiguous)
	}
	return err
}

func (l *loader) count(ids []uint32, ambiguous int) {
	l.report.Ambiguous += ambiguous
	for _, id := range ids {
		if l.table.entities[id].created {
			l.report.Entities.New++
		} else {
			l.report.Entities.Existing++
		}
	}
}

// find sets uid and created of the entities by what the cluster has. It returns those whose
// name in the cluster is not the one that the file gives, and how many keys several nodes have.
func (l *loader) find(ctx context.Context, query querier, ids []uint32, predicate string) (renamed []uint32, ambiguous int, err error) {
	found, ambiguous, err := l.nodes(ctx, query, ids, predicate)
	if err != nil {
		return nil, 0, err
	}
	for _, id := range ids {
		e := &l.table.entities[id]
		n, ok := found[cmp.Or(e.iri, e.name)]
		e.uid, e.created = n.UID, !ok
		if ok && e.labeled && n.Name != e.name {
			renamed = append(renamed, id)
		}
	}
	return renamed, ambiguous, nil
}

// nodes finds the entities by their key; of several nodes the one with the lowest uid is taken.
func (l *loader) nodes(ctx context.Context, query querier, ids []uint32, predicate string) (map[string]node, int, error) {
	if p := l.schema.Predicates[predicate]; l.opts.DryRun && !p.HasTokenizer("exact") {
		return nil, 0, nil // nothing could have been loaded by it
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		e := l.table.entities[id]
		keys[i] = graph.Quote(cmp.Or(e.iri, e.name))
	}
	data, err := query(ctx, nodesQuery(predicate, keys, l.opts.EntityType, l.opts.NamePredicate), nil)
	if err != nil {
		return nil, 0, err
	}
	var answer struct {
		Nodes []node `json:"nodes"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, 0, err
	}
	slices.SortFunc(answer.Nodes, func(a, b node) int { return cmp.Compare(a.UID, b.UID) })
	found := make(map[string]node, len(answer.Nodes))
	several := map[string]bool{}
	for _, n := range answer.Nodes {
		k := n.Name
		if predicate == iriPredicate {
			k = n.IRI
		}
		if _, ok := found[k]; ok {
			several[k] = true
			continue
		}
		found[k] = n
	}
	return found, len(several), nil
}

// nodesQuery asks for the nodes of a type that have one of the quoted keys.
func nodesQuery(predicate string, keys []string, entityType, namePredicate string) string {
	return fmt.Sprintf(`{
  nodes(func: eq(<%s>, [%s])) @filter(type(<%s>)) { uid name: <%s> iri: <%s> }
}
`, predicate, strings.Join(keys, ", "), entityType, namePredicate, iriPredicate)
}

func (l *loader) creations(ids, renamed []uint32) []byte {
	var b []byte
	for _, id := range ids {
		e := l.table.entities[id]
		if !e.created {
			continue
		}
		b = fmt.Appendf(b, "_:e%[1]d <dgraph.type> %[2]s .\n_:e%[1]d <%[3]s> %[4]s .\n", id, graph.Quote(l.opts.EntityType), l.opts.NamePredicate, graph.Quote(e.name))
		if e.iri != "" {
			b = fmt.Appendf(b, "_:e%d <%s> %s .\n", id, iriPredicate, graph.Quote(e.iri))
		}
	}
	for _, id := range renamed {
		e := l.table.entities[id]
		b = fmt.Appendf(b, "<%s> <%s> %s .\n", e.uid, l.opts.NamePredicate, graph.Quote(e.name))
	}
	return b
}
