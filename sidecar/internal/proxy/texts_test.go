package proxy

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

func TestTextsHaveTheirOwnVectorsInWhateverOrderTheyCome(t *testing.T) {
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		remembers := texts{hash: hash}
		name := rapid.Map(rapid.IntRange(0, 20), func(n int) []byte {
			if n == 0 {
				return nil // a node without a name
			}
			return fmt.Appendf(nil, "name %d", n)
		})
		for _, names := range rapid.SliceOfN(rapid.SliceOf(name), 1, 5).Draw(t, "names") {
			want := relevance.List{}
			for _, n := range names {
				want = append(want, relevance.Pack(hash.Embed(string(n))))
			}
			q := hash.Ask("what is name 7 of 13?")
			expected, _ := want.Products(nil, q)
			got, _ := remembers.vectors(nil, names).Products(nil, q)
			require.Equal(t, expected, got)
		}
	})
}
