package answer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/answer"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm/llmtest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// retriever gives the same for every question.
type retriever struct {
	found *graph.Retrieval
	err   error
}

func (r retriever) Retrieve(_ context.Context, q proxy.RetrieveRequest) (*graph.Retrieval, error) {
	if r.err != nil {
		return nil, r.err
	}
	found := *r.found
	found.Question = q.Question
	return &found, nil
}

// films has as many results as told: Alien and its people.
func films(n int) *graph.Retrieval {
	r := &graph.Retrieval{ID: "r1", Entities: []graph.Entity{{Node: graph.Node{UID: 1, Name: "Alien"}}}}
	for i := 1; i <= n; i++ {
		person := graph.Node{UID: graph.UID(i + 1), Name: fmt.Sprintf("Person %d", i)}
		r.Results = append(r.Results, graph.Result{N: i, Start: r.Entities[0].Node, Total: 1, P: 1 / float64(n), Instances: []graph.Instance{{
			Nodes:    []graph.Node{r.Entities[0].Node, person},
			Triplets: []graph.ScoredTriplet{{Triplet: graph.Triplet{Head: 1, Predicate: "made_by", Object: person.UID}, Label: "made by"}},
		}}})
	}
	return r
}

func model(t *testing.T, s *llmtest.Server, contextBytes int) *llm.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return llm.New(llm.Options{BaseURL: s.URL + "/v1", Model: "m", Timeout: 2 * time.Second, ContextBytes: contextBytes, Transport: transport})
}

func ask(t *testing.T, found retriever, turns ...llmtest.Turn) (*answer.Answer, *llmtest.Server, error) {
	t.Helper()
	s := llmtest.New(t, turns...)
	a, err := answer.New(answer.Options{Retriever: found, Writer: model(t, s, 0), Log: slog.New(slog.DiscardHandler)}).
		Ask(t.Context(), proxy.RetrieveRequest{Question: "Who made Alien?"}, answer.Progress{})
	return a, s, err
}

func TestAnAnswerNamesItsRetrievalAndCitesItsResults(t *testing.T) {
	a, s, err := ask(t, retriever{found: films(3)}, llmtest.Says("Person 2 [2], with Person 1 [1, 2]. Nobody else [9]."))
	require.NoError(t, err)
	require.Equal(t, &answer.Answer{
		Retrieval: "r1", Question: "Who made Alien?", Text: "Person 2 [2], with Person 1 [1, 2]. Nobody else [9].", Outcome: answer.Answered,
		Citations: []answer.Citation{{N: 2, Path: "Alien -[made by]-> Person 2", P: 1. / 3}, {N: 1, Path: "Alien -[made by]-> Person 1", P: 1. / 3}},
		Model:     "served-model", Usage: llm.Usage{PromptTokens: 100, CompletionTokens: 20},
	}, a)
	require.Contains(t, s.Sent(t, 0)[1].Content, "Question: Who made Alien?")
}

func TestAResultThatTheModelHasNotSeenIsNoCitation(t *testing.T) {
	s := llmtest.New(t, llmtest.Says("[1][3]"))
	a, err := answer.New(answer.Options{Retriever: retriever{found: films(3)}, Writer: model(t, s, 50), Log: slog.New(slog.DiscardHandler)}).
		Ask(t.Context(), proxy.RetrieveRequest{Question: "q"}, answer.Progress{})
	require.NoError(t, err)
	require.Len(t, a.Citations, 1)
	require.Equal(t, 1, a.Citations[0].N)
}

func TestPlainAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		found   retriever
		turn    llmtest.Turn
		outcome answer.Outcome
		text    string
		calls   int
	}{
		{"nothing is linked", retriever{err: fmt.Errorf("%w (no node is named X)", proxy.ErrNothingLinked)}, nil, answer.NothingFound, "The graph can't tell: the question names nothing that is in it.", 0},
		{"no path leads on", retriever{found: films(0)}, nil, answer.NothingFound, "The graph can't tell: no path leads on from Alien.", 0},
		{"the model declines with words", retriever{found: films(1)}, llmtest.Chooses(map[string]any{"refusal": "I'd rather not."}, "stop"), answer.Refused, "I'd rather not.", 1},
		{"the model declines without words", retriever{found: films(1)}, llmtest.Chooses(map[string]any{}, "content_filter"), answer.Refused, "The model declines to answer.", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, s, err := ask(t, c.found, c.turn)
			require.NoError(t, err)
			require.Equal(t, c.outcome, a.Outcome)
			require.Equal(t, c.text, a.Text)
			require.NotNil(t, a.Citations)
			require.Equal(t, c.calls, s.Calls())
		})
	}
}

func TestFailuresComeAsTheyAre(t *testing.T) {
	_, _, err := ask(t, retriever{found: films(1)}, llmtest.Hangs)
	require.ErrorIs(t, err, llm.ErrTimeout)
	_, _, err = ask(t, retriever{found: films(1)}, llmtest.Fails(500, "x"))
	require.ErrorIs(t, err, llm.ErrUnavailable)
	broken := errors.New("the engine is gone")
	_, s, err := ask(t, retriever{err: broken}, nil)
	require.ErrorIs(t, err, broken)
	require.Zero(t, s.Calls())
}

func TestAStreamedAnswerComesInItsOrder(t *testing.T) {
	s := llmtest.New(t, llmtest.Streams("Person", " 1", " [1]", llmtest.Stops, llmtest.Done))
	var heard []string
	a, err := answer.New(answer.Options{Retriever: retriever{found: films(1)}, Writer: model(t, s, 0), Log: slog.New(slog.DiscardHandler)}).
		Ask(t.Context(), proxy.RetrieveRequest{Question: "q"}, answer.Progress{
			Retrieved: func(r *graph.Retrieval) error { heard = append(heard, "<"+r.ID+">"); return nil },
			Piece:     func(p string) error { heard = append(heard, p); return nil },
		})
	require.NoError(t, err)
	require.Equal(t, "<r1>|Person| 1| [1]", strings.Join(heard, "|"))
	require.Equal(t, "Person 1 [1]", a.Text)
	require.Len(t, a.Citations, 1)
}

func TestAnAnswerThatIsTooLongSaysSo(t *testing.T) {
	a, _, err := ask(t, retriever{found: films(1)}, llmtest.Chooses(map[string]any{"content": "Once upon"}, "length"))
	require.NoError(t, err)
	require.True(t, a.CutOff)
}
