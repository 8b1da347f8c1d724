package status_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/status"
)

func TestTheVerdictNamesWhatIsWrong(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		change  func(*status.Report)
		state   status.State
		problem string
	}{
		"all is well":            {func(*status.Report) {}, status.OK, ""},
		"no engine":              {func(r *status.Report) { r.Cluster.Error = "refused" }, status.Failing, "Dgraph at here doesn't answer: refused"},
		"a node is unhealthy":    {func(r *status.Report) { r.Cluster.Nodes[0].Status = "unhealthy" }, status.Degraded, "alpha a:7080 is unhealthy"},
		"a migration is missing": {func(r *status.Report) { r.Migrations.Pending = 1 }, status.Failing, "run dgraph-evorag migrate up"},
		"the graph doesn't fit":  {func(r *status.Report) { r.Cache.State = "too large" }, status.Degraded, "raise cache.memory_mb"},
		"the cache is behind":    {func(r *status.Report) { r.Cache.BehindSec = 400 }, status.Degraded, "400 s behind"},
		"a cache that is off":    {func(r *status.Report) { r.Cache = status.Cache{Mode: "off", BehindSec: 400} }, status.OK, ""},
		"ratings are stuck":      {func(r *status.Report) { r.Feedback.Pending, r.Feedback.LagSec = 3, 90 }, status.Degraded, "3 ratings are still to be applied, the oldest for 90 s"},
		"ratings wait in vain":   {func(r *status.Report) { r.Feedback.Waiting, r.Feedback.LagSec = 3, 90 }, status.OK, ""},
		"feedback can't be read": {func(r *status.Report) { r.Feedback.Error = "away" }, status.Failing, "away"},
		"a run that doesn't end": {func(r *status.Report) {
			r.Evolution.Last = &status.Run{ID: "r1", State: "running", Began: now.Add(-2 * time.Hour)}
		}, status.Degraded, "run r1 has been running since"},
		"a run under way": {func(r *status.Report) {
			r.Evolution.Last = &status.Run{ID: "r1", State: "running", Began: now.Add(-time.Minute)}
		}, status.OK, ""},
		"a model is away": {func(r *status.Report) {
			r.Models = []status.Model{{Purpose: "chat", Name: "m", URL: "u", Error: "gone"}}
		}, status.Degraded, "the chat model m at u is not to be had: gone"},
		"failing beats degraded":  {func(r *status.Report) { r.Cluster.Error = "refused"; r.Models = []status.Model{{}} }, status.Failing, "refused"},
		"feedback behind a cache": {func(r *status.Report) { r.Feedback.Error = "away"; r.Cache.State = "failing" }, status.Failing, "the cache can't read the cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			r := status.Report{
				Cluster: status.Cluster{GRPC: "here", Nodes: []status.Node{{Instance: "alpha", Address: "a:7080", Status: "healthy"}}},
				Cache:   status.Cache{Mode: "on", State: "resident"},
			}
			c.change(&r)
			r.Judge(now)
			require.Equal(t, c.state, r.State)
			if c.problem == "" {
				require.Empty(t, r.Problems)
				return
			}
			require.Contains(t, r.Problems[0]+join(r.Problems[1:]), c.problem)
		})
	}
}

func join(all []string) (out string) {
	for _, s := range all {
		out += "; " + s
	}
	return out
}

func TestAnAlphaThatKeepsTheClusterToItselfTellsItsOwnHealth(t *testing.T) {
	asked := []string{}
	alpha := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI()+" "+r.Header.Get("X-Dgraph-AccessToken"))
		if r.URL.RawQuery == "all" {
			_, _ = w.Write([]byte(`{"errors":[{"message":"not allowed"}]}`))
			return
		}
		_, _ = w.Write([]byte(`[{"instance":"alpha","address":"a:7080","status":"healthy","group":"1","version":"v25"}]`))
	}))
	defer alpha.Close()
	u, err := url.Parse(alpha.URL)
	require.NoError(t, err)
	nodes, date, err := status.AlphaHTTP{URL: u, Client: http.DefaultClient, Token: "t"}.Health(t.Context())
	require.NoError(t, err)
	require.Equal(t, []status.Node{{Instance: "alpha", Address: "a:7080", Status: "healthy", Group: "1", Version: "v25"}}, nodes)
	require.Equal(t, []string{"/health?all t", "/health t"}, asked)
	require.WithinDuration(t, time.Now(), date, time.Minute)
}
