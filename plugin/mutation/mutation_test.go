package mutation_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/mutation"
)

// learnedOf answers the look-up of the edges as an engine in which 0x1 follows 0x2 and 0x3,
// both with learned facets, would.
func learnedOf(t *testing.T, query string, edges []mutation.Edge) mutation.Learned {
	t.Helper()
	l, err := mutation.NewLookup(query, edges)
	require.NoError(t, err)
	if len(edges) > 0 {
		_, err = dql.Parse(l.Text)
		require.NoError(t, err, l.Text)
	}
	var blocks []string
	for i := range strings.Count(l.Text, "evorag.b") {
		blocks = append(blocks, fmt.Sprintf(`"evorag.b%d":[{"evorag.u":"0x1","evorag.e":[
			{"evorag.u":"0x2","evorag.e|evorag.score":103.250000,"evorag.e|evorag.n":4},
			{"evorag.u":"0x3","evorag.e|evorag.score":90,"evorag.e|evorag.hidden":true}]}]`, i))
	}
	got, err := l.Read([]byte("{" + strings.Join(blocks, ",") + "}"))
	require.NoError(t, err)
	return got
}

func TestLearnedFacetsAreAddedAndNothingElseChanges(t *testing.T) {
	for _, c := range []struct {
		name, media, text string
		want              string // «» around what is added
	}{
		{"an edge without facets", "rdf", `{ set { <0x1> <follows> <0x2> . } }`, `{ set { <0x1> <follows> <0x2>« (evorag.score=103.25, evorag.n=4)» . } }`},
		{"an edge with facets", "rdf", "{set{\n<0x1> <follows> <0x2> (since=2006-01-02T15:04:05, note=\"a ) \\\" b\") . # why\n}}", "{set{\n<0x1> <follows> <0x2> (since=2006-01-02T15:04:05, note=\"a ) \\\" b\"«, evorag.score=103.25, evorag.n=4») . # why\n}}"},
		{"decimal uids, a byte order mark and a label", "rdf", "\ufeff{ set { <1>\t<follows><3><0> . } }", "\ufeff{ set { <1>\t<follows><3><0>« (evorag.score=90.0, evorag.hidden=true)» . } }"},
		{"a score of the user's own", "rdf", `{ set { <0x1> <follows> <0x2> (evorag.score=1.5) . } }`, `{ set { <0x1> <follows> <0x2> (evorag.score=1.5«, evorag.n=4») . } }`},
		{"deleted beside set", "rdf", "{ delete { <0x1> <follows> * . } set { <0x1> <follows> <0x2> . } }", "{ delete { <0x1> <follows> * . } set { <0x1> <follows> <0x2>« (evorag.score=103.25, evorag.n=4)» . } }"},
		{"deletes alone", "rdf", `{ delete { <0x1> <follows> <0x2> . } }`, `{ delete { <0x1> <follows> <0x2> . } }`},
		{"new nodes and values", "rdf", "{ set { _:a <follows> <0x2> .\n<0x1> <name> \"<0x1> <follows> <0x2> .\" .\n<0x1> <follows> _:b .\n# <0x1> <follows> <0x2> .\n} }", "{ set { _:a <follows> <0x2> .\n<0x1> <name> \"<0x1> <follows> <0x2> .\" .\n<0x1> <follows> _:b .\n# <0x1> <follows> <0x2> .\n} }"},
		{"an edge without a score", "rdf", `{ set { <0x1> <follows> <0x9> . } }`, `{ set { <0x1> <follows> <0x9> . } }`},
		{"an upsert between known nodes", "rdf", `upsert { query { v as var(func: has(x)) } mutation @if(eq(len(v), 0)) { set { <0x1> <follows> <0x2> . } } }`, `upsert { query { v as var(func: has(x)) } mutation @if(eq(len(v), 0)) { set { <0x1> <follows> <0x2>« (evorag.score=103.25, evorag.n=4)» . } } }`},
		{"an upsert with variables", "rdf", "upsert { query { q(func: eq(name, \"}\")) { v as uid w as follows } } mutation { set { uid( v ) <follows> uid(w) (since=2006) . # why\n} } }",
			"upsert { query { q(func: eq(name, \"}\")) { v as uid w as follows } } mutation { set { uid( v ) <follows> uid(w) (since=2006) . # why«\n<0x1> <follows> <0x2> (since=2006, evorag.score=103.25, evorag.n=4) .\n<0x1> <follows> <0x3> (since=2006, evorag.score=90.0, evorag.hidden=true) .»\n} } }"},
		{"more behind the block, which Dgraph refuses", "rdf", `{ set { <0x1> <follows> <0x2> . } } and more`, `{ set { <0x1> <follows> <0x2> . } } and more`},
		{"an operation that there is none of", "rdf", `{ set { <0x1> <follows> <0x2> . } drop { } }`, `{ set { <0x1> <follows> <0x2> . } drop { } }`},
		{"a comment behind the block", "rdf", "upsert { query { v as var(func: has(x)) } mutation { set { <0x1> <follows> <0x2> . } } } # }\n", "upsert { query { v as var(func: has(x)) } mutation { set { <0x1> <follows> <0x2>« (evorag.score=103.25, evorag.n=4)» . } } } # }\n"},
		{"a query", "rdf", `{ set(func: uid(0x1)) { uid } }`, `{ set(func: uid(0x1)) { uid } }`},

		{"a JSON edge", "json", `{"set": {"uid":"0x1", "follows": {"uid":"0x2"} }}`, `{"set": {"uid":"0x1", "follows": {"uid":"0x2"«,"follows|evorag.score":103.25,"follows|evorag.n":4»} }}`},
		{"JSON edges in lists, the uid last", "json", `{"set":[ {"follows":[{"follows|since":2006,"uid":2},{"uid":"3" , "name":"x"}],"uid":1} ]}`, `{"set":[ {"follows":[{"follows|since":2006,"uid":2«,"follows|evorag.score":103.25,"follows|evorag.n":4»},{"uid":"3" , "name":"x"«,"follows|evorag.score":90.0,"follows|evorag.hidden":true»}],"uid":1} ]}`},
		{"several mutations", "json", `{"query":"{v as var(func: has(x))}","mutations":[{"cond":"@if(eq(len(v), 1))","set":{"uid":"0x1","follows":{"uid":"0x3","follows|evorag.hidden":false}}},{"delete":{"uid":"0x1","follows":{"uid":"0x2"}}}]}`, `{"query":"{v as var(func: has(x))}","mutations":[{"cond":"@if(eq(len(v), 1))","set":{"uid":"0x1","follows":{"uid":"0x3","follows|evorag.hidden":false«,"follows|evorag.score":90.0»}}},{"delete":{"uid":"0x1","follows":{"uid":"0x2"}}}]}`},
		{"a JSON upsert", "json", `{"query":"{ v as var(func: eq(name, \"a\")) { w as follows } }","set":{"uid":"uid(v)","follows":"uid( w )","follows|since":2006}}`, `{"query":"{ v as var(func: eq(name, \"a\")) { w as follows } }","set":«[»{"uid":"uid(v)","follows":"uid( w )","follows|since":2006}«,{"uid":"0x1","follows":{"uid":"0x2","follows|since":2006,"follows|evorag.score":103.25,"follows|evorag.n":4}},{"uid":"0x1","follows":{"uid":"0x3","follows|since":2006,"follows|evorag.score":90.0,"follows|evorag.hidden":true}}]»}`},
		{"a JSON upsert in a list", "json", `{"query":"{ v as var(func: has(x)) }","set":[{"uid":"0x1","follows":[{"uid":"uid(v)"}]} ]}`, `{"query":"{ v as var(func: has(x)) }","set":[{"uid":"0x1","follows":[{"uid":"uid(v)"}]} «,{"uid":"0x1","follows":{"uid":"0x2","follows|evorag.score":103.25,"follows|evorag.n":4}},{"uid":"0x1","follows":{"uid":"0x3","follows|evorag.score":90.0,"follows|evorag.hidden":true}}»]}`},
		{"new nodes in JSON", "json", `{"set":[{"name":"a","follows":{"uid":"0x2"}},{"uid":"_:x","follows":{"uid":"0x2"}},{"uid":"0x1","follows":{"name":"b"}},{"uid":"0x1","at":{"type":"Point","coordinates":[1,2]},"follows":null}]}`, `{"set":[{"name":"a","follows":{"uid":"0x2"}},{"uid":"_:x","follows":{"uid":"0x2"}},{"uid":"0x1","follows":{"name":"b"}},{"uid":"0x1","at":{"type":"Point","coordinates":[1,2]},"follows":null}]}`},
		{"broken JSON", "json", `{"set":{"uid":"0x1","follows":{"uid":"0x2"}`, `{"set":{"uid":"0x1","follows":{"uid":"0x2"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			read := mutation.ReadRDF
			if c.media == "json" {
				read = mutation.ReadJSON
			}
			m := read(c.text)
			got, err := dql.Splice(c.text, mutation.Keep(m.Edges, learnedOf(t, m.Query, m.Edges)))
			require.NoError(t, err)
			require.Equal(t, strings.NewReplacer("«", "", "»", "").Replace(c.want), got)
			if c.media == "json" && c.name != "broken JSON" {
				require.True(t, json.Valid([]byte(got)))
			}
		})
	}
}

func TestALookupReadsEachPredicateOnceAndVariablesBesideTheQuery(t *testing.T) {
	m := mutation.ReadRDF("upsert { query { v as var(func: has(x)) n as var(func: has(y)) @filter(has(z)) # the last\n} mutation { set {\n<1> <p> <2> .\n<3> <p> <2> .\n<1> <q> uid(v) .\n} } }")
	require.Len(t, m.Edges, 3)
	l, err := mutation.NewLookup(m.Query, m.Edges)
	require.NoError(t, err)
	require.Equal(t, ` { v as var(func: has(x)) n as var(func: has(y)) @filter(has(z))
evorag.b0(func: uid(0x1, 0x3)) { evorag.u: uid evorag.e: <p> @filter(uid(0x2)) @facets(evorag.score, evorag.n, evorag.low, evorag.hidden) { evorag.u: uid } }
evorag.b1(func: uid(0x1)) { evorag.u: uid evorag.e: <q> @filter(uid(v)) @facets(evorag.score, evorag.n, evorag.low, evorag.hidden) { evorag.u: uid } }
evorag.all(func: uid(v, n), first: 1) { evorag.u: uid }
 # the last
}`, l.Text)
}

func TestASingleValuedPredicateAnswersWithAnObject(t *testing.T) {
	l, err := mutation.NewLookup("", mutation.NQuads(`<0x1> <boss> <0x2> .`, dql.Span{End: 20}))
	require.NoError(t, err)
	got, err := l.Read([]byte(`{"evorag.b0":[{"evorag.u":"0x1","evorag.e":{"evorag.u":"0x2","evorag.e|evorag.score":80.5}}]}`))
	require.NoError(t, err)
	require.Equal(t, []mutation.Facet{{Key: "evorag.score", Value: "80.5"}}, got.Of(0)[0].Facets)
	require.Empty(t, got.Of(7))
}

func FuzzWithoutLearnedFacetsTheBytesStay(f *testing.F) {
	for _, s := range []string{
		"{ set { <0x1> <follows> <0x2> (a=b, c=\"x\") . } }", `upsert { query { v as var(func: has(x)) } mutation @if(eq(len(v), 0)) { set { uid(v) <follows> <0x2> . } } }`,
		`{"set":{"uid":"0x1","follows":[{"uid":"0x2","follows|a":1},"uid(v)"],"follows|b":{"1":2}}}`, `{"query":"{}","mutations":[{"set":[]},{"cond":""}]}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for media, read := range map[string]func(string) mutation.Text{"rdf": mutation.ReadRDF, "json": mutation.ReadJSON} {
			m := read(text)
			if len(m.Edges) > 50 {
				return // the answer below grows with their square
			}
			require.Empty(t, mutation.Keep(m.Edges, mutation.Learned{}))

			edits := mutation.Keep(m.Edges, allScored(t, m.Edges))
			got, err := dql.Splice(text, edits)
			require.NoError(t, err)
			rest := got
			for _, e := range edits {
				rest = strings.Replace(rest, e.Text, "", 1)
			}
			require.Len(t, rest, len(text))
			require.True(t, len(edits) == 0 || media == "rdf" || json.Valid([]byte(got)), "%q became %q", text, got)

			again := read(got)
			require.GreaterOrEqual(t, len(again.Edges), len(m.Edges), "%q became %q", text, got)
			constant := !slices.ContainsFunc(m.Edges, func(e mutation.Edge) bool { return e.Subject.Var+e.Object.Var != "" })
			if constant { // what was added counts as written: nothing is added twice
				require.Empty(t, mutation.Keep(again.Edges, allScored(t, again.Edges)), "%q became %q", text, got)
			}
		}
	})
}

// allScored is what an engine would know in which every edge has a score.
func allScored(t *testing.T, edges []mutation.Edge) mutation.Learned {
	t.Helper()
	l, err := mutation.NewLookup("{ q(func: uid(1)) { uid } }", edges)
	require.NoError(t, err)
	var heads []string
	for _, e := range edges {
		heads = append(heads, fmt.Sprintf(`{"evorag.u":"%s","evorag.e":[{"evorag.u":"%s","evorag.e|evorag.score":1}]}`, max(e.Subject.UID, 1), max(e.Object.UID, 1)))
	}
	var blocks []string
	for i := range edges {
		blocks = append(blocks, fmt.Sprintf(`"evorag.b%d":[%s]`, i, strings.Join(heads, ",")))
	}
	learned, err := l.Read([]byte("{" + strings.Join(blocks, ",") + "}"))
	require.NoError(t, err)
	return learned
}
