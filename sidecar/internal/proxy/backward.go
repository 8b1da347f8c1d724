package proxy

import (
	"context"
	"fmt"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/render"
)

// forbidBackward takes Reverse off the predicates that the caller may not walk backwards. To
// Dgraph's access control "~knows" is a predicate of its own, which needs a rule of its own,
// and `schema {}` doesn't tell. A count does: where the caller may read it, it is 0 for a
// node that isn't there; where he may not, it is left out. Shortcuts are asked about too: they are
// not walked backwards, but read again from either end.
func (p *Proxy) forbidBackward(ctx context.Context, c graph.Credentials, s graph.Schema) error {
	var backward []graph.Relation
	for _, name := range s.PathPredicates() {
		if s.Predicates[name].Reverse {
			backward = append(backward, graph.Relation{Predicate: name, Inverse: true})
		}
	}
	if len(backward) == 0 || len(c["accessjwt"]) == 0 { // without access control all may be read
		return nil
	}
	var text strings.Builder
	text.WriteString("{\n  q(func: uid(0x1)) {\n")
	for i, r := range backward {
		fmt.Fprintf(&text, "    r%d: count(<%s>)\n", i, r)
	}
	text.WriteString("  }\n}")
	answer, err := p.Engine.Query(ctx, graph.Call{Query: text.String(), ReadOnly: true, Credentials: c})
	if err != nil {
		return err
	}
	data, err := render.Parse(answer.JSON)
	if err != nil {
		return err
	}
	counts := &render.Value{}
	if rows := items(data.Get("q")); len(rows) > 0 {
		counts = rows[0]
	}
	for i, r := range backward {
		if counts.Get(fmt.Sprintf("r%d", i)) == nil {
			forbidden := s.Predicates[r.Predicate]
			forbidden.Reverse = false
			s.Predicates[r.Predicate] = forbidden
		}
	}
	return nil
}
