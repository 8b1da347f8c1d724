package dql

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Bounds of the directive's numbers.
const (
	MaxHops      = 6
	MaxPaths     = 1000
	MaxInstances = 1000
	MaxEntities  = 100
	MaxFanout    = 1_000_000
)

// parameter is one argument of @evorag and how it is read into the result.
type parameter struct {
	name string
	read func(*reader, Arg, *EvoRAG) error
}

var parameters = []parameter{
	{"query", func(r *reader, a Arg, e *EvoRAG) (err error) { e.Query, err = r.question(a); return err }},
	{"embedding", func(r *reader, a Arg, e *EvoRAG) (err error) { e.Embedding, err = r.embedding(a); return err }},
	{"hops", func(r *reader, a Arg, e *EvoRAG) (err error) { e.Hops, err = r.number(a, MaxHops); return err }},
	{"paths", func(r *reader, a Arg, e *EvoRAG) (err error) { e.Paths, err = r.number(a, MaxPaths); return err }},
	{"instances", func(r *reader, a Arg, e *EvoRAG) (err error) {
		e.Instances, err = r.number(a, MaxInstances)
		return err
	}},
	{"bundle", func(r *reader, a Arg, e *EvoRAG) error {
		v, err := r.flag(a)
		e.Bundle = &v
		return err
	}},
	{"entities", func(r *reader, a Arg, e *EvoRAG) (err error) { e.Entities, err = r.number(a, MaxEntities); return err }},
	{"alpha", func(r *reader, a Arg, e *EvoRAG) error {
		v, err := r.alpha(a)
		e.Alpha = &v
		return err
	}},
	{"via", func(r *reader, a Arg, e *EvoRAG) (err error) { e.Via, err = r.via(a); return err }},
	{"fanout", func(r *reader, a Arg, e *EvoRAG) (err error) { e.Fanout, err = r.number(a, MaxFanout); return err }},
	{"hidden", func(r *reader, a Arg, e *EvoRAG) (err error) { e.Hidden, err = r.flag(a); return err }},
	{"explain", func(r *reader, a Arg, e *EvoRAG) (err error) { e.Explain, err = r.flag(a); return err }},
}

// ReadEvoRAG checks the arguments of an @evorag directive. Every argument but via may be a
// $variable: its value comes from vars, keyed with the $ as in Dgraph's requests, or from the
// declared default. Neither Query nor Embedding is set when the directive names no question;
// both together are an error. An error is always an *Error that says what to write.
func ReadEvoRAG(q *Query, d *Directive, vars map[string]string) (*EvoRAG, error) {
	r := &reader{q: q, vars: vars}
	e := &EvoRAG{Span: d.Span}
	seen := map[string]bool{}
	for _, a := range d.Args.List {
		i := slices.IndexFunc(parameters, func(p parameter) bool { return p.name == a.Key })
		if i < 0 {
			return nil, q.ErrorAt(a.Span.Start, "@evorag has no argument %q; did you mean %s? It takes %s", a.Key, nearest(a.Key), strings.Join(names(), ", "))
		}
		if seen[a.Key] {
			return nil, q.ErrorAt(a.Span.Start, "@evorag has %s twice; write it once", a.Key)
		}
		seen[a.Key] = true
		if err := parameters[i].read(r, a, e); err != nil {
			return nil, q.located(err)
		}
	}
	if e.Query.Set && e.Embedding.Set {
		return nil, q.ErrorAt(d.Span.Start, "@evorag has query and embedding; write the one that relevance is to be measured by")
	}
	return e, nil
}

// ReadEntities checks the arguments of the root function evorag.entities(query: ...).
func ReadEntities(q *Query, f Func, vars map[string]string) (Operand, error) {
	if len(f.List) != 1 || f.List[0].Key != "query" {
		return Operand{}, q.ErrorAt(f.Span.Start, "evorag.entities takes the question and nothing else; write evorag.entities(query: $q)")
	}
	r := &reader{q: q, vars: vars}
	o, err := r.question(f.List[0])
	return o, q.located(err)
}

// Strings are the texts among a function's arguments, literals and values of variables, in order: two in
// eq(name, ["Eva", $n]).
func (f Func) Strings(q *Query, vars map[string]string) (texts []string) {
	for _, a := range f.List {
		for i, t := range a.tokens {
			switch written := q.Text[t.start:t.end]; {
			case t.kind == tokString:
				if s, err := Unquote(written); err == nil {
					texts = append(texts, s)
				}
			case t.kind == tokWord && i > 0 && q.Text[a.tokens[i-1].start:a.tokens[i-1].end] == "$":
				if s := vars["$"+written]; s != "" {
					texts = append(texts, s)
				}
			}
		}
	}
	return texts
}

// reader reads argument values, variables resolved.
type reader struct {
	q    *Query
	vars map[string]string
}

// scalar is an argument's value after variables were resolved. kind is tokString for a quoted
// literal and for a variable of a type whose literals are quoted, else tokWord.
type scalar struct {
	text     string
	kind     kind
	variable string
}

// scalar reads a literal or a variable of one of the declared types. form says what to write.
func (r *reader) scalar(a Arg, form string, types ...string) (scalar, error) {
	t := a.tokens[0]
	switch {
	case len(a.tokens) == 2 && r.q.Text[t.start:t.end] == "$" && a.tokens[1].kind == tokWord:
		return r.variable(a, "$"+r.q.Text[a.tokens[1].start:a.tokens[1].end], types)
	case len(a.tokens) == 1 && t.kind == tokString:
		text, err := Unquote(a.Value)
		if err != nil {
			return scalar{}, faultf(t.start, "%s: %s", a.Key, err)
		}
		return scalar{text: text, kind: tokString}, nil
	case len(a.tokens) > 2 || t.kind == tokIRI || t.kind == tokRegex || r.q.Text[t.start:t.end] == "[":
		return scalar{}, faultf(t.start, "%s: found %s; %s", a.Key, a.Value, form)
	}
	return scalar{text: a.Value, kind: tokWord}, nil
}

// variable resolves a $variable as Dgraph does: an empty value counts as none.
func (r *reader) variable(a Arg, name string, types []string) (scalar, error) {
	at := a.ValueSpan.Start
	i := slices.IndexFunc(r.q.Vars, func(v VarDecl) bool { return v.Name == name })
	if i < 0 {
		return scalar{}, faultf(at, "%s is not declared; start the text with query ask(%s: %s)", name, name, types[0])
	}
	decl := r.q.Vars[i]
	typ := strings.TrimSuffix(decl.Type, "!")
	if !slices.Contains(types, typ) {
		return scalar{}, faultf(at, "%s is declared as %s, and %s takes %s; declare %s: %s", name, decl.Type, a.Key, strings.Join(types, " or "), name, types[0])
	}
	text := r.vars[name]
	if text == "" {
		text = decl.Default
	}
	if text == "" {
		return scalar{}, faultf(at, "%s has no value; send it with the request's variables, or declare %s: %s = ...", name, name, decl.Type)
	}
	v := scalar{text: text, kind: tokWord, variable: name}
	if typ == "string" || typ == "float32vector" {
		v.kind = tokString
	}
	return v, nil
}

func (r *reader) question(a Arg) (Operand, error) {
	const form = `write query: "the question" or query: $q`
	v, err := r.scalar(a, form, "string")
	switch {
	case err != nil:
		return Operand{}, err
	case v.kind != tokString:
		return Operand{}, faultf(a.ValueSpan.Start, "query: %s is not a string; %s", a.Value, form)
	case strings.TrimSpace(v.text) == "":
		return Operand{}, faultf(a.ValueSpan.Start, "query is empty; %s", form)
	}
	return Operand{Text: v.text, Var: v.variable, Set: true}, nil
}

func (r *reader) embedding(a Arg) (Operand, error) {
	const form = `write embedding: $v with $v: float32vector declared, or embedding: "[0.1, 0.2]"`
	v, err := r.scalar(a, form, "float32vector", "string")
	switch {
	case err != nil:
		return Operand{}, err
	case v.kind != tokString || strings.TrimSpace(v.text) == "":
		return Operand{}, faultf(a.ValueSpan.Start, "embedding: %s is not a vector; %s", a.Value, form)
	}
	return Operand{Text: v.text, Var: v.variable, Set: true}, nil
}

// number reads a whole number from 1 to limit.
func (r *reader) number(a Arg, limit int) (int, error) {
	form := "write a whole number from 1 to " + strconv.Itoa(limit)
	v, err := r.scalar(a, form, "int")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(v.text)
	switch {
	case v.kind != tokWord:
		return 0, faultf(a.ValueSpan.Start, "%s: %s is a string; %s, without quotes", a.Key, a.Value, form)
	case err != nil:
		return 0, faultf(a.ValueSpan.Start, "%s: %s is not a number; %s", a.Key, v.text, form)
	case n < 1 || n > limit:
		return 0, faultf(a.ValueSpan.Start, "%s: %d is out of range; %s", a.Key, n, form)
	}
	return n, nil
}

// alpha reads a number in [0,1].
func (r *reader) alpha(a Arg) (float64, error) {
	const form = "write a number from 0 (relevance only) to 1 (feedback only), such as 0.5"
	v, err := r.scalar(a, form, "float", "int")
	if err != nil {
		return 0, err
	}
	x, err := strconv.ParseFloat(v.text, 64)
	switch {
	case v.kind != tokWord:
		return 0, faultf(a.ValueSpan.Start, "alpha: %s is a string; %s, without quotes", a.Value, form)
	case err != nil || math.IsNaN(x):
		return 0, faultf(a.ValueSpan.Start, "alpha: %s is not a number; %s", v.text, form)
	case x < 0 || x > 1:
		return 0, faultf(a.ValueSpan.Start, "alpha: %s is out of range; %s", v.text, form)
	}
	return x, nil
}

func (r *reader) flag(a Arg) (bool, error) {
	const form = "write true or false"
	v, err := r.scalar(a, form, "bool")
	if err != nil {
		return false, err
	}
	if v.kind == tokWord {
		switch v.text {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	}
	return false, faultf(a.ValueSpan.Start, "%s: %s is neither; %s, without quotes", a.Key, a.Value, form)
}

// via reads a list of predicates, [pred, ~pred, <iri>, <~iri>].
func (r *reader) via(a Arg) ([]string, error) {
	const form = "write a list of predicates, as in via: [friend, ~works_at, <http://example.org/knows>]"
	p := &parser{q: r.q, tokens: a.tokens}
	if open := p.take(); !p.is(open, "[") {
		return nil, faultf(open.start, "via: %s is not a list; %s", a.Value, form)
	}
	var list []string
	for {
		t := p.take()
		if t.kind != tokWord && t.kind != tokIRI {
			return nil, faultf(t.start, "via: %s is not a predicate; %s", p.show(t), form)
		}
		name, where := p.name(t)
		if iri := p.peek(); name == "~" && iri.kind == tokIRI {
			p.next++
			name += p.value(iri)
		}
		if strings.Trim(name, "~") == "" {
			return nil, faultf(where.Start, "via: a predicate has no name; %s", form)
		}
		if slices.Contains(list, name) {
			return nil, faultf(where.Start, "via: %s is in the list twice; write it once", name)
		}
		list = append(list, name)
		switch t := p.take(); {
		case p.is(t, "]"):
			if rest := p.peek(); rest.kind != tokEnd {
				return nil, faultf(rest.start, "via: something follows the list; %s", form)
			}
			return list, nil
		case !p.is(t, ","):
			return nil, faultf(t.start, "via: expected , or ], found %s", p.show(t))
		}
	}
}

func names() []string {
	list := make([]string, len(parameters))
	for i, p := range parameters {
		list[i] = p.name
	}
	return list
}

// nearest is the argument name with the fewest edits from word.
func nearest(word string) string {
	return slices.MinFunc(names(), func(a, b string) int {
		return distance(word, a) - distance(word, b)
	})
}

// distance counts the letters to insert, delete or replace to get from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
