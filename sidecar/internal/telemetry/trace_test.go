package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

func TestTracesAreOffUnlessTheStandardVariablesAskForThem(t *testing.T) {
	for name, c := range map[string]struct {
		env map[string]string
		on  bool
		err string
	}{
		"nothing is set":                {nil, false, ""},
		"an endpoint":                   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, true, ""},
		"an endpoint for traces":        {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/v1/traces"}, true, ""},
		"the exporter by name":          {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		"over gRPC":                     {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, true, ""},
		"none beats an endpoint":        {map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, false, ""},
		"the SDK is disabled":           {map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"}, false, ""},
		"another exporter is named":     {map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, `OTEL_TRACES_EXPORTER is "zipkin"; write otlp or none`},
		"an unknown protocol is named":  {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "smoke"}, false, `OTEL_EXPORTER_OTLP_PROTOCOL is "smoke"; write http/protobuf or grpc`},
		"metrics' endpoint isn't ours":  {map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:1"}, false, ""},
		"the protocol alone is nothing": {map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			provider, stop, err := telemetry.Traces(t.Context(), func(k string) string { return c.env[k] }, "v1")
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.on, provider != nil)
			require.NoError(t, stop(t.Context())) // there is nothing to be sent
		})
	}
}

func TestSpansReachTheCollectorThatTheEnvironmentNames(t *testing.T) {
	var got atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/traces" {
			got.Add(r.ContentLength)
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	provider, stop, err := telemetry.Traces(t.Context(), func(k string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}[k]
	}, "v1")
	require.NoError(t, err)
	_, span := provider.Tracer("test").Start(t.Context(), "something")
	span.End()
	require.NoError(t, stop(t.Context()))
	require.Positive(t, got.Load())
}
