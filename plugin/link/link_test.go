package link_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/link"
)

func TestANameInsideALongerNameIsNotMeant(t *testing.T) {
	named := map[graph.UID]string{
		1: "New York", 2: "The New York Times", 3: "New York Times", 4: "Eva Green", 5: "Eva", 6: "Paris",
		7: "Boston",
	}
	for _, c := range []struct {
		name, text string
		want       []graph.UID
	}{
		{"the longest name wins, nodes of one name all stay", "who owns the New York Times?", []graph.UID{2, 3}},
		{"a shorter name that also stands alone stays", "did eva green meet eva?", []graph.UID{4, 5}},
		{"case, punctuation and possessives do not matter", "EVA-GREEN's films", []graph.UID{4}},
		{"no name, no entity", "who knows?", nil},
		{"nothing asked", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []graph.UID
			names := map[graph.UID]link.Name{}
			for uid, name := range named {
				names[uid] = link.Name{Shown: name}
			}
			for _, e := range link.Entities(c.text, names) {
				require.Equal(t, graph.ByName, e.Reason)
				got = append(got, e.UID)
				require.Positive(t, e.Score)
				require.NotEmpty(t, e.Why)
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestSpellingsHoldWhatAnExactIndexMayHave(t *testing.T) {
	got := link.Spellings("who is eva green")
	for _, want := range []string{"eva green", "Eva Green", "eva_green", "Eva"} {
		require.Contains(t, got, want)
	}
	require.Empty(t, link.Spellings(""))
}

func TestPhrasesAreLongestFirst(t *testing.T) {
	got := link.Phrases("films of Eva Green")
	require.Equal(t, "films of eva green", got[0])
	require.Contains(t, got, "eva green")
	require.NotContains(t, got, "of")
}

func TestAnotherNameOfANodeIsFoundAndSaidToBeOne(t *testing.T) {
	named := map[graph.UID]link.Name{
		1: {Shown: "William Shakespeare", Aliases: []string{"The Bard", "Shakespeare"}},
		2: {Shown: "Shakespeare"}, // a town
	}
	got := link.Entities("where was Shakespeare's father born?", named)
	require.Len(t, got, 2)
	require.Equal(t, graph.Node{UID: 2, Name: "Shakespeare"}, got[0].Node, "the shown name first")
	require.Equal(t, graph.ByName, got[0].Reason)
	require.Equal(t, graph.Node{UID: 1, Name: "William Shakespeare"}, got[1].Node)
	require.Equal(t, graph.ByAlias, got[1].Reason)
	require.Contains(t, got[1].Why, `"Shakespeare"`)
}

func TestWhatIsNearStandsBehindWhatIsNamed(t *testing.T) {
	named := link.Entities("films of Eva", map[graph.UID]link.Name{5: {Shown: "Eva"}})
	got := link.Fuse(named, []link.Near{
		{Node: graph.Node{UID: 5, Name: "Eva"}, Cosine: 0.9}, {Node: graph.Node{UID: 7, Name: "movies"}, Cosine: 0.8},
	})
	require.Len(t, got, 2)
	require.Equal(t, named[0], got[0])
	require.Equal(t, graph.UID(7), got[1].UID)
	require.Equal(t, graph.ByVector, got[1].Reason)
	require.Equal(t, 0.8, got[1].Similarity)
	require.InDelta(t, 0.9, got[1].Score, 1e-9)
	require.Less(t, got[1].Score, got[0].Score)
	require.Contains(t, got[1].Why, "0.80")
	require.Empty(t, link.Fuse(nil, nil))
}
