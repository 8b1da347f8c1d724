// Package dql reads the parts of a DQL text that the extension needs and splices new
// text into it. It never prints a tree: what is not spliced stays as it was, byte for byte.
package dql

import "fmt"

// Span is a half-open range of byte offsets into Query.Text. The zero Span means "not there".
type Span struct{ Start, End int }

// Empty reports whether the span covers nothing.
func (s Span) Empty() bool { return s.End <= s.Start }

// Error is a fault in a text, at a place. Line and Column count from 1, columns in runes.
type Error struct {
	Line, Column int
	Msg          string // what is wrong and what to write instead
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d column %d: %s", e.Line, e.Column, e.Msg)
}

// Query is one parsed request text.
type Query struct {
	Text      string
	Name      string    // of "query name($a: string)"; empty for a bare "{...}"
	Vars      []VarDecl // declared GraphQL variables
	Blocks    []*Field  // root blocks in order, var blocks included
	Fragments []*Field  // Name is the fragment's name
}

// VarDecl is one "$name: type = default".
type VarDecl struct {
	Name       string // with its $
	Type       string // as written, a trailing ! included
	Default    string // decoded; HasDefault tells an empty one from none
	HasDefault bool
	Span       Span
}

// Kind tells what a Field is.
type Kind uint8

// The kinds of fields.
const (
	Predicate Kind = iota // pred, ~pred, <pred>, pred@en, with or without children
	UIDField              // uid
	Count                 // count(pred) or count(uid)
	Value                 // val(x), math(...), min(val(x)) ..., checkpwd(...): no children, opaque
	Expand                // expand(...)
	Spread                // ...fragment
	Root                  // a root block: name(func: ...) or var(func: ...)
	Schema                // a schema {...} block, opaque
	Fragment              // fragment name {...}
)

// Field is a root block, a fragment or a field inside one.
type Field struct {
	Kind       Kind
	Span       Span   // all of it: from variable, alias or name to the end of its body or last directive
	NameSpan   Span   // the name as written
	Name       string // decoded: without <>, with ~; for Root the block's name ("var" for a var block)
	Alias      string // empty when there is none
	Var        string // "x" of "x as ..."; empty when there is none
	Lang       string // "en:fr:." of pred@en:fr:.; empty when there is none
	Args       Args
	Directives []*Directive // every @word in order, @filter and @facets included
	Body       Span         // between { and }, braces left out; zero when there are no braces
	HasBody    bool
	Children   []*Field
	Inner      string // for Count: the predicate counted, or "uid"; for Expand: the argument text; for Spread: the fragment's name
	Func       *Func  // for Root: the func argument; nil when there is none
}

// Args are the words in a field's or block's parentheses.
type Args struct {
	Span      Span // between ( and ), parentheses left out; zero when there are none
	HasParens bool
	List      []Arg // in order
}

// Arg is one "key: value" (for a root block the first is func), with its separating comma left out.
// Inside a function, @cascade and @groupby an argument may have no key.
type Arg struct {
	Key       string // lower case: func, first, offset, after, orderasc, orderdesc, depth, ...
	Value     string // as written
	Span      Span   // key to end of value
	ValueSpan Span

	tokens []token // of the value; never empty
}

// Get returns the first argument with the key.
func (a Args) Get(key string) (Arg, bool) {
	for _, x := range a.List {
		if x.Key == key {
			return x, true
		}
	}
	return Arg{}, false
}

// Func is a root block's func argument, taken apart: eq(name, "Eva") has Name "eq".
type Func struct {
	Name string // lower case as Dgraph reads it
	Args Span   // between its parentheses
	List []Arg  // its arguments in order; List[0].Value is "name" in eq(name, "Eva")
	Span Span
}

// Directive is one @word with its parentheses, if any.
type Directive struct {
	Name   string  // lower case, without @; "evorag" for ours
	Span   Span    // from @ to the end of its parentheses
	Args   Args    // for evorag and recurse: key: value pairs; for cascade and groupby: arguments that may have no key; for filter, facets: List is empty and Span is the raw text
	Facets *Facets // for @facets
}

// Facets is an @facets directive taken apart.
type Facets struct {
	All    bool       // bare @facets
	Keys   []FacetKey // plain and ordered keys, in order
	Filter bool       // @facets(eq(key, value)) and friends: a condition, fetches nothing
}

// FacetKey is one entry of @facets(alias: key, orderasc: key, v as key).
type FacetKey struct {
	Key   string
	Alias string
	Var   string
	Order string // "orderasc", "orderdesc" or empty
}

// EvoRAG is the @evorag directive, checked.
type EvoRAG struct {
	Span      Span
	Query     Operand // text of the question; zero when Embedding is given
	Embedding Operand
	Hops      int // 1..6; 0: not given
	Paths     int // M per root, 1..1000; 0: not given
	Instances int // 1..1000; 0: not given
	Entities  int // 1..100; 0: not given
	Fanout    int // 0: not given
	Alpha     *float64
	Bundle    *bool
	Hidden    bool
	Explain   bool
	Via       []string // DQL spellings, "~pred" for inverse; nil: not given
}

// Operand is a string literal, already decoded, or a GraphQL variable with the value that it has
// in this request.
type Operand struct {
	Text string
	Var  string // with its $; empty for a literal
	Set  bool
}

// Edit replaces a span (or inserts, where the span is empty) with text.
type Edit struct {
	Span Span
	Text string
}
