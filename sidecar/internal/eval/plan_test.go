package eval

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEverySetIsTaughtNonsenseOnceASeed(t *testing.T) {
	nonsense := func(p Plan, set string, kind Kind, seed int) bool {
		return slices.ContainsFunc(p.arms(set, kind, seed, false), func(a Arm) bool { return a.Name == shuffled && a.Shuffled && a.Evolve })
	}
	p := Plan{Kinds: []Kind{Paraphrase, Unseen}, Experiments: Experiments, Detail: []string{"films"}, DetailKinds: []Kind{Paraphrase}, DetailSeeds: 1}
	for _, set := range []string{"films", "a set without detail"} {
		require.True(t, nonsense(p, set, Unseen, 1), set)
		require.False(t, nonsense(p, set, Paraphrase, 1), set)
		require.False(t, nonsense(p, set, Unseen, 2), set)
	}
	p.Kinds = []Kind{Paraphrase}
	require.True(t, nonsense(p, "films", Paraphrase, 1), "where no split has unseen entities, the first")
	p.Experiments = []Experiment{Compare}
	require.False(t, nonsense(p, "films", Paraphrase, 1))
}
