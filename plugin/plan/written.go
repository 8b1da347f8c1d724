package plan

import (
	"strconv"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// written marks every node and edge of a Written block for ranking: its uid, its names and
// the learned facets are spliced in, paging moves behind the ranking.
func written(b *builder, blk *Block) error {
	if blk.Form != Written {
		return nil
	}
	err := b.walk(blk.Field, func(f *dql.Field) error {
		// @cascade would drop nodes without a name; expand refuses a predicate that stands beside it.
		if f.Directive("cascade") != nil || f.Kind == dql.Expand {
			blk.Apart = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	w := &writer{builder: b, blk: blk}
	blk.Tree = &Node{Key: blk.Key, Ordered: rootOrdered(blk.Field)}
	edits, err := w.fields(blk.Tree, blk.Field.Children)
	if err != nil {
		return err
	}
	blk.edits = append(blk.edits, w.mark(blk.Tree, blk.Field))
	blk.edits = append(blk.edits, edits...)
	return nil
}

type writer struct {
	*builder
	blk *Block
}

// mark inserts what every child of the node needs, at the start of the body that shows it.
func (w *writer) mark(n *Node, f *dql.Field) dql.Edit {
	var t strings.Builder
	t.WriteString(" " + UIDKey + ": uid ")
	for i, name := range w.blk.Names {
		key, own := ownName(f.Children, name)
		if !own {
			key = NameKey(i)
			if !w.blk.Apart {
				t.WriteString(key + ": <" + name + "> ")
			}
		}
		n.Names = append(n.Names, key)
	}
	if len(f.Children) > 0 && f.Children[0].Name == "as" { // or the last mark would become a variable
		t.WriteString(", ")
	}
	return dql.Edit{Span: dql.Span{Start: f.Body.Start, End: f.Body.Start}, Text: t.String()}
}

// ownName is the key under which the fields show a predicate's plain value, if they do: the
// engine would read it twice.
func ownName(fields []*dql.Field, name string) (string, bool) {
	for _, f := range fields {
		if f.Kind == dql.Predicate && f.Name == name && f.Lang == "" && !f.HasBody && !f.Args.HasParens && len(f.Directives) == 0 {
			return key(f), true
		}
	}
	return "", false
}

// fields fills the node's children from a body's fields and returns the edits to that body.
func (w *writer) fields(n *Node, fields []*dql.Field) ([]dql.Edit, error) {
	var edits []dql.Edit
	for _, f := range fields {
		switch {
		case f.Kind == dql.Spread:
			text, err := w.inline(n, f)
			if err != nil {
				return nil, err
			}
			edits = append(edits, dql.Edit{Span: f.Span, Text: text})
		case f.Kind == dql.Predicate && f.HasBody && !w.isValue(f.Name):
			more, err := w.predicate(n, f)
			if err != nil {
				return nil, err
			}
			edits = append(edits, more...)
		case f.Kind == dql.Expand && f.HasBody:
			n.Any = &Node{}
			more, err := w.fields(n.Any, f.Children)
			if err != nil {
				return nil, err
			}
			edits = append(append(edits, w.mark(n.Any, f)), more...)
		}
	}
	return edits, nil
}

// inline writes a fragment's fields in place of its spread: other blocks use the same
// fragment and must not see the marks.
func (w *writer) inline(n *Node, f *dql.Field) (string, error) {
	frag := w.fragment(f.Inner)
	edits, err := w.fields(n, frag.Children)
	if err != nil {
		return "", err
	}
	for i := range edits {
		edits[i].Span.Start -= frag.Body.Start
		edits[i].Span.End -= frag.Body.Start
	}
	text, err := dql.Splice(w.query.Text[frag.Body.Start:frag.Body.End], edits)
	return " " + text + "\n", err // a comment may end the fragment
}

// isValue tells a predicate that the schema knows to hold values; a body below one shows nothing.
func (w *writer) isValue(name string) bool {
	p, ok := w.schema.Predicates[name]
	return ok && p.Type != "uid" && p.Type != "default"
}

func (w *writer) predicate(parent *Node, f *dql.Field) ([]dql.Edit, error) {
	n := &Node{Key: key(f), Relation: graph.ParseRelation(f.Name), Keep: map[string]bool{}}
	n.Score, n.Hidden = ScoreKey, HiddenKey
	parent.Children = append(parent.Children, n)
	facets, err := w.facets(n, f)
	if err != nil {
		return nil, err
	}
	edits := []dql.Edit{facets, w.mark(n, f)}
	paging, err := w.paging(n, f)
	if err != nil {
		return nil, err
	}
	more, err := w.fields(n, f.Children)
	if err != nil {
		return nil, err
	}
	return append(append(edits, paging...), more...), nil
}

// facets adds the learned facets to the one fetch that Dgraph allows on a predicate.
func (w *writer) facets(n *Node, f *dql.Field) (dql.Edit, error) {
	want := []string{ScoreKey + ": " + scoreFacet, HiddenKey + ": " + hideFacet}
	for _, d := range f.Directives {
		if d.Facets == nil || d.Facets.Filter {
			continue
		}
		if d.Facets.All {
			n.Score, n.Hidden = n.Key+"|"+scoreFacet, n.Key+"|"+hideFacet
			return dql.Edit{Span: dql.Span{Start: d.Span.End, End: d.Span.End}}, nil
		}
		for _, k := range d.Facets.Keys {
			n.Ordered = n.Ordered || k.Order != ""
			if k.Alias == ScoreKey || k.Alias == HiddenKey {
				return dql.Edit{}, w.query.ErrorAt(d.Span.Start, "%s is a key of the ranking's own; give the facet another alias", k.Alias)
			}
			if !strings.HasPrefix(k.Key, "evorag.") {
				continue
			}
			key := n.Key + "|" + k.Key
			if k.Alias != "" {
				key = k.Alias
			}
			n.Keep[key] = true
			switch k.Key { // asked for under a name of the user's: read it there
			case scoreFacet:
				n.Score, want[0] = key, ""
			case hideFacet:
				n.Hidden, want[1] = key, ""
			}
		}
		text := list(", ", want)
		if len(d.Facets.Keys) == 0 { // @facets()
			text = strings.TrimPrefix(text, ", ")
		}
		return dql.Edit{Span: dql.Span{Start: d.Span.End - 1, End: d.Span.End - 1}, Text: text}, nil
	}
	at := f.Body.Start - 1 // before the brace
	return dql.Edit{Span: dql.Span{Start: at, End: at}, Text: " @facets(" + strings.TrimPrefix(list(", ", want), ", ") + ") "}, nil
}

func list(sep string, words []string) string {
	var t strings.Builder
	for _, w := range words {
		if w != "" {
			t.WriteString(sep + w)
		}
	}
	return t.String()
}

// paging moves first and offset behind the ranking. With the user's own order they stay
// the engine's, except where it returns the facets of other edges (docs/DGRAPH.md): with
// offset, with a negative first, and with an order by a value variable, which moves behind
// the ranking as a whole. With after the engine pages by uid, which stays as it is.
func (w *writer) paging(n *Node, f *dql.Field) ([]dql.Edit, error) {
	if _, ok := f.Args.Get("after"); ok {
		return nil, nil
	}
	first, hasFirst, err := w.intArg(f.Args, "first")
	if err != nil {
		return nil, err
	}
	offset, hasOffset, err := w.intArg(f.Args, "offset")
	if err != nil {
		return nil, err
	}
	n.First, n.HasFirst, n.Offset = first, hasFirst, max(offset, 0)
	var keep, values []string
	for _, a := range f.Args.List {
		switch a.Key {
		case "first", "offset":
			continue
		case "orderasc", "orderdesc":
			n.Ordered = true
			if strings.HasPrefix(a.Value, "val") {
				n.ByValue = a.Key
				values = append(values, a.Value)
				continue
			}
		}
		keep = append(keep, w.query.Text[a.Span.Start:a.Span.End])
	}
	if n.ByValue != "" && (len(values) > 1 || len(keep) > 0) {
		return nil, w.query.ErrorAt(f.Args.Span.Start, "in a ranked list an order by %s stands alone; leave the other arguments out", values[0])
	}
	limit := 0 // what the engine is told
	if n.Ordered && n.ByValue == "" && hasFirst && first >= 0 {
		limit = first + n.Offset
	} else if !n.Ordered && w.blk.Fanout > 0 && !functions[f.Name] {
		limit = w.blk.Fanout
	}
	if !hasFirst && !hasOffset && limit == 0 && n.ByValue == "" {
		return nil, nil
	}
	if limit > 0 || n.Ordered && hasFirst && first == 0 {
		keep = append(keep, "first: "+strconv.Itoa(limit))
	}
	text := ""
	if len(keep) > 0 {
		text = " (" + strings.Join(keep, ", ") + ")"
	}
	at := dql.Span{Start: f.NameSpan.End, End: f.NameSpan.End}
	if f.Args.HasParens {
		at = dql.Span{Start: f.Args.Span.Start - 1, End: f.Args.Span.End + 1}
	}
	edits := []dql.Edit{{Span: at, Text: text}}
	if n.ByValue != "" {
		edits = append(edits, dql.Edit{Span: dql.Span{Start: f.Body.End, End: f.Body.End}, Text: "\n" + OrderKey + ": " + values[0] + " "})
	}
	return edits, nil
}

// functions are names that with parentheses behind them are no longer predicates.
var functions = map[string]bool{
	"val": true, "count": true, "min": true, "max": true, "sum": true, "avg": true,
	"math": true, "expand": true, "checkpwd": true,
}

func rootOrdered(f *dql.Field) bool {
	_, asc := f.Args.Get("orderasc")
	_, desc := f.Args.Get("orderdesc")
	return asc || desc
}

// intArg reads a whole number, a literal or a variable.
func (b *builder) intArg(args dql.Args, key string) (value int, given bool, err error) {
	a, ok := args.Get(key)
	if !ok {
		return 0, false, nil
	}
	text := a.Value
	if strings.HasPrefix(text, "$") {
		text, ok = b.variable(text)
		if !ok {
			return 0, false, b.query.ErrorAt(a.ValueSpan.Start, "%s has no value; give it in variables", a.Value)
		}
	}
	value, err = strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0, false, b.query.ErrorAt(a.ValueSpan.Start, "%s takes a whole number, not %s", key, text)
	}
	return value, true, nil
}
