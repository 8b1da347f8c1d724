package feedback

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traceparent names ctx's span to whoever applies the rating; empty where nothing is traced.
func traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// traceBatch opens the span of a stage of a batch, linked to the deliveries that it is about; end
// closes it. Stages stand alone: a batch is evaluated while the one before it is applied.
func (s *Service) traceBatch(ctx context.Context, stage string, batch []stored) (context.Context, func(error)) {
	var links []trace.Link
	for _, e := range batch {
		if e.Trace == "" {
			continue
		}
		delivery := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": e.Trace})
		links = append(links, trace.LinkFromContext(delivery))
	}
	return s.traceStage(ctx, stage, trace.WithLinks(links...), trace.WithAttributes(attribute.Int("evorag.ratings", len(batch))))
}

// traceStage opens the span of a stage of feedback: store, evaluate, apply.
func (s *Service) traceStage(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, func(error)) {
	ctx, span := s.Tracer.Start(ctx, "evorag.feedback."+name, options...)
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "it is tried again") // the words may hold somebody's question
		}
		span.End()
	}
}
