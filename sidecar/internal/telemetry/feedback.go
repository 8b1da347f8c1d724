package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// feedbackMetrics are what became of retrievals and ratings.
type feedbackMetrics struct {
	events     *prometheus.CounterVec
	retrievals *prometheus.CounterVec
	edges      *prometheus.CounterVec
	backlog    prometheus.Gauge
	oldest     prometheus.Gauge
	lag        prometheus.Histogram
	batch      prometheus.Histogram
}

func newFeedbackMetrics(r prometheus.Registerer) feedbackMetrics {
	m := feedbackMetrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dgraph_evorag_feedback_total",
			Help: "Ratings by outcome: received, duplicate, refused, expired; applied, reversed, superseded, held, void, waiting.",
		}, []string{"outcome"}),
		retrievals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dgraph_evorag_retrievals_total",
			Help: "Retrievals by outcome: stored, dropped (more than the queue holds), pruned.",
		}, []string{"outcome"}),
		edges: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dgraph_evorag_feedback_edges_total",
			Help: "Edges by outcome: moved and void (missing, and not set again) in applied batches; repaired (given back a score that was lost).",
		}, []string{"outcome"}),
		backlog: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "dgraph_evorag_feedback_backlog",
			Help: "Ratings that are stored and still to be applied, by all replicas together.",
		}),
		oldest: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "dgraph_evorag_feedback_oldest_seconds",
			Help: "Age of the oldest rating that is still to be applied; 0 where there is none.",
		}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "dgraph_evorag_feedback_lag_seconds",
			Help: "Time from a rating's arrival until its effect was in the scores.", Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200},
		}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "dgraph_evorag_feedback_batch_seconds",
			Help: "Time to evaluate and apply one batch of ratings.", Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
	}
	r.MustRegister(m.events, m.retrievals, m.edges, m.backlog, m.oldest, m.lag, m.batch)
	return m
}

// Feedback counts ratings by what became of them.
func (m *Metrics) Feedback(outcome string, n int) {
	m.feedback.events.WithLabelValues(outcome).Add(float64(n))
}

// Retrievals counts retrievals by what became of them.
func (m *Metrics) Retrievals(outcome string, n int) {
	m.feedback.retrievals.WithLabelValues(outcome).Add(float64(n))
}

// Edges counts edges of applied batches by what became of them.
func (m *Metrics) Edges(outcome string, n int) {
	m.feedback.edges.WithLabelValues(outcome).Add(float64(n))
}

// Backlog sets how many ratings are still to be applied, and the age of the oldest.
func (m *Metrics) Backlog(n int, oldest time.Duration) {
	m.feedback.backlog.Set(float64(n))
	m.feedback.oldest.Set(oldest.Seconds())
}

// Lag records how long one rating took to have its effect.
func (m *Metrics) Lag(took time.Duration) { m.feedback.lag.Observe(took.Seconds()) }

// Batch records the time of one applied batch.
func (m *Metrics) Batch(took time.Duration) { m.feedback.batch.Observe(took.Seconds()) }
