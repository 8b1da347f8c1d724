package answer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/answer"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm/llmtest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// inbox takes ratings.
type inbox chan answer.Rating

func (i inbox) Judged(_ context.Context, r answer.Rating) error {
	i <- r
	return nil
}

// next is the next rating.
func (i inbox) next(t *testing.T) answer.Rating {
	t.Helper()
	select {
	case r := <-i:
		return r
	case <-time.After(time.Minute):
		t.Fatal("nothing was rated")
		return answer.Rating{}
	}
}

// writer answers without a model.
type writer struct{}

func (writer) Answer(context.Context, graph.Retrieval, func(string) error) (llm.Reply, []int, error) {
	return llm.Reply{Text: "Person 1"}, nil, nil
}

// moody fails at first.
type moody struct{ calls int }

func (m *moody) Model() string { return "m" }
func (m *moody) Rate(context.Context, llm.Case) (llm.Rating, error) {
	if m.calls++; m.calls == 1 {
		return llm.Rating{}, errors.New("not now")
	}
	return llm.Rating{Score: 2, Reason: "why"}, nil
}

func TestTheJudgesRatingGoesToFeedback(t *testing.T) {
	s := llmtest.New(t, llmtest.Says("Person 1 [1]"), llmtest.Says(`{"reason":"It is so.","score":5}`))
	c := model(t, s, 0)
	ratings := make(inbox)
	service := answer.New(answer.Options{
		Retriever: retriever{found: films(2)}, Writer: c, Judge: llm.NewJudge(c), Share: 1, Feedback: ratings, Log: slog.New(slog.DiscardHandler),
	})
	run(t, service)
	_, err := service.Ask(t.Context(), proxy.RetrieveRequest{Question: "q"}, answer.Progress{})
	require.NoError(t, err)
	require.Equal(t, answer.Rating{Retrieval: "r1", Score: 5, Response: "Person 1 [1]", Comment: "It is so.", Rater: "llm:m"}, ratings.next(t))
}

func TestAnAnswerThatCannotBeRatedIsLeftAndTheNextOneIsRated(t *testing.T) {
	ratings := make(inbox)
	service := answer.New(answer.Options{
		Retriever: retriever{found: films(1)}, Writer: writer{}, Judge: &moody{}, Share: 1, Feedback: ratings, Log: slog.New(slog.DiscardHandler),
	})
	run(t, service)
	for range 2 {
		_, err := service.Ask(t.Context(), proxy.RetrieveRequest{Question: "q"}, answer.Progress{})
		require.NoError(t, err)
	}
	require.Equal(t, 2, ratings.next(t).Score)
}

func TestTheShareOfRatedAnswers(t *testing.T) {
	const answers = 60 // fewer than may wait
	for _, share := range []float64{0, 0.5, 1} {
		ratings, found := make(inbox, answers), films(1)
		service := answer.New(answer.Options{
			Retriever: retriever{found: found}, Writer: writer{}, Judge: &moody{calls: 1}, Share: share, Feedback: ratings, Log: slog.New(slog.DiscardHandler),
		})
		for i := range answers {
			found.ID = fmt.Sprintf("retrieval-%d-%x", i, uint64(i)*0x9e3779b97f4a7c15)
			_, err := service.Ask(t.Context(), proxy.RetrieveRequest{Question: "q"}, answer.Progress{})
			require.NoError(t, err)
		}
		run(t, service)
		want := int(math.Round(share * answers))
		require.Eventually(t, func() bool { return len(ratings) >= want-15 }, testTime, testTick)
		require.InDelta(t, want, len(ratings), 15)
		if share == 0 {
			require.Empty(t, ratings)
		}
	}
}

func TestAJudgeThatCannotKeepUpDelaysNobody(t *testing.T) {
	service := answer.New(answer.Options{
		Retriever: retriever{found: films(1)}, Writer: writer{}, Judge: &moody{}, Share: 1, Feedback: make(inbox), Log: slog.New(slog.DiscardHandler),
	})
	for range 200 { // nobody takes them
		_, err := service.Ask(t.Context(), proxy.RetrieveRequest{Question: "q"}, answer.Progress{})
		require.NoError(t, err)
	}
}

const (
	testTime = time.Minute
	testTick = 5 * time.Millisecond
)

// run rates in the background until the test ends.
func run(t *testing.T, s *answer.Service) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}
