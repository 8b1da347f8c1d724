package integration_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/dgo/v230"
	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

const startWithin = time.Minute

// settings are those of a sidecar in front of the alpha at addr, on ports of its own.
func settings(addr string) config.Config {
	c := config.Default()
	c.Dgraph, c.HTTPAddr, c.GRPCAddr = addr, "127.0.0.1:0", "127.0.0.1:0"
	c.Cache.Refresh = time.Second      // tests write around the sidecar
	c.Evolution.Schedule = "0 0 1 1 *" // and run evolution when they want it
	return c
}

// serve runs a sidecar until the test ends.
func serve(t testing.TB, c config.Config) app.Addresses {
	t.Helper()
	return serveWith(t, func(ctx context.Context, ready func(app.Addresses)) error {
		return app.Serve(ctx, c, app.Options{Version: "test", Log: slog.New(slog.DiscardHandler), Ready: ready})
	})
}

// serveWith is serve with options of the test's own.
func serveWith(t testing.TB, run func(ctx context.Context, ready func(app.Addresses)) error) app.Addresses {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan app.Addresses, 1), make(chan error, 1)
	go func() { done <- run(ctx, func(a app.Addresses) { ready <- a }) }()
	select {
	case at := <-ready:
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		return at
	case err := <-done:
		cancel()
		require.NoError(t, err)
	case <-time.After(startWithin):
		cancel()
		t.Fatal("the sidecar isn't ready in time")
	}
	return app.Addresses{}
}

// dial connects to addr in plain text, for messages of any size.
func dial(t testing.TB, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30), grpc.MaxCallSendMsgSize(1<<30)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// client is a dgo client of addr.
func client(t testing.TB, addr string) *dgo.Dgraph {
	t.Helper()
	return dgo.NewDgraphClient(api.NewDgraphClient(dial(t, addr)))
}

// caller is somebody with a token, or without one.
type caller struct{ name, access, refresh string }

// send posts as the caller and gives status and body.
func (c caller) send(t testing.TB, addr, path, contentType, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://"+addr+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", contentType)
	if c.access != "" {
		r.Header.Set("X-Dgraph-AccessToken", c.access)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

// must is send of what has to succeed.
func (c caller) must(t testing.TB, addr, path, contentType, body string) string {
	t.Helper()
	_, answer := c.send(t, addr, path, contentType, body)
	require.NotContains(t, answer, `"errors":`, body)
	return answer
}

// context carries the caller's token over gRPC.
func (c caller) context(ctx context.Context) context.Context {
	if c.access == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "accessjwt", c.access)
}

// byCall are the parts of an answer that differ from call to call.
var byCall = []string{"retrieval", "hash", "start_ts", "commit_ts", "timings", "cache", "num_uids", "server_latency"}

// same is an answer without what differs from call to call, and with its keys in order: the
// engine shows what expand() finds in any order.
func same(answer string) string {
	d := json.NewDecoder(strings.NewReader(answer))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return answer
	}
	var clean func(any)
	clean = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				clean(item)
			}
		case map[string]any:
			for _, key := range byCall {
				delete(v, key)
			}
			for _, value := range v {
				clean(value)
			}
		}
	}
	clean(v)
	b, err := json.Marshal(v)
	if err != nil {
		return answer
	}
	return string(b)
}

// ranking is what a ranked answer over gRPC says of its ranking.
func ranking(t testing.TB, resp *api.Response) graph.Retrieval {
	t.Helper()
	require.NotEmpty(t, resp.Hdrs["evorag"].GetValue(), "%s", resp.Json)
	var r graph.Retrieval
	require.NoError(t, json.Unmarshal([]byte(resp.Hdrs["evorag"].Value[0]), &r))
	return r
}
