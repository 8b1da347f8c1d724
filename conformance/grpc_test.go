package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/dgo/v250/protos/api"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // for UseCompressor
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func set(nquads string, commit bool) *api.Request {
	return &api.Request{CommitNow: commit, Mutations: []*api.Mutation{{SetNquads: []byte(lines(asRDF, nquads))}}}
}

func commit(x *api.TxnContext) call {
	return call{method: "CommitOrAbort", in: x, out: &api.TxnContext{}}
}

func alter(o *api.Operation) call { return call{method: "Alter", in: o, out: &api.Payload{}} }

func TestCallsOverGRPCAreAnsweredAlike(t *testing.T) {
	look := func(c *client, x *api.TxnContext) {
		r := &api.Request{Query: all.body}
		if x != nil {
			r.StartTs, r.Hash = x.StartTs, x.Hash
		}
		c.call(query(r))
	}
	response := func(c *client, r *api.Request) *api.TxnContext {
		return c.call(query(r)).(*api.Response).Txn
	}
	playBothWays(t, []scenario{
		{"mutations that commit at once", func(c *client) {
			c.call(query(set(`<0x3001> <s.name> "A" . <0x3001> <s.friend> <0x3002> (w=1.5) .`, true)))
			look(c, nil)
			c.call(query(&api.Request{CommitNow: true, Mutations: []*api.Mutation{{SetJson: []byte(`{"uid": "0x3001", "s.age": 9007199254740993}`)}}}))
			look(c, nil)
			c.call(query(&api.Request{CommitNow: true, Mutations: []*api.Mutation{{DelNquads: []byte(`<0x3001> * * .`)}}}))
			look(c, nil)
			c.call(query(set(`_:a <s.name> "new" .`, true)))
		}},
		{"a transaction that commits", func(c *client) {
			x := response(c, set(`<0x3001> <s.name> "A" .`, false))
			look(c, x)
			look(c, nil)
			r := set(`<0x3002> <s.name> "B" .`, false)
			r.StartTs, r.Hash = x.StartTs, x.Hash
			y := response(c, r)
			x.Keys, x.Preds = append(x.Keys, y.Keys...), append(x.Preds, y.Preds...)
			c.call(commit(x))
			look(c, nil)
		}},
		{"a transaction that aborts, and one in conflict", func(c *client) {
			x := response(c, set(`<0x3001> <s.name> "A" .`, false))
			x.Aborted = true
			c.call(commit(x))
			look(c, nil)
			y, z := response(c, set(`<0x3001> <s.name> "Y" .`, false)), response(c, set(`<0x3001> <s.name> "Z" .`, false))
			c.call(commit(z))
			c.call(commit(y))
			look(c, nil)
		}},
		{"upserts", func(c *client) {
			upsert := &api.Request{
				Query: `query u($n: string) { q(func: eq(s.name, $n)) { v as uid s.age } }`, Vars: map[string]string{"$n": "A"}, CommitNow: true,
				Mutations: []*api.Mutation{
					{SetNquads: []byte("uid(v) <s.name> \"A\" .\nuid(v) <s.age> \"1\" ."), Cond: "@if(eq(len(v), 0))"},
					{SetNquads: []byte(`uid(v) <s.age> "2" .`), Cond: "@if(gt(len(v), 0))"},
				},
			}
			for range 3 {
				c.call(query(upsert))
				look(c, nil)
			}
		}},
		{"faults", func(c *client) {
			for _, text := range []string{"", "{", "{ q(func: nope(x)) { uid } }", "{ q(func: uid(1)) @what { uid } }", "upsert { query { q(func: uid(1)) { v as uid } } }", "{ set { } }", "mutation { set { } }"} {
				c.call(query(&api.Request{Query: text}))
				c.call(call{method: "RunDQL", in: &api.RunDQLRequest{DqlQuery: text}, out: &api.Response{}})
			}
			c.call(query(&api.Request{Query: all.body, BestEffort: true}))
			c.call(query(&api.Request{Query: "query q($a: int) { q(func: uid(1)) @filter(eq(s.age, $a)) { uid } }", Vars: map[string]string{"$a": "x"}}))
			c.call(query(&api.Request{Query: "query q($a: int) { q(func: uid(1)) @filter(eq(s.age, $a)) { uid } }", Vars: map[string]string{"$b": "1"}}))
			c.call(query(set("nonsense", true)))
			r := set(`<0x3001> <s.name> "A" .`, true)
			r.ReadOnly = true
			c.call(query(r))
			c.call(commit(&api.TxnContext{}))
			c.call(alter(&api.Operation{}))
			c.call(alter(&api.Operation{Schema: "nonsense"}))
			c.call(alter(&api.Operation{DropAttr: "s.nothing"}))
		}},
		{"schema", func(c *client) {
			c.call(alter(&api.Operation{Schema: "s.more: [string] @index(term) .\ntype S { s.more }"}))
			c.call(query(&api.Request{Query: "schema(pred: [s.more, s.name]) {}"}))
			c.call(query(&api.Request{Query: "schema(type: S) {}"}))
			c.call(alter(&api.Operation{DropOp: api.Operation_TYPE, DropValue: "S"}))
			c.call(alter(&api.Operation{DropAttr: "s.more"}))
			c.call(query(&api.Request{Query: "schema(pred: [s.more, s.name]) {}"}))
		}},
		{"newer calls and calls that nobody knows", func(c *client) {
			c.call(call{method: "CheckVersion", in: &api.Check{}, out: &api.Version{}})
			c.call(call{method: "RunDQL", in: &api.RunDQLRequest{DqlQuery: `{ set { <0x3001> <s.name> "R" . } }`}, out: &api.Response{}})
			c.call(call{method: "RunDQL", in: &api.RunDQLRequest{DqlQuery: all.body, RespFormat: api.Request_RDF}, out: &api.Response{}})
			c.call(call{method: "RunDQL", in: &api.RunDQLRequest{DqlQuery: `query q($n: string) { q(func: eq(s.name, $n)) { uid } }`, Vars: map[string]string{"$n": "R"}, BestEffort: true, ReadOnly: true}, out: &api.Response{}})
			c.call(call{method: "AllocateIDs", in: &api.AllocateIDsRequest{HowMany: 0}, out: &api.AllocateIDsResponse{}})
			c.call(call{method: "ListNamespaces", in: &api.ListNamespacesRequest{}, out: &api.ListNamespacesResponse{}})
			c.call(call{method: "Login", in: &api.LoginRequest{Userid: "groot", Password: "password"}, out: &api.Response{}})
			c.call(call{method: "Nothing", in: &api.Check{}, out: &api.Version{}})
			c.call(call{method: "/api.Nobody/Nothing", in: &api.Check{}, out: &api.Version{}})
			c.call(call{method: "/grpc.health.v1.Health/Check", in: &api.Check{}, out: &api.Version{}})
		}},
		{"RunDQL that sets edges", func(c *client) {
			c.call(query(set("<0x3001> <s.name> \"R\" .\n<0x3001> <s.friend> <0x3002> (w=1) .", true)))
			for _, text := range []string{
				`{ set { <0x3001> <s.friend> <0x3002> (w=2) . } }`,
				`upsert { query { v as q(func: eq(s.name, "R")) { uid s.name } } mutation @if(gt(len(v), 0)) { set { uid(v) <s.friend> <0x3003> . } set { uid(v) <s.friend> <0x3004> . } } mutation { delete { <0x3001> <s.friend> <0x3002> . } } }`,
				`upsert { mutation @if(eq(len(v), 7)) { set { <0x3001> <s.friend> <0x3005> . } } mutation { set { uid(v) <s.friend> <0x3006> . } } query { v as q(func: eq(s.name, "R")) { uid } } }`,
				`{ set { <0x3001> <s.friend> <0x3002> . <0x3001> <s.age> "x" . } }`,
				`{ set { <0x3001> <s.friend> <0x3002> . } delete { <0x3001> <s.friend> * . } }`,
				`{ set { <0x3001> <s.friend> <0x3002> . } } and more`,
				`{ set { <0x3001> <s.friend> <0x3002> . } drop { } }`,
			} {
				c.call(call{method: "RunDQL", in: &api.RunDQLRequest{DqlQuery: text}, out: &api.Response{}})
				c.call(query(&api.Request{Query: "{ q(func: uid(0x3001)) { s.name s.friend @facets { uid } } }"}))
			}
			c.call(call{method: "RunDQL", in: &api.RunDQLRequest{DqlQuery: `{ set { <0x3001> <s.friend> <0x3002> . } }`, ReadOnly: true}, out: &api.Response{}})
		}},
		{"metadata", func(c *client) {
			for _, md := range []metadata.MD{
				metadata.Pairs("debug", "true"), metadata.Pairs("debug", "maybe"), metadata.Pairs("accessjwt", "nonsense"),
				metadata.Pairs("auth-token", "nonsense"), metadata.Pairs("unknown", "a", "unknown", "b", "unknown-bin", "\x00\xff"),
			} {
				k := query(&api.Request{Query: all.body})
				k.metadata = md
				c.call(k)
				k = alter(&api.Operation{Schema: "s.more: int ."})
				k.metadata = md
				c.call(k)
			}
		}},
		{"twenty megabytes in and out", func(c *client) {
			big := strings.Repeat("0123456789", 2_000_000)
			x, answer, err := query(set(`<0x3001> <s.more> "`+big+`" .`, true)).raw(c.side)
			require.NoError(c.t, err)
			require.True(c.t, strings.HasPrefix(answer, "OK"), answer)
			require.NotZero(c.t, x.(*api.Response).Txn.CommitTs)
			c.call(query(&api.Request{Query: "{ q(func: uid(0x3001)) { s.more } }"}))
		}},
	})
}

func TestDeadlinesAndCompressionGoThrough(t *testing.T) {
	direct, through := sides(t)
	for _, s := range []side{direct, through} {
		t.Run(s.name, func(t *testing.T) {
			client := api.NewDgraphClient(s.conn)
			ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
			defer cancel()
			_, err := client.Query(ctx, &api.Request{Query: all.body})
			require.Equal(t, codes.DeadlineExceeded, status.Code(err))

			ctx, cancel = context.WithCancel(context.Background())
			cancel()
			_, err = client.Query(ctx, &api.Request{Query: all.body})
			require.Equal(t, codes.Canceled, status.Code(err))

			answer, err := client.Query(context.Background(), &api.Request{Query: "{ q(func: uid(1)) { name } }"}, grpc.UseCompressor("gzip"))
			require.NoError(t, err)
			require.JSONEq(t, `{"q": [{"name": "Eva"}]}`, string(answer.Json))
		})
	}
}
