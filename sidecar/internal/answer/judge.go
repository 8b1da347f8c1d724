package answer

import (
	"context"
	"hash/fnv"
	"math"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
)

// Judge rates a response.
type Judge interface {
	Rate(ctx context.Context, c llm.Case) (llm.Rating, error)
	Model() string
}

// Feedback takes a rating as if it had come to the webhook with source llm.
type Feedback interface {
	Judged(ctx context.Context, r Rating) error
}

// Rating is a judge's rating of an answer that this service gave.
type Rating struct {
	Retrieval string // id
	Score     int    // 1 to 5
	Response  string
	Comment   string // the judge's reason
	Rater     string // "llm:" and the model
}

// waitingJudgements is how many answers may wait for the judge; beyond it they go unrated.
const waitingJudgements = 64

type judgement struct {
	retrieval *graph.Retrieval
	answer    *Answer
}

// offer queues an answer for the judge if it belongs to the share. It never waits.
func (s *Service) offer(r *graph.Retrieval, a *Answer) {
	if s.Judge == nil || s.Feedback == nil || !sampled(r.ID, s.Share) {
		return
	}
	select {
	case s.queue <- judgement{r, a}:
	default:
		s.Log.Warn("the judge can't keep up; an answer goes unrated", "retrieval", r.ID)
	}
}

// sampled tells whether the id belongs to the share: always the same ids, whoever asks.
func sampled(id string, share float64) bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return float64(h.Sum64()) < share*math.MaxUint64
}

// Run rates queued answers until ctx ends. What can't be rated is logged and left.
func (s *Service) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case j := <-s.queue:
			if err := s.judge(ctx, j); err != nil && ctx.Err() == nil {
				s.Log.Warn("an answer goes unrated", "retrieval", j.retrieval.ID, "error", err)
			}
		}
	}
}

func (s *Service) judge(ctx context.Context, j judgement) error {
	rated, err := s.Judge.Rate(ctx, llm.Case{Question: j.answer.Question, Response: j.answer.Text, Retrieval: j.retrieval})
	if err != nil {
		return err
	}
	return s.Feedback.Judged(ctx, Rating{
		Retrieval: j.retrieval.ID, Score: rated.Score, Response: j.answer.Text,
		Comment: rated.Reason, Rater: "llm:" + s.Judge.Model(),
	})
}
