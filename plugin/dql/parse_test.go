package dql

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func mustParse(t *testing.T, text string) *Query {
	t.Helper()
	q, err := Parse(text)
	require.NoError(t, err)
	return q
}

// child parses a block with one field and returns the field.
func child(t *testing.T, field string) *Field {
	t.Helper()
	q := mustParse(t, "{ q(func: uid(1)) { "+field+" } }")
	require.Len(t, q.Blocks[0].Children, 1)
	return q.Blocks[0].Children[0]
}

func TestFieldsAreTakenApart(t *testing.T) {
	cases := []struct {
		name, text string
		want       Field // spans, arguments, directives and children are checked elsewhere
	}{
		{"a predicate", "friend { name }", Field{Kind: Predicate, Name: "friend", HasBody: true}},
		{"an inverse predicate", "~friend", Field{Kind: Predicate, Name: "~friend"}},
		{"an IRI loses its brackets", "<http://x.org/a#b>", Field{Kind: Predicate, Name: "http://x.org/a#b"}},
		{"a name with dashes is one name", "made-by", Field{Kind: Predicate, Name: "made-by"}},
		{"dashes may stand apart", "made -by", Field{Kind: Predicate, Name: "made-by"}},
		{"languages", "name@en:fr:.", Field{Kind: Predicate, Name: "name", Lang: "en:fr:."}},
		{"spaces between languages", "name @en : fr", Field{Kind: Predicate, Name: "name", Lang: "en:fr"}},
		{"all languages", "name@*", Field{Kind: Predicate, Name: "name", Lang: "*"}},
		{"a language in capitals is no directive", "name@Normalize", Field{Kind: Predicate, Name: "name", Lang: "Normalize"}},
		{"an alias", "n: name", Field{Kind: Predicate, Name: "name", Alias: "n"}},
		{"an alias with dots", "a.b: name", Field{Kind: Predicate, Name: "name", Alias: "a.b"}},
		{"an alias in brackets", "<a b>: name", Field{}},
		{"a variable", "x as friend", Field{Kind: Predicate, Name: "friend", Var: "x"}},
		{"a variable before an alias", "x as f: friend", Field{Kind: Predicate, Name: "friend", Var: "x", Alias: "f"}},
		{"a variable after an alias", "f: x AS friend", Field{Kind: Predicate, Name: "friend", Var: "x", Alias: "f"}},
		{"uid", "uid", Field{Kind: UIDField, Name: "uid"}},
		{"an aliased uid", "id: uid", Field{Kind: UIDField, Name: "uid", Alias: "id"}},
		{"a count", "count(friend)", Field{Kind: Count, Name: "count", Inner: "friend"}},
		{"a count of uids", "c: count(uid)", Field{Kind: Count, Name: "count", Inner: "uid", Alias: "c"}},
		{"an alias inside a count", "count(c: friend)", Field{Kind: Count, Name: "count", Inner: "friend", Alias: "c"}},
		{"a predicate named count", "count", Field{Kind: Predicate, Name: "count"}},
		{"a value", "val(x)", Field{Kind: Value, Name: "val"}},
		{"a formula", "m: math(a < (b + 1))", Field{Kind: Value, Name: "math", Alias: "m"}},
		{"an aggregate", "min(val(x))", Field{Kind: Value, Name: "min"}},
		{"a predicate named min", "min", Field{Kind: Predicate, Name: "min"}},
		{"a password check", `checkpwd(pwd, "a)b")`, Field{Kind: Value, Name: "checkpwd"}},
		{"an expansion", "expand( _all_ ) { uid }", Field{Kind: Expand, Name: "expand", Inner: "_all_", HasBody: true}},
		{"a spread", "...f", Field{Kind: Spread, Name: "f", Inner: "f"}},
		{"a spread with spaces", ". . . f", Field{Kind: Spread, Name: "f", Inner: "f"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.want.Name == "" {
				_, err := Parse("{ q(func: uid(1)) { " + c.text + " } }")
				require.Error(t, err)
				return
			}
			f := child(t, c.text)
			got := Field{Kind: f.Kind, Name: f.Name, Alias: f.Alias, Var: f.Var, Lang: f.Lang, HasBody: f.HasBody, Inner: f.Inner}
			require.Equal(t, c.want, got)
		})
	}
}

func TestSpansPointAtTheirText(t *testing.T) {
	text := `query ask($q: string = "w") {
  x as paths(func: eq(name@en, "Eva"), first: -3) @filter(has(a)) @evorag(query: $q, via: [a, ~b]) {
    n: <na#me>@en
    friend @facets(s: since, orderdesc: v as w) (first: 1) { uid }
  }
}
fragment f { name }`
	q := mustParse(t, text)
	at := func(s Span) string { return text[s.Start:s.End] }

	require.Equal(t, "ask", q.Name)
	require.Equal(t, `$q: string = "w"`, at(q.Vars[0].Span))
	require.Equal(t, VarDecl{Name: "$q", Type: "string", Default: "w", HasDefault: true, Span: q.Vars[0].Span}, q.Vars[0])

	b := q.Blocks[0]
	require.Equal(t, "paths", at(b.NameSpan))
	require.Equal(t, "x", b.Var)
	require.True(t, strings.HasPrefix(at(b.Span), "x as paths(") && strings.HasSuffix(at(b.Span), "{ uid }\n  }"))
	f, ok := RootFunc(q, b)
	require.True(t, ok)
	require.Equal(t, "eq", f.Name)
	require.Equal(t, `eq(name@en, "Eva")`, at(f.Span))
	require.Equal(t, `name@en, "Eva"`, at(f.Args))
	require.Equal(t, "name@en", f.List[0].Value)
	require.Equal(t, `"Eva"`, f.List[1].Value)
	first, ok := b.Args.Get("first")
	require.True(t, ok)
	require.Equal(t, "-3", first.Value)
	require.Equal(t, "first: -3", at(first.Span))
	require.Equal(t, "@filter(has(a))", at(b.Directive("filter").Span))
	require.Equal(t, "has(a)", at(b.Directive("filter").Args.Span))
	require.Empty(t, b.Directive("filter").Args.List)
	require.Equal(t, "@evorag(query: $q, via: [a, ~b])", at(q.Directive(b).Span))
	require.Nil(t, b.Directive("cascade"))

	name, friend := b.Children[0], b.Children[1]
	require.Equal(t, "<na#me>", at(name.NameSpan))
	require.Equal(t, "n: <na#me>@en", at(name.Span))
	require.Equal(t, " uid ", at(friend.Body))
	require.Equal(t, "first: 1", at(friend.Args.Span))
	require.Equal(t, []FacetKey{{Key: "since", Alias: "s"}, {Key: "w", Var: "v", Order: "orderdesc"}}, friend.Directive("facets").Facets.Keys)

	require.Equal(t, "f", q.Fragments[0].Name)
	require.Equal(t, "f { name }", at(q.Fragments[0].Span))
}

func TestFacetsAreTakenApart(t *testing.T) {
	cases := []struct {
		name, text string
		want       Facets
	}{
		{"all of them", "@facets", Facets{All: true}},
		{"none of them", "@facets()", Facets{}},
		{"keys", "@facets(a, b.c)", Facets{Keys: []FacetKey{{Key: "a"}, {Key: "b.c"}}}},
		{"a key with a dash", "@facets(a-b)", Facets{Keys: []FacetKey{{Key: "a-b"}}}},
		{"a key in brackets", "@facets(<ключ>)", Facets{Keys: []FacetKey{{Key: "ключ"}}}},
		{"a key named as", "@facets(as)", Facets{Keys: []FacetKey{{Key: "as"}}}},
		{"an order", "@facets(orderasc: a)", Facets{Keys: []FacetKey{{Key: "a", Order: "orderasc"}}}},
		{"a key named like an order", "@facets(orderasc)", Facets{Keys: []FacetKey{{Key: "orderasc"}}}},
		{"alias and variable", "@facets(x: v as a)", Facets{Keys: []FacetKey{{Key: "a", Alias: "x", Var: "v"}}}},
		{"a condition", "@facets(eq(a, 1))", Facets{Filter: true}},
		{"a negated condition", "@facets(not eq(a, 1) and gt(b, 2))", Facets{Filter: true}},
		{"a condition in parentheses", "@facets((eq(a, 1)))", Facets{Filter: true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, &c.want, child(t, "friend "+c.text).Directive("facets").Facets)
		})
	}
}

func TestCountKeepsDirectivesOfBothSides(t *testing.T) {
	f := child(t, "count(friend @filter(has(a)) (first: 2)) @facets(eq(b, 1))")
	require.Equal(t, "friend", f.Inner)
	require.Len(t, f.Directives, 2)
	require.True(t, f.Args.HasParens)
	require.False(t, f.HasBody)
}

func TestArgumentsWithoutKeys(t *testing.T) {
	f := child(t, "friend @groupby(a: age, name@en:fr) { count(uid) }")
	list := f.Directive("groupby").Args.List
	require.Equal(t, "a", list[0].Key)
	require.Equal(t, "age", list[0].Value)
	require.Empty(t, list[1].Key)
	require.Equal(t, "name@en:fr", list[1].Value)
}

func TestFunctionsWithBracketsAndOptions(t *testing.T) {
	q := mustParse(t, `{ q(func: similar_to(v, 3, "[0.1, 0.2]", ef: 64)) { uid } r(func: near(loc, [1, [2]], 3)) { uid } }`)
	f, _ := RootFunc(q, q.Blocks[0])
	require.Len(t, f.List, 4)
	require.Equal(t, "ef", f.List[3].Key)
	g, _ := RootFunc(q, q.Blocks[1])
	require.Equal(t, "[1, [2]]", g.List[1].Value)
	_, ok := RootFunc(q, &Field{Kind: Root})
	require.False(t, ok)
}

func TestSchemaIsKeptWhole(t *testing.T) {
	q := mustParse(t, "schema(pred: [a, <b#c>]) { type }\n{ q(func: uid(1)) { uid } }")
	require.Equal(t, Schema, q.Blocks[0].Kind)
	require.Equal(t, "schema(pred: [a, <b#c>]) { type }", q.Text[q.Blocks[0].Span.Start:q.Blocks[0].Span.End])
	require.Equal(t, Root, q.Blocks[1].Kind)
}

func TestRefusedTextsSayWhereAndWhatToWrite(t *testing.T) {
	cases := []struct {
		name, text   string
		line, column int
		says         string
	}{
		{"an empty query", "{ }", 1, 3, "expected a block"},
		{"a missing brace", "{ q(func: uid(1)) { uid }", 1, 26, "close it with }"},
		{"a brace too many", "{ q(func: uid(1)) { uid } } }", 1, 29, "a } too many"},
		{"an open parenthesis", "{ q(func: uid(1) { uid } }", 1, 27, "close them with )"},
		{"an open string", "{\n q(func: eq(name, \"Eva)) { uid } }", 2, 19, `end it with "`},
		{"an unknown escape", `{ q(func: eq(name, "a\x")) { uid } }`, 1, 22, `write one of \u`},
		{"an open regular expression", "{ q(func: regexp(name, /a)) { uid } }", 1, 24, "end it with /"},
		{"a space in an IRI", "{ q(func: uid(1)) { <a b> } }", 1, 23, "may not stand in <...>"},
		{"a bare Cyrillic name", "{\r\n q(func: uid(1)) {\r\n  имя } }", 3, 3, "<like this>"},
		{"a space after the at sign", "{ q(func: uid(1)) @ filter(has(a)) { uid } }", 1, 19, "without a space"},
		{"two commas", "{ q(func: uid(1,, 2)) { uid } }", 1, 17, "two commas"},
		{"a comma at the end", "{ q(func: uid(1, )) { uid } }", 1, 18, "an argument is missing"},
		{"a forgotten comma", "{ q(func: uid(1) first: 3) { uid } }", 1, 18, "write a comma before first"},
		{"an argument without a key", "{ q(uid(1)) { uid } }", 1, 5, "expected key: value"},
		{"an argument without a value", "{ q(func: uid(1), first:) { uid } }", 1, 25, "has no value"},
		{"a bracket for a value", "{ q(func: uid(1), first: (3)) { uid } }", 1, 26, "has a bracket for a value"},
		{"a func without a comma after it", "{ q(func: uid(1) uid(2)) { uid } }", 1, 18, "write a comma after the function"},
		{"a func that is text", `{ q(func: "name") { uid } }`, 1, 11, "write a function"},
		{"a function with an empty place", "{ q(func: uid(, 1)) { uid } }", 1, 15, "before this comma"},
		{"a spread of nothing", "{ q(func: uid(1)) { ... } }", 1, 25, "expected the fragment's name"},
		{"a count of a body", "{ q(func: uid(1)) { count(a) { b } } }", 1, 30, "may not have a body"},
		{"a count of two", "{ q(func: uid(1)) { count(a, b) } }", 1, 28, "expected ) after count(a"},
		{"a filtered count of uids", "{ q(func: uid(1)) { count(uid @filter(has(a))) } }", 1, 26, "takes nothing else"},
		{"a variable of nothing", "{ q(func: uid(1)) { x as } }", 1, 26, "expected a predicate"},
		{"a variable twice", "{ q(func: uid(1)) { x as y as z } }", 1, 26, "the variable x already"},
		{"a block without parentheses", "{ q { uid } }", 1, 5, "expected ( after the block's name q"},
		{"a dash in a block's name", "{ my-q(func: uid(1)) { uid } }", 1, 5, "expected ( after the block's name my"},
		{"a fragment without name", "fragment { uid }", 1, 10, "expected the fragment's name"},
		{"a default that is a list", "query ask($a: string = [1]) { q(func: uid(1)) { uid } }", 1, 24, "expected the default of $a"},
		{"a bare bracket at the start", "(q)", 1, 1, "start with {"},
		{"a sign in a schema block", "schema { + }", 1, 10, "in a schema block"},
		{"an open schema block", "schema {", 1, 9, "close it with }"},
		{"a short unicode escape in an IRI", `{ q(func: has(<a\u12>)) { uid } }`, 1, 17, `\uXXXX`},
		{"a func that is none", "{ q(func: name) { uid } }", 1, 11, "write a function"},
		{"a mutation", "{ set { <a> <b> <c> . } }", 1, 3, "starts a mutation"},
		{"a word that starts nothing", "select { q(func: uid(1)) { uid } }", 1, 1, "write query, fragment"},
		{"an upsert", "upsert { query { q(func: uid(1)) { uid } } }", 1, 1, "mutation endpoint"},
		{"variables without a name", "query ($a: string) { q(func: uid(1)) { uid } }", 1, 7, "named query"},
		{"a variable without a type", "query ask($a) { q(func: uid(1)) { uid } }", 1, 11, "write $name: type"},
		{"two variables without a comma", "query ask($a: int $b: int) { q(func: uid(1)) { uid } }", 1, 19, "expected , or )"},
		{"an alias twice", "{ q(func: uid(1)) { a: b: c } }", 1, 24, "the alias a already"},
		{"arguments twice", "{ q(func: uid(1)) { a (first: 1) (offset: 2) } }", 1, 34, "one pair of parentheses"},
		{"a body twice", "{ q(func: uid(1)) { a { b } { c } } }", 1, 29, "may not have a body"},
		{"languages twice", "{ q(func: uid(1)) { a@en @fr } }", 1, 26, "in one list"},
		{"two dots", "{ q(func: uid(1)) { ..f } }", 1, 21, "three dots"},
		{"uid with parentheses", "{ q(func: uid(1)) { uid(x) } }", 1, 24, "no parentheses"},
		{"expand of nothing", "{ q(func: uid(1)) { expand } }", 1, 21, "expand(_all_)"},
		{"a directive first in a body", "{ q(func: uid(1)) { @filter(has(a)) } }", 1, 21, "may not stand here"},
		{"a directive after a value", "{ q(func: uid(1)) { val(x) @facets } }", 1, 28, "may not stand here"},
		{"a directive after a block", "{ q(func: uid(1)) { uid } @cascade }", 1, 27, "between its parentheses and its {"},
		{"keys and conditions in one", "{ q(func: uid(1)) { a @facets(b, eq(c, 1)) } }", 1, 31, "one condition"},
		{"deep nesting", "{ q(func: uid(1)) " + strings.Repeat("{ a ", 2000) + strings.Repeat("}", 2000) + "}", 1, 4019, "nested more than 1000"},

		{"evorag on a predicate", "{ q(func: uid(1)) {\n friend @evorag(hops: 2) { name } } }", 2, 9, "write it there"},
		{"evorag as a language", "{ q(func: uid(1)) { name@EvoRAG } }", 1, 25, "root block"},
		{"evorag inside a count", "{ q(func: uid(1)) { count(a @evorag) } }", 1, 29, "root block"},
		{"evorag in a body", "{ q(func: uid(1)) { @evorag uid } }", 1, 21, "root block"},
		{"evorag on a fragment", "fragment f @evorag { uid }", 1, 12, "root block"},
		{"evorag on the query", "query @evorag { q(func: uid(1)) { uid } }", 1, 7, "root block"},
		{"evorag on a named query", "query a @evorag { q(func: uid(1)) { uid } }", 1, 9, "root block"},
		{"evorag after the body", "{ q(func: uid(1)) { uid } @evorag }", 1, 27, "between its parentheses and its {"},
		{"evorag twice", "{ q(func: uid(1)) @evorag @evorag { uid } }", 1, 27, "twice"},
		{"evorag without keys", "{ q(func: uid(1)) @evorag(\"who\") { uid } }", 1, 27, "expected key: value"},
		{"evorag beside a schema block", "schema {}\n{ q(func: uid(1)) @evorag { uid } }", 1, 1, "of its own"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(c.text)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Contains(t, e.Msg, c.says)
			require.Equal(t, [2]int{c.line, c.column}, [2]int{e.Line, e.Column}, e.Msg)
		})
	}
}

func TestPositionsCountLinesAndRunes(t *testing.T) {
	text := "aé\r\nb\rc\nd"
	cases := []struct {
		name                 string
		offset, line, column int
	}{
		{"the start", 0, 1, 1},
		{"after two runes of three bytes", 3, 1, 3},
		{"after a Windows line end", 5, 2, 1},
		{"after a carriage return", 7, 3, 1},
		{"after a line feed", 9, 4, 1},
		{"the end", 10, 4, 2},
		{"past the end", 99, 4, 2},
		{"before the start", -1, 1, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			line, column := position(text, c.offset)
			require.Equal(t, [2]int{c.line, c.column}, [2]int{line, column})
		})
	}
	require.EqualError(t, (&Query{Text: text}).ErrorAt(5, "no %s", "b"), "line 2 column 1: no b")
}
