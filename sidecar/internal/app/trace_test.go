package app

import (
	"context"
	"net"
	"testing"

	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
)

// heard is an engine that remembers what calls carried.
type heard struct {
	api.UnimplementedDgraphServer
	seen []metadata.MD
}

func (h *heard) Query(ctx context.Context, _ *api.Request) (*api.Response, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	h.seen = append(h.seen, md)
	return &api.Response{Json: []byte(`{}`)}, nil
}

func TestCallsOfTheEngineCarryTheTraceAndTheCallersCredentials(t *testing.T) {
	engine, listener, server := &heard{}, bufconn.Listen(1<<16), grpc.NewServer()
	api.RegisterDgraphServer(server, engine)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	spans := tracetest.NewInMemoryExporter()
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	dialer := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) })

	for _, c := range []struct {
		name   string
		traced bool
	}{{"with traces", true}, {"without", false}} {
		t.Run(c.name, func(t *testing.T) {
			engine.seen = nil
			options := []grpc.DialOption{dialer}
			if c.traced {
				options = append(options, tracedCalls(traces)...)
			}
			client, err := dgraph.Dial(dgraph.Options{Target: dgraph.Target{Addr: "passthrough:///fake"}, Dial: options})
			require.NoError(t, err)
			defer client.Close()
			ctx, span := traces.Tracer("test").Start(t.Context(), "caller")
			_, err = client.Query(ctx, graph.Call{Query: "q", Credentials: graph.Credentials{"accessjwt": {"his"}}})
			require.NoError(t, err)
			_, err = client.OwnQuery(ctx, graph.Call{Query: "q"})
			require.NoError(t, err)
			span.End()
			require.Equal(t, []string{"his"}, engine.seen[0].Get("accessjwt"))
			for _, md := range engine.seen {
				if !c.traced {
					require.Empty(t, md.Get("traceparent"))
					continue
				}
				require.Len(t, md.Get("traceparent"), 1)
				require.Contains(t, md.Get("traceparent")[0], span.SpanContext().TraceID().String())
			}
		})
	}
	require.Contains(t, names(spans), "api.Dgraph/Query")
}

func names(e *tracetest.InMemoryExporter) (out []string) {
	for _, s := range e.GetSpans() {
		out = append(out, s.Name)
	}
	return out
}
