package plan

import (
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// builder is what every rule sees of the block at hand.
type builder struct {
	query  *dql.Query
	vars   map[string]string
	schema graph.Schema
	def    Defaults
	args   *dql.EvoRAG
	plan   *Plan
}

// rules turn a root block into a Block, in this order. Each may refuse it.
var rules = []struct {
	name  string
	apply func(*builder, *Block) error
}{
	{"refuse what can't be ranked", refuse},
	{"read the directive's arguments", arguments},
	{"link the root function", root},
	{"choose the form", form},
	{"names for relevance", names},
	{"written: mark every edge", written},
	{"search: choose the relations", relations},
	{"search: set the values apart", values},
	{"take the directive out", takeOut},
}

// Build plans a parsed query. schema is the caller's own view, so that what the caller may
// not read never enters a search. Errors are *dql.Error and say what to write instead.
func Build(q *dql.Query, vars map[string]string, schema graph.Schema, def Defaults) (*Plan, error) {
	p := &Plan{Query: q}
	seen := map[string]bool{}
	for _, f := range q.Blocks {
		d := f.Directive("evorag")
		if d == nil {
			continue
		}
		args, err := dql.ReadEvoRAG(q, d, vars)
		if err != nil {
			return nil, err
		}
		b := &Block{Field: f, Key: f.Name}
		if seen[b.Key] {
			return nil, q.ErrorAt(f.NameSpan.Start, "two blocks are named %q; give each @evorag block a name of its own", b.Key)
		}
		seen[b.Key] = true
		bld := &builder{query: q, vars: vars, schema: schema, def: def, args: args, plan: p}
		for _, r := range rules {
			if err := r.apply(bld, b); err != nil {
				return nil, err
			}
		}
		p.Blocks = append(p.Blocks, b)
	}
	return p, nil
}

// meaningless tells, for directives that @evorag can't stand beside, what to write.
var meaningless = map[string]string{
	"normalize": "@normalize flattens the paths that @evorag ranks; leave it out and read extensions.evorag.paths, which is flat",
	"groupby":   "@groupby has no paths to rank; group in a block of its own",
}

func refuse(b *builder, blk *Block) error {
	f := blk.Field
	if strings.EqualFold(f.Name, "var") && f.Kind == dql.Root {
		return b.query.ErrorAt(f.NameSpan.Start, "a var block shows nothing, so there is nothing to rank; give the block a name")
	}
	if f.Name == "shortest" {
		return b.query.ErrorAt(f.NameSpan.Start, "shortest has an order of its own; write a flat block with @evorag(query: ..., hops: k) instead")
	}
	return b.walk(f, func(g *dql.Field) error {
		for _, d := range g.Directives {
			if why, ok := meaningless[d.Name]; ok {
				return b.query.ErrorAt(d.Span.Start, "%s", why)
			}
		}
		return nil
	})
}

// walk visits the field and everything below it, through fragments.
func (b *builder) walk(f *dql.Field, visit func(*dql.Field) error) error {
	return b.walkOnce(f, visit, nil)
}

func (b *builder) walkOnce(f *dql.Field, visit func(*dql.Field) error, open []string) error {
	if err := visit(f); err != nil {
		return err
	}
	children := f.Children
	if f.Kind == dql.Spread {
		if slices.Contains(open, f.Inner) {
			return b.query.ErrorAt(f.Span.Start, "fragment %s includes itself; leave the inner ...%s out", f.Inner, f.Inner)
		}
		frag := b.fragment(f.Inner)
		if frag == nil {
			return b.query.ErrorAt(f.Span.Start, "there is no fragment %s in this query; define it or write its fields here", f.Inner)
		}
		children, open = frag.Children, append(slices.Clip(open), f.Inner)
	}
	for _, c := range children {
		if err := b.walkOnce(c, visit, open); err != nil {
			return err
		}
	}
	return nil
}

func arguments(b *builder, blk *Block) error {
	a := b.args
	if a.Embedding.Set {
		var err error
		if blk.Embedding, err = b.def.Vectors.read(a.Embedding.Text); err != nil {
			return b.query.ErrorAt(a.Span.Start, "embedding: %s", err)
		}
	}
	blk.Question = a.Query.Text
	if blk.Embedding == nil && strings.TrimSpace(blk.Question) == "" {
		return b.query.ErrorAt(a.Span.Start, `@evorag needs the question to rank by; write @evorag(query: "...") or query: $variable`)
	}
	blk.Hops = or(a.Hops, b.def.Hops)
	blk.Paths = or(a.Paths, b.def.Paths)
	blk.Prune = a.Paths > 0
	blk.Instances = or(a.Instances, b.def.Instances)
	blk.Fanout = a.Fanout
	blk.Alpha = b.def.Alpha
	if a.Alpha != nil {
		blk.Alpha = *a.Alpha
	}
	blk.Bundle = a.Bundle == nil || *a.Bundle
	blk.Hidden, blk.Explain = a.Hidden, a.Explain
	return nil
}

func or(given, otherwise int) int {
	if given > 0 {
		return given
	}
	return otherwise
}

func root(b *builder, blk *Block) error {
	fn, ok := dql.RootFunc(b.query, blk.Field)
	if !ok {
		return b.query.ErrorAt(blk.Field.NameSpan.Start, "@evorag needs start nodes; give the block a func, such as func: eq(name, \"...\") or func: %s(query: $q)", EntitiesFunc)
	}
	if fn.Name != EntitiesFunc {
		if b.args.Entities > 0 {
			return b.query.ErrorAt(b.args.Span.Start, "entities limits what %s links; write func: %s(query: ...) or leave entities out", EntitiesFunc, EntitiesFunc)
		}
		blk.Texts = fn.Strings(b.query, b.vars)
		if fn.Name == "uid" {
			for _, a := range fn.List {
				if u, err := graph.ParseUID(a.Value); err == nil {
					blk.UIDs = append(blk.UIDs, u)
				}
			}
		}
		return nil
	}
	text, err := dql.ReadEntities(b.query, fn, b.vars)
	if err != nil {
		return err
	}
	blk.Linked, blk.rootFunc = text.Text, fn.Span
	blk.Entities = or(b.args.Entities, b.def.Entities)
	return nil
}

func form(b *builder, blk *Block) error {
	nested := false
	err := b.walk(blk.Field, func(f *dql.Field) error {
		if f != blk.Field && f.HasBody && f.Kind != dql.Spread {
			nested = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	recurse := blk.Field.Directive("recurse")
	switch {
	case nested && b.args.Hops > 0:
		return b.query.ErrorAt(b.args.Span.Start, "hops searches from a flat block, but this one writes its paths out; leave hops out, or leave the nested predicates out")
	case nested && recurse != nil:
		return b.query.ErrorAt(recurse.Span.Start, "@recurse takes a flat list of predicates; write either that or nested predicates")
	case nested:
		if len(b.args.Via) > 0 {
			return b.query.ErrorAt(b.args.Span.Start, "via chooses what a flat block's search may follow, but this block writes its paths out; leave via out")
		}
		blk.Form = Written
	case recurse != nil:
		blk.Form = Search
		return b.recursion(blk, recurse)
	default:
		blk.Form = Search
	}
	return nil
}

// recursion reads @recurse(depth: d): hops = d-1, since Dgraph counts the start node as a level.
func (b *builder) recursion(blk *Block, d *dql.Directive) error {
	if b.args.Hops > 0 {
		return b.query.ErrorAt(b.args.Span.Start, "@recurse(depth: d) already says how far: d-1 hops; leave hops out")
	}
	depth, given, err := b.intArg(d.Args, "depth")
	if err != nil {
		return err
	}
	if loop, ok := d.Args.Get("loop"); ok && strings.EqualFold(loop.Value, "true") {
		return b.query.ErrorAt(loop.Span.Start, "ranked paths never visit a node twice; leave loop out")
	}
	if !given {
		return b.query.ErrorAt(d.Span.Start, "@evorag needs an end to the recursion; write @recurse(depth: 3) for two hops")
	}
	if depth < 2 || depth > 7 {
		return b.query.ErrorAt(d.Span.Start, "@recurse with @evorag takes a depth from 2 to 7 (1 to 6 hops), not %d", depth)
	}
	blk.Hops = depth - 1
	return nil
}

func names(b *builder, blk *Block) error {
	blk.Names = b.def.NamesIn(b.schema)
	return nil
}

// NamesIn are the name predicates that a schema has, best first.
func (d Defaults) NamesIn(schema graph.Schema) []string {
	var out []string
	for _, n := range d.Names {
		if p, ok := schema.Predicates[n]; ok && p.Type == "string" && !p.List {
			out = append(out, n)
		}
	}
	return out
}

func takeOut(b *builder, blk *Block) error {
	blk.edits = append(blk.edits, dql.Edit{Span: b.args.Span})
	return nil
}
