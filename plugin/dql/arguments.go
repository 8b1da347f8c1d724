package dql

import (
	"slices"
	"strings"
)

// directive parses @name with its parentheses, if any. The scanner has made sure that a word
// follows the @.
func (p *parser) directive() (*Directive, error) {
	at, name := p.take(), p.take()
	d := &Directive{Name: strings.ToLower(p.value(name)), Span: Span{at.start, name.end}}
	open := p.peek()
	if !p.is(open, "(") {
		if d.Name == "facets" {
			d.Facets = &Facets{All: true}
		}
		return d, nil
	}
	p.next++
	var err error
	switch d.Name {
	case "filter":
		d.Args, err = p.opaque(open)
	case "facets":
		first := p.next
		if d.Args, err = p.opaque(open); err == nil {
			d.Facets, err = p.facets(p.tokens[first : p.next-1])
		}
	case "cascade", "groupby":
		d.Args, err = p.arguments(open, false)
	default:
		d.Args, err = p.arguments(open, true)
	}
	if err != nil {
		return nil, err
	}
	d.Span.End = p.tokens[p.next-1].end
	return d, nil
}

// opaque skips to the parenthesis that closes the one just taken.
func (p *parser) opaque(open token) (Args, error) {
	for depth := 1; ; {
		t := p.take()
		switch {
		case t.kind == tokEnd:
			return Args{}, faultf(open.start, "the ( is not closed")
		case p.is(t, "("):
			depth++
		case p.is(t, ")"):
			if depth--; depth == 0 {
				return Args{Span: Span{open.end, t.start}, HasParens: true}, nil
			}
		}
	}
}

// arguments parses a list in parentheses, the opening one just taken. With keyed every
// argument must be key: value.
func (p *parser) arguments(open token, keyed bool) (Args, error) {
	first := p.next
	args, err := p.opaque(open)
	if err != nil {
		return Args{}, err
	}
	args.List, err = p.list(p.tokens[first:p.next-1], keyed)
	return args, err
}

// list takes the tokens of a list apart at its commas.
func (p *parser) list(tokens []token, keyed bool) ([]Arg, error) {
	var list []Arg
	for start, end := 0, 0; start < len(tokens); start = end + 1 {
		end = start + p.upToComma(tokens[start:])
		if start == end {
			return nil, faultf(tokens[start].start, "an argument is missing before this comma")
		}
		arg, err := p.argument(tokens[start:end], keyed)
		if err != nil {
			return nil, err
		}
		list = append(list, arg)
	}
	return list, nil
}

// upToComma counts the tokens before the first comma that no bracket encloses.
func (p *parser) upToComma(tokens []token) int {
	depth := 0
	for i, t := range tokens {
		if t.kind != tokPunct {
			continue
		}
		switch p.text(t) {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case ",":
			if depth == 0 {
				return i
			}
		}
	}
	return len(tokens)
}

// argument parses key: value, or a value alone.
func (p *parser) argument(tokens []token, keyed bool) (Arg, error) {
	inner := &parser{q: p.q, tokens: tokens}
	first := inner.take()
	last := tokens[len(tokens)-1]
	arg := Arg{Span: Span{first.start, last.end}, tokens: tokens}
	if first.kind == tokWord || first.kind == tokIRI {
		key, _ := inner.name(first)
		if p.is(inner.peek(), ":") {
			arg.Key = strings.ToLower(key)
			arg.tokens = tokens[inner.next+1:]
		}
	}
	switch {
	case arg.Key == "" && keyed:
		return Arg{}, faultf(first.start, "expected key: value, found %s", p.q.Text[arg.Span.Start:arg.Span.End])
	case len(arg.tokens) == 0:
		return Arg{}, faultf(last.end, "the argument %s has no value; write %s: and the value", arg.Key, arg.Key)
	case keyed && (p.is(arg.tokens[0], "(") || p.is(arg.tokens[0], "{")):
		return Arg{}, faultf(arg.tokens[0].start, "the argument %s has a bracket for a value; write a number, a name or a list", arg.Key)
	case keyed:
		if i := p.secondKey(arg.tokens); i >= 0 {
			return Arg{}, faultf(arg.tokens[i].start, "write a comma before %s", p.text(arg.tokens[i]))
		}
	}
	arg.ValueSpan = Span{arg.tokens[0].start, last.end}
	arg.Value = p.q.Text[arg.ValueSpan.Start:arg.ValueSpan.End]
	return arg, nil
}

// secondKey finds a word with a colon after a value, which is where a comma was forgotten;
// -1 when there is none. The colons of languages, pred@en:fr, are not meant.
func (p *parser) secondKey(tokens []token) int {
	depth := 0
	for i, t := range tokens {
		switch {
		case p.is(t, "(") || p.is(t, "["):
			depth++
		case p.is(t, ")") || p.is(t, "]"):
			depth--
		case p.is(t, "@"):
			return -1
		case p.is(t, ":") && depth == 0 && i > 0:
			return i - 1
		}
	}
	return -1
}

// function takes a func argument apart.
func (p *parser) function(arg Arg) (*Func, error) {
	const form = `write a function, as in func: eq(name, "Eva")`
	inner := &parser{q: p.q, tokens: arg.tokens}
	first := inner.take()
	if first.kind != tokWord && first.kind != tokIRI {
		return nil, faultf(first.start, "func is not a function; %s", form)
	}
	name, _ := inner.name(first)
	open := inner.take()
	if !p.is(open, "(") {
		return nil, faultf(first.start, "func is not a function; %s", form)
	}
	args, err := inner.arguments(open, false)
	if err != nil {
		return nil, err
	}
	if rest := inner.peek(); rest.kind != tokEnd {
		return nil, faultf(rest.start, "write a comma after the function")
	}
	return &Func{Name: strings.ToLower(name), Args: args.Span, List: args.List, Span: arg.ValueSpan}, nil
}

// facets takes the inside of @facets(...) apart. What is not a list of keys is a condition.
func (p *parser) facets(tokens []token) (*Facets, error) {
	f := &Facets{}
	inner := &parser{q: p.q, tokens: tokens}
	for len(tokens) > 0 {
		key, ok := inner.facetKey()
		if !ok {
			break
		}
		f.Keys = append(f.Keys, key)
		t := inner.take()
		if t.kind == tokEnd {
			return f, nil
		}
		if !p.is(t, ",") {
			break
		}
	}
	if len(tokens) == 0 {
		return f, nil
	}
	if len(f.Keys) > 1 {
		return nil, faultf(tokens[0].start, "@facets is a list of keys or one condition; write @facets(a, b), or @facets(eq(a, 1))")
	}
	return &Facets{Filter: true}, nil
}

// facetKey parses [orderasc: | orderdesc: | alias:] [var as] key.
func (p *parser) facetKey() (FacetKey, bool) {
	named := []kind{tokWord, tokIRI, tokString}
	var k FacetKey
	first := p.take()
	if !slices.Contains(named, first.kind) {
		return k, false
	}
	if p.is(p.peek(), ":") {
		p.next++
		if word := p.value(first); word == "orderasc" || word == "orderdesc" {
			k.Order = word
		} else {
			k.Alias = word
		}
		if first = p.take(); !slices.Contains(named, first.kind) {
			return k, false
		}
	}
	if t := p.peek(); t.kind == tokWord && p.value(t) == "as" {
		p.next++
		k.Var = p.value(first)
		if first = p.take(); !slices.Contains(named, first.kind) {
			return k, false
		}
	}
	k.Key, _ = p.name(first)
	return k, true
}
