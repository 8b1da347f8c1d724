package integration_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

// of finds the spans of one name in one trace; "" is any trace.
func of(spans tracetest.SpanStubs, traceID, name string) (out tracetest.SpanStubs) {
	for _, s := range spans {
		if s.Name == name && (traceID == "" || s.SpanContext.TraceID().String() == traceID) {
			out = append(out, s)
		}
	}
	return out
}

func TestAQuestionAndItsRatingAreTracedStageByStage(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	eng.Alter(t, "name: string @index(exact, term) .\nproduced_by: [uid] .\nfounded_by: [uid] .\nborn_in: [uid] .\nowned_by: [uid] .")
	eng.Mutate(t, rated)
	kept := tracetest.NewInMemoryExporter()
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
	c := settings(eng.GRPCAddr())
	c.Evolution.Schedule = "off"
	at := serveWith(t, func(ctx context.Context, ready func(app.Addresses)) error {
		return app.Serve(ctx, c, app.Options{Version: "test", Log: slog.New(slog.DiscardHandler), Traces: traces, Ready: ready})
	})

	const question, rating = "0af7651916cd43dd8448eb211c80319c", "1af7651916cd43dd8448eb211c80319c"
	send := func(traceID, path, body string) string {
		r, err := http.NewRequest(http.MethodPost, "http://"+at.HTTP+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("traceparent", "00-"+traceID+"-b7ad6b7169203331-01")
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Less(t, resp.StatusCode, 300, string(b))
		return string(b)
	}
	var retrieval struct{ Retrieval string }
	require.NoError(t, json.Unmarshal([]byte(send(question, "/evorag/v1/retrieve", `{"question": "Who founded the studio that produced Alien?"}`)), &retrieval))

	require.Eventually(t, func() bool { return len(of(kept.GetSpans(), question, "POST /evorag/v1/retrieve")) == 1 }, 10*time.Second, 10*time.Millisecond)
	spans := kept.GetSpans()
	request := of(spans, question, "POST /evorag/v1/retrieve")[0]
	require.Equal(t, "b7ad6b7169203331", request.Parent.SpanID().String(), "the caller's span is the parent")
	query := of(spans, question, "evorag.query")
	require.Len(t, query, 1)
	require.Equal(t, request.SpanContext.SpanID(), query[0].Parent.SpanID())
	for _, stage := range []string{"plan", "link", "engine", "search", "render"} {
		found := of(spans, question, "evorag.query."+stage)
		require.NotEmpty(t, found, stage)
		require.Equal(t, query[0].SpanContext.SpanID(), found[0].Parent.SpanID(), stage)
		require.False(t, found[0].StartTime.Before(query[0].StartTime.Add(-time.Millisecond)), stage)
		require.False(t, found[0].EndTime.Before(found[0].StartTime), stage)
	}
	require.NotEmpty(t, of(spans, question, "api.Dgraph/Query"), "calls of the engine are part of it")
	for _, s := range spans {
		for _, a := range s.Attributes {
			require.NotContains(t, a.Value.String(), "Who founded", "what was asked stays out of traces")
		}
	}

	send(rating, "/evorag/v1/feedback", `{"retrieval": "`+retrieval.Retrieval+`", "score": 5, "response": "Walter Hill"}`)
	linked := func(s tracetest.SpanStub) bool {
		return slices.ContainsFunc(s.Links, func(l sdktrace.Link) bool { return l.SpanContext.TraceID().String() == rating })
	}
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(of(kept.GetSpans(), "", "evorag.feedback.apply"), linked)
	}, 30*time.Second, 50*time.Millisecond, "the batch that applies a rating is linked to its delivery")
	spans = kept.GetSpans()
	require.Len(t, of(spans, rating, "POST /evorag/v1/feedback"), 1)
	for _, stage := range []string{"store", "evaluate", "apply"} {
		all := of(spans, "", "evorag.feedback."+stage)
		i := slices.IndexFunc(all, linked)
		require.GreaterOrEqual(t, i, 0, stage)
		calls := of(spans, all[i].SpanContext.TraceID().String(), "api.Dgraph/Query")
		require.True(t, stage == "evaluate" || len(calls) > 0, "calls of the engine are part of it: %s", stage)
	}
}
