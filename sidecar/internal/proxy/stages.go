package proxy

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// stages keeps how long each stage of a query took. A stage may be marked more than once.
type stages struct {
	names []string
	took  []time.Duration
	last  time.Time
}

// mark ends a stage: what has passed since the last mark belongs to it.
func (s *stages) mark(name string, now time.Time) {
	s.names = append(s.names, name)
	s.took = append(s.took, now.Sub(s.last))
	s.last = now
}

// trace makes a span of each stage, with the times that it had.
func (s *stages) trace(ctx context.Context, tracer trace.Tracer, began time.Time) {
	at := began
	for i, n := range s.names {
		_, span := tracer.Start(ctx, "evorag.query."+n, trace.WithTimestamp(at))
		at = at.Add(s.took[i])
		span.End(trace.WithTimestamp(at))
	}
}

func (s *stages) report(observe func(string, time.Duration)) {
	for i, n := range s.names {
		observe(n, s.took[i])
	}
}

func (s *stages) timings(began time.Time, trips int) graph.Timings {
	sum := map[string]time.Duration{}
	for i, n := range s.names {
		sum[n] += s.took[i]
	}
	return graph.Timings{
		Plan: ms(sum["plan"]), Link: ms(sum["link"]), Engine: ms(sum["engine"]),
		Search: ms(sum["search"]), Render: ms(sum["render"]),
		Total: ms(s.last.Sub(began)), RoundTrips: trips,
	}
}

func ms(d time.Duration) graph.Float { return graph.Float(float64(d.Microseconds()) / 1000) }
