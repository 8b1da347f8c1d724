package load

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// held is one value of a node in the cluster, in canonical form.
type held struct {
	head      graph.UID
	predicate string
	text      string
}

// types are the names by which N-Quads give a value's type to Dgraph.
var types = map[string]string{"int": "xs:int", "float": "xs:float", "bool": "xs:boolean", "datetime": "xs:dateTime"}

func (l *loader) writeValues(ctx context.Context, part []value) (int, error) {
	return l.attempt(ctx, func(ctx context.Context, query querier, again bool) ([]byte, int, error) {
		have, err := l.existingValues(ctx, query, part, again)
		if err != nil {
			return nil, 0, err
		}
		var b []byte
		added := 0
		for _, v := range part {
			e, r := l.table.entities[v.head], l.table.relations[v.relation]
			if have[held{e.uid, r.Predicate, v.text}] {
				continue
			}
			added++
			b = fmt.Appendf(b, "<%s> <%s> %s", e.uid, r.Predicate, graph.Quote(v.text))
			if t := types[r.Type]; t != "" {
				b = fmt.Appendf(b, "^^<%s>", t)
			}
			b = append(b, " .\n"...)
		}
		return b, added, nil
	})
}

// existingValues tells which of the values the cluster has, as existing does for edges.
func (l *loader) existingValues(ctx context.Context, query querier, part []value, all bool) (map[held]bool, error) {
	heads := map[string][]graph.UID{}
	kinds := map[string]string{}
	for _, v := range part {
		e, r := l.table.entities[v.head], l.table.relations[v.relation]
		_, old := l.schema.Predicates[r.Predicate]
		if e.uid != 0 && (all || (old && !e.created)) {
			heads[r.Predicate] = append(heads[r.Predicate], e.uid)
			kinds[r.Predicate] = r.Type
		}
	}
	if len(heads) == 0 {
		return nil, nil
	}
	predicates := slices.Sorted(maps.Keys(heads))
	data, err := query(ctx, valuesQuery(predicates, heads), nil)
	if err != nil {
		return nil, err
	}
	var answer map[string][]struct {
		UID   graph.UID       `json:"uid"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	have := map[held]bool{}
	for i, p := range predicates {
		for _, n := range answer[fmt.Sprintf("p%d", i)] {
			for _, text := range jsonValues(n.Value) {
				if c, err := canonical(kinds[p], text); err == nil {
					have[held{n.UID, p, c}] = true
				}
			}
		}
	}
	return have, nil
}

// valuesQuery asks each predicate for the values of its heads.
func valuesQuery(predicates []string, heads map[string][]graph.UID) string {
	var b strings.Builder
	b.WriteString("{\n")
	for i, p := range predicates {
		fmt.Fprintf(&b, "  p%d(func: uid(%s)) { uid value: <%s> }\n", i, uidList(heads[p]), p)
	}
	b.WriteString("}\n")
	return b.String()
}

// jsonValues gives the texts of a JSON scalar, or of each in a list.
func jsonValues(raw json.RawMessage) []string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	var out []string
	for _, one := range list {
		var s string
		if json.Unmarshal(one, &s) != nil {
			s = string(one)
		}
		if len(one) > 0 && s != "null" {
			out = append(out, s)
		}
	}
	return out
}
