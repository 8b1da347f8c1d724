// Package llm is the chat model's side: a client of any OpenAI-compatible server, the prompts,
// the answer to a question, the evaluation of paths, and the rating of a response. It is the
// only user of a chat API.
package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"golang.org/x/time/rate"
)

// How structured output is asked for (response_format). Whatever comes back is checked by us.
const (
	FormatSchema = "json_schema" // the server holds the model to the schema
	FormatObject = "json_object" // the server holds it to JSON
	FormatText   = "text"        // for servers that know neither
)

// Options configure a Client. BaseURL, Model and Timeout are needed.
type Options struct {
	BaseURL         string        // for instance http://127.0.0.1:11434/v1
	Model           string        // as the server names it
	APIKey          string        // empty: none is sent
	Timeout         time.Duration // longest silence of the server
	Retries         int           // after the first attempt, on 408, 429, 5xx and lost connections
	CallsPerMinute  int           // 0: no bound
	CallsPerHour    int           // 0: no bound
	TokensPerHour   int           // prompt and output together; 0: no bound
	MaxTokens       int           // of one answer; 0: the server's default
	ContextBytes    int           // longest text of paths in a prompt; 0: 24,000
	Format          string        // FormatSchema where empty
	Transport       http.RoundTripper
	Now             func() time.Time                           // nil: the clock
	Pause           func(context.Context, time.Duration) error // nil: a timer
	Jitter          func() float64                             // in [0,1); nil: random
	Section         string                                     // of the settings, for error texts; empty: llm
	Observe         func(Call)                                 // told of every call; nil: nobody
	BreakerFailures int                                        // in a row that open the circuit; 0: 5
	BreakerCooldown time.Duration                              // 0: 30 s
}

// Call is what one call of the model cost.
type Call struct {
	Purpose string // "answer", "evaluate", "judge"
	Err     error
	Took    time.Duration
	Usage   Usage
}

// Outcome is one word for the call's end, for a metric's label.
func (c Call) Outcome() string {
	var refusal *Refusal
	switch err := c.Err; {
	case err == nil:
		return "ok"
	case errors.As(err, &refusal):
		return "refused"
	case errors.Is(err, ErrTimeout):
		return "timeout"
	case errors.Is(err, ErrBusy):
		return "busy"
	case errors.Is(err, ErrBudget):
		return "budget"
	case errors.Is(err, ErrSetup):
		return "setup"
	case errors.Is(err, ErrCut), errors.Is(err, ErrEmpty):
		return "incomplete"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "gone"
	}
	return "unavailable"
}

// Usage counts tokens: as the server reports them, else one for four bytes of text.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
}

// Reply is what the model said.
type Reply struct {
	Text   string
	Model  string // as the server names it
	Finish string // "stop", "length"
	Usage  Usage
}

// Client calls one model. It is safe for concurrent use.
type Client struct {
	Options
	api    *openai.Client
	budget *budget
}

// New makes a Client. It opens no connection yet.
func New(o Options) *Client {
	o.ContextBytes = cmp.Or(o.ContextBytes, 24_000)
	o.Format = cmp.Or(o.Format, FormatSchema)
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Pause == nil {
		o.Pause = pause
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	if o.Observe == nil {
		o.Observe = func(Call) {}
	}
	limit := rate.Inf
	if o.CallsPerMinute > 0 {
		limit = rate.Limit(float64(o.CallsPerMinute) / 60)
	}
	b := &budget{calls: o.CallsPerHour, tokens: o.TokensPerHour}
	cfg := openai.DefaultConfig(o.APIKey)
	cfg.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	cfg.HTTPClient = &patient{
		next: o.Transport, timeout: o.Timeout, retries: o.Retries,
		rate: rate.NewLimiter(limit, max(1, o.CallsPerMinute/10)), budget: b,
		breaker: &breaker{failures: cmp.Or(o.BreakerFailures, 5), cooldown: cmp.Or(o.BreakerCooldown, 30*time.Second)},
		section: cmp.Or(o.Section, "llm"), now: o.Now, pause: o.Pause, jitter: o.Jitter,
	}
	return &Client{Options: o, api: openai.NewClientWithConfig(cfg), budget: b}
}

// roomToThink is what a reasoning model may spend before its first visible word, in tokens.
const roomToThink = 8192

// request is one call of the model.
type request struct {
	purpose   string
	messages  []openai.ChatCompletionMessage
	maxTokens int
	schema    *schema
}

// complete asks for a whole reply.
func (c *Client) complete(ctx context.Context, r request) (reply Reply, err error) {
	defer c.observe(r, &reply, &err, c.Now())
	resp, err := c.api.CreateChatCompletion(ctx, c.wire(r))
	if err != nil {
		return Reply{}, classify(err)
	}
	reply = Reply{Model: cmp.Or(resp.Model, c.Model), Usage: Usage{resp.Usage.PromptTokens, resp.Usage.CompletionTokens}}
	if len(resp.Choices) == 0 {
		return reply, ErrEmpty
	}
	first := resp.Choices[0]
	reply.Text, reply.Finish = first.Message.Content, string(first.FinishReason)
	return reply, refused(reply, first.Message.Refusal)
}

// stream hands each piece of the reply to on as it comes; an error of on ends it and comes
// back. The whole reply is returned as well.
func (c *Client) stream(ctx context.Context, r request, on func(piece string) error) (reply Reply, err error) {
	defer c.observe(r, &reply, &err, c.Now())
	wire := c.wire(r)
	wire.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	s, err := c.api.CreateChatCompletionStream(ctx, wire)
	if err != nil {
		return Reply{}, classify(err)
	}
	defer s.Close()
	reply.Model = c.Model
	var text, refusal strings.Builder
	defer func() { reply.Text = text.String() }()
	for {
		chunk, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return reply, midStream(ctx, err)
		}
		reply.Model = cmp.Or(chunk.Model, reply.Model)
		if chunk.Usage != nil {
			reply.Usage = Usage{chunk.Usage.PromptTokens, chunk.Usage.CompletionTokens}
		}
		if len(chunk.Choices) == 0 {
			continue
		}
		first := chunk.Choices[0]
		reply.Finish = cmp.Or(string(first.FinishReason), reply.Finish)
		refusal.WriteString(first.Delta.Refusal)
		if first.Delta.Content == "" {
			continue
		}
		text.WriteString(first.Delta.Content)
		if err := on(first.Delta.Content); err != nil {
			return reply, err
		}
	}
	if reply.Finish == "" { // an end that is none: the server has gone
		if text.Len() == 0 {
			return reply, ErrEmpty
		}
		return reply, ErrCut
	}
	reply.Text = text.String()
	return reply, refused(reply, refusal.String())
}

// observe counts what the call cost.
func (c *Client) observe(r request, reply *Reply, err *error, began time.Time) {
	if reply.Usage == (Usage{}) && (*err == nil || reply.Text != "") {
		for _, m := range r.messages {
			reply.Usage.PromptTokens += len(m.Content) / 4
		}
		reply.Usage.CompletionTokens = len(reply.Text) / 4
	}
	c.budget.spend(reply.Usage.PromptTokens + reply.Usage.CompletionTokens)
	c.Observe(Call{Purpose: r.purpose, Err: *err, Took: c.Now().Sub(began), Usage: reply.Usage})
}

// wire is the request as the API wants it. Models that reason choose their own temperature
// and count their output under another name; all others are asked for their likeliest words.
func (c *Client) wire(r request) openai.ChatCompletionRequest {
	w := openai.ChatCompletionRequest{Model: c.Model, Messages: r.messages}
	if reasons(c.Model) {
		if r.maxTokens > 0 {
			w.MaxCompletionTokens = r.maxTokens + roomToThink
		}
	} else {
		w.MaxTokens = r.maxTokens                   //nolint:staticcheck // local servers know no other name
		w.Temperature = math.SmallestNonzeroFloat32 // go-openai leaves a plain 0 out
	}
	if r.schema != nil && c.Format != FormatText {
		w.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatType(c.Format)}
		if c.Format == FormatSchema {
			w.ResponseFormat.JSONSchema = &openai.ChatCompletionResponseFormatJSONSchema{
				Name: r.schema.name, Schema: r.schema.body, Strict: true,
			}
		}
	}
	return w
}

// reasons tells OpenAI's reasoning models by their names, as go-openai does.
func reasons(model string) bool {
	for _, family := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, family) {
			return true
		}
	}
	return false
}

// refused turns what is no answer into an error.
func refused(r Reply, words string) error {
	switch {
	case words != "" || r.Finish == string(openai.FinishReasonContentFilter):
		return &Refusal{words}
	case strings.TrimSpace(r.Text) == "":
		return ErrEmpty
	}
	return nil
}

// classify puts go-openai's errors into the words of this room.
func classify(err error) error { return classifyAs(err, ErrSetup) }

// classifyAs is classify with another error for a server that refuses.
func classifyAs(err, setup error) error {
	if errors.Is(err, ErrWait) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var api *openai.APIError
	if errors.As(err, &api) {
		return fmt.Errorf("%w (%s: %s)", setup, api.HTTPStatus, excerpt([]byte(api.Message)))
	}
	var raw *openai.RequestError
	if errors.As(err, &raw) {
		return fmt.Errorf("%w (%s: %s)", setup, raw.HTTPStatus, excerpt(raw.Body))
	}
	return fmt.Errorf("%w (%w)", ErrUnavailable, err)
}

// midStream names what ended a stream that had begun.
func midStream(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrTimeout):
		return ErrTimeout
	}
	return fmt.Errorf("%w (%w)", ErrCut, err)
}

func system(text string) openai.ChatCompletionMessage {
	return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: text}
}

func user(text string) openai.ChatCompletionMessage {
	return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: text}
}

func assistant(text string) openai.ChatCompletionMessage {
	return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: text}
}
