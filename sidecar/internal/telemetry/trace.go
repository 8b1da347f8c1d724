package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Traces starts what the standard OTEL_* variables ask for: OTEL_TRACES_EXPORTER=otlp, or an
// OTEL_EXPORTER_OTLP_ENDPOINT, sends spans there over http/protobuf, or grpc where
// OTEL_EXPORTER_OTLP_PROTOCOL says so. Without them the provider is nil and nothing is traced.
// stop sends what is left.
func Traces(ctx context.Context, env func(string) string, version string) (provider trace.TracerProvider, stop func(context.Context) error, err error) {
	stop = func(context.Context) error { return nil }
	first := func(names ...string) string {
		for _, n := range names {
			if v := env(n); v != "" {
				return v
			}
		}
		return ""
	}
	switch kind := env("OTEL_TRACES_EXPORTER"); {
	case env("OTEL_SDK_DISABLED") == "true", kind == "none":
		return nil, stop, nil
	case kind == "" && first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") == "":
		return nil, stop, nil
	case kind != "" && kind != "otlp":
		return nil, stop, fmt.Errorf("OTEL_TRACES_EXPORTER is %q; write otlp or none", kind)
	}
	var client otlptrace.Client
	switch protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol {
	case "", "http/protobuf":
		client = otlptracehttp.NewClient()
	case "grpc":
		client = otlptracegrpc.NewClient()
	default:
		return nil, stop, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q; write http/protobuf or grpc", protocol)
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, stop, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "dgraph-evorag"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv()) // OTEL_SERVICE_NAME goes before ours
	if err != nil {
		return nil, stop, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return p, p.Shutdown, nil
}
