package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/dgo/v230"
	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

const retryEvery = 200 * time.Millisecond

const people = `
name: string @index(exact) .
follows: [uid] @reverse .
boss: uid .
type Person {
  name
  follows
}
`

// scored is how the edges stand before each write: 0x1001 follows 0x1002 and has it as boss.
const scored = `
<0x1001> <dgraph.type> "Person" .
<0x1001> <name> "Ann" .
<0x1002> <name> "Bob" .
<0x1003> <name> "Cid" .
<0x1001> <follows> <0x1002> (since=2006, evorag.score=137.123456789, evorag.n=4, evorag.low=1, evorag.hidden=true) .
<0x1001> <follows> <0x1003> .
<0x1001> <boss> <0x1002> (evorag.score=12.5) .
`

// edge are the facets of one edge as the engine tells them.
type edge struct {
	Score  float64 `json:"follows|evorag.score"`
	N      int     `json:"follows|evorag.n"`
	Low    int     `json:"follows|evorag.low"`
	Hidden bool    `json:"follows|evorag.hidden"`
	Since  any     `json:"follows|since"`
	Note   any     `json:"follows|note"`
}

func followed(t *testing.T, e *enginetest.Engine) edge {
	t.Helper()
	var got struct {
		Q []struct{ Follows []edge }
	}
	data := e.Query(t, `{ q(func: uid(0x1001)) { follows @facets @filter(uid(0x1002)) { uid } } }`, nil)
	require.NoError(t, json.Unmarshal(data, &got))
	require.Len(t, got.Q, 1)
	return got.Q[0].Follows[0]
}

// nothing of what was learned is lost; since and note are as the write said.
func requireLearned(t *testing.T, e *enginetest.Engine, since, note any) {
	t.Helper()
	got := followed(t, e)
	require.InDelta(t, 137.123456789, got.Score, 1e-6)
	require.Equal(t, edge{Score: got.Score, N: 4, Low: 1, Hidden: true, Since: since, Note: note}, got)
}

func TestAWriteThroughTheFrontKeepsWhatWasLearned(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	r := start(t, func(ctx context.Context, o app.Options) error { return app.Serve(ctx, settings(eng.GRPCAddr()), o) })
	eng.Alter(t, people)
	ctx := t.Context()
	db := client(t, r.GRPC)

	mutate := func(t *testing.T, contentType, body string) string {
		t.Helper()
		answer := post(t, "http://"+r.HTTP+"/mutate?commitNow=true", contentType, body)
		require.Contains(t, answer, `"code":"Success"`)
		return answer
	}
	commit := func(t *testing.T, m *api.Mutation, query string) {
		t.Helper()
		m.CommitNow = true
		_, err := db.NewTxn().Do(ctx, &api.Request{Query: query, Mutations: []*api.Mutation{m}, CommitNow: true})
		require.NoError(t, err)
	}
	const (
		both = `{ a as var(func: eq(name, "Ann")) b as var(func: eq(name, ["Bob", "Cid"])) n as var(func: has(name)) { x as name } }`
		rdf  = "application/rdf"
		js   = "application/json"
	)
	for _, c := range []struct {
		name        string
		write       func(t *testing.T)
		since, note any
	}{
		{"RDF without facets", func(t *testing.T) { mutate(t, rdf, `{ set { <0x1001> <follows> <0x1002> . } }`) }, nil, nil},
		{"RDF with facets, among others", func(t *testing.T) {
			mutate(t, rdf, "{ set {\n_:x <name> \"Dee\" .\n_:x <follows> <0x1002> .\n<0x1001> <follows> <0x1003> (since=1) .\n<4097> <follows> <4098> (since=2010-01-02, note=\"a)b\") . # again\n} }")
		}, "2010-01-02T00:00:00Z", "a)b"},
		{"JSON without facets", func(t *testing.T) {
			mutate(t, js, `{"set":[{"uid":"0x1001","name":"Ann","follows":[{"uid":"0x1003"},{"uid":4098}]}]}`)
		}, nil, nil},
		{"JSON with facets", func(t *testing.T) {
			mutate(t, js, `{"set":{"uid":"0x1001","follows":{"follows|since":2011,"uid":"0x1002","name":"Bob","follows|note":"x"}}}`)
		}, 2011.0, "x"},
		{"an RDF upsert with variables", func(t *testing.T) {
			mutate(t, rdf, `upsert { query `+both+` mutation @if(eq(len(b), 2)) { set { uid(a) <follows> uid(b) (since=2012) . } set { uid(a) <follows> uid(b) (since=2012) .
				uid(n) <name> val(x) . } } }`)
		}, 2012.0, nil},
		{"an upsert whose condition fails", func(t *testing.T) {
			mutate(t, rdf, `upsert { query `+both+` mutation @if(eq(len(b), 7)) { set { uid(a) <follows> uid(b) (since=2012) .
				uid(n) <name> val(x) . } } }`)
		}, 2006.0, nil},
		{"a JSON upsert with variables", func(t *testing.T) {
			mutate(t, js, fmt.Sprintf(`{"query":%q,"cond":"@if(gt(len(n), 0))","set":{"uid":"uid(a)","follows":{"uid":"uid(b)","follows|note":"y"},"name":"val(x)"}}`, both))
		}, nil, "y"},
		{"an upsert that replaces all edges", func(t *testing.T) {
			mutate(t, rdf, "upsert { query { a as var(func: eq(name, \"Ann\")) } mutation { delete { uid(a) <follows> * . } set { uid(a) <follows> <0x1002> . } } }")
		}, nil, nil},
		{"an upsert with an aggregate", func(t *testing.T) {
			mutate(t, rdf, "upsert { query { a as var(func: eq(name, \"Ann\")) { c as count(follows) } var() { s as sum(val(c)) } } mutation { set { uid(a) <follows> <0x1002> (note=\"agg\") .\nuid(a) <name> val(s) .\n } } }")
		}, nil, "agg"},
		{"gRPC N-Quads", func(t *testing.T) {
			commit(t, &api.Mutation{SetNquads: []byte("<0x1001> <follows> <0x1002> (since=2013) .")}, "")
		}, 2013.0, nil},
		{"gRPC JSON", func(t *testing.T) {
			commit(t, &api.Mutation{SetJson: []byte(`{"uid":"0x1001","follows":{"uid":"0x1002","follows|since":2014}}`)}, "")
		}, 2014.0, nil},
		{"gRPC quads", func(t *testing.T) {
			commit(t, &api.Mutation{Set: []*api.NQuad{{Subject: "0x1001", Predicate: "follows", ObjectId: "4098"}}}, "")
		}, nil, nil},
		{"gRPC quads in an upsert, with vars", func(t *testing.T) {
			_, err := db.NewTxn().Do(ctx, &api.Request{
				Query: `query q($n: string) { a as var(func: eq(name, $n)) b as var(func: uid(0x1002)) }`, Vars: map[string]string{"$n": "Ann"}, CommitNow: true,
				Mutations: []*api.Mutation{{Set: []*api.NQuad{{Subject: "uid(a)", Predicate: "follows", ObjectId: "uid(b)"}}}},
			})
			require.NoError(t, err)
		}, nil, nil},
		{"a transaction that deletes, sets and commits", func(t *testing.T) {
			txn := db.NewTxn()
			_, err := txn.Mutate(ctx, &api.Mutation{SetNquads: []byte("<0x1001> <follows> <0x1002> (since=2015) .")})
			require.NoError(t, err)
			_, err = txn.Mutate(ctx, &api.Mutation{SetNquads: []byte("<0x1001> <follows> <0x1002> (since=2016) .")})
			require.NoError(t, err)
			require.NoError(t, txn.Commit(ctx))
		}, 2016.0, nil},
		{"an HTTP transaction", func(t *testing.T) {
			var first struct {
				Extensions struct {
					Txn struct {
						StartTS uint64          `json:"start_ts"`
						Keys    json.RawMessage `json:"keys"`
						Preds   json.RawMessage `json:"preds"`
					}
				}
			}
			require.NoError(t, json.Unmarshal([]byte(post(t, "http://"+r.HTTP+"/mutate", rdf, `{ set { <0x1001> <follows> <0x1002> (since=2017) . } }`)), &first))
			x := first.Extensions.Txn
			answer := post(t, fmt.Sprintf("http://%s/commit?startTs=%d", r.HTTP, x.StartTS), js, fmt.Sprintf(`{"keys":%s,"preds":%s}`, x.Keys, x.Preds))
			require.Contains(t, answer, `"Success"`)
		}, 2017.0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			eng.Mutate(t, scored)
			c.write(t)
			requireLearned(t, eng, c.since, c.note)
			eng.Mutate(t, `<0x1001> <name> "Ann" .`)
		})
	}

	t.Run("a predicate that holds one node", func(t *testing.T) {
		eng.Mutate(t, scored)
		mutate(t, rdf, `upsert { query { a as var(func: eq(name, "Ann")) } mutation { set { uid(a) <boss> <0x1002> (x=1) . } } }`)
		require.JSONEq(t, `{"q":[{"boss":{"uid":"0x1002","boss|evorag.score":12.5,"boss|x":1}}]}`,
			string(eng.Query(t, `{ q(func: uid(0x1001)) { boss @facets { uid } } }`, nil)))
	})

	t.Run("a score of the user's own wins", func(t *testing.T) {
		eng.Mutate(t, scored)
		mutate(t, rdf, `{ set { <0x1001> <follows> <0x1002> (evorag.score=150.5) . } }`)
		require.Equal(t, edge{Score: 150.5, N: 4, Low: 1, Hidden: true}, followed(t, eng))
	})

	t.Run("a deleted edge that is set again later starts anew", func(t *testing.T) {
		eng.Mutate(t, scored)
		mutate(t, rdf, `{ delete { <0x1001> <follows> <0x1002> . } }`)
		mutate(t, rdf, `{ set { <0x1001> <follows> <0x1002> . } }`)
		require.Equal(t, edge{}, followed(t, eng))
	})

	t.Run("what is learned between the look-up and the commit makes the write abort", func(t *testing.T) {
		eng.Mutate(t, scored)
		txn := db.NewTxn()
		_, err := txn.Mutate(ctx, &api.Mutation{SetNquads: []byte("<0x1001> <follows> <0x1002> .")})
		require.NoError(t, err)
		eng.Mutate(t, `<0x1001> <follows> <0x1002> (evorag.score=50.5) .`)
		require.ErrorIs(t, txn.Commit(ctx), dgo.ErrAborted)
		require.Equal(t, edge{Score: 50.5}, followed(t, eng))
	})

	t.Run("RunDQL", func(t *testing.T) {
		eng.Mutate(t, scored)
		conn, err := grpc.NewClient(r.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		defer conn.Close()
		ask := api.LoginRequest{Userid: `{ set { <0x1001> <follows> <0x1002> (since=2018) . } }`} // field 1 is RunDQL's text, too
		var answer api.Response
		if err = conn.Invoke(ctx, "/api.Dgraph/RunDQL", &ask, &answer); status.Code(err) == codes.Unimplemented {
			t.Skip("this engine has no RunDQL")
		}
		require.NoError(t, err)
		requireLearned(t, eng, 2018.0, nil)
	})

	t.Run("answers and errors are Dgraph's own", func(t *testing.T) {
		for _, q := range []struct{ contentType, body string }{
			{rdf, `{ set { <0x1001> <follows> <0x1002> . } }`},
			{rdf, "{ set { <0x1001> <follows> <0x1002> .\n<0x1001> <follows> <bad .\n } }"},
			{rdf, `{ set { <0x1001> <follows> <0x1002> (bad) . } }`},
			{rdf, `{ set { <0x1001> <name> <0x1002> . } }`},
			{rdf, `upsert { query { a as var(func: eq(name, "Ann")) { } mutation { set { uid(a) <follows> <0x1002> . } } }`},
			{rdf, `upsert { query { q(func: eq(name, "Ann")) { a as uid name } } mutation { set { uid(a) <follows> <0x1002> . } } }`},
			{rdf, `upsert { query { a as var(func: eq(name, "Ann")) } mutation { set { uid(z) <follows> <0x1002> . } } }`},
			{js, `{"set":{"uid":"0x1001","follows":{"uid":"0x1002"}}}`},
			{js, `{"set":{"uid":"0x1001","follows":{"uid":"0x1002"}}}}`},
			{js, `{"set":{"uid":"0x1001","follows":"0x1002"}}`},
			{"text/plain", `{ set { <0x1001> <follows> <0x1002> . } }`},
		} {
			direct := post(t, "http://"+eng.HTTPAddr()+"/mutate?commitNow=true", q.contentType, q.body)
			through := post(t, "http://"+r.HTTP+"/mutate?commitNow=true", q.contentType, q.body)
			require.Equal(t, timeless(direct), timeless(through), q.body)
		}
	})
}

// changingInWrites are the further parts of a write's answer that do.
var changingInWrites = regexp.MustCompile(`"commit_ts":\d+,?|"dg\.\d+\.\d+"`)

// timeless takes out of an answer what differs from call to call.
func timeless(answer string) string {
	return changingInWrites.ReplaceAllString(changing.ReplaceAllString(answer, ""), "")
}

func TestWhatWasNotAskedForStaysOutOfSight(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	r := start(t, func(ctx context.Context, o app.Options) error { return app.Serve(ctx, settings(eng.GRPCAddr()), o) })
	eng.Alter(t, people)
	eng.Mutate(t, scored)
	db := client(t, r.GRPC)
	for _, c := range []struct{ name, query, want string }{
		{"expand", `{ q(func: uid(0x1001)) { uid expand(_all_) { uid } } }`, `{"q":[{"uid":"0x1001","name":"Ann","follows":[{"uid":"0x1002","follows|since":2006},{"uid":"0x1003"}]}]}`},
		{"all facets", `{ q(func: uid(0x1001)) { follows @facets { name } } }`, `{"q":[{"follows":[{"name":"Bob","follows|since":2006},{"name":"Cid"}]}]}`},
		{"a facet by name", `{ q(func: uid(0x1001)) { follows @facets(evorag.n) { name } } }`, `{"q":[{"follows":[{"name":"Bob","follows|evorag.n":4},{"name":"Cid"}]}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, err := db.NewReadOnlyTxn().Query(t.Context(), c.query)
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(resp.Json)) // expand has no order
			require.NotZero(t, resp.Latency.ProcessingNs)
			var got struct{ Data, Extensions json.RawMessage }
			answer := post(t, "http://"+r.HTTP+"/query", "application/dql", c.query)
			require.NoError(t, json.Unmarshal([]byte(answer), &got), answer)
			require.JSONEq(t, c.want, string(got.Data))
			require.Contains(t, string(got.Extensions), `"server_latency"`)
		})
	}
	t.Run("the schema stays truthful", func(t *testing.T) {
		require.Contains(t, post(t, "http://"+r.HTTP+"/query", "application/dql", "schema {}"), `"evorag.predicate"`)
	})
}

func TestAClusterThatIsDroppedGoesOnWorking(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	r := start(t, func(ctx context.Context, o app.Options) error { return app.Serve(ctx, settings(eng.GRPCAddr()), o) })
	db := client(t, r.GRPC)
	ours := func() string { return string(eng.Query(t, `schema(pred: [evorag.predicate]) {}`, nil)) }
	require.Contains(t, ours(), "evorag.predicate")
	for _, c := range []struct {
		name string
		drop func() error
	}{
		{"drop_all over HTTP", func() error {
			require.Contains(t, post(t, "http://"+r.HTTP+"/alter", "application/json", `{"drop_all":true}`), `"Success"`)
			return nil
		}},
		{"drop_attr over HTTP", func() error {
			require.Contains(t, post(t, "http://"+r.HTTP+"/alter", "application/json", `{"drop_attr":"evorag.predicate"}`), `"Success"`)
			return nil
		}},
		{"drop_all over gRPC", func() error { return db.Alter(t.Context(), &api.Operation{DropAll: true}) }},
		{"drop_data over gRPC", func() error { return db.Alter(t.Context(), &api.Operation{DropOp: api.Operation_DATA}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, c.drop())
			require.Contains(t, ours(), "evorag.predicate", "when the caller hears that it is done, all is in place")
			require.NoError(t, db.Alter(t.Context(), &api.Operation{Schema: schema}), "and nothing is in his way")
			_, err := db.NewTxn().Mutate(t.Context(), &api.Mutation{SetNquads: []byte(films), CommitNow: true})
			require.NoError(t, err)
			require.Contains(t, post(t, "http://"+r.HTTP+"/query", "application/dql", `{ q(func: eq(name, "Eva Green")) @evorag(query: "who directed?", hops: 2) { name } }`), "Martin Campbell")
		})
	}
	t.Run("around the front, a ranked query notices", func(t *testing.T) {
		eng.Reset(t)
		eng.Alter(t, schema)
		eng.Mutate(t, films)
		require.Eventually(t, func() bool {
			answer := post(t, "http://"+r.HTTP+"/query", "application/dql", `{ q(func: eq(name, "Eva Green")) @evorag(query: "who directed?", hops: 2) { name } }`)
			return strings.Contains(answer, "Martin Campbell") && strings.Contains(ours(), "evorag.predicate")
		}, within, retryEvery)
	})
}
