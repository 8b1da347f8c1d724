package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

func TestAPathIsReadBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		node := rapid.Uint64Range(1, 1<<40)
		p := graph.Path{Start: graph.UID(node.Draw(t, "start"))}
		for range rapid.IntRange(0, 6).Draw(t, "hops") {
			s := graph.Step{Inverse: rapid.Bool().Draw(t, "inverse")}
			s.Predicate = rapid.StringMatching(`[a-zé_.:/]{1,8}`).Draw(t, "predicate")
			s.Head, s.Object = p.End(), graph.UID(node.Draw(t, "to"))
			if s.Inverse {
				s.Head, s.Object = s.Object, s.Head
			}
			p.Steps = append(p.Steps, s)
		}
		back, err := graph.ParsePath(p.String())
		require.NoError(t, err)
		require.Equal(t, p, back)
	})
}

func TestWhatIsNoPathIsRefused(t *testing.T) {
	for _, text := range []string{"", "0x1 knows", "knows", "0x1 knows Bob", "0x0"} {
		_, err := graph.ParsePath(text)
		require.Error(t, err, text)
	}
}
