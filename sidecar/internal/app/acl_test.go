package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/dgo/v230"
	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

// admin sends a GraphQL request to the engine's /admin as groot.
func admin(t *testing.T, e *enginetest.Engine, token, query string) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"query": query})
	require.NoError(t, err)
	req, err := http.NewRequest(http.MethodPost, "http://"+e.HTTPAddr()+"/admin", strings.NewReader(string(body)))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Dgraph-AccessToken", token)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	var got struct{ Errors []any }
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&got))
	require.Empty(t, got.Errors, query)
}

func login(t *testing.T, addr, user, password string) (*dgo.Dgraph, string) {
	t.Helper()
	db := client(t, addr)
	require.NoError(t, db.LoginIntoNamespace(t.Context(), user, password, 0))
	jwt := db.GetJwt()
	return db, jwt.AccessJwt
}

func TestWithAccessControlTheStateIsForAdministrators(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(strings.Repeat("s", 32)), 0o600))
	eng := enginetest.Start(t, engine.Options{ACLSecretFile: secret})
	require.Eventually(t, func() bool { // groot is made a little after the alpha is healthy
		return client(t, eng.GRPCAddr()).LoginIntoNamespace(t.Context(), "groot", "password", 0) == nil
	}, within, retryEvery)
	conf := settings(eng.GRPCAddr())
	conf.Login.User, conf.Login.Password = "groot", "password"
	r := start(t, func(ctx context.Context, o app.Options) error { return app.Serve(ctx, conf, o) })
	groot, token := login(t, r.GRPC, "groot", "password")
	ctx := t.Context()
	require.NoError(t, groot.Alter(ctx, &api.Operation{Schema: schema + "follows: [uid] @reverse .\nboss: uid .\nsecret: [uid] @reverse ."}))
	_, err := groot.NewTxn().Mutate(ctx, &api.Mutation{CommitNow: true, SetNquads: []byte(films + scored + `
_:d <evorag.predicate> "directed_by" .
_:d <evorag.relation.label> "was directed by" .
_:s <evorag.predicate> "secret" .
_:s <evorag.relation.label> "hides" .
_:film <secret> _:martin (evorag.score=199.5) .
`)})
	require.NoError(t, err)
	admin(t, eng, token, `mutation { addUser(input: [{name: "alice", password: "alicepassword"}, {name: "willy", password: "willypassword"}]) { user { name } } }`)
	admin(t, eng, token, `mutation { addGroup(input: [{name: "readers"}, {name: "writers"}]) { group { name } } }`)
	admin(t, eng, token, `mutation { updateUser(input: {filter: {name: {eq: "alice"}}, set: {groups: [{name: "readers"}]}}) { user { name } } }`)
	admin(t, eng, token, `mutation { updateUser(input: {filter: {name: {eq: "willy"}}, set: {groups: [{name: "writers"}]}}) { user { name } } }`)
	admin(t, eng, token, `mutation { updateGroup(input: {filter: {name: {eq: "readers"}}, set: {rules: [{predicate: "name", permission: 4}, {predicate: "starring", permission: 4}, {predicate: "~starring", permission: 4}, {predicate: "directed_by", permission: 4}]}}) { group { name } } }`)
	admin(t, eng, token, `mutation { updateGroup(input: {filter: {name: {eq: "writers"}}, set: {rules: [{predicate: "follows", permission: 2}]}}) { group { name } } }`)
	alice, _ := login(t, r.GRPC, "alice", "alicepassword")
	willy, _ := login(t, r.GRPC, "willy", "willypassword")

	question := func(db *dgo.Dgraph) (string, string) {
		resp, err := db.NewReadOnlyTxn().Query(ctx, `{ paths(func: eq(name, "Eva Green")) @evorag(query: "who directed the film starring Eva Green?", hops: 2) { name } }`)
		require.NoError(t, err)
		return string(resp.Json), strings.Join(resp.Hdrs["evorag"].GetValue(), "")
	}
	require.Eventually(t, func() bool { // rules reach the alpha a little later
		data, _ := question(alice)
		return strings.Contains(data, "Martin Campbell")
	}, within, retryEvery)

	t.Run("a caller sees neither the state nor what leads over a hidden predicate", func(t *testing.T) {
		resp, err := alice.NewReadOnlyTxn().Query(ctx, `{ q(func: has(evorag.predicate)) { uid evorag.relation.label } m(func: has(evorag.migration.version)) { uid } }`)
		require.NoError(t, err)
		require.JSONEq(t, `{}`, string(resp.Json))
		resp, err = alice.NewReadOnlyTxn().Query(ctx, `schema {}`)
		require.NoError(t, err)
		require.NotContains(t, string(resp.Json), `"evorag.predicate"`)
		data, retrieval := question(alice)
		for _, hidden := range []string{"secret", "hides", "199.5"} {
			require.NotContains(t, data+retrieval, hidden)
		}
	})

	t.Run("labels are for whoever may see their predicate", func(t *testing.T) {
		_, text := question(alice)
		var got graph.Retrieval
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		require.Contains(t, got.Context, "was directed by")
	})

	t.Run("an administrator sees both", func(t *testing.T) {
		resp, err := groot.NewReadOnlyTxn().Query(ctx, `{ q(func: eq(evorag.predicate, "secret")) { evorag.relation.label } }`)
		require.NoError(t, err)
		require.JSONEq(t, `{"q":[{"evorag.relation.label":"hides"}]}`, string(resp.Json))
		_, retrieval := question(groot)
		require.Contains(t, retrieval, "hides")
	})

	t.Run("who may write and not read loses nothing for others", func(t *testing.T) {
		require.Eventually(t, func() bool {
			_, err := willy.NewTxn().Mutate(ctx, &api.Mutation{CommitNow: true, SetNquads: []byte("<0x1001> <follows> <0x1002> (since=2020) .")})
			return err == nil
		}, within, retryEvery)
		resp, err := groot.NewReadOnlyTxn().Query(ctx, `{ q(func: uid(0x1001)) { follows @facets(evorag.n, since) @filter(uid(0x1002)) { uid } } }`)
		require.NoError(t, err)
		require.JSONEq(t, `{"q":[{"follows":[{"uid":"0x1002","follows|evorag.n":4,"follows|since":2020}]}]}`, string(resp.Json))
		_, err = alice.NewTxn().Mutate(ctx, &api.Mutation{CommitNow: true, SetNquads: []byte("<0x1001> <follows> <0x1002> .")})
		require.ErrorContains(t, err, "unauthorized")
		require.NotContains(t, err.Error(), "evorag")
	})
}
