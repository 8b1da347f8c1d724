package plan

import (
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// UpsertRead is Text for reading the query of an upsert without its mutations: the engine
// refuses a variable that is not used, and it is the mutations that use them, so a block is
// added that uses every one.
func (p *Plan) UpsertRead(starts map[string][]graph.UID) (string, error) {
	edits := p.edits(starts)
	if vars := variables(p.Query, p.Query.Blocks); len(vars) > 0 {
		edits = append(edits, dql.Edit{
			Span: dql.Span{Start: p.Query.Blocks[0].Span.Start, End: p.Query.Blocks[0].Span.Start},
			Text: "var(func: uid(" + strings.Join(vars, ", ") + ")) { uid }\n",
		})
	}
	return dql.Splice(p.Query.Text, edits)
}

// variables are the names of all variables that fields and their facets define, through
// fragments, each once.
func variables(q *dql.Query, fields []*dql.Field) []string {
	var out []string
	seen := map[string]bool{}
	add := func(name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	spread := map[string]bool{}
	var walk func([]*dql.Field)
	walk = func(fields []*dql.Field) {
		for _, f := range fields {
			add(f.Var)
			for _, d := range f.Directives {
				if d.Facets != nil {
					for _, k := range d.Facets.Keys {
						add(k.Var)
					}
				}
			}
			walk(f.Children)
			if f.Kind != dql.Spread || spread[f.Inner] {
				continue
			}
			spread[f.Inner] = true
			for _, fragment := range q.Fragments {
				if fragment.Name == f.Inner {
					walk(fragment.Children)
				}
			}
		}
	}
	walk(fields)
	return out
}
