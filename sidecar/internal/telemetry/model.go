package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// modelMetrics are what calls of the chat model took and cost.
type modelMetrics struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	tokens  *prometheus.CounterVec
	cost    *prometheus.CounterVec
}

func newModelMetrics(r prometheus.Registerer) modelMetrics {
	m := modelMetrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dgraph_evorag_llm_calls_total",
			Help: "Calls of the chat model, by purpose (answer, evaluate, judge, label) and outcome; calls of the embeddings model have the purpose embed.",
		}, []string{"purpose", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "dgraph_evorag_llm_seconds",
			Help: "Time of a call of the chat model with its retries, by purpose.", Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 180},
		}, []string{"purpose"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dgraph_evorag_llm_tokens_total",
			Help: "Tokens of the chat model, by purpose and kind (prompt, completion).",
		}, []string{"purpose", "kind"}),
		cost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dgraph_evorag_llm_cost_total",
			Help: "What calls of the chat model cost, by purpose, in the currency of llm.prompt_price, llm.completion_price and embedding.price.",
		}, []string{"purpose"}),
	}
	r.MustRegister(m.calls, m.seconds, m.tokens, m.cost)
	return m
}

// Model counts one call of the chat model; cost is in the currency of the configured prices.
func (m *Metrics) Model(purpose, outcome string, took time.Duration, prompt, completion int, cost float64) {
	m.model.calls.WithLabelValues(purpose, outcome).Inc()
	m.model.seconds.WithLabelValues(purpose).Observe(took.Seconds())
	m.model.tokens.WithLabelValues(purpose, "prompt").Add(float64(prompt))
	m.model.tokens.WithLabelValues(purpose, "completion").Add(float64(completion))
	m.model.cost.WithLabelValues(purpose).Add(cost)
}
