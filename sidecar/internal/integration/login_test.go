package integration_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
)

func TestLoginThroughTheFront(t *testing.T) {
	g := startGuarded(t)
	_, alice, _ := g.people(t)
	ctx := t.Context()
	ranked := `{ q(func: has(name)) @evorag(query: "who?", hops: 1) { name } }`

	t.Run("over HTTP, and again with the refresh token", func(t *testing.T) {
		c := login(t, g.front.HTTP, "alice", "password of alice", 0)
		require.Contains(t, c.must(t, g.front.HTTP, "/query", "application/dql", ranked), "Ann Archer")
		body, err := json.Marshal(map[string]string{"refresh_token": c.refresh})
		require.NoError(t, err)
		require.Contains(t, caller{}.must(t, g.front.HTTP, "/login", "application/json", string(body)), "accessJWT")
	})
	t.Run("over HTTP into another namespace", func(t *testing.T) {
		c := login(t, g.front.HTTP, "groot", "password of one", 1)
		require.Contains(t, c.must(t, g.front.HTTP, "/query", "application/dql", ranked), "Zoe Zimmer")
	})
	t.Run("with the mutation of /admin", func(t *testing.T) {
		body, err := json.Marshal(map[string]string{"query": `mutation { login(userId: "alice", password: "password of alice") { response { accessJWT } } }`})
		require.NoError(t, err)
		require.Contains(t, caller{}.must(t, g.front.HTTP, "/admin", "application/json", string(body)), `"accessJWT"`)
	})
	t.Run("over gRPC, and again with the refresh token", func(t *testing.T) {
		db := client(t, g.front.GRPC)
		require.NoError(t, db.LoginIntoNamespace(ctx, "groot", "password of one", 1))
		resp, err := db.NewReadOnlyTxn().Query(ctx, ranked)
		require.NoError(t, err)
		require.Contains(t, string(resp.Json), "Zoe Zimmer")
		require.NoError(t, db.Relogin(ctx))
		_, err = db.NewReadOnlyTxn().Query(ctx, ranked)
		require.NoError(t, err)
	})
	t.Run("a transaction keeps its hash", func(t *testing.T) {
		db := client(t, g.front.GRPC)
		require.NoError(t, db.Login(ctx, "groot", "password"))
		for form, query := range forms("Dora Dean") {
			txn := db.NewTxn()
			resp, err := txn.Query(ctx, query)
			require.NoError(t, err, form)
			require.NotEmpty(t, resp.Txn.Hash)
			_, err = txn.Mutate(ctx, &api.Mutation{SetNquads: []byte("_:d <name> \"Dora Dean\" .\n_:d <knows> _:e .\n_:e <name> \"Eve Early\" .")})
			require.NoError(t, err, form)
			resp, err = txn.Query(ctx, query)
			require.NoError(t, err, form)
			require.Contains(t, string(resp.Json), "Eve Early", form)
			require.NoError(t, txn.Discard(ctx))
		}
		resp, err := db.NewTxn().Do(ctx, &api.Request{
			Query:     `{ p as q(func: eq(name, "Ann Archer")) @evorag(query: "whom?", hops: 1) { name } }`,
			Mutations: []*api.Mutation{{SetNquads: []byte(`uid(p) <codename> "Archer" .`)}}, CommitNow: true,
		})
		require.NoError(t, err)
		require.NotEmpty(t, ranking(t, resp).Results)
	})
	t.Run("who may not write is refused by the engine, in an upsert with the directive too", func(t *testing.T) {
		upsert := &api.Request{
			Query:     `{ p as q(func: eq(name, "Ann Archer")) @evorag(query: "whom?", hops: 1) { name } }`,
			Mutations: []*api.Mutation{{SetNquads: []byte(`uid(p) <codename> "mine" .`)}}, CommitNow: true,
		}
		_, err := api.NewDgraphClient(dial(t, g.front.GRPC)).Query(alice.context(ctx), upsert)
		require.Equal(t, codes.PermissionDenied, status.Code(err), "%v", err)
	})
	t.Run("a wrong password is refused in the engine's words", func(t *testing.T) {
		wrong := `{"userid": "alice", "password": "not hers"}`
		wantCode, want := caller{}.send(t, g.eng.HTTPAddr(), "/login", "application/json", wrong)
		code, got := caller{}.send(t, g.front.HTTP, "/login", "application/json", wrong)
		require.Equal(t, wantCode, code)
		require.Equal(t, want, got)

		wantErr := client(t, g.eng.GRPCAddr()).Login(ctx, "alice", "not hers")
		require.EqualError(t, client(t, g.front.GRPC).Login(ctx, "alice", "not hers"), wantErr.Error())
	})
	t.Run("who may not alter is refused by the engine", func(t *testing.T) {
		_, want := alice.send(t, g.eng.HTTPAddr(), "/alter", "application/dql", "more: string .")
		_, got := alice.send(t, g.front.HTTP, "/alter", "application/dql", "more: string .")
		require.Contains(t, want, `"errors"`)
		require.Equal(t, want, got)
		err := client(t, g.front.GRPC).Alter(alice.context(ctx), &api.Operation{Schema: "more: string ."})
		require.Equal(t, codes.PermissionDenied, status.Code(err), "%v", err)
	})
}

func TestTheSidecarsOwnLoginOutlivesItsTokens(t *testing.T) {
	const ttl = 4 * time.Second // its end is in whole seconds
	eng := startEngineWithACL(t, ttl)
	c := settings(eng.GRPCAddr())
	c.Login.User, c.Login.Password = "groot", "password"
	front := serve(t, c) // migrates as groot

	target, err := dgraph.ParseTarget(eng.GRPCAddr())
	require.NoError(t, err)
	target.User, target.Password = "groot", "password"
	own, err := dgraph.Dial(dgraph.Options{Target: target})
	require.NoError(t, err)
	defer own.Close()
	ctx := t.Context()
	write := func() error {
		return own.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
			_, err := tx.Set(ctx, []byte(`_:x <name> "x" .`))
			return err
		})
	}
	require.NoError(t, own.Alter(ctx, "name: string @index(exact) ."))
	for range 3 {
		require.NoError(t, write())
		_, err = own.OwnSchema(ctx)
		require.NoError(t, err)
		require.NoError(t, own.Alter(ctx, "name: string @index(exact) ."))
		time.Sleep(ttl + 500*time.Millisecond)
	}
	require.NoError(t, own.Alter(ctx, "name: string @index(exact, term) ."), "the first call after the token's end")

	// The sidecar's own work after its token's end: labels of relations for an ordinary call.
	root := func() caller { return login(t, front.HTTP, "groot", "password", 0) } // anew each time: its tokens end too
	root().must(t, front.HTTP, "/alter", "application/dql", "likes: [uid] .")
	root().must(t, front.HTTP, "/mutate?commitNow=true", "application/rdf", `{ set {
		_:r <evorag.predicate> "likes" .
		_:r <evorag.relation.label> "is fond of" .
		_:a <name> "Eva" .
		_:a <likes> _:b .
		_:b <name> "tea" .
	} }`)
	require.Contains(t, root().must(t, front.HTTP, "/query", "application/dql", `{ q(func: eq(name, "Eva")) @evorag(query: "what?", hops: 1) { name } }`), "is fond of")
}
