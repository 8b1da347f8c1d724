package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Scores is how the raw scores of a graph's edges are distributed: Below[i] edges have at most
// Bounds[i], Count edges there are. An edge that no rating has moved has 100.
type Scores struct {
	Bounds []float64
	Below  []uint64
	Count  uint64
	Sum    float64
}

// scoreCollector is a histogram of what is now, not of what has happened.
type scoreCollector struct {
	desc *prometheus.Desc
	read func() Scores
}

// WatchScores shows a distribution that is read when the metrics are; read must not block.
func (m *Metrics) WatchScores(read func() Scores) {
	m.registry.MustRegister(scoreCollector{prometheus.NewDesc("dgraph_evorag_edge_scores",
		"Raw scores, 0 to 200, of the edges in memory as they are now, the suppressed ones left out; untouched edges have 100.", nil, nil), read})
}

// Describe implements prometheus.Collector.
func (c scoreCollector) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect implements prometheus.Collector.
func (c scoreCollector) Collect(to chan<- prometheus.Metric) {
	s := c.read()
	buckets := make(map[float64]uint64, len(s.Bounds))
	for i, b := range s.Bounds {
		buckets[b] = s.Below[i]
	}
	to <- prometheus.MustNewConstHistogram(c.desc, s.Count, s.Sum, buckets)
}
