package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// feedbackMetrics are what became of retrievals and ratings.
type feedbackMetrics struct {
	events     *prometheus.CounterVec
	retrievals *prometheus.CounterVec
	backlog    prometheus.Gauge
	batch      prometheus.Histogram
}

func newFeedbackMetrics(r prometheus.Registerer) feedbackMetrics {
	m := feedbackMetrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dgraph_evorag_feedback_total",
			Help: "Ratings by outcome: received, duplicate, refused, expired; applied, reversed, superseded, void, waiting.",
		}, []string{"outcome"}),
		retrievals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dgraph_evorag_retrievals_total",
			Help: "Retrievals by outcome: stored, dropped (more than the queue holds), pruned.",
		}, []string{"outcome"}),
		backlog: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "dgraph_evorag_feedback_backlog",
			Help: "Ratings that are stored and still to be applied, by all replicas together.",
		}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "dgraph_evorag_feedback_batch_seconds",
			Help: "Time to evaluate and apply one batch of ratings.", Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
	}
	r.MustRegister(m.events, m.retrievals, m.backlog, m.batch)
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

// Backlog sets how many ratings are still to be applied.
func (m *Metrics) Backlog(n int) { m.feedback.backlog.Set(float64(n)) }

// Batch records the time of one applied batch.
func (m *Metrics) Batch(took time.Duration) { m.feedback.batch.Observe(took.Seconds()) }
