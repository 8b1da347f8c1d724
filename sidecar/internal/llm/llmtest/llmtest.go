// Package llmtest is a scripted OpenAI-compatible server for tests: it answers as it is told, and
// misbehaves as it is told.
package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Turn is what the scripted server does with one call.
type Turn func(http.ResponseWriter, *http.Request)

// Server is an OpenAI-compatible server that plays its turns; the last one is repeated.
// Bodies and Auth hold what was sent to it, one a call; read them when no call is under way.
type Server struct {
	*httptest.Server
	mu     sync.Mutex
	turns  []Turn
	Bodies [][]byte
	Auth   []string
}

// New starts a server, stopped at the test's end. Its API is under URL + "/v1".
func New(t testing.TB, turns ...Turn) *Server {
	t.Helper()
	s := &Server{turns: turns}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.Bodies = append(s.Bodies, body)
		s.Auth = append(s.Auth, r.Header.Get("Authorization"))
		do := s.turns[min(len(s.Bodies), len(s.turns))-1]
		s.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		do(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// Calls tells how many calls came.
func (s *Server) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.Bodies)
}

// Says answers with the text.
func Says(text string) Turn { return Chooses(map[string]any{"content": text}, "stop") }

// Chooses answers with one choice of this message and finish reason.
func Chooses(message map[string]any, finish string) Turn {
	message["role"] = "assistant"
	return AnswersJSON(200, map[string]any{
		"id": "c1", "object": "chat.completion", "model": "served-model",
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage":   map[string]int{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
	})
}

// AnswersJSON answers with status, value and pairs of headers.
func AnswersJSON(code int, v any, headers ...string) Turn {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(v)
	}
}

// Fails answers with an error in OpenAI's shape.
func Fails(code int, message string, headers ...string) Turn {
	return AnswersJSON(code, map[string]any{"error": map[string]any{"message": message, "type": "x"}}, headers...)
}

// AnswersText sends the bytes as they are.
func AnswersText(text string) Turn {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

// Hangs until the caller goes.
func Hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// Drops the connection in the middle of an answer.
func Drops(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"choices":[{"mess`)
	panic(http.ErrAbortHandler)
}

// Streams sends the pieces as server-sent events; "CUT" drops the connection, "HANG" is
// silent from there on, "!..." is sent as it is.
func Streams(pieces ...string) Turn {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w)
		for _, p := range pieces {
			switch {
			case p == "CUT":
				_ = flush.Flush()
				panic(http.ErrAbortHandler)
			case p == "HANG":
				_ = flush.Flush()
				<-r.Context().Done()
				return
			case strings.HasPrefix(p, "!"):
				_, _ = fmt.Fprintf(w, "data: %s\n\n", p[1:])
			default:
				b, _ := json.Marshal(map[string]any{"model": "served-model", "choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": p}}}})
				_, _ = fmt.Fprintf(w, "data: %s\n\n", b)
			}
			_ = flush.Flush()
		}
	}
}

// Pieces of Streams: the end of the choice, the count of tokens, the end of the stream.
const (
	Stops = `!{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	Usage = `!{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}`
	Done  = `![DONE]`
)

// Sent decodes the messages of a call.
func (s *Server) Sent(t testing.TB, call int) []struct{ Role, Content string } {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Greater(t, len(s.Bodies), call)
	var body struct {
		Messages []struct{ Role, Content string }
	}
	require.NoError(t, json.Unmarshal(s.Bodies[call], &body))
	return body.Messages
}
