package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const someRun = `{"id":"r1","state":"done","began":"2026-03-01T03:00:00Z","tick":"2026-03-01T03:00:00Z",
 "thresholds":{"mu":100,"sigma":10,"tau_high":110,"tau_low":90,"touched":40,"enough":true},
 "counts":{"shortcuts":1,"removed":1,"hidden":1,"counted":1,"dropped":1},
 "changes":[
  {"kind":"edge","head":"0x1","predicate":"owned_by","object":"0x2","before":{"score":60,"n":3,"low":2},"after":{"score":60,"n":3,"low":3,"hidden":true},"why":"hidden"},
  {"kind":"edge","head":"0x1","predicate":"owned_by","object":"0x4","before":{"score":60,"n":1,"low":3,"hidden":true},"after":{"score":64,"n":1,"low":3,"hidden":true},"why":"decayed"},
  {"kind":"shortcut removed","head":"0x1","predicate":"evorag.shortcut","object":"0x4","via":"0x1 owned_by 0x2 ~owned_by 0x4"},
  {"kind":"shortcut","head":"0x1","predicate":"evorag.shortcut","object":"0x4","after":{"score":150},"label":"owned by, born in","via":"0x1 owned_by 0x2 born_in 0x4"},
  {"kind":"shortcut","head":"0x2","predicate":"evorag.shortcut","object":"0x1","after":{"score":140},"label":"x","via":"0x2 born_in 0x4 born_in 0x1","note":"an edge joins its ends"}],
 "names":{"0x1":"Brandywine","0x2":"Fox\u001b[31m"},"labels":{"owned_by":"owned by"}}`

// sidecar answers as the services about runs do, and remembers the last order.
func runsSidecar(t *testing.T) (server string, order *string) {
	order = new(string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*order = r.Method + " " + r.URL.String() + " " + string(b)
		switch {
		case strings.HasSuffix(r.URL.Path, "/busy"), strings.HasSuffix(r.URL.Path, "/busy/undo"):
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"error":{"code":"busy","message":"somebody else is at work"}}`)
		case r.Method == http.MethodGet && r.URL.Path == "/evorag/v1/runs":
			_, _ = io.WriteString(w, `{"runs":[`+someRun+`]}`)
		default:
			_, _ = io.WriteString(w, someRun)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, order
}

func TestARunIsPrintedAsADiff(t *testing.T) {
	server, order := runsSidecar(t)
	code, out, errs := call(t, nil, "evolve", "--server", server, "--namespace", "3", "--dry-run")
	require.Zero(t, code, errs)
	require.Equal(t, `POST /evorag/v1/runs {"dry_run":true,"namespace":3}`, *order)
	require.Equal(t, `run r1: done
good above 110.0, low below 90.0 (mean 100.0, spread 10.0, 40 triplets touched by feedback)
~ Brandywine -[owned by]-> Fox[31m  score 60.0, low runs 2 -> 3, hidden
~ Brandywine -[owned by]-> 0x4  score 60.0 -> 64.0, decayed
- Brandywine -[shortcut]-> 0x4  for Brandywine -[owned by]-> Fox[31m <-[owned by]- 0x4, which is gone
+ Brandywine -[owned by, born in]-> 0x4  score 150.0
    for Brandywine -[owned by]-> Fox[31m -[born_in]-> 0x4
+ Fox[31m -[x]-> Brandywine  score 140.0
    for Fox[31m -[born_in]-> 0x4 -[born_in]-> Brandywine
    not done: an edge joins its ends
1 shortcuts made, 1 removed; 1 edges hidden, 0 shown again, 1 counted on; 1 not done
`, out)
}

func TestRunsAreListedShownAndUndone(t *testing.T) {
	server, order := runsSidecar(t)
	code, out, errs := call(t, nil, "runs", "list", "--server", server)
	require.Zero(t, code, errs)
	require.Contains(t, out, "schedule  1          1        1       0")
	require.Equal(t, "GET /evorag/v1/runs?first=20 ", *order)

	code, out, errs = call(t, nil, "runs", "show", "r1", "--server", server, "-o", "json")
	require.Zero(t, code, errs)
	require.True(t, json.Valid([]byte(out)))

	code, out, errs = call(t, nil, "runs", "undo", "r1", "--keep-feedback", "--server", server)
	require.Zero(t, code, errs)
	require.Equal(t, "run r1 is undone\n", out)
	require.Equal(t, `POST /evorag/v1/runs/r1/undo {"keep_feedback":true}`, *order)

	code, _, errs = call(t, nil, "runs", "undo", "busy", "--server", server)
	require.Equal(t, 1, code)
	require.Equal(t, "dgraph-evorag: somebody else is at work\n", errs)
	code, _, errs = call(t, nil, "runs", "show", "--server", server)
	require.Equal(t, 2, code)
	require.Contains(t, errs, "write one run's id")
}
