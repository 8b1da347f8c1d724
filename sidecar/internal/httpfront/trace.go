package httpfront

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// propagator reads and writes W3C's traceparent and tracestate.
var propagator = propagation.TraceContext{}

// traced opens a request's span, under the caller's own where he has one; end closes it.
// Without a Tracer the request stays as it is.
func (f *Front) traced(r *http.Request, route string, seen *recorder) (traced *http.Request, end func()) {
	if f.Tracer == nil {
		return r, func() {}
	}
	if _, known := f.routes[route]; !known {
		route = "other"
	}
	ctx := propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := f.Tracer.Start(ctx, r.Method+" "+route, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("http.route", route)))
	return r.WithContext(ctx), func() {
		span.SetAttributes(attribute.Int("http.response.status_code", seen.code))
		span.End()
	}
}

// traceOn makes the alpha's spans children of ours.
func (f *Front) traceOn(out *http.Request) {
	if f.Tracer != nil {
		propagator.Inject(out.Context(), propagation.HeaderCarrier(out.Header))
	}
}
