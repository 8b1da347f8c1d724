package evolution_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/evolution"
	"github.com/evorag/dgraph-evorag/sidecar/internal/lease"
)

func TestTheServicesSayWhatToWrite(t *testing.T) {
	c := start(t)
	r := c.runner(t)
	run, err := r.Run(t.Context(), nil)
	require.NoError(t, err)
	c.rate(t, "studio", "owned_by", "fox", 1)
	ask := func(method, path, body string) (int, string) {
		w := httptest.NewRecorder()
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		if req.URL.Path == "/runs" {
			evolution.Runners{r}.ServeRuns(w, req)
		} else {
			evolution.Runners{r}.ServeRun("/runs/")(w, req)
		}
		return w.Code, w.Body.String()
	}
	for name, q := range map[string]struct {
		method, path, body string
		code               int
		want               string
	}{
		"a list":                     {"GET", "/runs", "", http.StatusOK, run.ID},
		"a list of none":             {"GET", "/runs?first=0", "", http.StatusBadRequest, "from 1 to 1000"},
		"one run":                    {"GET", "/runs/" + run.ID, "", http.StatusOK, "Walter Hill"},
		"no such run":                {"GET", "/runs/x", "", http.StatusNotFound, "no_such_run"},
		"a dry run":                  {"POST", "/runs", `{"dry_run": true}`, http.StatusOK, "planned"},
		"an unknown field":           {"POST", "/runs", `{"dryrun": true}`, http.StatusBadRequest, `{\"dry_run\": true}`},
		"a body that is no JSON":     {"POST", "/runs/" + run.ID + "/undo", `keep`, http.StatusBadRequest, `{\"keep_feedback\": true}`},
		"an undo over feedback":      {"POST", "/runs/" + run.ID + "/undo", ``, http.StatusConflict, "touched_since"},
		"a run in another namespace": {"POST", "/runs", `{"namespace": 7}`, http.StatusBadRequest, "evolves namespace 0, not 7"},
		"a list in another":          {"GET", "/runs?namespace=7", "", http.StatusBadRequest, "evolution.namespaces"},
		"a path that is not served":  {"POST", "/runs/" + run.ID + "/redo", ``, http.StatusNotFound, "/runs/{id}/undo"},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := ask(q.method, q.path, q.body)
			require.Equal(t, q.code, code, body)
			require.Contains(t, body, q.want)
		})
	}
	l, err := lease.Acquire(t.Context(), c.Client, lease.Options{Name: "evolution", Holder: "somebody", TTL: 1e12, Now: c.options().Now})
	require.NoError(t, err)
	code, body := ask("POST", "/runs", "")
	require.Equal(t, http.StatusConflict, code)
	require.Contains(t, body, "somebody has the lease")
	require.NoError(t, l.Release(t.Context()))
	code, body = ask("POST", "/runs/"+run.ID+"/undo", `{"keep_feedback": true}`)
	require.Equal(t, http.StatusOK, code, body)
	require.Contains(t, body, string(evolution.Undone))
}
