package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/dgo/v230"
	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

const within = 2 * time.Minute

// running is a sidecar under test.
type running struct {
	app.Addresses
	stop func()       // as Ctrl-C does
	done <-chan error // what Serve or Up returned
}

// start runs serve until it is ready; the test stops it at the end.
func start(t *testing.T, serve func(context.Context, app.Options) error) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan app.Addresses, 1), make(chan error, 1)
	force := make(chan struct{})
	go func() {
		done <- serve(ctx, app.Options{Version: "test", Log: slog.New(slog.DiscardHandler), Force: force, Ready: func(a app.Addresses) { ready <- a }})
		close(done)
	}()
	select {
	case at := <-ready:
		t.Cleanup(func() { cancel(); <-done }) // done is closed by then, where end was called
		return &running{Addresses: at, stop: cancel, done: done}
	case err := <-done:
		cancel()
		require.NoError(t, err)
	case <-time.After(within):
		cancel()
		t.Fatal("not ready in time")
	}
	return nil
}

func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	select {
	case err := <-r.done:
		require.NoError(t, err)
	case <-time.After(within):
		t.Fatal("didn't stop")
	}
}

func settings(dgraph string) config.Config {
	c := config.Default()
	c.Dgraph, c.HTTPAddr, c.GRPCAddr = dgraph, "127.0.0.1:0", "127.0.0.1:0"
	return c
}

func client(t *testing.T, addr string) *dgo.Dgraph {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return dgo.NewDgraphClient(api.NewDgraphClient(conn))
}

func post(t *testing.T, url, contentType, body string) string {
	t.Helper()
	resp, err := http.Post(url, contentType, strings.NewReader(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(b)
}

const films = `
_:eva <name> "Eva Green" .
_:film <name> "Casino Royale" .
_:martin <name> "Martin Campbell" .
_:eva <dgraph.type> "Entity" .
_:film <starring> _:eva .
_:film <directed_by> _:martin (since=2006) .
`

const schema = `
name: string @index(exact, term) .
starring: [uid] @reverse .
directed_by: [uid] @reverse .
type Entity {
  name
  starring
  directed_by
}
`

// changing are the parts of an answer that differ from call to call.
var changing = regexp.MustCompile(`"(parsing|processing|encoding|assign_timestamp|total)_ns":\d+,?|"start_ts":\d+`)

func TestServeInFrontOfACluster(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	r := start(t, func(ctx context.Context, o app.Options) error { return app.Serve(ctx, settings(eng.GRPCAddr()), o) })
	ctx := t.Context()
	db := client(t, r.GRPC)

	t.Run("a client alters and mutates through the gRPC front", func(t *testing.T) {
		require.NoError(t, db.Alter(ctx, &api.Operation{Schema: schema}))
		_, err := db.NewTxn().Mutate(ctx, &api.Mutation{SetNquads: []byte(films), CommitNow: true})
		require.NoError(t, err)
	})

	question := `query ask($q: string) { paths(func: eq(name, "Eva Green")) @evorag(query: $q, hops: 2, paths: 3) { uid name } }`
	vars := map[string]string{"$q": "who directed the film starring Eva Green?"}

	t.Run("a ranked query over gRPC brings its retrieval in hdrs", func(t *testing.T) {
		resp, err := db.NewReadOnlyTxn().QueryWithVars(ctx, question, vars)
		require.NoError(t, err)
		require.Contains(t, string(resp.Json), "Martin Campbell")
		var got graph.Retrieval
		require.NoError(t, json.Unmarshal([]byte(resp.Hdrs["evorag"].Value[0]), &got))
		require.NotEmpty(t, got.ID)
		require.NotEmpty(t, got.Results)
		require.NotZero(t, resp.Txn.StartTs)
	})

	t.Run("a ranked query inside a transaction sees what it has written", func(t *testing.T) {
		txn := db.NewTxn()
		defer func() { _ = txn.Discard(ctx) }()
		_, err := txn.Mutate(ctx, &api.Mutation{SetNquads: []byte("_:x <name> \"Uncommitted Film\" .\n_:x <starring> _:y .\n_:y <name> \"Nobody Else\" .")})
		require.NoError(t, err)
		resp, err := txn.QueryWithVars(ctx, strings.Replace(question, "Eva Green", "Nobody Else", 1), vars)
		require.NoError(t, err)
		require.Contains(t, string(resp.Json), "Uncommitted Film")
	})

	t.Run("a ranked query over HTTP has Dgraph's shape", func(t *testing.T) {
		body, err := json.Marshal(map[string]any{"query": question, "variables": vars})
		require.NoError(t, err)
		var got struct {
			Data       map[string][]map[string]any
			Extensions struct {
				Txn struct {
					StartTS uint64 `json:"start_ts"`
				}
				EvoRAG graph.Retrieval `json:"evorag"`
			}
		}
		answer := post(t, "http://"+r.HTTP+"/query", "application/json", string(body))
		require.NoError(t, json.Unmarshal([]byte(answer), &got), answer)
		require.NotEmpty(t, got.Data["paths"], answer)
		require.NotZero(t, got.Extensions.Txn.StartTS)
		require.NotEmpty(t, got.Extensions.EvoRAG.Results)
	})

	t.Run("errors in the directive have their place", func(t *testing.T) {
		answer := post(t, "http://"+r.HTTP+"/query", "application/dql", "{\n  q(func: uid(1)) @evorag(query: \"x\", hops: 9) { uid }\n}")
		require.Contains(t, answer, `"locations":[{"line":2,"column":`)
		require.Contains(t, answer, `"code":"ErrorInvalidRequest"`)
		require.True(t, strings.HasSuffix(answer, `"data":null}`), answer)
	})

	t.Run("what carries no directive is answered as directly", func(t *testing.T) {
		for _, q := range []struct{ path, contentType, body string }{
			{"/query", "application/dql", `{ q(func: eq(name, "Eva Green")) { uid name ~starring @facets { name directed_by @facets { name } } } }`},
			{"/query?debug=true", "application/dql", `{ q(func: has(name)) { name } }`},
			{"/query?respFormat=rdf", "application/dql", `{ q(func: has(name)) { name } }`},
			{"/query", "application/json", `{"query":"query q($n: string) { q(func: eq(name, $n)) { name } }","variables":{"$n":"Eva Green"}}`},
			{"/query", "application/dql", `schema {}`},
			{"/query", "application/dql", `{ q(func: nothing }`},
			{"/query", "text/plain", `{}`},
			{"/mutate?commitNow=true", "application/json", `{`},
			{"/graphql", "application/json", `{"query":"{ a }"}`},
		} {
			direct := changing.ReplaceAllString(post(t, "http://"+eng.HTTPAddr()+q.path, q.contentType, q.body), "")
			through := changing.ReplaceAllString(post(t, "http://"+r.HTTP+q.path, q.contentType, q.body), "")
			if q.path != "/graphql" { // its tracing holds times of day
				require.Equal(t, direct, through, q.body)
			}
		}
	})

	t.Run("retrieve answers without DQL", func(t *testing.T) {
		answer := post(t, "http://"+r.HTTP+"/evorag/v1/retrieve", "application/json", `{"question":"who directed the film starring Eva Green?","hops":2}`)
		var got graph.Retrieval
		require.NoError(t, json.Unmarshal([]byte(answer), &got), answer)
		require.Contains(t, got.Context, "Martin Campbell")
		answer = post(t, "http://"+r.HTTP+"/evorag/v1/retrieve", "application/json", `{"question":"zzz?"}`)
		require.Contains(t, answer, `"code":"nothing_linked"`)
	})

	t.Run("metrics tell the stages of ranked queries", func(t *testing.T) {
		resp, err := http.Get("http://" + r.HTTP + "/evorag/metrics")
		require.NoError(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		for _, line := range []string{
			`dgraph_evorag_query_stage_seconds_count{stage="engine"}`,
			`dgraph_evorag_requests_total{code="OK",front="grpc",route="/api.Dgraph/Query"}`,
			`dgraph_evorag_query_engine_round_trips_count`,
		} {
			require.Contains(t, string(b), line)
		}
	})

	r.end(t)
	_, err := net.DialTimeout("tcp", r.HTTP, time.Second)
	require.Error(t, err, "the port is given back")
}

func TestServeFailsClearlyAndLeavesNothingBehind(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	o := app.Options{Log: slog.New(slog.DiscardHandler)}

	cfg := settings(eng.GRPCAddr())
	cfg.GRPCAddr = taken.Addr().String()
	require.EqualError(t, app.Serve(t.Context(), cfg, o), "grpc_addr "+cfg.GRPCAddr+" is in use; stop what holds it or choose another port (0 for any)")
	require.NotContains(t, string(eng.Query(t, "schema {}", nil)), "evorag.", "the cluster was not touched")

	away := settings("127.0.0.1:1")
	require.ErrorContains(t, app.Serve(t.Context(), away, o), "no Dgraph answers at 127.0.0.1:1 (")

	short := settings(eng.GRPCAddr())
	short.RetrievalKey = []byte("short")
	require.ErrorContains(t, app.Serve(t.Context(), short, o), "retrieval_key_file: ")
}

func TestUpStopsInOrderAndContinuesWhereItWas(t *testing.T) {
	bin := enginetest.Bin(t)
	dir := filepath.Join(t.TempDir(), "data")
	up := func(ctx context.Context, o app.Options) error {
		return app.Up(ctx, settings("127.0.0.1:1"), app.EngineOptions{Bin: bin, DataDir: dir}, o)
	}
	r := start(t, up)
	require.Equal(t, dir, r.DataDir)
	answer := post(t, "http://"+r.HTTP+"/alter", "application/json", schema)
	require.Contains(t, answer, "Success")
	answer = post(t, "http://"+r.HTTP+"/mutate?commitNow=true", "application/rdf", "{ set {"+films+"} }")
	require.Contains(t, answer, "Success")
	key, err := os.ReadFile(filepath.Join(dir, "retrieval.key"))
	require.NoError(t, err)
	r.end(t)

	r = start(t, up)
	answer = post(t, "http://"+r.HTTP+"/query", "application/dql", `{ q(func: eq(name, "Eva Green")) @evorag(query: "director", hops: 2) { name } }`)
	require.Contains(t, answer, "Martin Campbell")
	again, err := os.ReadFile(filepath.Join(dir, "retrieval.key"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(key, again), "ids given out before stay good")
	r.end(t)
}
