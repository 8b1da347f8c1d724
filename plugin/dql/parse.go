package dql

import (
	"strings"
)

// DirectiveName is the one directive that the extension adds to DQL.
const DirectiveName = "evorag"

// maxDepth bounds the nesting of braces, which Dgraph leaves to its stack.
const maxDepth = 1000

// Parse reads the text of a query, as /query and the gRPC Query method take it. It accepts
// what Dgraph v25 accepts as far as structure goes, and @evorag on root blocks; what stands
// in parentheses is taken apart only where the extension needs it, and left for Dgraph to
// judge elsewhere. An error is always an *Error.
func Parse(text string) (*Query, error) {
	q := &Query{Text: text}
	tokens, err := scan(text, 0, len(text))
	if err != nil {
		return nil, q.located(err)
	}
	if err := q.parse(tokens); err != nil {
		return nil, q.located(err)
	}
	if err := q.check(); err != nil {
		return nil, q.located(err)
	}
	return q, nil
}

// Directive returns the @evorag directive of a root block, nil when it has none.
func (q *Query) Directive(b *Field) *Directive { return b.Directive(DirectiveName) }

// Directive returns the field's first directive of that name, nil when it has none.
func (f *Field) Directive(name string) *Directive {
	for _, d := range f.Directives {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// RootFunc returns the func argument of a root block; false when it has none, as in an empty
// block for aggregation or a shortest path.
func RootFunc(_ *Query, b *Field) (Func, bool) {
	if b.Func == nil {
		return Func{}, false
	}
	return *b.Func, true
}

// parser walks the tokens of one scanned stretch of the text.
type parser struct {
	q      *Query
	tokens []token
	next   int
	depth  int
}

func (q *Query) parse(tokens []token) error {
	p := &parser{q: q, tokens: tokens}
	for {
		switch t := p.take(); {
		case t.kind == tokEnd:
			return nil
		case p.is(t, "{"):
			if err := p.blocks(); err != nil {
				return err
			}
		case p.is(t, "query"):
			if err := p.query(); err != nil {
				return err
			}
		case p.is(t, "fragment"):
			if err := p.fragment(); err != nil {
				return err
			}
		case p.is(t, "schema"):
			p.schema(t)
		default:
			return faultf(t.start, "expected query, fragment, schema or {, found %s", p.show(t))
		}
	}
}

// check refuses what is well-formed and yet has no meaning together.
func (q *Query) check() error {
	var schema, ranked *Field
	for _, b := range q.Blocks {
		switch {
		case b.Kind == Schema:
			schema = b
		case b.Directive(DirectiveName) != nil:
			ranked = b
		}
	}
	if schema != nil && ranked != nil {
		return faultf(schema.Span.Start, "Dgraph ignores blocks beside a schema block; send the schema block as a request of its own")
	}
	return nil
}

// query parses what follows the word query: a name, variables, blocks.
func (p *parser) query() error {
	if t := p.peek(); t.kind == tokWord || t.kind == tokIRI {
		p.next++
		if p.q.Name == "" {
			p.q.Name = p.value(t)
		}
		if open := p.peek(); p.is(open, "(") {
			if err := p.variables(); err != nil {
				return err
			}
		}
	}
	t := p.take()
	switch {
	case p.is(t, "{"):
		return p.blocks()
	case p.is(t, "("):
		return faultf(t.start, "variables need a named query; write query ask($q: string) {")
	case p.is(t, "@"):
		return p.misplaced(t, p.peek())
	}
	return faultf(t.start, "expected { after query, found %s", p.show(t))
}

// variables parses ($name: type = default, ...).
func (p *parser) variables() error {
	p.next++ // the (
	if p.is(p.peek(), ")") {
		p.next++
		return nil
	}
	for {
		v, err := p.variable()
		if err != nil {
			return err
		}
		p.q.Vars = append(p.q.Vars, v)
		switch t := p.take(); {
		case p.is(t, ")"):
			return nil
		case !p.is(t, ","):
			return faultf(t.start, "expected , or ) after the variable %s, found %s", v.Name, p.show(t))
		}
	}
}

func (p *parser) variable() (VarDecl, error) {
	const form = `write $name: type, or $name: type = "default"`
	dollar, name, colon, typ := p.take(), p.take(), p.take(), p.take()
	if !p.is(dollar, "$") || name.kind != tokWord || !p.is(colon, ":") || typ.kind != tokWord {
		return VarDecl{}, faultf(dollar.start, "a variable is not declared like this; %s", form)
	}
	v := VarDecl{Name: "$" + p.value(name), Type: p.value(typ), Span: Span{dollar.start, typ.end}}
	if t := p.peek(); p.is(t, "!") {
		p.next++
		v.Type += "!"
		v.Span.End = t.end
	}
	if !p.is(p.peek(), "=") {
		return v, nil
	}
	p.next++
	t := p.take()
	switch t.kind {
	case tokString:
		text, err := Unquote(p.text(t))
		if err != nil {
			return VarDecl{}, faultf(t.start, "%s", err)
		}
		v.Default = text
	case tokWord:
		v.Default = p.value(t)
	default:
		return VarDecl{}, faultf(t.start, "expected the default of %s, found %s; a default that is not one word is quoted", v.Name, p.show(t))
	}
	v.HasDefault = true
	v.Span.End = t.end
	return v, nil
}

// fragment parses what follows the word fragment.
func (p *parser) fragment() error {
	name := p.take()
	if name.kind != tokWord && name.kind != tokIRI {
		return faultf(name.start, "expected the fragment's name, found %s", p.show(name))
	}
	f := &Field{Kind: Fragment, Name: p.value(name), NameSpan: span(name), Span: span(name)}
	t := p.take()
	if p.is(t, "@") {
		return p.misplaced(t, p.peek())
	}
	if !p.is(t, "{") {
		return faultf(t.start, "expected { after fragment %s, found %s", f.Name, p.show(t))
	}
	p.q.Fragments = append(p.q.Fragments, f)
	return p.body(f, t)
}

// schema keeps a schema block whole; the scanner has seen to its braces.
func (p *parser) schema(word token) {
	f := &Field{Kind: Schema, Name: "schema", NameSpan: span(word), Span: span(word)}
	for {
		t := p.take()
		f.Span.End = t.end
		if t.kind == tokEnd || p.is(t, "}") {
			break
		}
	}
	p.q.Blocks = append(p.q.Blocks, f)
}

// blocks parses root blocks up to the closing brace.
func (p *parser) blocks() error {
	for first := true; ; first = false {
		switch t := p.peek(); {
		case p.is(t, "}") && !first:
			p.next++
			return nil
		case p.is(t, ",") && !first:
			p.next++
		case t.kind == tokWord || t.kind == tokIRI:
			b, err := p.root()
			if err != nil {
				return err
			}
			p.q.Blocks = append(p.q.Blocks, b)
		case p.is(t, "@"):
			return faultf(t.start, "a block's directives stand between its parentheses and its {")
		default:
			return faultf(t.start, `expected a block such as paths(func: eq(name, "Eva")) {, found %s`, p.show(t))
		}
	}
}

// root parses [var as] name(args) @directives { fields }. A block may end after its
// parentheses or directives.
func (p *parser) root() (*Field, error) {
	name := p.take()
	b := &Field{Kind: Root, Span: span(name)}
	if p.isAs(p.peek()) {
		p.next++
		b.Var = p.value(name)
		if name = p.take(); name.kind != tokWord && name.kind != tokIRI {
			return nil, faultf(name.start, "expected the block's name after %s as, found %s", b.Var, p.show(name))
		}
	}
	b.Name, b.NameSpan = p.value(name), span(name)
	open := p.take()
	if !p.is(open, "(") {
		return nil, faultf(open.start, "expected ( after the block's name %s, found %s", b.Name, p.show(open))
	}
	args, err := p.arguments(open, true)
	if err != nil {
		return nil, err
	}
	b.Args = args
	if f, ok := args.Get("func"); ok {
		if b.Func, err = p.function(f); err != nil {
			return nil, err
		}
	}
	for p.is(p.peek(), "@") {
		d, err := p.directive()
		if err != nil {
			return nil, err
		}
		if d.Name == DirectiveName && b.Directive(DirectiveName) != nil {
			return nil, faultf(d.Span.Start, "the block %s has @evorag twice; write all its arguments into one", b.Name)
		}
		b.Directives = append(b.Directives, d)
	}
	if t := p.peek(); p.is(t, "{") {
		p.next++
		if err := p.body(b, t); err != nil {
			return nil, err
		}
	} else {
		b.Span.End = p.tokens[p.next-1].end
	}
	return b, nil
}

// misplaced is the error for a directive outside a root block's head.
func (p *parser) misplaced(at, name token) error {
	if strings.EqualFold(p.value(name), DirectiveName) {
		return faultf(at.start, `@evorag ranks a root block; write it there, as in paths(func: eq(name, "Eva")) @evorag(query: $q) {`)
	}
	return faultf(at.start, "a directive may not stand here; it belongs after a block's parentheses or a predicate")
}

func (p *parser) peek() token {
	if p.next < len(p.tokens) {
		return p.tokens[p.next]
	}
	end := len(p.q.Text)
	if n := len(p.tokens); n > 0 {
		end = p.tokens[n-1].end
	}
	return token{tokEnd, end, end}
}

func (p *parser) take() token {
	t := p.peek()
	if t.kind != tokEnd {
		p.next++
	}
	return t
}

func (p *parser) text(t token) string { return p.q.Text[t.start:t.end] }

// value is what Dgraph takes the token for: an IRI loses its brackets, a string keeps its quotes.
func (p *parser) value(t token) string {
	if t.kind == tokIRI {
		return p.q.Text[t.start+1 : t.end-1]
	}
	return p.text(t)
}

// is reports whether the token is that punctuation, operator or top-level word.
func (p *parser) is(t token, s string) bool {
	return (t.kind == tokPunct || t.kind == tokOp || t.kind == tokKeyword) && p.text(t) == s
}

// isAs recognises the word between a variable and what it is assigned.
func (p *parser) isAs(t token) bool {
	return (t.kind == tokWord || t.kind == tokIRI) && strings.EqualFold(p.value(t), "as")
}

// name joins the words and dashes that Dgraph reads as one name, from the word taken last.
func (p *parser) name(first token) (string, Span) {
	value, where := p.value(first), span(first)
	for wantDash := true; ; wantDash = !wantDash {
		t := p.peek()
		named := t.kind == tokWord || t.kind == tokIRI || t.kind == tokString
		if wantDash && (t.kind == tokEnd || p.value(t) != "-") || !wantDash && !named {
			return value, where
		}
		p.next++
		value += p.value(t)
		where.End = t.end
	}
}

func (p *parser) show(t token) string {
	if t.kind == tokEnd {
		return "the end of the text"
	}
	return p.text(t)
}

func span(t token) Span { return Span{t.start, t.end} }
