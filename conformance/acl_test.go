package conformance

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/dgraph-io/dgo/v250/protos/api"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"
)

// TestTokensAreJudgedAlike sends what a client sends with a good token, none, a forged one and one
// whose time is over. Clients log in again when they read that, so that the words matter.
func TestTokensAreJudgedAlike(t *testing.T) {
	const seconds = 4
	direct, through := sidesWithACL(t, seconds)
	login := func() string {
		answer, err := fetch("http://"+direct.http+"/login", "application/json", []byte(groot))
		require.NoError(t, err)
		var a struct {
			Data struct{ AccessJWT string }
		}
		require.NoError(t, json.Unmarshal(answer, &a))
		require.NotEmpty(t, a.Data.AccessJWT)
		return a.Data.AccessJWT
	}
	requests := func(token string) (list []sender) {
		for _, r := range []request{
			post("/query", asDQL, "{ q(func: has(friend)) { uid friend { uid } } }"),
			post("/query", asDQL, "schema(pred: [friend]) {}"),
			mutate(asRDF, "{ set { <0x1> <friend> <0x2> . } }"),
			mutate(asRDF, `{ set { <0x1> <friend> <0x2> (since=2020) . <0x1> <name> "A" . } }`),
			mutate(asJSON, `{"set": {"uid": "0x1", "friend": {"uid": "0x2"}}}`),
			mutate(asRDF, "upsert { query { v as var(func: uid(0x1)) } mutation { set { uid(v) <friend> <0x2> . } } }"),
			mutate(asRDF, "{ delete { <0x1> <friend> <0x2> . } }"),
			post("/alter", asDQL, "friend: [uid] ."),
			post("/admin", asJSON, `{"query": "{ queryUser { name } }"}`),
		} {
			if token != "" {
				r.header.Set("X-Dgraph-AccessToken", token)
			}
			list = append(list, r)
		}
		for _, k := range []call{
			query(&api.Request{Query: "{ q(func: has(friend)) { uid friend { uid } } }"}),
			query(set("<0x1> <friend> <0x2> .", true)),
			query(&api.Request{CommitNow: true, Mutations: []*api.Mutation{{SetJson: []byte(`{"uid": "0x1", "friend": {"uid": "0x2"}}`)}}}),
			query(&api.Request{CommitNow: true, Query: "{ v as var(func: uid(0x1)) }", Mutations: []*api.Mutation{{SetNquads: []byte("uid(v) <friend> <0x2> .")}}}),
			{method: "RunDQL", in: &api.RunDQLRequest{DqlQuery: "{ set { <0x1> <friend> <0x2> . } }"}, out: &api.Response{}},
			commit(&api.TxnContext{StartTs: 1}),
			alter(&api.Operation{Schema: "friend: [uid] ."}),
			{method: "CheckVersion", in: &api.Check{}, out: &api.Version{}},
		} {
			if token != "" {
				k.metadata = metadata.Pairs("accessjwt", token)
			}
			list = append(list, k)
		}
		return list
	}
	var compared comparison
	compare := func(t *testing.T, token string) {
		t.Helper()
		for _, s := range requests(token) {
			if err := compared.alike(direct, through, s); err != nil {
				t.Error(err)
			}
		}
	}
	good := login()
	t.Run("a good token", func(t *testing.T) { // each request with one of its own, they last seconds only
		for i := range requests(good) {
			if err := compared.alike(direct, through, requests(login())[i]); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("no token", func(t *testing.T) { compare(t, "") })
	t.Run("nonsense for a token", func(t *testing.T) { compare(t, "a.b.c") })
	t.Run("a token with another signature", func(t *testing.T) { compare(t, good[:len(good)-8]+"AAAAAAAA") })
	t.Run("a token whose time is over", func(t *testing.T) {
		time.Sleep((seconds + 1) * time.Second)
		compare(t, good)
	})
	t.Logf("%d answers to callers with good, bad and no tokens compared", compared.answers.Load())
}
