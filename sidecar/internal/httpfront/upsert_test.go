package httpfront_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

const upsertQuery = `{ v as q(func: uid(1)) @evorag(query: \"x\") { uid } }`

func TestAnUpsertIsRankedAndThenRunAtTheTimestampOfItsReading(t *testing.T) {
	const block = `upsert { query { v as q(func: uid(1)) @evorag(query: "x") { uid } } mutation { set { uid(v) <a> "b" . } } }`
	for _, c := range []struct{ name, contentType, body, query, sent string }{
		{"a block in RDF", "application/rdf", block, block, "rewritten"},
		{
			"a query in JSON", "application/json", `{ "set": [{"uid": "uid(v)"}], "query" : "` + upsertQuery + `"}`,
			`{ v as q(func: uid(1)) @evorag(query: "x") { uid } }`, `{ "set": [{"uid": "uid(v)"}], "query" : "rewritten"}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAlpha(t)
			a.answer = func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(`{"data":{"code":"Success","queries":{"q":["all"]},"uids":{"n":"0x7"}},"extensions":{"txn":{"commit_ts":6}}}`))
			}
			k := &ranker{answer: proxy.Response{
				Answer:    graph.Answer{JSON: []byte(`{"q":["ranked"]}`), Txn: graph.Txn{StartTS: 5, Hash: "h"}},
				Retrieval: &graph.Retrieval{ID: "r1"}, Text: "rewritten",
			}}
			f := newFront(t, a.URL, k)
			_, got := send(t, "POST", f.URL+"/mutate?commitNow=true", c.contentType, c.body, "X-Dgraph-AccessToken", "jwt")
			require.Equal(t, []proxy.Request{{Upsert: true, Call: graph.Call{Query: c.query, Credentials: graph.Credentials{"accessjwt": {"jwt"}}}}}, k.calls)
			require.Len(t, a.got, 1)
			require.Equal(t, c.sent, string(a.got[0].body))
			require.Equal(t, "/mutate?commitNow=true&hash=h&startTs=5", a.got[0].uri)
			require.Contains(t, got, `{"data":{"code":"Success","queries":{"q":["ranked"]},"uids":{"n":"0x7"}},"extensions":{"txn":{"commit_ts":6},"evorag":{"retrieval":"r1"`)
		})
	}
}

func TestAnUpsertThatFailsWritesNothing(t *testing.T) {
	a := newAlpha(t)
	f := newFront(t, a.URL, &ranker{err: &dql.Error{Line: 1, Column: 3, Msg: "no"}})
	_, got := send(t, "POST", f.URL+"/mutate?commitNow=true", "application/json", `{"query":"`+upsertQuery+`","set":[]}`)
	require.Contains(t, got, `"locations":[{"line":1,"column":3}]`)
	require.Empty(t, a.got)
}

func TestAnErrorOfTheAlphaToAnUpsertStaysAsItIs(t *testing.T) {
	const fault = `{"errors":[{"message":"no"}],"data":null}`
	a := newAlpha(t)
	a.answer = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(fault)) }
	f := newFront(t, a.URL, &ranker{answer: proxy.Response{Retrieval: &graph.Retrieval{}}})
	_, got := send(t, "POST", f.URL+"/mutate", "application/json", `{"query":"`+upsertQuery+`","set":[]}`)
	require.Equal(t, fault, got)
}
