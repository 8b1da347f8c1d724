package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"net/url"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/mcp"
)

// fake remembers what it is asked.
type fake struct {
	path string
	body string
	err  error
}

func (f *fake) Get(_ context.Context, path string, query url.Values) (json.RawMessage, error) {
	f.path = path + "?" + query.Encode()
	return json.RawMessage(`{"there": true}`), f.err
}

func (f *fake) Post(_ context.Context, path string, body any) (json.RawMessage, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	f.path, f.body = path, string(b)
	return json.RawMessage(`{"retrieval": "r1", "context": "[1] Alien -[directed_by]-> Ridley Scott"}`), f.err
}

func connect(t *testing.T, f *fake) *sdk.ClientSession {
	here, there := sdk.NewInMemoryTransports()
	server, err := mcp.NewServer(f, "v1").Connect(t.Context(), here, nil)
	require.NoError(t, err)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), there, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close(); _ = server.Wait() })
	return session
}

func TestToolsCallTheServicesThatTheyAreNamedAfter(t *testing.T) {
	for _, c := range []struct {
		tool       string
		arguments  map[string]any
		path, body string
		said       string
	}{
		{"retrieve", map[string]any{"question": "Who directed Alien?", "hops": 3}, "/evorag/v1/retrieve", `{"question":"Who directed Alien?","hops":3}`, "retrieval id: r1"},
		{"explain", map[string]any{"head": "Alien", "predicate": "directed_by", "object": "Ridley Scott"}, "/evorag/v1/edges/explain?head=Alien&object=Ridley+Scott&predicate=directed_by", "", `"there": true`},
		{"rate", map[string]any{"retrieval": "r1", "score": 5, "response": "Ridley Scott"}, "/evorag/v1/feedback", `{"retrieval":"r1","score":5,"response":"Ridley Scott"}`, "learns"},
		{"evolve_dry_run", map[string]any{}, "/evorag/v1/runs", `{"dry_run":true}`, "retrieval"},
	} {
		t.Run(c.tool, func(t *testing.T) {
			f := &fake{}
			got, err := connect(t, f).CallTool(t.Context(), &sdk.CallToolParams{Name: c.tool, Arguments: c.arguments})
			require.NoError(t, err)
			require.False(t, got.IsError)
			require.Equal(t, c.path, f.path)
			if c.body != "" {
				require.JSONEq(t, c.body, f.body)
			}
			require.Contains(t, got.Content[0].(*sdk.TextContent).Text, c.said)
			require.NotNil(t, got.StructuredContent)
		})
	}
}

func TestFaultsReachTheModelInWords(t *testing.T) {
	for name, c := range map[string]struct {
		tool      string
		arguments map[string]any
		err       error
		want      string
	}{
		"the sidecar's refusal":     {"retrieve", map[string]any{"question": "x"}, errors.New("no name in the question is the name of a node"), "no name in the question"},
		"an argument is missing":    {"retrieve", map[string]any{}, nil, "question"},
		"a rating out of range":     {"rate", map[string]any{"retrieval": "r", "score": 9, "response": "x"}, nil, "score is not from 1"},
		"an argument of no meaning": {"retrieve", map[string]any{"question": "x", "depth": 3}, nil, "depth"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := connect(t, &fake{err: c.err}).CallTool(t.Context(), &sdk.CallToolParams{Name: c.tool, Arguments: c.arguments})
			if err != nil { // what the schema forbids
				require.ErrorContains(t, err, c.want)
				return
			}
			require.True(t, got.IsError)
			require.Contains(t, got.Content[0].(*sdk.TextContent).Text, c.want)
		})
	}
}

func TestTheToolsThatReadSaySo(t *testing.T) {
	list, err := connect(t, &fake{}).ListTools(t.Context(), nil)
	require.NoError(t, err)
	reads := map[string]bool{}
	for _, tool := range list.Tools {
		require.NotEmpty(t, tool.Description)
		require.NotNil(t, tool.InputSchema)
		reads[tool.Name] = tool.Annotations.ReadOnlyHint
	}
	require.Equal(t, map[string]bool{"retrieve": true, "explain": true, "evolve_dry_run": true, "rate": false}, reads)
}

func TestStreamableHTTP(t *testing.T) {
	server := httptest.NewServer(mcp.Handler(mcp.NewServer(&fake{}, "v1")))
	defer server.Close()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL}, nil)
	require.NoError(t, err)
	defer session.Close()
	got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "retrieve", Arguments: map[string]any{"question": "x"}})
	require.NoError(t, err)
	require.False(t, got.IsError)
}
