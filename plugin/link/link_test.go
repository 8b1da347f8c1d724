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
			for _, e := range link.Entities(c.text, named) {
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
