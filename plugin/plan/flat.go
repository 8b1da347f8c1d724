package plan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// relations chooses what a Search block may follow: via, else the uid predicates that a
// @recurse block lists and shortcuts, else every relation of the caller's schema.
func relations(b *builder, blk *Block) error {
	if blk.Form != Search {
		return nil
	}
	given, at := b.args.Via, b.args.Span.Start
	if d := blk.Field.Directive("recurse"); d != nil {
		if given != nil {
			return b.query.ErrorAt(at, "a @recurse block lists what to follow in its body; leave via out")
		}
		err := b.walk(blk.Field, func(f *dql.Field) error {
			if f.Kind == dql.Predicate && b.isEdge(f.Name) {
				given = append(given, f.Name)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if given == nil {
			return b.query.ErrorAt(d.Span.Start, "the block lists no uid predicate to follow; add one, or leave @recurse out to follow all")
		}
		if slices.Contains(b.schema.PathPredicates(), graph.ShortcutPredicate) {
			given = append(given, graph.ShortcutPredicate)
		}
	}
	if given == nil {
		blk.Via = b.schema.Relations()
		return nil
	}
	for _, name := range given {
		r := graph.ParseRelation(name)
		p, ok := b.schema.Predicates[r.Predicate]
		switch {
		case !ok:
			return b.query.ErrorAt(at, "via names %s, which is not in the schema", r.Predicate)
		case p.Type != "uid":
			return b.query.ErrorAt(at, "via names %s, which holds values (%s), not edges; name uid predicates", r.Predicate, p.Type)
		case r.Inverse && !p.Reverse:
			return b.query.ErrorAt(at, "%s needs @reverse on %s; add it with: dgraph-evorag migrate up --reverse %s (with access control, %s also needs a rule of its own)", r, r.Predicate, r.Predicate, r)
		}
		if !slices.Contains(blk.Via, r) {
			blk.Via = append(blk.Via, r)
		}
	}
	return nil
}

// usesVariable finds uid(x), val(x) and len(x), but not uid(0x1).
var usesVariable = regexp.MustCompile(`(?i)\b(uid|val|len)\s*\(\s*[a-z_]`)

func (b *builder) isEdge(name string) bool {
	p, ok := b.schema.Predicates[graph.ParseRelation(name).Predicate]
	return strings.HasPrefix(name, "~") || ok && p.Type == "uid"
}

// values sets a Search block's value fields apart for the re-read, and leaves the engine a
// block that only finds the start nodes.
func values(b *builder, blk *Block) error {
	if blk.Form != Search {
		return nil
	}
	f := blk.Field
	if d := f.Directive("cascade"); d != nil {
		return b.query.ErrorAt(d.Span.Start, "@cascade has nothing to cascade over in a searched block; filter the start nodes with @filter(has(...))")
	}
	var text []string
	for _, c := range f.Children {
		err := b.walk(c, func(g *dql.Field) error {
			switch {
			case g.Var != "":
				return b.query.ErrorAt(g.Span.Start, "a searched block can't define the variable %s; define it in a block of its own", g.Var)
			case g.Kind == dql.Value:
				return b.query.ErrorAt(g.Span.Start, "a searched block shows stored predicates; move %s to a block of its own", g.Name)
			case usesVariable.MatchString(b.query.Text[g.Span.Start:g.Span.End]):
				return b.query.ErrorAt(g.Span.Start, "a searched block's fields can't use the variable of another block; move %s to a block of its own", g.Name)
			case g.Kind == dql.Count && strings.EqualFold(g.Inner, "uid"):
				return b.query.ErrorAt(g.Span.Start, "count(uid) counts a list, but a searched block is a tree of paths; count extensions.evorag.paths instead")
			case g.Kind == dql.Predicate && b.isEdge(g.Name) && len(g.Directives) > 0:
				return b.query.ErrorAt(g.Span.Start, "a searched block follows %s without conditions; write the path out (nested braces) to filter or to ask for facets", g.Name)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if c.Kind != dql.Predicate || !b.isEdge(c.Name) {
			text = append(text, b.query.Text[c.Span.Start:c.Span.End])
		}
	}
	blk.Values = strings.Join(text, "\n")
	if f.HasBody {
		blk.edits = append(blk.edits, dql.Edit{Span: f.Body, Text: " " + UIDKey + ": uid "})
	} else {
		blk.edits = append(blk.edits, dql.Edit{Span: dql.Span{Start: f.Span.End, End: f.Span.End}, Text: " { " + UIDKey + ": uid }"})
	}
	if d := f.Directive("recurse"); d != nil {
		blk.edits = append(blk.edits, dql.Edit{Span: d.Span})
	}
	return nil
}
