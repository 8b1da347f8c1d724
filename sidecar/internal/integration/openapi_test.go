package integration_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm/llmtest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/openapi"
)

// documented holds every exchange against the document: a request that it doesn't allow, an
// answer that it doesn't describe, and a field that it doesn't name are failures.
type documented struct {
	t       *testing.T
	base    string
	v       validator.Validator // strict: a field that isn't named is a fault
	lax     validator.Validator // for bodies of other tools, and the document itself
	visited map[string]bool     // "GET /path 200"
}

func newDocumented(t *testing.T, base string) *documented {
	document, err := libopenapi.NewDocument(openapi.Document)
	require.NoError(t, err)
	v, errs := validator.NewValidator(document, config.WithFormatAssertions(), config.WithStrictMode(),
		config.WithStrictIgnorePaths("$.body.**.parts.*", "$.body.gate.found.*", "$.body.**.gate.found.*", "$.body.names.*", "$.body.labels.*")) // keys of maps
	require.Empty(t, errs)
	lax, errs := validator.NewValidator(document, config.WithFormatAssertions())
	require.Empty(t, errs)
	valid, faults := v.ValidateDocument()
	require.True(t, valid, "the document itself: %v", faults)
	return &documented{t, base, v, lax, map[string]bool{}}
}

// send sends a body (nil: none), checks both ways, and gives status and answer. wild is for a
// request that is wrong on purpose: only its answer is checked.
func (d *documented) send(method, path, contentType, body string, wild bool) (int, []byte) {
	d.t.Helper()
	request := func() *http.Request {
		var reader io.Reader
		if body != "" {
			reader = strings.NewReader(body)
		}
		r, err := http.NewRequest(method, d.base+path, reader)
		require.NoError(d.t, err)
		if contentType != "" {
			r.Header.Set("Content-Type", contentType)
		}
		return r
	}
	r := request()
	resp, err := http.DefaultClient.Do(r)
	require.NoError(d.t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(d.t, err)
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	for name := range maps.Clone(resp.Header) { // those that HTTP and browsers want, of every answer
		if strings.HasPrefix(name, "Access-Control-") || slices.Contains([]string{"Date", "Content-Length", "Retry-After", "Cache-Control", "X-Accel-Buffering"}, name) {
			resp.Header.Del(name)
		}
	}
	r = request()
	by := d.v
	if path == "/evorag/openapi.json" || strings.Contains(body, "traceId") || strings.Contains(body, "specversion") {
		by = d.lax
	}
	if !wild {
		ok, faults := by.ValidateHttpRequest(r)
		require.True(d.t, ok, "%s %s %s: %v", method, path, body, faults)
		r = request()
	}
	ok, faults := by.ValidateHttpResponse(r, resp)
	require.True(d.t, ok, "%s %s answered %d %s: %+v", method, path, resp.StatusCode, answer, faults)
	at, _, _ := strings.Cut(path, "?")
	d.visited[method+" "+at] = true
	return resp.StatusCode, answer
}

func (d *documented) ok(method, path, contentType, body string, into any) {
	d.t.Helper()
	code, answer := d.send(method, path, contentType, body, false)
	require.Less(d.t, code, 300, "%s %s: %s", method, path, answer)
	if into != nil {
		require.NoError(d.t, json.Unmarshal(answer, into), string(answer))
	}
}

func TestTheOpenAPIDocumentIsTrue(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	model := llmtest.New(t, llmtest.Says("Walter Hill [1]."))
	c := settings(eng.GRPCAddr())
	c.Evolution.MinTouched, c.Evolution.Runs, c.Evolution.Explore = 5, 1, 0
	c.LLM.BaseURL, c.LLM.Model = model.URL+"/v1", "scripted"
	at := serve(t, c)
	eng.Alter(t, "name: string @index(exact, term) .\nproduced_by: [uid] .\nfounded_by: [uid] .\nborn_in: [uid] .\nowned_by: [uid] .")
	eng.Mutate(t, rated)
	d := newDocumented(t, "http://"+at.HTTP)
	const jsonType = "application/json"

	question := `{"question": "Who founded the studio that produced Alien?", "hops": 2, "explain": true}`
	var retrieval struct{ Retrieval string }
	d.ok("POST", "/evorag/v1/retrieve", jsonType, question, &retrieval)
	var answer struct{ Retrieval string }
	d.ok("POST", "/evorag/v1/ask", jsonType, question, &answer)
	d.ok("POST", "/evorag/v1/chat/completions", jsonType, `{"model": "evorag", "messages": [{"role": "user", "content": "Who founded the studio that produced Alien?"}]}`, nil)
	d.ok("GET", "/evorag/v1/models", "", "", nil)

	var stored struct{ ID string }
	d.ok("POST", "/evorag/v1/feedback", jsonType, `{"retrieval": "`+retrieval.Retrieval+`", "score": 5, "response": "Walter Hill", "rater": "ann", "id": "d1"}`, &stored)
	d.ok("POST", "/evorag/v1/feedback", "application/cloudevents+json", `{"specversion": "1.0", "id": "1", "source": "/chat", "type": "rating", "data": {"retrieval": "`+answer.Retrieval+`", "thumb": "up"}}`, nil)
	d.ok("POST", "/evorag/v1/feedback", jsonType, `{"id": "l1", "traceId": "`+retrieval.Retrieval+`", "name": "helpful", "value": 1, "dataType": "BOOLEAN", "metadata": {"response": "Walter Hill"}}`, nil)
	require.Eventually(t, func() bool {
		var outcome struct{ Status string }
		d.ok("GET", "/evorag/v1/feedback/status?id="+url.QueryEscape(stored.ID), "", "", &outcome)
		return outcome.Status == "applied" || outcome.Status == "superseded"
	}, 30*time.Second, 100*time.Millisecond)
	d.ok("GET", "/evorag/v1/feedback/inbox?first=5&status=applied", "", "", nil)
	d.ok("GET", "/evorag/v1/scores", "", "", nil)
	d.ok("GET", "/evorag/v1/retrievals/"+retrieval.Retrieval, "", "", nil)
	d.ok("GET", "/evorag/v1/edges/explain?head=Alien&predicate=produced_by&object=Brandywine", "", "", nil)

	d.ok("POST", "/evorag/v1/runs", jsonType, `{"dry_run": true}`, nil)
	var run struct{ ID string }
	d.ok("POST", "/evorag/v1/runs", jsonType, `{}`, &run)
	d.ok("GET", "/evorag/v1/runs?first=5", "", "", nil)
	d.ok("GET", "/evorag/v1/runs/"+run.ID, "", "", nil)
	d.ok("GET", "/evorag/v1/status", "", "", nil)
	d.ok("POST", "/evorag/v1/runs/"+run.ID+"/undo", jsonType, `{"keep_feedback": true}`, nil)
	d.ok("GET", "/evorag/health", "", "", nil)
	d.ok("GET", "/evorag/metrics", "", "", nil)
	var self map[string]any
	d.ok("GET", "/evorag/openapi.json", "", "", &self)
	require.Equal(t, "3.1.0", self["openapi"])

	for _, wrong := range []struct {
		method, path, body string
		code               int
	}{
		{"POST", "/evorag/v1/retrieve", `{"question": ""}`, 400},
		{"POST", "/evorag/v1/retrieve", `{"question": "zzz?"}`, 404},
		{"POST", "/evorag/v1/retrieve", `{"question": "q", "hopps": 2}`, 400},
		{"POST", "/evorag/v1/chat/completions", `{"messages": []}`, 400},
		{"POST", "/evorag/v1/feedback", `{"retrieval": "forged", "score": 1}`, 400},
		{"POST", "/evorag/v1/feedback", `{"retrieval": "` + retrieval.Retrieval + `", "score": 9}`, 400},
		{"GET", "/evorag/v1/feedback/status?id=nothing", "", 404},
		{"GET", "/evorag/v1/retrievals/forged", "", 400},
		{"GET", "/evorag/v1/edges/explain?head=Alien", "", 400},
		{"GET", "/evorag/v1/runs?first=0", "", 400},
		{"GET", "/evorag/v1/runs/nothing", "", 404},
		{"POST", "/evorag/v1/runs/" + run.ID + "/undo", `{}`, 409},
		{"POST", "/evorag/v1/runs", `{"namespace": 7}`, 400},
	} {
		media := ""
		if wrong.body != "" {
			media = jsonType
		}
		code, answer := d.send(wrong.method, wrong.path, media, wrong.body, true)
		require.Equal(t, wrong.code, code, "%s %s: %s", wrong.method, wrong.path, answer)
	}

	for _, o := range operations(t) {
		visited := strings.NewReplacer("/runs/{id}", "/runs/"+run.ID, "/retrievals/{id}", "/retrievals/"+retrieval.Retrieval).Replace(o)
		require.True(t, d.visited[visited], "%s is in the document, and this test doesn't call it", o)
	}
}

// operations are those of the document, like "GET /evorag/v1/runs".
func operations(t *testing.T) []string {
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(openapi.Document, &document))
	var out []string
	for path, item := range document.Paths {
		for method := range item {
			out = append(out, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(out)
	return out
}
