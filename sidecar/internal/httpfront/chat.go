package httpfront

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/answer"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// chatModel is the name under which the graph answers in OpenAI's shape.
const chatModel = "evorag"

// chatRequest is what we take from OpenAI's request; everything else in it (temperature,
// tools...) is the concern of the model behind us and passed over.
type chatRequest struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
	Stream   bool          `json:"stream"`
	Options  struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Retrieve proxy.RetrieveRequest `json:"evorag"` // ours: hops, paths, entities...
}

type chatMessage struct {
	Role    string      `json:"role"`
	Content chatContent `json:"content"`
}

// chatContent is a text, or a list of parts of which the texts count.
type chatContent string

// UnmarshalJSON reads both forms, and null.
func (c *chatContent) UnmarshalJSON(b []byte) error {
	var text *string
	if json.Unmarshal(b, &text) == nil {
		if text != nil {
			*c = chatContent(*text)
		}
		return nil
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(b, &parts); err != nil {
		return errors.New("messages[].content is neither a text nor a list of parts")
	}
	var texts []string
	for _, p := range parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	*c = chatContent(strings.Join(texts, "\n"))
	return nil
}

// question is the last thing that the user said.
func (r chatRequest) question() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return strings.TrimSpace(string(r.Messages[i].Content))
		}
	}
	return ""
}

// Shapes of OpenAI's answers. Metadata is ours: the retrieval id and the citations.
type (
	chatAnswer struct {
		ID       string        `json:"id"`
		Object   string        `json:"object"`
		Created  int64         `json:"created"`
		Model    string        `json:"model"`
		Choices  []chatChoice  `json:"choices"`
		Usage    *chatUsage    `json:"usage,omitempty"`
		Metadata *chatMetadata `json:"metadata,omitempty"`
	}
	chatChoice struct {
		Index   int        `json:"index"`
		Message *chatSaid  `json:"message,omitempty"`
		Delta   *chatDelta `json:"delta,omitempty"`
		Finish  *string    `json:"finish_reason"`
	}
	chatSaid struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	chatDelta struct {
		Role    string `json:"role,omitempty"`
		Content string `json:"content,omitempty"`
	}
	chatUsage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	}
	chatMetadata struct {
		Retrieval string            `json:"retrieval"`
		Outcome   answer.Outcome    `json:"outcome,omitempty"`
		Citations []answer.Citation `json:"citations,omitempty"`
	}
)

// chat is POST /evorag/v1/chat/completions in OpenAI's shape: the last message of the user is
// the question. Earlier ones are not looked at.
func (f *Front) chat(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		allowChatClients(w.Header())
		return
	}
	exposeRetrieval(w.Header())
	var req chatRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, apiBytes)).Decode(&req); err != nil {
		code := http.StatusBadRequest
		if tooBig := new(http.MaxBytesError); errors.As(err, &tooBig) {
			code = http.StatusRequestEntityTooLarge
		}
		writeChatError(w, code, "invalid_request_error", "the body can't be read: "+strings.TrimPrefix(err.Error(), "json: "))
		return
	}
	req.Retrieve.Question = req.question()
	req.Retrieve.Credentials = credentials(r.Header)
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && req.Retrieve.Credentials["accessjwt"] == nil && strings.Count(key, ".") == 2 {
		req.Retrieve.Credentials["accessjwt"] = []string{key} // chat clients have no other place for it
	}
	switch {
	case f.Asker == nil:
		writeChatError(w, http.StatusNotImplemented, "no_model", errNoModel.Error())
	case req.Retrieve.Question == "":
		writeChatError(w, http.StatusBadRequest, "invalid_request_error", "messages holds no text of role user; send the question there")
	case req.Stream:
		f.chatStreamed(w, r, req)
	default:
		a, err := f.Asker.Ask(r.Context(), req.Retrieve, answer.Progress{Retrieved: nameRetrieval(w)})
		if err != nil {
			f.chatFailed(w, r, err)
			return
		}
		writeJSON(w, http.StatusOK, f.chatAnswer("chat.completion", a.Retrieval, chatChoice{Message: &chatSaid{"assistant", a.Text}, Finish: finish(a)}).with(a, true))
	}
}

// chatStreamed sends chunks; the last one has the metadata.
func (f *Front) chatStreamed(w http.ResponseWriter, r *http.Request, req chatRequest) {
	s, id := &events{w: w}, ""
	chunk := func(c ...chatChoice) *chatAnswer { return f.chatAnswer("chat.completion.chunk", id, c...) }
	opened := false
	a, err := f.Asker.Ask(r.Context(), req.Retrieve, answer.Progress{
		Retrieved: func(found *graph.Retrieval) error {
			id = found.ID
			return nameRetrieval(w)(found)
		},
		Piece: func(text string) error {
			delta := &chatDelta{Content: text}
			if !opened {
				opened, delta.Role = true, "assistant"
			}
			return s.send("", chunk(chatChoice{Delta: delta}))
		},
	})
	if err != nil {
		if !s.begun {
			f.chatFailed(w, r, err)
			return
		}
		fault := f.askFault(r.Context(), err)
		_ = s.send("", chatError(fault.name, fault.message)) // as OpenAI's own do; no [DONE] follows
		return
	}
	_ = s.send("", chunk(chatChoice{Delta: &chatDelta{}, Finish: finish(a)}).with(a, false))
	if req.Options.IncludeUsage {
		_ = s.send("", chunk().with(a, true))
	}
	_ = s.raw("data: [DONE]\n\n")
}

// models is GET /evorag/v1/models: the one name under which the graph answers.
func (f *Front) models(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		allowChatClients(w.Header())
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{
		"id": chatModel, "object": "model", "created": f.started.Unix(), "owned_by": "dgraph-evorag",
	}}})
}

// chatAnswer is the frame of a completion or chunk.
func (f *Front) chatAnswer(object, retrieval string, choices ...chatChoice) *chatAnswer {
	if choices == nil {
		choices = []chatChoice{}
	}
	return &chatAnswer{ID: "chatcmpl-" + retrieval, Object: object, Created: time.Now().Unix(), Model: chatModel, Choices: choices}
}

// with adds what is known at the end.
func (c *chatAnswer) with(a *answer.Answer, usage bool) *chatAnswer {
	c.Metadata = &chatMetadata{a.Retrieval, a.Outcome, a.Citations}
	if usage {
		c.Usage = &chatUsage{a.Usage.PromptTokens, a.Usage.CompletionTokens, a.Usage.PromptTokens + a.Usage.CompletionTokens}
	}
	return c
}

func finish(a *answer.Answer) *string {
	word := "stop"
	if a.CutOff {
		word = "length"
	}
	return &word
}

func (f *Front) chatFailed(w http.ResponseWriter, r *http.Request, err error) {
	fault := f.askFault(r.Context(), err)
	fault.retryAfter(w.Header())
	writeChatError(w, fault.code, fault.name, fault.message)
}

// writeChatError answers in OpenAI's shape for errors.
func writeChatError(w http.ResponseWriter, code int, name, message string) {
	writeJSON(w, code, chatError(name, message))
}

func chatError(name, message string) any {
	kind := "server_error"
	if name == "invalid_request_error" || name == "invalid_request" {
		kind = "invalid_request_error"
	}
	return map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": name}}
}

// allowChatClients answers a browser's preflight: chat clients send an API key.
func allowChatClients(h http.Header) {
	h.Set("Access-Control-Allow-Headers", cors["Access-Control-Allow-Headers"]+", Authorization")
	addCORS(h)
}
