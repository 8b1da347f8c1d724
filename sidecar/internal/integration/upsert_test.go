package integration_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

// upserts are queries whose variable p holds a person and those whom he knows, in each form.
var upserts = map[string]string{
	"written out": `{ q(func: eq(name, "Ann Archer")) @evorag(query: "whom?") { p as uid name knows { f as uid name } } }`,
	"hops":        `{ p as q(func: eq(name, "Ann Archer")) @evorag(query: "whom?", hops: 1) { name } v(func: uid(p)) { f as knows } }`,
	"entities":    `{ p as q(func: evorag.entities(query: "Whom does Ann Archer know?")) @evorag(query: "whom?", hops: 1) { name } v(func: uid(p)) { f as knows } }`,
}

const nquads = "uid(p) <role> \"asked\" .\nuid(f) <role> \"known\" .\nuid(p) <knows> uid(f) .\nuid(p) <knows> _:new .\n_:new <name> \"Nina New\" ."

// check looks at what an upsert has done, and undoes it.
func check(t *testing.T, eng *enginetest.Engine, uids map[string]string) {
	t.Helper()
	undo := `upsert {
  query { all as var(func: has(role)) n as var(func: eq(name, "Nina New")) }
  mutation { delete {
uid(all) <role> * .
uid(n) <name> * .
<` + uids["ann"] + `> <knows> uid(n) .
} } }`
	defer caller{}.must(t, eng.HTTPAddr(), "/mutate?commitNow=true", "application/rdf", undo)
	require.JSONEq(t, `{"q":[{"name":"Ann Archer","role":"asked"},{"name":"Bea Baker","role":"known"}]}`,
		string(eng.Query(t, `{ q(func: has(role), orderasc: name) { name role } }`, nil)), "the mutations ran once, with the query's variables")
	require.JSONEq(t, `{"q":[{"knows":[{"name":"Bea Baker","knows|evorag.score":120},{"name":"Nina New"}]}]}`,
		string(eng.Query(t, `{ q(func: eq(name, "Ann Archer")) { knows (orderasc: name) @facets(evorag.score) { name } } }`, nil)), "what was learned is kept")
}

func TestUpsertsWithTheDirectiveOverGRPC(t *testing.T) {
	front, eng, uids := open(t)
	ctx := t.Context()
	db := client(t, front.GRPC)
	for form, query := range upserts {
		request := func() *api.Request {
			return &api.Request{Query: query, Mutations: []*api.Mutation{{SetNquads: []byte(nquads)}}}
		}
		t.Run(form+", committed at once", func(t *testing.T) {
			r := request()
			r.CommitNow = true
			resp, err := db.NewTxn().Do(ctx, r)
			require.NoError(t, err)
			require.Contains(t, string(resp.Json), "Bea Baker")
			require.NotContains(t, string(resp.Json), "Nina New", "the query sees what was there before")
			require.NotContains(t, string(resp.Json), "evorag.u")
			require.Len(t, resp.Uids, 1)
			require.NotZero(t, resp.Txn.CommitTs)
			require.Equal(t, "Bea Baker", ranking(t, resp).Results[0].Instances[0].Nodes[1].Name)
			check(t, eng, uids)
		})
		t.Run(form+", in a transaction", func(t *testing.T) {
			txn := db.NewTxn()
			resp, err := txn.Do(ctx, request())
			require.NoError(t, err)
			require.NotEmpty(t, resp.Txn.Keys)
			require.NotEmpty(t, ranking(t, resp).Results)
			require.JSONEq(t, `{"q":[]}`, string(eng.Query(t, `{ q(func: has(role)) { name } }`, nil)))
			require.NoError(t, txn.Commit(ctx))
			check(t, eng, uids)
		})
		t.Run(form+", with a condition that doesn't hold", func(t *testing.T) {
			r := request()
			r.CommitNow = true
			r.Mutations[0].Cond = "@if(gt(len(p), 1))"
			resp, err := db.NewTxn().Do(ctx, r)
			require.NoError(t, err)
			require.NotEmpty(t, ranking(t, resp).Results)
			require.JSONEq(t, `{"q":[]}`, string(eng.Query(t, `{ q(func: has(role)) { name } }`, nil)))
		})
	}

	t.Run("variables of the request and values", func(t *testing.T) {
		resp, err := db.NewTxn().Do(ctx, &api.Request{
			Query:     `query u($n: string) { p as q(func: eq(name, $n)) @evorag(query: $n) { n as name knows { name } } }`,
			Vars:      map[string]string{"$n": "Bea Baker"},
			Mutations: []*api.Mutation{{SetNquads: []byte(`uid(p) <role> val(n) .`)}},
			CommitNow: true,
		})
		require.NoError(t, err)
		require.Contains(t, string(resp.Json), "Bea Baker")
		require.JSONEq(t, `{"q":[{"name":"Bea Baker","role":"Bea Baker"}]}`, string(eng.Query(t, `{ q(func: has(role)) { name role } }`, nil)))
	})
	t.Run("a fault in a mutation writes nothing and comes in the engine's words", func(t *testing.T) {
		bad := &api.Request{Query: upserts["hops"], Mutations: []*api.Mutation{{SetNquads: []byte(`uid(p) <role> .`)}}, CommitNow: true}
		_, err := db.NewTxn().Do(ctx, bad)
		plain := &api.Request{Query: `{ p as var(func: has(name)) }`, Mutations: bad.Mutations, CommitNow: true}
		_, want := client(t, eng.GRPCAddr()).NewTxn().Do(ctx, plain)
		require.Error(t, want)
		require.EqualError(t, err, want.Error())
	})
	t.Run("a fault in the directive writes nothing", func(t *testing.T) {
		_, err := db.NewTxn().Do(ctx, &api.Request{Query: `{ p as q(func: has(name)) @evorag(query: "x", hops: 9) { name } }`,
			Mutations: []*api.Mutation{{SetNquads: []byte(`uid(p) <role> "wrong" .`)}}, CommitNow: true})
		require.Equal(t, codes.InvalidArgument, status.Code(err))
		require.NotContains(t, string(eng.Query(t, `{ q(func: has(role)) { role } }`, nil)), "wrong")
	})
}

func TestUpsertsWithTheDirectiveOverHTTP(t *testing.T) {
	front, eng, uids := open(t)
	var c caller
	for form, query := range upserts {
		asJSON, err := json.Marshal(map[string]any{"query": query, "set": json.RawMessage(
			`[{"uid":"uid(p)","role":"asked","knows":[{"uid":"_:new","name":"Nina New"},{"uid":"uid(f)"}]},{"uid":"uid(f)","role":"known"}]`)})
		require.NoError(t, err)
		for contentType, body := range map[string]string{
			"application/rdf":  "upsert {\n  query " + query + "\n  mutation { set {\n" + nquads + "\n} }\n}",
			"application/json": string(asJSON),
		} {
			answers := func(t *testing.T, answer string) {
				t.Helper()
				var got struct {
					Data struct {
						Code, Message string
						Queries       map[string]json.RawMessage
						UIDs          map[string]string
					}
					Extensions struct {
						Txn    map[string]any
						EvoRAG struct {
							Retrieval string
							Paths     []any
						}
					}
				}
				require.NoError(t, json.Unmarshal([]byte(answer), &got), answer)
				require.Equal(t, "Success", got.Data.Code)
				require.Contains(t, string(got.Data.Queries["q"]), "Bea Baker")
				require.NotContains(t, string(got.Data.Queries["q"]), "evorag.u")
				require.Len(t, got.Data.UIDs, 1)
				require.NotEmpty(t, got.Extensions.EvoRAG.Retrieval)
				require.NotEmpty(t, got.Extensions.EvoRAG.Paths)
			}
			t.Run(form+", "+contentType+", committed at once", func(t *testing.T) {
				answers(t, c.must(t, front.HTTP, "/mutate?commitNow=true", contentType, body))
				check(t, eng, uids)
			})
			t.Run(form+", "+contentType+", in a transaction", func(t *testing.T) {
				answer := c.must(t, front.HTTP, "/mutate", contentType, body)
				answers(t, answer)
				written := txnOf(t, answer)
				commit, err := json.Marshal(map[string]any{"keys": written.Keys, "preds": written.Preds})
				require.NoError(t, err)
				c.must(t, front.HTTP, fmt.Sprintf("/commit?startTs=%d", written.StartTS), "application/json", string(commit))
				check(t, eng, uids)
			})
		}
	}
	t.Run("a fault in the directive has its place in the whole text", func(t *testing.T) {
		_, answer := c.send(t, front.HTTP, "/mutate?commitNow=true", "application/rdf", "upsert {\n  query {\n    p as q(func: has(name)) @evorag(query: \"x\", hops: 9) { name }\n  }\n  mutation { set { uid(p) <role> \"wrong\" . } }\n}")
		require.Contains(t, answer, `"locations":[{"line":3,"column":`)
		require.JSONEq(t, `{"q":[]}`, string(eng.Query(t, `{ q(func: has(role)) { role } }`, nil)))
	})
}

var forceRaw = grpc.ForceCodec(rawCodec{})

// rawCodec sends and receives *[]byte as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (rawCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte{}, data...)
	return nil
}
func (rawCodec) Name() string { return "proto" }

func TestRunDQLWithTheDirective(t *testing.T) {
	front, eng, uids := open(t)
	run := func(t *testing.T, text string) *api.Response {
		t.Helper()
		req := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), text) // RunDQLRequest.dql_query
		var reply []byte
		err := dial(t, front.GRPC).Invoke(t.Context(), "/api.Dgraph/RunDQL", &req, &reply, forceRaw)
		if status.Code(err) == codes.Unimplemented {
			t.Skip("this engine has no RunDQL")
		}
		require.NoError(t, err)
		resp := &api.Response{}
		require.NoError(t, resp.Unmarshal(reply))
		return resp
	}
	for form, query := range forms("Ann Archer") {
		t.Run(form, func(t *testing.T) {
			resp := run(t, query)
			require.Contains(t, string(resp.Json), "Bea Baker")
			require.NotEmpty(t, ranking(t, resp).Results)
		})
	}
	for form, query := range upserts {
		t.Run("an upsert, "+form, func(t *testing.T) {
			resp := run(t, "upsert {\n  query "+query+"\n  mutation { set {\n"+nquads+"\n} }\n}")
			require.Contains(t, string(resp.Json), "Bea Baker")
			require.NotEmpty(t, ranking(t, resp).Results)
			require.Len(t, resp.Uids, 1)
			check(t, eng, uids)
		})
	}
}
