package feedback_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
)

func TestAHeldRatingThatCannotBeJudgedHasNoPaths(t *testing.T) {
	c := newCluster(t)
	m := moody{make(chan error, 2)}
	s := c.start(t, func(o *feedback.Options) {
		o.Hold = func(string) bool { return true }
		o.Evaluators = map[string]feedback.Evaluator{"llm": m}
	})
	good, bad := c.shown(time.Now()), c.shown(time.Now())
	s.Remember(good)
	s.Remember(bad)
	s.becomes(t, s.rate(t, map[string]any{"retrieval": good.ID, "score": 5, "response": "The Walt Disney Company"}), "held")
	m.err <- nil
	s.becomes(t, s.rate(t, map[string]any{"retrieval": bad.ID, "score": 5, "response": "x", "evaluator": "llm"}), "held")
	m.err <- fmt.Errorf("%w: it holds no JSON object", credit.ErrUnusable)
	praised, err := s.HeldOut(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, praised, 1)
	require.Equal(t, good.ID, praised[0].Retrieval.ID)
}
