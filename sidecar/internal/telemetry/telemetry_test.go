package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

func TestEveryMetricThatIsSetIsServedUnderItsName(t *testing.T) {
	m := telemetry.New("v1.2.3")
	m.Request("http", "/query", "200", time.Millisecond)
	m.Stage("plan", time.Millisecond)
	m.Model("judge", "ok", time.Second, 70, 7, 0.25)
	m.Aborted()
	m.WatchScores(func() telemetry.Scores {
		return telemetry.Scores{Bounds: []float64{99, 101}, Below: []uint64{1, 3}, Count: 4, Sum: 420}
	})
	m.Query(2, true, "resident")
	m.Watch("dgraph_evorag_cache_edges", "Edges.", func() float64 { return 42 })

	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/evorag/metrics", nil))
	body := w.Body.String()
	for _, line := range []string{
		`dgraph_evorag_requests_total{code="200",front="http",route="/query"} 1`,
		`dgraph_evorag_request_seconds_count{front="http",route="/query"} 1`,
		`dgraph_evorag_query_stage_seconds_count{stage="plan"} 1`,
		`dgraph_evorag_query_partial_total 1`,
		`dgraph_evorag_query_engine_round_trips_sum 2`,
		`dgraph_evorag_query_cache_total{mode="resident"} 1`,
		`dgraph_evorag_cache_edges 42`,
		`dgraph_evorag_llm_calls_total{outcome="ok",purpose="judge"} 1`,
		`dgraph_evorag_llm_seconds_count{purpose="judge"} 1`,
		`dgraph_evorag_llm_tokens_total{kind="prompt",purpose="judge"} 70`,
		`dgraph_evorag_llm_cost_total{purpose="judge"} 0.25`,
		`dgraph_evorag_transaction_aborts_total 1`,
		`dgraph_evorag_edge_scores_bucket{le="101"} 3`,
		`dgraph_evorag_edge_scores_sum 420`,
		`dgraph_evorag_edge_scores_count 4`,
		`dgraph_evorag_build_info{version="v1.2.3"} 1`,
		`go_goroutines`,
	} {
		require.Contains(t, body, line)
	}
}

func TestTheLogKeepsToItsLevelAndForm(t *testing.T) {
	for name, c := range map[string]struct{ level, format, want, err string }{
		"text lines from warn on":         {"warn", "text", "level=WARN msg=loud", ""},
		"JSON lines":                      {"info", "json", `"msg":"loud"`, ""},
		"an unknown level is named":       {"noisy", "text", "", `log.level "noisy" is unknown; write debug, info, warn or error`},
		"an unknown form is named":        {"info", "xml", "", `log.format "xml" is unknown; write text or json`},
		"a level in capitals is accepted": {"WARN", "text", "msg=loud", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			log, err := telemetry.NewLogger(&b, c.level, c.format)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			log.Debug("quiet")
			log.Warn("loud")
			require.Contains(t, b.String(), c.want)
			require.NotContains(t, b.String(), "quiet")
		})
	}
}

func TestFeedbackIsCounted(t *testing.T) {
	m := telemetry.New("v1")
	m.Feedback("applied", 3)
	m.Retrievals("stored", 2)
	m.Backlog(7, 90*time.Second)
	m.Lag(3 * time.Second)
	m.Edges("void", 2)
	m.Batch(time.Millisecond)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/evorag/metrics", nil))
	for _, line := range []string{
		`dgraph_evorag_feedback_total{outcome="applied"} 3`,
		`dgraph_evorag_retrievals_total{outcome="stored"} 2`,
		`dgraph_evorag_feedback_backlog 7`,
		`dgraph_evorag_feedback_oldest_seconds 90`,
		`dgraph_evorag_feedback_lag_seconds_sum 3`,
		`dgraph_evorag_feedback_edges_total{outcome="void"} 2`,
		`dgraph_evorag_feedback_batch_seconds_count 1`,
	} {
		require.Contains(t, w.Body.String(), line)
	}
}
