package integration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/extract"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm/llmtest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/load"
)

// TestTextBecomesAGraphWhoseMentionsLearn goes the whole way: text, triplets, cluster,
// question, rating; the edge from the chunk to what it mentions earns a score.
func TestTextBecomesAGraphWhoseMentionsLearn(t *testing.T) {
	front, eng, _ := open(t)
	folder := t.TempDir()
	text := filepath.Join(folder, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte("Nosferatu was directed by F. W. Murnau. It premiered in Berlin."), 0o600))
	model := llmtest.New(t, llmtest.Says(`{"entities":["Nosferatu","F. W. Murnau","Berlin","Dracula"],"facts":[{"head":"Nosferatu","relation":"directed by","object":"F. W. Murnau"},{"head":"Nosferatu","relation":"premiered in","object":"Berlin"}]}`))
	output := filepath.Join(folder, "triplets.jsonl")
	reader := llm.NewExtractor(llm.New(llm.Options{BaseURL: model.URL + "/v1", Model: "m", Timeout: time.Minute}))
	report, err := extract.Run(t.Context(), extract.Options{Files: []string{text}, Output: output, Extractor: reader})
	require.NoError(t, err)
	require.Equal(t, extract.Report{Files: 1, Chunks: 1, Facts: 2, Mentions: 3, Dropped: 1}, report)

	cluster, err := app.Dial(t.Context(), settings(eng.GRPCAddr()))
	require.NoError(t, err)
	defer cluster.Close()
	loaded, err := load.Run(t.Context(), cluster, load.Options{Files: []string{output}, Now: time.Now}, nil)
	require.NoError(t, err)
	require.Equal(t, 1, loaded.Values.New, "the chunk's text")
	require.Equal(t, 5, loaded.Edges.New)

	anybody := caller{}
	retrieve := func() (r graph.Retrieval) {
		code, body := anybody.send(t, front.HTTP, "/evorag/v1/retrieve", "application/json", `{"question": "Which notes mention Nosferatu?", "hops": 1}`)
		require.Equal(t, http.StatusOK, code, body)
		require.NoError(t, json.Unmarshal([]byte(body), &r))
		return r
	}
	chunk := text + " #1"
	require.Eventually(t, func() bool { return strings.Contains(retrieve().Context, chunk) }, 40*time.Second, 200*time.Millisecond, "the chunk is found from what it mentions")
	code, body := anybody.send(t, front.HTTP, "/evorag/v1/feedback", "application/json",
		fmt.Sprintf(`{"retrieval": %q, "score": 5, "response": %q, "rater": "ann"}`, retrieve().ID, "It is in "+chunk))
	require.Equal(t, http.StatusAccepted, code, body)
	require.Eventually(t, func() bool {
		var learned struct {
			Q []struct {
				Chunks []struct{ Score float64 } `json:"~mentions"`
			}
		}
		require.NoError(t, json.Unmarshal(eng.Query(t, `{ q(func: eq(name, "Nosferatu")) { ~mentions @facets(score: evorag.score) { name } } }`, nil), &learned))
		return len(learned.Q) == 1 && len(learned.Q[0].Chunks) == 1 && learned.Q[0].Chunks[0].Score > 100
	}, 40*time.Second, 200*time.Millisecond, "a mention earns its score")
}
