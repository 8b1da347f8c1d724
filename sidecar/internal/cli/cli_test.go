package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/load"
)

// call runs one command and returns what a shell would see.
func call(t *testing.T, env map[string]string, args ...string) (code int, out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	c := &command{force: make(chan struct{}), Process: Process{
		Args: args, Env: func(k string) string { return env[k] }, In: strings.NewReader(""), Out: &o, Err: &e, Version: "v1",
	}}
	code = c.run(t.Context())
	return code, o.String(), e.String()
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func TestFaultsAreOneClearLineAndANonZeroExit(t *testing.T) {
	folder := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	nobody := freePort(t)
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"an unknown command", []string{"sing"}, 1, `unknown command "sing"`},
		{"an unknown flag", []string{"serve", "--loud"}, 2, `unknown flag: --loud`},
		{"a word too many", []string{"serve", "now"}, 2, `"now" is one word too many`},
		{"no question", []string{"retrieve"}, 2, `0 arguments; write one question, in quotes where it has spaces`},
		{"a question without quotes", []string{"retrieve", "who", "directed"}, 2, `2 arguments; write one question, in quotes where it has spaces`},
		{"an unknown form of output", []string{"retrieve", "q", "-o", "xml"}, 2, `--output is "xml"; write table, json or context`},
		{"a server that is no URL", []string{"retrieve", "q", "--server", "here"}, 1, `the server "here" is not a URL; write one like http://127.0.0.1:8180`},
		{"a server that isn't there", []string{"retrieve", "q", "--server", "http://" + nobody}, 1, "no sidecar answers at http://" + nobody},
		{"no file", []string{"load"}, 2, "no file is given; name one, or - for standard input"},
		{"a file that isn't there", []string{"load", "/no/such.tsv"}, 1, "open /no/such.tsv: no such file or directory"},
		{"a folder", []string{"load", folder}, 1, folder + " is a folder; name the files in it"},
		{"a format that isn't one", []string{"load", "x", "--format", "doc"}, 2, "doc"},
		{"no such migration", []string{"migrate", "sideways"}, 2, `invalid argument "sideways"`},
		{"down without consent", []string{"migrate", "down"}, 1, "add --yes if that is what you want"},
		{"--reverse where it has no meaning", []string{"migrate", "status", "--reverse", "a"}, 2, "--reverse belongs to migrate up"},
		{"an engine that isn't there", []string{"migrate", "status", "--dgraph", nobody}, 1, "no Dgraph answers at " + nobody},
		{"serve, the same", []string{"serve", "--dgraph", nobody, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"}, 1, "no Dgraph answers at " + nobody},
		{"a port in use", []string{"serve", "--dgraph", nobody, "--http", taken.Addr().String(), "--grpc", "127.0.0.1:0"}, 1, "http_addr " + taken.Addr().String() + " is in use"},
		{"an engine's binary that isn't there", []string{"up", "--data", folder, "--dgraph-bin", "/no/dgraph", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"}, 1, "there is no dgraph engine at /no/dgraph"},
		{"a password on the command line", []string{"serve", "--dgraph", "dgraph://groot:hush@db:9080"}, 1, "the connection string holds a secret"},
		{"a settings file that isn't there", []string{"config", "--config", "/no/c.yaml"}, 1, "settings file: open /no/c.yaml"},
		{"a bad setting", []string{"config", "--log-level", "loud"}, 1, `log.level is "loud"; write debug, info, warn or error`},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, err := call(t, nil, c.args...)
			require.Equal(t, c.code, code, err)
			require.Contains(t, err, c.want)
			require.True(t, strings.HasPrefix(err, "dgraph-evorag: "), err)
			require.LessOrEqual(t, strings.Count(err, "\n"), 2)
			require.NotContains(t, err, "goroutine")
			require.NotContains(t, err, "hush")
			require.Empty(t, out)
		})
	}
}

func TestAnInterruptedCommandSaysSo(t *testing.T) {
	var e bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &command{Process: Process{Args: []string{"retrieve", "q"}, Env: func(string) string { return "" }, Out: io.Discard, Err: &e}}
	require.Equal(t, 130, c.run(ctx))
	require.Equal(t, "dgraph-evorag: interrupted\n", e.String())
}

func TestVersionAndConfigPrint(t *testing.T) {
	_, out, _ := call(t, nil, "version")
	require.True(t, strings.HasPrefix(out, "dgraph-evorag v1 (go"), out)
	_, out, _ = call(t, nil, "--version")
	require.Equal(t, "v1\n", out)
	_, out, _ = call(t, map[string]string{"DGRAPH_EVORAG_HTTP_ADDR": "a:1"}, "config", "--grpc", "b:2")
	require.Contains(t, out, "http_addr: a:1\ngrpc_addr: b:2\n")
}

func TestRetrieveAsksTheServerAndPrintsItsAnswer(t *testing.T) {
	answer, err := json.Marshal(film())
	require.NoError(t, err)
	var body map[string]any
	var token string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body = nil
		if r.URL.Path != "/evorag/v1/retrieve" || json.NewDecoder(r.Body).Decode(&body) != nil {
			http.NotFound(w, r)
			return
		}
		token = r.Header.Get("X-Dgraph-AccessToken")
		if body["question"] == "nothing" {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error":{"code":"nothing_linked","message":"nothing to start from"}}`))
			return
		}
		_, _ = w.Write(answer)
	}))
	defer server.Close()
	env := map[string]string{"DGRAPH_EVORAG_SERVER": server.URL, "COLUMNS": "80"}
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("jwt\n"), 0o600))

	code, out, errs := call(t, env, "retrieve", "who?", "--hops", "3", "--entity", "Eva, Green", "--via", "a,~b", "--bundle=false", "--alpha", "0", "--token-file", file)
	require.Zero(t, code, errs)
	require.Equal(t, map[string]any{"question": "who?", "hops": 3., "entities": []any{"Eva, Green"}, "via": []any{"a", "~b"}, "bundle": false, "alpha": 0.}, body)
	require.Equal(t, "jwt", token)
	require.Equal(t, table(film(), 80), out)

	_, out, _ = call(t, env, "retrieve", "who?", "-o", "json")
	require.JSONEq(t, string(answer), out)
	require.Equal(t, map[string]any{"question": "who?"}, body, "what was not given is the server's to choose")

	code, _, errs = call(t, env, "retrieve", "nothing")
	require.Equal(t, 1, code)
	require.Equal(t, "dgraph-evorag: nothing to start from\n", errs)

	code, _, errs = call(t, env, "retrieve", "who?", "--server", server.URL+"/elsewhere")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "answered 404 Not Found: is that a dgraph-evorag sidecar?")
}

func TestProgressIsOneLineThatTellsHowFarALoadIs(t *testing.T) {
	for want, at := range map[string]load.Progress{
		"reading    50%  1.0 MB of 2.0 MB  0.5 MB/s  2s left": {Phase: load.PhaseRead, Done: 1e6, Total: 2e6, Rate: 5e5, Remaining: 2 * time.Second},
		"edges      10%  1,000 of 10,000  500/s  18s left":    {Phase: load.PhaseEdges, Done: 1000, Total: 10_000, Rate: 500, Remaining: 18 * time.Second},
		"reading   3.0 MB": {Phase: load.PhaseRead, Done: 3e6},
	} {
		require.Equal(t, want, describe(at))
	}
	var b bytes.Buffer
	p := &progress{out: &b, tty: true}
	p.tell(load.Progress{Phase: load.PhaseEdges, Done: 1})
	p.tell(load.Progress{Phase: load.PhaseEdges, Done: 2})
	p.end()
	require.Equal(t, "\r\x1b[Kedges     1\r\x1b[Kedges     2\n", b.String(), "redrawn on a terminal")

	b.Reset()
	p = newProgress(&b, false)
	p.tell(load.Progress{Phase: load.PhaseEdges, Done: 1})
	require.Empty(t, b.String(), "elsewhere not before some seconds have passed")
	p.last = p.last.Add(-lineEvery)
	p.tell(load.Progress{Phase: load.PhaseEdges, Done: 2})
	p.end()
	require.Equal(t, "edges     2\n", b.String())
}

func TestTheReportOfALoad(t *testing.T) {
	var b bytes.Buffer
	printReport(&b, load.Report{
		Triplets: 1500, Bad: 3, FirstBad: []error{errors.New("a.tsv:7: two fields")}, Doubles: 2, Ambiguous: 1,
		Entities: load.Count{New: 1200}, Edges: load.Count{New: 1400, Existing: 98},
		Relations: make([]load.Relation, 4), Elapsed: 1500 * time.Millisecond,
	}, false)
	require.Equal(t, `1,500 triplets in 1.5s (1,000/s), 4 relations
  entities         1,200 new             0 there already
  edges            1,400 new            98 there already
  2 triplets stood there more than once
  1 names belong to several nodes; the one with the lowest uid was taken
  3 lines could not be read and were passed over:
    a.tsv:7: two fields
    and 2 more
`, b.String())
}
