package dql

import (
	"strings"
)

// body parses the fields of f after its opening brace.
func (p *parser) body(f *Field, open token) error {
	if p.depth++; p.depth > maxDepth {
		return faultf(open.start, "braces are nested more than %d deep", maxDepth)
	}
	f.HasBody = true
	f.Body.Start = open.end
	for {
		switch t := p.peek(); {
		case p.is(t, "}"):
			p.next++
			p.depth--
			f.Body.End, f.Span.End = t.start, t.end
			return nil
		case p.is(t, ","):
			p.next++
		case p.is(t, "."):
			child, err := p.spread()
			if err != nil {
				return err
			}
			f.Children = append(f.Children, child)
		case t.kind == tokWord || t.kind == tokIRI:
			child, err := p.field()
			if err != nil {
				return err
			}
			f.Children = append(f.Children, child)
		case p.is(t, "@"):
			p.next++
			return p.misplaced(t, p.peek())
		default:
			return faultf(t.start, "expected a predicate or }, found %s", p.show(t))
		}
	}
}

// spread parses ...name.
func (p *parser) spread() (*Field, error) {
	first := p.peek()
	for range 3 {
		if t := p.take(); !p.is(t, ".") {
			return nil, faultf(first.start, "a fragment is spread with three dots, as in ...%s", "name")
		}
	}
	name := p.take()
	if name.kind != tokWord && name.kind != tokIRI {
		return nil, faultf(name.start, "expected the fragment's name after ..., found %s", p.show(name))
	}
	return &Field{
		Kind: Spread, Name: p.value(name), Inner: p.value(name),
		Span: Span{first.start, name.end}, NameSpan: span(name),
	}, nil
}

// field parses one field of a body: [var as] [alias:] name, then what its kind allows.
func (p *parser) field() (*Field, error) {
	f := &Field{Span: Span{Start: p.peek().start}}
	if err := p.head(f); err != nil {
		return nil, err
	}
	open := p.peek()
	called := p.is(open, "(")
	switch word := strings.ToLower(f.Name); {
	case word == "expand":
		if !called {
			return nil, faultf(f.Span.Start, "expand takes what to expand, as in expand(_all_)")
		}
		f.Kind = Expand
		p.next++
		args, err := p.opaque(open)
		if err != nil {
			return nil, err
		}
		f.Args, f.Inner = args, strings.TrimSpace(p.q.Text[args.Span.Start:args.Span.End])
		f.Span.End = p.tokens[p.next-1].end
		return f, p.tail(f, false)
	case word == "count" && called:
		f.Kind = Count
		p.next++
		return f, p.count(f, open)
	case isValueWord(word) && called:
		f.Kind = Value
		p.next++
		args, err := p.opaque(open)
		f.Args = args
		f.Span.End = p.tokens[p.next-1].end
		return f, err
	case f.Name == "uid":
		f.Kind = UIDField
		if called {
			return nil, faultf(open.start, "uid in a body takes no parentheses; uid(...) is a function for func: and @filter")
		}
	}
	return f, p.tail(f, false)
}

// isValueWord lists the words that compute a value when parentheses follow.
func isValueWord(word string) bool {
	switch word {
	case "val", "math", "min", "max", "sum", "avg", "checkpwd":
		return true
	}
	return false
}

// head parses [var as] [alias:] name, variable and alias in either order.
func (p *parser) head(f *Field) error {
	for {
		t := p.take()
		if t.kind != tokWord && t.kind != tokIRI {
			return faultf(t.start, "expected a predicate, found %s", p.show(t))
		}
		if p.isAs(p.peek()) {
			if f.Var != "" {
				return faultf(t.start, "the field has the variable %s already", f.Var)
			}
			p.next++
			f.Var = p.value(t)
			continue
		}
		name, where := p.name(t)
		if p.is(p.peek(), ":") {
			if f.Alias != "" {
				return faultf(t.start, "the field has the alias %s already", f.Alias)
			}
			p.next++
			f.Alias = name
			continue
		}
		f.Name, f.NameSpan = name, where
		f.Span.End = where.End
		return nil
	}
}

// count parses the inside of count(...) and what follows it. Arguments and directives of the
// counted predicate may stand on either side of the closing parenthesis.
func (p *parser) count(f *Field, open token) error {
	inner := &Field{Span: span(p.peek()), Var: f.Var, Alias: f.Alias}
	if err := p.head(inner); err != nil {
		return err
	}
	f.Var, f.Alias, f.Inner = inner.Var, inner.Alias, inner.Name
	if err := p.tail(f, true); err != nil {
		return err
	}
	closing := p.take()
	if !p.is(closing, ")") {
		return faultf(closing.start, "expected ) after count(%s, found %s", f.Inner, p.show(closing))
	}
	f.Span.End = closing.end
	if f.Inner == "uid" {
		if f.Args.HasParens || len(f.Directives) > 0 {
			return faultf(open.start, "count(uid) takes nothing else; filter the block that it stands in")
		}
		return nil
	}
	return p.tail(f, true)
}

// tail parses arguments, directives, languages and the body, in any order as Dgraph does.
func (p *parser) tail(f *Field, bodyless bool) error {
	for {
		t := p.peek()
		switch {
		case p.is(t, "("):
			if f.Args.HasParens {
				return faultf(t.start, "%s has arguments already; write them into one pair of parentheses", f.Name)
			}
			p.next++
			args, err := p.arguments(t, true)
			if err != nil {
				return err
			}
			f.Args = args
		case p.is(t, "{"):
			if f.HasBody || bodyless {
				return faultf(t.start, "%s may not have a body here", f.Name)
			}
			p.next++
			if err := p.body(f, t); err != nil {
				return err
			}
		case p.is(t, "@"):
			if err := p.directiveOrLanguage(f); err != nil {
				return err
			}
		default:
			return nil
		}
		f.Span.End = p.tokens[p.next-1].end
	}
}

// directiveOrLanguage parses what follows a field's @. As in Dgraph it is a directive if it is
// one of three that need no parentheses, or if parentheses follow; else a list of languages.
func (p *parser) directiveOrLanguage(f *Field) error {
	at, name := p.tokens[p.next], p.tokens[p.next+1]
	word := p.value(name)
	open := token{}
	if p.next+2 < len(p.tokens) {
		open = p.tokens[p.next+2]
	}
	switch {
	case strings.EqualFold(word, DirectiveName):
		return p.misplaced(at, name)
	case word == "facets" || word == "cascade" || word == "normalize" || p.is(open, "("):
		d, err := p.directive()
		f.Directives = append(f.Directives, d)
		return err
	case f.Lang != "":
		return faultf(at.start, "%s has its languages already; write them in one list, as in name@en:fr", f.Name)
	}
	f.Lang = word
	p.next += 2
	for p.is(p.peek(), ":") {
		p.next++
		t := p.take()
		if t.kind != tokWord && !p.is(t, ".") && !p.is(t, "*") {
			return faultf(t.start, "expected a language after :, found %s", p.show(t))
		}
		f.Lang += ":" + p.text(t)
	}
	return nil
}
