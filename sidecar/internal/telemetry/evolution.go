package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// evolutionMetrics tell what runs of evolution do.
type evolutionMetrics struct {
	runs    *prometheus.CounterVec
	changes *prometheus.CounterVec
	seconds prometheus.Histogram
	last    prometheus.Gauge
}

func newEvolutionMetrics(r *prometheus.Registry) evolutionMetrics {
	m := evolutionMetrics{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dgraph_evorag_evolution_runs_total",
			Help: "Runs of evolution and their undoing by how they ended: done, undone, failed.",
		}, []string{"outcome"}),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dgraph_evorag_evolution_changes_total",
			Help: "What runs have done: shortcuts (made), removed (shortcuts), hidden, shown, counted (edges), dropped.",
		}, []string{"kind"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "dgraph_evorag_evolution_run_seconds",
			Help: "Time of a whole run or undoing.", Buckets: []float64{.1, .5, 1, 5, 10, 30, 60, 300, 1800},
		}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "dgraph_evorag_evolution_last_done_timestamp_seconds",
			Help: "When this process last finished a run; 0: never.",
		}),
	}
	r.MustRegister(m.runs, m.changes, m.seconds, m.last)
	return m
}

// Evolution counts one run or undoing: how it ended, and its changes by kind.
func (m *Metrics) Evolution(outcome string, changes map[string]int, took time.Duration) {
	m.evolution.runs.WithLabelValues(outcome).Inc()
	m.evolution.seconds.Observe(took.Seconds())
	for kind, n := range changes {
		m.evolution.changes.WithLabelValues(kind).Add(float64(n))
	}
	if outcome == "done" {
		m.evolution.last.SetToCurrentTime()
	}
}
