package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
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

	code, r.Cluster.Error = http.StatusOK, ""
	r.Judge(time.Now())
	exit, out, faults = call(t, nil, "status", "--server", server.URL, "-o", "json")
	require.Zero(t, exit, faults)
	var got status.Report
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Equal(t, status.OK, got.State)
}

func TestAgesAreForPeople(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": -time.Second, "12s": 12 * time.Second, "2m5s": 125 * time.Second, "2h5m": 2*time.Hour + 5*time.Minute + 9*time.Second, "3d4h": 76*time.Hour + time.Minute,
	} {
		require.Equal(t, want, age(d))
	}
}
