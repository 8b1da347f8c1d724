package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm/llmtest"
)

// critic plays one model for all three tasks: it answers with Ridley Scott, rates that with 5,
// and finds that the line that names him is the reason.
func critic(w http.ResponseWriter, r *http.Request) {
	var body struct{ Messages []struct{ Content string } }
	raw, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(raw, &body)
	text := body.Messages[len(body.Messages)-1].Content
	switch {
	case strings.Contains(text, "Rate the response"):
		llmtest.Says(`{"reason":"The paths say so.","score":5}`)(w, r)
	case strings.Contains(text, "Judge what each"):
		verdicts := map[string]any{}
		for line := range strings.SplitSeq(text, "\n") {
			var n int
			if _, err := fmt.Sscanf(line, "[%d] ", &n); err != nil {
				continue
			}
			support := -1.0
			if strings.Contains(line, "Ridley Scott") {
				support = 1
			}
			verdicts[fmt.Sprint(n)] = map[string]float64{"support": support, "fidelity": 1, "conflict": 0}
		}
		out, _ := json.Marshal(verdicts)
		llmtest.Says(string(out))(w, r)
	default:
		llmtest.Says("Ridley Scott [1].")(w, r)
	}
}

func TestAnAnswerThatTheJudgeLikesTeachesItsEdges(t *testing.T) {
	e := enginetest.Shared(t)
	e.Reset(t)
	e.Alter(t, "name: string @index(term, exact) .\ndirected_by: [uid] @reverse .")
	e.Mutate(t, `_:a <name> "Alien" .
_:s <name> "Ridley Scott" .
_:c <name> "James Cameron" .
_:a <directed_by> _:s .
_:a <directed_by> _:c .`)
	model := llmtest.New(t, critic)
	cfg := settings(e.GRPCAddr())
	cfg.LLM.BaseURL, cfg.LLM.Model, cfg.Judge.Share = model.URL+"/v1", "m", 1
	cfg.Feedback.Evaluator, cfg.Feedback.Wait = "llm", 50*time.Millisecond
	s := start(t, func(ctx context.Context, o app.Options) error { return app.Serve(ctx, cfg, o) })

	resp, err := http.Post("http://"+s.HTTP+"/evorag/v1/ask", "application/json",
		strings.NewReader(`{"question":"Who directed Alien?","hops":1,"bundle":false}`))
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode, string(body))
	require.Contains(t, string(body), `"answer":"Ridley Scott [1]."`)

	var scores map[string]float64
	require.Eventually(t, func() bool {
		scores = map[string]float64{}
		var got struct {
			Q []struct {
				Edges []struct {
					Name  string
					Score float64 `json:"directed_by|evorag.score"`
				} `json:"directed_by"`
			}
		}
		data := e.Query(t, `{ q(func: eq(name, "Alien")) { directed_by @facets(evorag.score) { name } } }`, nil)
		require.NoError(t, json.Unmarshal(data, &got))
		for _, edge := range got.Q[0].Edges {
			scores[edge.Name] = edge.Score
		}
		return scores["Ridley Scott"] > 0
	}, 30*time.Second, 100*time.Millisecond)
	require.Greater(t, scores["Ridley Scott"], 100.0)
	require.Less(t, scores["James Cameron"], 100.0)
}
