package app

import (
	"context"
	"errors"
	"log/slog"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/answer"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
	"github.com/evorag/dgraph-evorag/sidecar/internal/httpfront"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

// errNoModel is returned where something needs a chat model and none is set.
var errNoModel = errors.New("no chat model is set; give --llm-url and --llm-model, or set llm.base_url and llm.model")

// NewJudge makes a judge with the configured model.
func NewJudge(cfg config.Config) (*llm.Judge, error) {
	if cfg.LLM.BaseURL == "" {
		return nil, errNoModel
	}
	return llm.NewJudge(newModel(cfg.LLM, nil)), nil
}

// NewRater makes a judge of responses by what was retrieved for them, with the configured model. It
// gives 1 to 5, and 0 where the model is there and comes to no rating.
func NewRater(cfg config.Config) (func(ctx context.Context, question, response string, found *graph.Retrieval) (float64, error), error) {
	judge, err := NewJudge(cfg)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, question, response string, found *graph.Retrieval) (float64, error) {
		rating, err := judge.Rate(ctx, llm.Case{Question: question, Response: response, Retrieval: found})
		if errors.Is(err, llm.ErrOutput) || errors.Is(err, llm.ErrTimeout) || errors.As(err, new(*llm.Refusal)) {
			return 0, nil
		}
		return float64(rating.Score), err
	}, nil
}

// NewExtractor makes an extractor with the configured model; observe is told of every call.
func NewExtractor(cfg config.Config, observe func(llm.Call)) (*llm.Extractor, error) {
	if cfg.LLM.BaseURL == "" {
		return nil, errNoModel
	}
	client := newModel(cfg.LLM, nil)
	client.Observe = observe
	return llm.NewExtractor(client), nil
}

// newModel makes a client of the configured model; metrics may be nil.
func newModel(c config.LLM, metrics *telemetry.Metrics) *llm.Client {
	o := llm.Options{
		BaseURL: c.BaseURL, Model: c.Model, APIKey: c.APIKey, Timeout: c.Timeout, Retries: c.Retries,
		CallsPerMinute: c.CallsPerMinute, CallsPerHour: c.CallsPerHour, TokensPerHour: c.TokensPerHour,
		MaxTokens: c.MaxTokens, ContextBytes: c.ContextBytes, Format: c.ResponseFormat,
	}
	if metrics != nil {
		o.Observe = func(call llm.Call) {
			metrics.Model(call.Purpose, call.Outcome(), call.Took, call.Usage.PromptTokens, call.Usage.CompletionTokens, cost(c, call.Usage))
		}
	}
	return llm.New(o)
}

// cost of a call by the configured prices, which are for a million tokens.
func cost(c config.LLM, u llm.Usage) float64 {
	return (float64(u.PromptTokens)*c.PromptPrice + float64(u.CompletionTokens)*c.CompletionPrice) / 1e6
}

// asker starts the service that answers questions, with its judge; nil where no model is set.
func (s *stack) asker(cfg config.Config, model *llm.Client, r answer.Retriever, learning *feedback.Service, log *slog.Logger) httpfront.Asker {
	if model == nil {
		return nil
	}
	service := answer.New(answer.Options{
		Retriever: r, Writer: model, Judge: llm.NewJudge(model), Share: cfg.Judge.Share,
		Feedback: judged{learning}, Answered: learning.Answered, Log: log,
	})
	s.push("judge", drainTime, background(service.Run))
	return service
}

// judged hands the judge's ratings to feedback, as if they had come to the webhook.
type judged struct{ *feedback.Service }

// Judged stores one rating. The same answer rated twice counts once.
func (j judged) Judged(ctx context.Context, r answer.Rating) error {
	return j.Submit(ctx, feedback.Event{
		ID: "judge:" + r.Retrieval, Retrieval: r.Retrieval, Rating: float64(r.Score), Rater: r.Rater,
		Source: feedback.LLM, Response: r.Response, Comment: r.Comment,
	})
}
