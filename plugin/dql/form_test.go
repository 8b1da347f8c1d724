package dql

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMentionsTellsDirectivesFromText(t *testing.T) {
	cases := []struct {
		name, text string
		want       bool
	}{
		{"no text", "", false},
		{"a query without it", "{ q(func: uid(1)) @filter(has(a)) { uid } }", false},
		{"a query with it", "{ q(func: uid(1)) @evorag { uid } }", true},
		{"in capitals", "{ q(func: uid(1)) @EVORAG(hops: 2) { uid } }", true},
		{"at a wrong place", "{ q(func: uid(1)) { friend @evorag { uid } } }", true},
		{"in a comment", "{ q(func: uid(1)) # @evorag\n { uid } }", false},
		{"in a comment at the end", "{ q(func: uid(1)) { uid } } # @evorag", false},
		{"in a string", `{ q(func: eq(name, "@evorag")) { uid } }`, false},
		{"after an escaped quote in a string", `{ q(func: eq(name, "\"@evorag")) { uid } }`, false},
		{"in a regular expression", `{ q(func: regexp(name, /@evorag/)) { uid } }`, false},
		{"in an IRI", `{ q(func: has(<x@evorag>)) { uid } }`, false},
		{"with a space, which Dgraph refuses", "{ q(func: uid(1)) @ evorag { uid } }", false},
		{"a longer name", "{ q(func: uid(1)) @evorag2 { uid } }", false},
		{"a longer name with a dash", "{ q(func: uid(1)) @evorag-x { uid } }", false},
		{"both", "{ q(func: uid(1)) @evorag2 @evorag { uid } }", true},
		{"beside a quote in a comment", "{ q(func: uid(1)) # \"\n @evorag { uid } }", true},
		{"beside a hash in an IRI", "{ q(func: has(<a#b>)) @evorag { uid } }", true},
		{"after what cannot be read", "{ q(func: uid(1)) { имя @evorag } }", true},
		{"before what cannot be read", "{ q(func: uid(1)) @evorag { имя } }", true},
		{"in a comment before what cannot be read", "# @evorag\n{ q(func: uid(1)) { имя } }", false},
		{"in an open string", `{ q(func: eq(name, "@evorag)) { uid } }`, true},
		{"in a mutation", `{ set { <a> <b> "@evorag" . } }`, false},
		{"in the old mutation form", `mutation { set { <a> <b> "@evorag" . } }`, false},
		{"in the triples of an upsert", `upsert { query { q(func: uid(1)) { x as uid } } mutation { set { uid(x) <b> "@evorag" . } } }`, false},
		{"in the query of an upsert", `upsert { query { q(func: uid(1)) @evorag { x as uid } } mutation { set { uid(x) <b> "c" . } } }`, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, Mentions(c.text)) })
	}
}

func TestFormsAreToldByTheirFirstWords(t *testing.T) {
	cases := []struct {
		name, text string
		want       Form
	}{
		{"nothing", "", FormQuery},
		{"a bare query", "{ q(func: uid(1)) { uid } }", FormQuery},
		{"a named query", "query q { set(func: uid(1)) { uid } }", FormQuery},
		{"a schema block", "schema {}", FormQuery},
		{"a set", "# hi\n {\n # ho\n set { } }", FormMutation},
		{"a delete", "\ufeff{delete{}}", FormMutation},
		{"a block whose name starts like set", "{ settings(func: uid(1)) { uid } }", FormQuery},
		{"a mutation", "mutation { set { } }", FormMutation},
		{"an upsert", "# hi\nupsert { }", FormUpsert},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, FormOf(c.text)) })
	}
}

func TestUpsertsAreReadInPlace(t *testing.T) {
	text := `# an upsert
upsert {
  mutation @if(eq(len(x), ")}") and gt(len(x), 0)) {
    set { uid(x) <seen> "}\"{" . } # }
    delete { uid(x) <old> * . }
  }
  fragment f { name }
  query {
    q(func: eq(name, "}")) @evorag(query: "who", hops: 2) { x as uid ...f }
  }
}`
	require.True(t, Mentions(text))
	q, err := ParseUpsert(text)
	require.NoError(t, err)
	requireSpans(t, q)
	require.Len(t, q.Fragments, 1)
	require.Len(t, q.Blocks, 1)
	d := q.Directive(q.Blocks[0])
	require.Equal(t, `@evorag(query: "who", hops: 2)`, text[d.Span.Start:d.Span.End])
	require.Equal(t, "x", q.Blocks[0].Children[0].Var)
	e := q.ErrorAt(d.Span.Start, "here")
	require.Equal(t, [2]int{9, 28}, [2]int{e.Line, e.Column})

	cut, err := Splice(text, []Edit{{Span: d.Span}})
	require.NoError(t, err)
	require.Equal(t, strings.Replace(text, `@evorag(query: "who", hops: 2)`, "", 1), cut)
}

func TestRefusedUpsertsSayWhere(t *testing.T) {
	const mutation = ` mutation { set { uid(x) <a> "b" . } } `
	cases := []struct {
		name, text   string
		line, column int
		says         string
	}{
		{"a query", "{ q(func: uid(1)) { uid } }", 1, 1, "expected upsert {"},
		{"nothing", "", 1, 1, "expected upsert {"},
		{"no brace", "upsert query", 1, 8, "expected {"},
		{"an unknown block", "upsert { select { } }", 1, 10, "query, fragment and mutation"},
		{"a brace in a comment", "upsert { query { q(func: uid(1)) { uid # }\n } }" + mutation + "}", 2, 3, "take them out there"},
		{"an open query", "upsert { query { q(func: uid(1)) { uid }", 1, 15, "braces in comments"},
		{"an open upsert", "upsert {" + mutation, 1, 48, "close it with }"},
		{"a condition that is none", "upsert { mutation @fi(x) { } }", 1, 19, "@if(...)"},
		{"a brace in triples", "upsert { mutation { set { { } } } }", 1, 27, "inside a string"},
		{"an open string in triples", "upsert { mutation { set { \"a } } }", 1, 35, "close it with }"},
		{"text after it", "upsert {" + mutation + "} {", 1, 50, "nothing may follow"},
		{"a misplaced directive", "upsert {\n query { q(func: uid(1)) { a @evorag } }" + mutation + "}", 2, 30, "root block"},
		{"an open string in the query", "upsert { query { q(func: eq(a, \"}", 1, 32, `end it with "`},
		{"a character that means nothing", "upsert { ; }", 1, 10, "means nothing"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseUpsert(c.text)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Contains(t, e.Msg, c.says)
			require.Equal(t, [2]int{c.line, c.column}, [2]int{e.Line, e.Column}, e.Msg)
		})
	}
}
