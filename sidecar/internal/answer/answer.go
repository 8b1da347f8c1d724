// Package answer answers questions from the graph: retrieve, prompt, respond, cite. A share
// of its answers is rated by a judge.
package answer

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/render"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// Retriever finds the ranked paths for a question.
type Retriever interface {
	Retrieve(ctx context.Context, r proxy.RetrieveRequest) (*graph.Retrieval, error)
}

// Writer writes a response from a retrieval; seen are the results, by index, that it had
// before it. It hands each piece to on, if there is one.
type Writer interface {
	Answer(ctx context.Context, r graph.Retrieval, on func(piece string) error) (reply llm.Reply, seen []int, err error)
}

// Options are what a Service needs; Judge, Feedback and Answered may be nil.
type Options struct {
	Retriever Retriever
	Writer    Writer
	Judge     Judge
	Share     float64                          // of answers that Judge rates, in [0,1]
	Feedback  Feedback                         // takes the judge's ratings
	Answered  func(retrieval, response string) // told of every answer that the model gave; must not block
	Log       *slog.Logger
}

// Service answers questions. It is safe for concurrent use.
type Service struct {
	Options
	queue chan judgement
}

// New makes a Service. Without Run its answers are not rated.
func New(o Options) *Service {
	if o.Answered == nil {
		o.Answered = func(string, string) {}
	}
	return &Service{Options: o, queue: make(chan judgement, waitingJudgements)}
}

// Outcome says how a question ended.
type Outcome string

// Outcomes. Each comes with a plain text in Answer.Text.
const (
	Answered     Outcome = "answered"
	NothingFound Outcome = "nothing_found" // the model was not asked
	Refused      Outcome = "refused"       // by the model
)

// Answer is the response to a question and where it comes from.
type Answer struct {
	Retrieval string     `json:"retrieval,omitempty"` // id, for feedback; empty where nothing was linked
	Question  string     `json:"question"`
	Text      string     `json:"answer"`
	Outcome   Outcome    `json:"outcome"`
	Citations []Citation `json:"citations"`         // results that the text names, in the order in which it names them
	CutOff    bool       `json:"cut_off,omitempty"` // llm.max_tokens ended the text
	Model     string     `json:"model,omitempty"`
	Usage     llm.Usage  `json:"usage"`
}

// Citation is a result that the answer names by its number.
type Citation struct {
	N    int     `json:"n"`
	Path string  `json:"path"` // its line in the context, without the number
	P    float64 `json:"p"`    // its share, equation (4)
}

// Progress hears of an answer while it is made. Both may be nil; an error of either ends it.
type Progress struct {
	Retrieved func(*graph.Retrieval) error
	Piece     func(text string) error // a piece of the text; without it the model answers in one piece
}

// Ask answers a question. A question on which the graph has nothing, and a model that
// declines, are answers as well (see Outcome). Errors: the retriever's as they came, and
// those of package llm, for a model that can't be used or stopped in the middle.
func (s *Service) Ask(ctx context.Context, r proxy.RetrieveRequest, on Progress) (*Answer, error) {
	found, err := s.Retriever.Retrieve(ctx, r)
	if errors.Is(err, proxy.ErrNothingLinked) {
		return plain(&graph.Retrieval{Question: r.Question}, on, NothingFound,
			"The graph can't tell: the question names nothing that is in it.")
	}
	if err != nil {
		return nil, err
	}
	if on.Retrieved != nil {
		if err := on.Retrieved(found); err != nil {
			return nil, err
		}
	}
	if len(found.Results) == 0 {
		return plain(found, on, NothingFound, "The graph can't tell: no path leads on from "+names(found.Entities)+".")
	}
	reply, seen, err := s.Writer.Answer(ctx, *found, on.Piece)
	var refusal *llm.Refusal
	if errors.As(err, &refusal) {
		text := "The model declines to answer."
		if refusal.Words != "" {
			text = refusal.Words
		}
		return plain(found, on, Refused, text)
	}
	if err != nil {
		return nil, err
	}
	a := &Answer{
		Retrieval: found.ID, Question: r.Question, Text: reply.Text, Outcome: Answered,
		Citations: citations(reply.Text, found.Results, seen),
		CutOff:    reply.Finish == "length", Model: reply.Model, Usage: reply.Usage,
	}
	s.Answered(found.ID, a.Text)
	s.offer(found, a)
	return a, nil
}

// plain is an answer in our words instead of the model's.
func plain(r *graph.Retrieval, on Progress, o Outcome, text string) (*Answer, error) {
	if on.Piece != nil {
		if err := on.Piece(text); err != nil {
			return nil, err
		}
	}
	return &Answer{Retrieval: r.ID, Question: r.Question, Text: text, Outcome: o, Citations: []Citation{}}, nil
}

func names(entities []graph.Entity) string {
	out := make([]string, 0, len(entities))
	for _, e := range entities {
		out = append(out, render.Display(e.Node))
	}
	return strings.Join(out, ", ")
}
