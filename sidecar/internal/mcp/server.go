// Package mcp offers a running sidecar to language models, as tools of the Model Context
// Protocol: retrieve, explain, rate, and a dry run of evolution. It writes nothing but ratings.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Sidecar calls services of a running sidecar. Refusals are errors with its words.
type Sidecar interface {
	Get(ctx context.Context, path string, query url.Values) (json.RawMessage, error)
	Post(ctx context.Context, path string, body any) (json.RawMessage, error)
}

// instructions tell a model how the tools belong together.
const instructions = `This is a knowledge graph whose paths are ranked for a question and learn from feedback.
Call retrieve with the user's question; answer from its numbered paths and cite their numbers.
When the user says whether the answer was right, call rate with the retrieval id and what you answered.
explain tells why an edge has its score; evolve_dry_run tells what the graph would change about itself.`

// NewServer makes the server with its tools. version is the program's.
func NewServer(sidecar Sidecar, version string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "dgraph-evorag", Title: "Dgraph EvoRAG", Version: version},
		&mcp.ServerOptions{Instructions: instructions})
	t := tools{sidecar}
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: "retrieve", Annotations: readOnly,
		Description: "Find the graph's best paths for a question. Gives a numbered text to answer from, and a retrieval id for rate."}, t.retrieve)
	mcp.AddTool(s, &mcp.Tool{Name: "explain", Annotations: readOnly,
		Description: "Tell why an edge of the graph has its contribution score: the ratings, questions and answers that moved it."}, t.explain)
	mcp.AddTool(s, &mcp.Tool{Name: "rate", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool)},
		Description: "Rate the answer that was made from a retrieval. The graph learns from it; a newer rating of the same rater replaces the older."}, t.rate)
	mcp.AddTool(s, &mcp.Tool{Name: "evolve_dry_run", Annotations: readOnly,
		Description: "Tell what evolution would change now: shortcuts for good paths, suppression of edges that stay bad. Nothing is written."}, t.evolve)
	return s
}

// Handler serves the same over streamable HTTP.
func Handler(s *mcp.Server) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

type tools struct{ sidecar Sidecar }

// Question are the arguments of retrieve.
type Question struct {
	Question string   `json:"question" jsonschema:"the question, in full"`
	Entities []string `json:"entities,omitempty" jsonschema:"start nodes by name or uid; left out: those that the question names"`
	Hops     int      `json:"hops,omitempty" jsonschema:"longest path, 1 to 6; left out: 2"`
	Paths    int      `json:"paths,omitempty" jsonschema:"results per start node; left out: 10"`
}

func (t tools) retrieve(ctx context.Context, _ *mcp.CallToolRequest, q Question) (*mcp.CallToolResult, any, error) {
	raw, err := t.sidecar.Post(ctx, "/evorag/v1/retrieve", q)
	if err != nil {
		return nil, nil, err
	}
	var r struct {
		ID      string `json:"retrieval"`
		Context string `json:"context"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, nil, fmt.Errorf("the sidecar's answer is not a retrieval: %w", err)
	}
	return said(fmt.Sprintf("%s\nretrieval id: %s", r.Context, r.ID), raw), nil, nil
}

// Edge are the arguments of explain.
type Edge struct {
	Head      string `json:"head" jsonschema:"the node that the edge comes from, by name or uid"`
	Predicate string `json:"predicate" jsonschema:"the edge's predicate, like directed_by"`
	Object    string `json:"object" jsonschema:"the node that the edge goes to, by name or uid"`
}

func (t tools) explain(ctx context.Context, _ *mcp.CallToolRequest, e Edge) (*mcp.CallToolResult, any, error) {
	raw, err := t.sidecar.Get(ctx, "/evorag/v1/edges/explain", url.Values{"head": {e.Head}, "predicate": {e.Predicate}, "object": {e.Object}})
	if err != nil {
		return nil, nil, err
	}
	return said(string(raw), raw), nil, nil
}

// Rating are the arguments of rate.
type Rating struct {
	Retrieval string   `json:"retrieval" jsonschema:"the id that retrieve gave"`
	Score     float64  `json:"score" jsonschema:"1 (wrong) to 5 (right)"`
	Response  string   `json:"response" jsonschema:"the answer that is rated"`
	Answer    []string `json:"answer,omitempty" jsonschema:"the right answers, where they are known"`
	Rater     string   `json:"rater,omitempty" jsonschema:"who rates"`
	Comment   string   `json:"comment,omitempty"`
}

func (t tools) rate(ctx context.Context, _ *mcp.CallToolRequest, r Rating) (*mcp.CallToolResult, any, error) {
	if r.Score < 1 || r.Score > 5 {
		return nil, nil, errors.New("score is not from 1 (wrong) to 5 (right)")
	}
	raw, err := t.sidecar.Post(ctx, "/evorag/v1/feedback", r)
	if err != nil {
		return nil, nil, err
	}
	return said("Stored; the graph learns from it within seconds.", raw), nil, nil
}

// Nothing are the arguments of evolve_dry_run.
type Nothing struct{}

func (t tools) evolve(ctx context.Context, _ *mcp.CallToolRequest, _ Nothing) (*mcp.CallToolResult, any, error) {
	raw, err := t.sidecar.Post(ctx, "/evorag/v1/runs", map[string]bool{"dry_run": true})
	if err != nil {
		return nil, nil, err
	}
	return said(string(raw), raw), nil, nil
}

// said is a result with a text for the model and the whole answer for programs.
func said(text string, raw json.RawMessage) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: raw}
}
