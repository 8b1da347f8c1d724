package facet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// starAll is where a posting list notes that all of it was deleted, as an object:
// farm.Fingerprint64("_STAR_ALL") in Dgraph's posting.fingerprintEdge. No node has this uid.
const starAll = "0xdd3816e610e368b9"

// AppendFence appends the N-Quads that a transaction which sets these edges has to delete, so
// that a wildcard delete of them (`S P *`, `S * *`) beside it conflicts: one of the two is
// aborted. Otherwise both commit and an edge that a user has deleted is back, with our facets.
//
// Dgraph looks for conflicts by list and object. A wildcard delete has an object of its own,
// starAll: to delete that one edge, which is never there, changes nothing and conflicts. Under
// @count a delete of what isn't there is left out, but there both change the count: for the
// predicates in counted the edges themselves are deleted before they are set again.
// A predicate with @noconflict has no conflicts at all, and no fence.
func AppendFence(b []byte, edges []graph.Triplet, counted map[string]bool) []byte {
	type list struct {
		head      graph.UID
		predicate string
	}
	fenced := map[list]bool{}
	for _, t := range edges {
		if counted[t.Predicate] {
			b = fmt.Appendf(b, "<%s> <%s> <%s> .\n", t.Head, t.Predicate, t.Object)
		} else if l := (list{t.Head, t.Predicate}); !fenced[l] {
			fenced[l] = true
			b = fmt.Appendf(b, "<%s> <%s> <%s> .\n", t.Head, t.Predicate, starAll)
		}
	}
	return b
}

// Commit sets edges with all their facets, fenced, and whatever else is to be set with them, and
// commits: the last step of a transaction that read the edges. schema is asked outside of it.
//
// Dgraph reads a whole list before it deletes from it, unless the same request has set something
// there before: so lists are fenced last. A predicate that holds at most one edge is fenced first,
// as what is deleted there afterwards would be the edge that was set.
func Commit(ctx context.Context, tx graph.Tx, schema Query, edges []Edge, others []byte) error {
	triplets := make([]graph.Triplet, len(edges))
	sets := slices.Clip(others)
	for i, e := range edges {
		triplets[i] = e.Triplet
		sets = e.AppendTo(sets)
	}
	kinds, err := kindsOf(ctx, schema, triplets)
	if err != nil {
		return err
	}
	first, last, counted := []graph.Triplet{}, []graph.Triplet{}, map[string]bool{}
	for _, t := range triplets {
		kind := kinds[t.Predicate]
		if counted[t.Predicate] = kind.Count; kind.List && !kind.Count {
			last = append(last, t)
		} else {
			first = append(first, t)
		}
	}
	_, err = tx.Commit(ctx, AppendFence(nil, first, counted), sets, AppendFence(nil, last, nil))
	return err
}

// kind is what the schema says of a predicate.
type kind struct {
	Predicate string `json:"predicate"`
	Count     bool   `json:"count"`
	List      bool   `json:"list"`
}

// kindsOf asks the schema about the edges' predicates.
func kindsOf(ctx context.Context, query Query, edges []graph.Triplet) (map[string]kind, error) {
	seen := map[string]bool{}
	var names []string
	for _, t := range edges {
		if !seen[t.Predicate] {
			seen[t.Predicate] = true
			names = append(names, "<"+t.Predicate+">")
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	data, err := query(ctx, "schema(pred: ["+strings.Join(names, ", ")+"]) { count list }", nil)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Schema []kind `json:"schema"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("the engine's schema answer is not readable: %w", err)
	}
	kinds := map[string]kind{}
	for _, k := range answer.Schema {
		kinds[k.Predicate] = k
	}
	return kinds, nil
}
