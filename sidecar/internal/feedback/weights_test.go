package feedback_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
)

func TestStepsOfWeightsReadBackEqual(t *testing.T) {
	steps := []feedback.Weighed{{Of: rank.WeightOf{Relation: "~directed_by"}, Delta: 1.25}, {Of: rank.WeightOf{Hops: 3}, Delta: -.5}}
	text, err := json.Marshal(steps)
	require.NoError(t, err)
	require.JSONEq(t, `[["~directed_by", 1.25], [3, -0.5]]`, string(text))
	var back []feedback.Weighed
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, steps, back)
}

func TestWeightsAreLearnedWithTheScoresAndTakenBackExactly(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, nil)
	r := c.shown(time.Now())
	s.Remember(r)
	owned := rank.WeightOf{Relation: "owned_by"}
	s.becomes(t, s.rate(t, map[string]any{"retrieval": r.ID, "score": 5, "response": "The Walt Disney Company", "rater": "ann"}), "applied")
	term := func(w *rank.Weights) float64 { return w.Term(owned, r.Features) }
	inCluster := func() *rank.Weights {
		w, err := feedback.ReadWeights(t.Context(), c.Client.Read)
		require.NoError(t, err)
		return w
	}
	require.Eventually(t, func() bool { return s.LearnedWeights(0) != nil && term(s.LearnedWeights(0)) > 0 }, 10*time.Second, 10*time.Millisecond,
		"a question like this one wants an owner")
	first := term(s.LearnedWeights(0))
	require.InDelta(t, first, term(inCluster()), 1e-12)
	require.Nil(t, s.LearnedWeights(7), "another namespace has its own")
	requireReference(t, c.Client)

	_, why := s.explain(t, "head=studio&predicate=owned_by&object=fox")
	require.Len(t, why.History[0].Weights, 1, "the history tells how the relation's weights moved")
	require.InDelta(t, first*graph.MaxScore, why.History[0].Weights[0].Delta, 1e-5)

	require.NoError(t, feedback.Fold(t.Context(), c.Client))
	require.InDelta(t, first, term(inCluster()), 1e-7, "written down they are the same")

	s.becomes(t, s.rate(t, map[string]any{"retrieval": r.ID, "score": 3, "rater": "ann"}), "applied")
	require.InDelta(t, 0, term(inCluster()), 1e-7, "a newer rating of the same rater takes the older back")
	require.Eventually(t, func() bool { return term(s.LearnedWeights(0)) < first/1e6 }, 10*time.Second, 10*time.Millisecond)
	requireReference(t, c.Client)

	s.becomes(t, s.rate(t, map[string]any{"retrieval": r.ID, "score": 5, "response": "The Walt Disney Company", "rater": "bob"}), "applied")
	require.NotZero(t, term(inCluster()))
	_, err := feedback.Reset(t.Context(), c.Client, []string{"owned_by", "seat"})
	require.NoError(t, err)
	require.Zero(t, term(inCluster()))
	require.Eventually(t, func() bool { return term(s.LearnedWeights(0)) == 0 }, 10*time.Second, 10*time.Millisecond, "every replica notices a reset")
}

func TestABadRatingTeachesOfWhatWasLeftOutToo(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, nil)
	r := c.shown(time.Now())
	r.Results, r.Beyond = r.Results[:1], r.Results[3:]
	s.Remember(r)
	require.Eventually(t, func() bool { return s.count("retrievals stored") == 1 }, 30*time.Second, 10*time.Millisecond)
	s.stop()
	other := c.start(t, nil) // knows what is in the cluster
	other.becomes(t, other.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "21st Century Fox"}), "applied")
	w, err := feedback.ReadWeights(t.Context(), c.Client.Read)
	require.NoError(t, err)
	require.Positive(t, w.Term(rank.WeightOf{Relation: "seat"}, r.Features))
	require.Negative(t, w.Term(rank.WeightOf{Relation: "owned_by"}, r.Features))
	seat, _ := c.score(t, c.edge("seat", "la"))
	require.False(t, seat.Learned, "what wasn't shown was not rated")
	requireReference(t, c.Client)
}

func TestWeightsOverAnotherTemplateAreSetAside(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, nil)
	r := c.shown(time.Now())
	r.Template = "another embedder"
	s.Remember(r)
	s.becomes(t, s.rate(t, map[string]any{"retrieval": r.ID, "score": 5, "response": "The Walt Disney Company"}), "applied")
	w, err := feedback.ReadWeights(t.Context(), c.Client.Read)
	require.NoError(t, err)
	require.Empty(t, w.Of())
	disney, _ := c.score(t, c.edge("owned_by", "disney"))
	require.Greater(t, disney.Score, 100.0, "scores don't depend on it")
	require.NotEqual(t, r.Template, credit.Template)
}
