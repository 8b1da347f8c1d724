package app

import (
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
)

// tracer is nil where nothing is traced.
func tracer(traces trace.TracerProvider) trace.Tracer {
	if traces == nil {
		return nil
	}
	return traces.Tracer("github.com/evorag/dgraph-evorag")
}

// tracedCalls gives every call of the engine a span, and its metadata the trace's context, so
// that the alpha's own spans stand under ours.
func tracedCalls(traces trace.TracerProvider) []grpc.DialOption {
	if traces == nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithStatsHandler(otelgrpc.NewClientHandler(grpcTraces(traces)...))}
}

// tracedServer gives every call of the gRPC front a span, under the caller's where he has one.
func tracedServer(traces trace.TracerProvider) []grpc.ServerOption {
	if traces == nil {
		return nil
	}
	return []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(grpcTraces(traces)...))}
}

func grpcTraces(traces trace.TracerProvider) []otelgrpc.Option {
	return []otelgrpc.Option{
		otelgrpc.WithTracerProvider(traces), otelgrpc.WithPropagators(propagation.TraceContext{}), otelgrpc.WithMeterProvider(metricnoop.NewMeterProvider()),
	}
}
