// Package telemetry holds what the sidecar tells about itself: Prometheus metrics whose
// names begin with dgraph_evorag_, and the structured log.
package telemetry

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the sidecar's counters and histograms. Every one of them is set by the code
// that is named in its help text. Make one with New; it is safe for concurrent use.
type Metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	latency   *prometheus.HistogramVec
	stages    *prometheus.HistogramVec
	partial   prometheus.Counter
	trips     prometheus.Histogram
	model     modelMetrics
	feedback  feedbackMetrics
	evolution evolutionMetrics
	cache     *prometheus.CounterVec
	aborts    prometheus.Counter
	fallback  prometheus.Counter
}

// New makes the metrics, registered in a registry of their own together with those of the
// Go runtime and the process.
func New(version string) *Metrics {
	fast := []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dgraph_evorag_requests_total",
			Help: "Requests answered, by front (http, grpc), route and status code.",
		}, []string{"front", "route", "code"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "dgraph_evorag_request_seconds",
			Help: "Time from a request's arrival to the end of its answer, by front and route.", Buckets: fast,
		}, []string{"front", "route"}),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "dgraph_evorag_query_stage_seconds",
			Help: "Time of each stage of a ranked query: plan, link, engine, search, render, total.", Buckets: fast,
		}, []string{"stage"}),
		partial: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dgraph_evorag_query_partial_total",
			Help: "Ranked queries whose search was cut by a budget.",
		}),
		trips: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "dgraph_evorag_query_engine_round_trips",
			Help: "Calls to the engine made for one ranked query.", Buckets: []float64{1, 2, 3, 4, 6, 8, 16},
		}),
	}
	m.cache = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "dgraph_evorag_query_cache_total",
		Help: "Ranked queries by where they were searched: resident, part, on demand, off.",
	}, []string{"mode"})
	m.aborts = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "dgraph_evorag_transaction_aborts_total",
		Help: "The sidecar's own transactions that met another's and were tried again.",
	})
	m.fallback = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "dgraph_evorag_embedding_fallback_total",
		Help: "Texts of ranked results that counted by their hashed words, since the embeddings model's vector is not there (yet).",
	})
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "dgraph_evorag_build_info",
		Help:        "Always 1; the label names the version.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.model = newModelMetrics(m.registry)
	m.feedback = newFeedbackMetrics(m.registry)
	m.evolution = newEvolutionMetrics(m.registry)
	m.registry.MustRegister(m.requests, m.latency, m.stages, m.partial, m.trips, m.cache, m.aborts, m.fallback, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Request counts one answered request.
func (m *Metrics) Request(front, route, code string, took time.Duration) {
	m.requests.WithLabelValues(front, route, code).Inc()
	m.latency.WithLabelValues(front, route).Observe(took.Seconds())
}

// Stage records the time of one stage of a ranked query.
func (m *Metrics) Stage(name string, took time.Duration) {
	m.stages.WithLabelValues(name).Observe(took.Seconds())
}

// Query counts one ranked query: its calls to the engine, whether a budget cut it, and where
// it was searched.
func (m *Metrics) Query(roundTrips int, partial bool, cache string) {
	m.cache.WithLabelValues(cache).Inc()
	m.trips.Observe(float64(roundTrips))
	if partial {
		m.partial.Inc()
	}
}

// Fallback counts texts that counted by their hashed words though a model is set.
func (m *Metrics) Fallback(texts int) { m.fallback.Add(float64(texts)) }

// Aborted counts one transaction of the sidecar's own that is tried again.
func (m *Metrics) Aborted() { m.aborts.Inc() }

// Watch adds a gauge that is read when the metrics are; value must not block.
func (m *Metrics) Watch(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// Count adds a number to the metrics that only grows, asked for whenever they are read.
func (m *Metrics) Count(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
}

// Handler serves the metrics in Prometheus' text form.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}
