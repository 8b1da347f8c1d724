package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/status"
)

func TestAFailingSidecarIsShownAndMakesTheCommandFail(t *testing.T) {
	r := status.Report{Version: "v1", Cluster: status.Cluster{GRPC: "db:9080", Error: "refused"}, Cache: status.Cache{Mode: "on", State: "filling", Edges: 1}, Evolution: status.Evolution{Schedule: "off"}}
	r.Judge(time.Now())
	code := http.StatusServiceUnavailable
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(r)
	}))
	defer server.Close()
	exit, out, faults := call(t, nil, "status", "--server", server.URL)
	require.Equal(t, 1, exit)
	require.Contains(t, out, "FAILING: dgraph-evorag v1 in front of Dgraph -")
	require.Contains(t, out, "filling, 1 edge read")
	require.Contains(t, out, "never")
	require.Contains(t, out, "on request only")
	require.Contains(t, out, "none is set")
	require.Contains(t, faults, "the sidecar is failing: Dgraph at db:9080 doesn't answer: refused")

	r.Cache = status.Cache{Mode: "on", State: "too large", Nodes: 12, Bytes: 3 << 20, Hits: 900, Misses: 100, Evictions: 7}
	_, out, _ = call(t, nil, "status", "--server", server.URL)
	require.Contains(t, out, "too large: a part, 12 nodes, 3 MB; of 1,000 nodes asked for 900 held; 7 put out")
	r.Cache = status.Cache{Mode: "on", State: "filling", Edges: 1}

	code, r.Cluster.Error = http.StatusOK, ""
	r.Judge(time.Now())
	exit, out, faults = call(t, nil, "status", "--server", server.URL, "-o", "json")
	require.Zero(t, exit, faults)
	var got status.Report
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Equal(t, status.OK, got.State)
}

func TestTheAdministratorsTokenIsSent(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		_, _ = w.Write([]byte(`{"status":"applied","id":"x","there":true}`))
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("from a file, long enough\n"), 0o600))
	for args, want := range map[string]string{
		"status":                  "GET /evorag/v1/status",
		"explain a b c":           "GET /evorag/v1/edges/explain",
		"evolve --dry-run":        "POST /evorag/v1/runs",
		"runs list":               "GET /evorag/v1/runs",
		"runs undo r1":            "POST /evorag/v1/runs/r1/undo",
		"rate x --wait --score 5": "GET /evorag/v1/feedback/status",
	} {
		env := map[string]string{"DGRAPH_EVORAG_SERVER": server.URL, "DGRAPH_EVORAG_ACCESS_TOKEN": "from the environment"}
		code, _, faults := call(t, env, strings.Fields(args)...)
		require.Zero(t, code, faults)
		require.Equal(t, want+" Bearer from the environment", got[len(got)-1])
		code, _, faults = call(t, env, append(strings.Fields(args), "--admin-file", file)...)
		require.Zero(t, code, faults)
		require.Equal(t, want+" Bearer from a file, long enough", got[len(got)-1])
		code, _, faults = call(t, env, append(strings.Fields(args), "--admin-file", file+".missing")...)
		require.Equal(t, 1, code)
		require.Contains(t, faults, "--admin-file")
	}
	require.Contains(t, got, "POST /evorag/v1/feedback ", "the webhook has a secret of its own")
}

func TestAgesAreForPeople(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": -time.Second, "12s": 12 * time.Second, "2m5s": 125 * time.Second, "2h5m": 2*time.Hour + 5*time.Minute + 9*time.Second, "3d4h": 76*time.Hour + time.Minute,
	} {
		require.Equal(t, want, age(d))
	}
}
