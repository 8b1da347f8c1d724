package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/llm/llmtest"
)

// sidecar answers one service and keeps what it was sent.
func sidecar(t *testing.T, path string, answer http.HandlerFunc) (url string, got *[]map[string]any) {
	t.Helper()
	got = &[]map[string]any{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if r.URL.Path != path || json.NewDecoder(r.Body).Decode(&body) != nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if auth := r.Header.Get("Authorization"); auth != "" {
			body["authorization"] = auth
		}
		*got = append(*got, body)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

func writes(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

func TestAskPrintsTheAnswerAndItsSources(t *testing.T) {
	const stream = "event: retrieval\ndata: {\"retrieval\":\"r1\"}\n\nevent: delta\ndata: {\"text\":\"Ridley\"}\n\nevent: delta\ndata: {\"text\":\" Scott [1]\"}\n\n"
	for _, c := range []struct {
		name, answer string
		args         []string
		code         int
		out, err     string
	}{
		{name: "as it is written", answer: stream + "event: done\ndata: {\"retrieval\":\"r1\",\"citations\":[{\"n\":1,\"path\":\"Alien -[by]-> Ridley Scott\"}]}\n\n",
			out: "Ridley Scott [1]\n\n[1] Alien -[by]-> Ridley Scott\nretrieval r1\n"},
		{name: "without sources", answer: stream + "event: done\ndata: {}\n\n", out: "Ridley Scott [1]\n"},
		{name: "cut off", answer: stream + "event: done\ndata: {\"cut_off\":true}\n\n", out: "Ridley Scott [1]\n(cut off by llm.max_tokens)\n"},
		{name: "with an error in the middle", answer: stream + "event: error\ndata: {\"message\":\"the model has gone\"}\n\n", code: 1, out: "Ridley Scott [1]\n", err: "the model has gone"},
		{name: "with an end in the middle", answer: stream, code: 1, out: "Ridley Scott [1]\n", err: "the answer ended in the middle"},
		{name: "as JSON", args: []string{"-o", "json"}, answer: `{"answer":"x"}`, out: "{\"answer\":\"x\"}\n"},
		{name: "in an unknown form", args: []string{"-o", "table"}, code: 2, err: `--output is "table"; write text or json`},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, got := sidecar(t, "/evorag/v1/ask", writes(c.answer))
			code, out, err := call(t, nil, append([]string{"ask", "Who?", "--hops", "3", "--server", url}, c.args...)...)
			require.Equal(t, c.code, code, err)
			require.Equal(t, c.out, out)
			require.Contains(t, err, c.err)
			if c.code != 2 {
				require.Equal(t, "Who?", (*got)[0]["question"])
				require.EqualValues(t, 3, (*got)[0]["hops"])
			}
		})
	}
}

func TestAskRepeatsWhyThereIsNoAnswer(t *testing.T) {
	url, _ := sidecar(t, "/evorag/v1/ask", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusGatewayTimeout)
		fmt.Fprint(w, `{"error":{"code":"model_timeout","message":"the model server was silent for too long"}}`)
	})
	code, _, err := call(t, nil, "ask", "Who?", "--server", url)
	require.Equal(t, 1, code)
	require.Equal(t, "dgraph-evorag: the model server was silent for too long\n", err)
}

func jsonl(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

func accepted(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprint(w, `{"status":"stored"}`)
}

const (
	line1 = `{"retrieval":"r1","question":"Who?","response":"Ridley","reference":"Ridley Scott"}`
	line2 = `{"retrieval":"r2","question":"Where?","response":"Here"}`
)

func TestJudgeRatesAFileAndSendsTheRatings(t *testing.T) {
	model := llmtest.New(t, llmtest.Says(`{"reason":"Right.","score":5}`), llmtest.Says(`{"reason":"Wrong.","score":2}`))
	url, got := sidecar(t, "/evorag/v1/feedback", accepted)
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("whsec_x\n"), 0o600))
	code, out, err := call(t, nil, "judge", jsonl(t, line1, "", line2), "--server", url, "--secret-file", secret, "--llm-url", model.URL+"/v1", "--llm-model", "m")
	require.Equal(t, 0, code, err)
	require.Equal(t, "5  line 1: Right.\n2  line 3: Wrong.\n2 responses rated, 3.50 on average\n", out)
	require.Len(t, *got, 2)
	id := (*got)[0]["id"]
	require.Regexp(t, "^judge:[0-9a-f]{32}$", id)
	require.NotEqual(t, id, (*got)[1]["id"])
	delete((*got)[0], "id")
	require.Equal(t, map[string]any{
		"retrieval": "r1", "score": 5., "response": "Ridley", "answer": "Ridley Scott", "source": "llm", "rater": "llm:m", "comment": "Right.",
		"authorization": "Bearer whsec_x",
	}, (*got)[0])
	require.NotContains(t, (*got)[1], "answer")
	require.Contains(t, model.Sent(t, 0)[1].Content, `Reference, the right answer: "Ridley Scott"`)
}

func TestTheSameLineHasTheSameID(t *testing.T) {
	model := llmtest.New(t, llmtest.Says(`{"reason":"r","score":3}`))
	url, got := sidecar(t, "/evorag/v1/feedback", accepted)
	code, _, err := call(t, nil, "judge", jsonl(t, line1, line1), "--server", url, "--llm-url", model.URL+"/v1", "--llm-model", "m")
	require.Equal(t, 0, code, err)
	require.Equal(t, (*got)[0]["id"], (*got)[1]["id"])
}

func TestLinesThatCannotBeJudgedAreReportedAndTheRestIsRated(t *testing.T) {
	model := llmtest.New(t, llmtest.Says("no"), llmtest.Says("no"), llmtest.Says(`{"reason":"r","score":4}`))
	url, got := sidecar(t, "/evorag/v1/feedback", accepted)
	code, out, err := call(t, nil, "judge", jsonl(t, line1, "{", `{"question":"q","response":"r"}`, `{"retrieval":"r","question":"q"}`, line2),
		"--server", url, "--llm-url", model.URL+"/v1", "--llm-model", "m")
	require.Equal(t, 1, code)
	require.Equal(t, "4  line 5: r\n1 response rated, 4.00 on average\n", out)
	for _, want := range []string{
		"line 1: the model's output is not what was asked for", "line 2: unexpected EOF; write {",
		"line 3: question or retrieval is empty", "line 4: there is nothing to judge: no response", "4 lines could not be judged",
	} {
		require.Contains(t, err, want)
	}
	require.Len(t, *got, 1)
}

func TestJudgingStopsWhereGoingOnIsOfNoUse(t *testing.T) {
	full := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"error":{"message":"send it later"}}`)
	}
	for _, c := range []struct {
		name  string
		turn  llmtest.Turn
		taker http.HandlerFunc
		want  string
	}{
		{"a model that refuses our key", llmtest.Fails(401, "bad key"), accepted, "line 2: the model server refuses our calls"},
		{"a webhook that is full", llmtest.Says(`{"reason":"r","score":4}`), full, "line 2: send it later (go on with --from 2)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := llmtest.New(t, c.turn)
			url, _ := sidecar(t, "/evorag/v1/feedback", c.taker)
			code, _, err := call(t, nil, "judge", jsonl(t, line1, line2, line2), "--from", "2", "--server", url, "--llm-url", model.URL+"/v1", "--llm-model", "m")
			require.Equal(t, 1, code)
			require.Contains(t, err, c.want)
		})
	}
}

func TestJudgeCanOnlyShow(t *testing.T) {
	model := llmtest.New(t, llmtest.Says(`{"reason":"r","score":1}`))
	code, out, err := call(t, nil, "judge", jsonl(t, `{"question":"q","response":"r"}`), "--dry-run", "--llm-url", model.URL+"/v1", "--llm-model", "m")
	require.Equal(t, 0, code, err)
	require.Contains(t, out, "1  line 1: r")
}

func TestAJudgeNeedsAModel(t *testing.T) {
	code, _, err := call(t, nil, "judge", "x.jsonl")
	require.Equal(t, 1, code)
	require.Contains(t, err, "no chat model is set; give --llm-url and --llm-model")
}
