package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
)

func TestTheMarginIsTheMethodsButForThePapersRule(t *testing.T) {
	c := config.Default()
	require.Equal(t, rank.Margin(rank.DefaultMargin), margin(c))
	c.Feedback.Learner.Rule = "paper"
	require.Zero(t, margin(c), "the paper's rule shows all")
}
