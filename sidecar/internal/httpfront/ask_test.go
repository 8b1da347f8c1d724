package httpfront_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/answer"
	"github.com/evorag/dgraph-evorag/sidecar/internal/httpfront"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm/llmtest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

// films is a retriever of one path; it keeps what it was asked.
type films struct {
	asked []proxy.RetrieveRequest
	err   error
}

func (f *films) Retrieve(_ context.Context, r proxy.RetrieveRequest) (*graph.Retrieval, error) {
	f.asked = append(f.asked, r)
	if f.err != nil {
		return nil, f.err
	}
	alien, scott := graph.Node{UID: 1, Name: "Alien"}, graph.Node{UID: 2, Name: "Ridley Scott"}
	return &graph.Retrieval{ID: "r1", Question: r.Question, Results: []graph.Result{{N: 1, Start: alien, Total: 1, P: 1, Instances: []graph.Instance{{
		Nodes: []graph.Node{alien, scott}, Triplets: []graph.ScoredTriplet{{Triplet: graph.Triplet{Head: 1, Predicate: "directed_by", Object: 2}, Label: "directed by"}},
	}}}}}, nil
}

// answering is a front whose model plays the turns; without any it has no model.
func answering(t *testing.T, f *films, turns ...llmtest.Turn) string {
	t.Helper()
	u, err := url.Parse("http://127.0.0.1:1")
	require.NoError(t, err)
	o := httpfront.Options{Alpha: u, Ranker: &ranker{}, Metrics: telemetry.New("test"), QueryBytes: 4096, Status: report}
	if len(turns) > 0 {
		s := llmtest.New(t, turns...)
		model := llm.New(llm.Options{BaseURL: s.URL + "/v1", Model: "m", Timeout: 2 * time.Second})
		o.Asker = answer.New(answer.Options{Retriever: f, Writer: model, Log: slog.New(slog.DiscardHandler)})
	}
	front := httptest.NewServer(httpfront.New(o))
	t.Cleanup(front.Close)
	return front.URL
}

func TestAskAnswersWithCitationsAndTheRetrievalsID(t *testing.T) {
	f := &films{}
	resp, body := send(t, "POST", answering(t, f, llmtest.Says("Ridley Scott [1]."))+"/evorag/v1/ask", asJSON,
		`{"question":"Who directed Alien?","hops":3}`, "X-Dgraph-AccessToken", "jwt")
	require.Equal(t, 200, resp.StatusCode, body)
	require.Equal(t, "r1", resp.Header.Get("X-Evorag-Retrieval"))
	require.JSONEq(t, `{"retrieval":"r1","question":"Who directed Alien?","answer":"Ridley Scott [1].","outcome":"answered",
		"citations":[{"n":1,"path":"Alien -[directed by]-> Ridley Scott","p":1}],"model":"served-model","usage":{"prompt_tokens":100,"completion_tokens":20}}`, body)
	require.Equal(t, []proxy.RetrieveRequest{{Question: "Who directed Alien?", Hops: 3, Credentials: graph.Credentials{"accessjwt": {"jwt"}}}}, f.asked)
}

func TestAskStreamsIfAsked(t *testing.T) {
	whole := []string{"Ridley", " Scott [1]", llmtest.Stops, llmtest.Usage, llmtest.Done}
	for _, c := range []struct {
		name, body, accept string
	}{
		{"in the body", `{"question":"q","stream":true}`, ""},
		{"by header", `{"question":"q"}`, "text/event-stream"},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := send(t, "POST", answering(t, &films{}, llmtest.Streams(whole...))+"/evorag/v1/ask", asJSON, c.body, "Accept", c.accept)
			require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
			require.Equal(t, "r1", resp.Header.Get("X-Evorag-Retrieval"))
			require.Equal(t, `event: retrieval
data: {"partial":false,"results":1,"retrieval":"r1"}

event: delta
data: {"text":"Ridley"}

event: delta
data: {"text":" Scott [1]"}

event: done
data: {"retrieval":"r1","question":"q","answer":"Ridley Scott [1]","outcome":"answered","citations":[{"n":1,"path":"Alien -[directed by]-\u003e Ridley Scott","p":1}],"model":"served-model","usage":{"prompt_tokens":7,"completion_tokens":3}}

`, body)
		})
	}
}

func TestAStreamThatFailsEndsWithTheReason(t *testing.T) {
	for name, c := range map[string]struct {
		turn llmtest.Turn
		want string
	}{
		"cut in the middle":   {llmtest.Streams("Rid", "CUT"), "event: delta\ndata: {\"text\":\"Rid\"}\n\nevent: error\ndata: {\"code\":\"model_cut_off\",\"message\":\"the model server ended in the middle of its answer; wait and try again\"}\n\n"},
		"silent from a point": {llmtest.Streams("Rid", "HANG"), "event: error\ndata: {\"code\":\"model_timeout\""},
		"nobody there":        {llmtest.Fails(500, "secret details"), "event: error\ndata: {\"code\":\"model_unavailable\""},
	} {
		t.Run(name, func(t *testing.T) {
			_, body := send(t, "POST", answering(t, &films{}, c.turn)+"/evorag/v1/ask", asJSON, `{"question":"q","stream":true}`)
			require.Contains(t, body, c.want)
			require.NotContains(t, body, "event: done")
			require.NotContains(t, body, "secret")
		})
	}
}

func TestEveryFailureOfAnAnswerHasItsStatusInBothShapes(t *testing.T) {
	for _, c := range []struct {
		name  string
		films films
		turns []llmtest.Turn
		code  int
		word  string
		text  string
		after string
	}{
		{name: "no model", code: 501, word: "no_model", text: "set llm.base_url and llm.model"},
		{name: "a model that is silent", turns: []llmtest.Turn{llmtest.Hangs}, code: 504, word: "model_timeout", text: "the model server was silent for too long"},
		{name: "a model that is busy", turns: []llmtest.Turn{llmtest.Fails(429, "secret", "Retry-After", "7")}, code: 429, word: "model_busy", text: "too many calls", after: "7"},
		{name: "a model that fails", turns: []llmtest.Turn{llmtest.Fails(500, "secret")}, code: 502, word: "model_unavailable", text: "the model server doesn't answer"},
		{name: "a key that is wrong", turns: []llmtest.Turn{llmtest.Fails(401, "secret")}, code: 502, word: "model_setup", text: "look at llm.base_url, llm.model and the API key"},
		{name: "an answer without choices", turns: []llmtest.Turn{llmtest.AnswersJSON(200, map[string]any{"choices": []any{}})}, code: 502, word: "model_empty", text: "no answer at all"},
		{name: "a question that is refused", films: films{err: fmt.Errorf("%w: via holds x", proxy.ErrBadRequest)}, turns: []llmtest.Turn{nil}, code: 400, word: "invalid_request", text: "via holds x"},
		{name: "a caller who may not", films: films{err: status.Error(codes.PermissionDenied, "no")}, turns: []llmtest.Turn{nil}, code: 403, word: "permission_denied", text: "no"},
		{name: "an engine that is gone", films: films{err: status.Error(codes.Unavailable, "gone")}, turns: []llmtest.Turn{nil}, code: 502, word: "engine_unavailable", text: "gone"},
	} {
		for path, body := range map[string]string{
			"/evorag/v1/ask":              `{"question":"q"}`,
			"/evorag/v1/chat/completions": `{"messages":[{"role":"user","content":"q"}]}`,
		} {
			t.Run(c.name+path, func(t *testing.T) {
				f := c.films
				resp, got := send(t, "POST", answering(t, &f, c.turns...)+path, asJSON, body)
				require.Equal(t, c.code, resp.StatusCode, got)
				var e struct {
					Error struct{ Code, Message string }
				}
				require.NoError(t, json.Unmarshal([]byte(got), &e))
				require.Equal(t, c.word, e.Error.Code)
				require.Contains(t, e.Error.Message, c.text)
				require.NotContains(t, got, "secret")
				require.Equal(t, c.after, resp.Header.Get("Retry-After"))
				if len(c.turns) > 0 && f.err == nil {
					require.Equal(t, "r1", resp.Header.Get("X-Evorag-Retrieval"))
				}
			})
		}
	}
}

// chatClient is the real client, as any chat application would use it.
func chatClient(url, key string) *openai.Client {
	cfg := openai.DefaultConfig(key)
	cfg.BaseURL = url + "/evorag/v1"
	return openai.NewClientWithConfig(cfg)
}

func conversation(stream bool) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{Model: "evorag", Stream: stream, Temperature: 0.7, Messages: []openai.ChatCompletionMessage{
		{Role: "system", Content: "You are kind."}, {Role: "user", Content: "Hello"}, {Role: "assistant", Content: "Hi"}, {Role: "user", Content: " Who directed Alien? "},
	}}
}

func TestAChatClientUsesTheGraph(t *testing.T) {
	f := &films{}
	c := chatClient(answering(t, f, llmtest.Says("Ridley Scott [1].")), "head.claims.signature")
	models, err := c.ListModels(t.Context())
	require.NoError(t, err)
	require.Len(t, models.Models, 1)
	require.Equal(t, "evorag", models.Models[0].ID)

	got, err := c.CreateChatCompletion(t.Context(), conversation(false))
	require.NoError(t, err)
	require.Equal(t, "Ridley Scott [1].", got.Choices[0].Message.Content)
	require.Equal(t, openai.FinishReasonStop, got.Choices[0].FinishReason)
	require.Equal(t, "assistant", got.Choices[0].Message.Role)
	require.Equal(t, 120, got.Usage.TotalTokens)
	require.Equal(t, "r1", got.Header().Get("X-Evorag-Retrieval"))
	require.Equal(t, "Who directed Alien?", f.asked[0].Question, "the last thing that the user said")
	require.Equal(t, graph.Credentials{"accessjwt": {"head.claims.signature"}}, f.asked[0].Credentials)
}

func TestTheChatsBodyNamesTheRetrievalAndTheCitations(t *testing.T) {
	f := &films{}
	_, body := send(t, "POST", answering(t, f, llmtest.Says("Ridley Scott [1]."))+"/evorag/v1/chat/completions", asJSON,
		`{"model":"x","tools":[],"evorag":{"hops":3},"messages":[{"role":"user","content":[{"type":"text","text":"Who?"},{"type":"image_url","image_url":{"url":"x"}}]}]}`)
	var got struct {
		Metadata struct {
			Retrieval, Outcome string
			Citations          []answer.Citation
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.Equal(t, "r1", got.Metadata.Retrieval)
	require.Equal(t, "answered", got.Metadata.Outcome)
	require.Equal(t, []answer.Citation{{N: 1, Path: "Alien -[directed by]-> Ridley Scott", P: 1}}, got.Metadata.Citations)
	require.Equal(t, 3, f.asked[0].Hops)
	require.Equal(t, "Who?", f.asked[0].Question)
}

func TestAChatClientReadsTheStream(t *testing.T) {
	c := chatClient(answering(t, &films{}, llmtest.Streams("Ridley", " Scott", llmtest.Stops, llmtest.Usage, llmtest.Done)), "a key that is no token")
	req := conversation(true)
	req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	s, err := c.CreateChatCompletionStream(t.Context(), req)
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, "r1", s.Header().Get("X-Evorag-Retrieval"))
	var text, finish string
	var usage *openai.Usage
	for {
		chunk, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.Equal(t, "chatcmpl-r1", chunk.ID)
		if chunk.Usage != nil {
			usage = chunk.Usage
		}
		for _, ch := range chunk.Choices {
			text += ch.Delta.Content
			finish += string(ch.FinishReason)
		}
	}
	require.Equal(t, "Ridley Scott", text)
	require.Equal(t, "stop", finish)
	require.Equal(t, 10, usage.TotalTokens)
}

func TestAChatClientHearsOfAStreamThatBreaks(t *testing.T) {
	c := chatClient(answering(t, &films{}, llmtest.Streams("Rid", "CUT")), "")
	s, err := c.CreateChatCompletionStream(t.Context(), conversation(true))
	require.NoError(t, err)
	defer s.Close()
	chunk, err := s.Recv()
	require.NoError(t, err)
	require.Equal(t, "Rid", chunk.Choices[0].Delta.Content)
	_, err = s.Recv()
	require.ErrorContains(t, err, "the model server ended in the middle of its answer")
}

func TestAQuestionThatLinksToNothingIsAnsweredInTheChatToo(t *testing.T) {
	for _, stream := range []bool{false, true} {
		f := &films{err: proxy.ErrNothingLinked}
		body := fmt.Sprintf(`{"stream":%t,"messages":[{"role":"user","content":"q"}]}`, stream)
		resp, got := send(t, "POST", answering(t, f, nil)+"/evorag/v1/chat/completions", asJSON, body)
		require.Equal(t, 200, resp.StatusCode)
		require.Contains(t, got, "The graph can't tell: the question names nothing that is in it.")
		require.Contains(t, got, `"outcome":"nothing_found"`)
	}
}

func TestChatsThatCannotBeRead(t *testing.T) {
	u := answering(t, &films{}, llmtest.Says("x")) + "/evorag/v1/chat/completions"
	for _, c := range []struct {
		name, body, want string
		code             int
	}{
		{"no JSON", `hello`, "the body can't be read", 400},
		{"no messages", `{}`, "messages holds no text of role user", 400},
		{"nobody asks", `{"messages":[{"role":"assistant","content":"x"}]}`, "messages holds no text of role user", 400},
		{"nothing is asked", `{"messages":[{"role":"user","content":null}]}`, "messages holds no text of role user", 400},
		{"content of another kind", `{"messages":[{"role":"user","content":7}]}`, "messages[].content is neither a text nor a list of parts", 400},
		{"a body that is too large", `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 1<<20) + `"}]}`, "too large", 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, got := send(t, "POST", u, asJSON, c.body)
			require.Equal(t, c.code, resp.StatusCode)
			require.Contains(t, got, c.want)
			require.Contains(t, got, `"type":"invalid_request_error"`)
		})
	}
}

func TestABrowsersChatMaySendItsKey(t *testing.T) {
	u := answering(t, &films{}, llmtest.Says("x"))
	for _, path := range []string{"/evorag/v1/chat/completions", "/evorag/v1/models"} {
		resp, _ := send(t, http.MethodOptions, u+path, "", "", "Origin", "http://chat", "Access-Control-Request-Headers", "authorization")
		require.Equal(t, 200, resp.StatusCode)
		require.Contains(t, resp.Header.Get("Access-Control-Allow-Headers"), "Authorization")
		require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"))
	}
}
