package relevance_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

func TestAListGivesWhatATableGives(t *testing.T) {
	h, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringMatching(`[a-f ]{0,12}`), 0, 20).Draw(t, "texts")
		q := h.Ask(rapid.StringMatching(`[a-f ]{0,12}`).Draw(t, "question"))
		var table relevance.Table
		var list relevance.List
		for i, text := range texts {
			table.Set(uint32(i), h.Embed(text))
			list = append(list, relevance.Pack(h.Embed(text)))
		}
		want, wantGreatest := table.Products(nil, q)
		got, greatest := list.Products(make([]float32, 3), q)
		require.Equal(t, len(want), len(got))
		for i := range want {
			require.Equal(t, want[i], got[i])
		}
		require.Equal(t, wantGreatest, greatest)
	})
}

func TestAPileGivesBackWhatWasPutOnIt(t *testing.T) {
	h, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	var pile relevance.Pile
	var list relevance.List
	for _, text := range []string{"queen of the north", "", "film", "queen of the north"} {
		require.Equal(t, len(list), pile.Len())
		list = append(list, relevance.Pack(h.Embed(text)))
		pile.Append(list[len(list)-1])
	}
	before := pile.Bytes()
	pile.Clip()
	require.LessOrEqual(t, pile.Bytes(), before)
	var back relevance.List
	for i := range pile.Len() {
		back = append(back, pile.At(i))
	}
	want, _ := list.Products(nil, h.Ask("queen film"))
	got, _ := back.Products(nil, h.Ask("queen film"))
	require.Equal(t, want, got)
	require.Len(t, got, 4)
}
