package relevance_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

func newHash(t testing.TB) *relevance.Hash {
	h, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	return h
}

// Learned weights live in clusters under the embedder's name, so vectors may never change
// without the name.
func TestVectorsOfThisVersionNeverChange(t *testing.T) {
	h := newHash(t)
	require.Equal(t, "hash-v1/1024", h.Name())
	require.Equal(t, "hash-v1/1024/entity=0.4,relation=1", relevance.DefaultTemplate.Name(h.Name()))
	v := h.Embed("born in")
	require.Equal(t, []uint16{87, 368, 485, 800, 1004}, v.Index, "born, its two pieces; in, a stop word, and its one piece")
	require.InDeltaSlice(t, []float32{.575435, -.0575435, .0575435, -.575435, -.575435}, v.Weight, 1e-6)
}

func TestTextsThatShareWordsAreNear(t *testing.T) {
	h := newHash(t)
	q := h.Embed("who directed the film")
	cos := func(s string) float64 { return q.Dot(h.Embed(s)) }
	require.InDelta(t, 1, q.Dot(q), 1e-6)
	require.Greater(t, cos("film.film.directed_by"), .5)
	require.Greater(t, cos("director"), .2, "pieces of words are shared")
	require.Greater(t, cos("directed_by"), cos("director"))
	require.Less(t, math.Abs(cos("has_genre")), .15)
	require.Zero(t, cos("?!"))
	require.Greater(t, h.Embed("北京大学").Dot(h.Embed("在北京")), .2, "words without spaces share pairs of runes")
}

func TestVectorsHaveUnitLength(t *testing.T) {
	h := newHash(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		v := h.Embed(text)
		if len(relevance.Words(text)) == 0 {
			if len(v.Index) != 0 {
				t.Fatal("a text without words has features")
			}
			return
		}
		if n := v.Dot(v); len(v.Index) > 0 && math.Abs(n-1) > 1e-5 {
			t.Fatalf("squared length %v", n)
		}
		if !slices.IsSorted(v.Index) || len(slices.Compact(slices.Clone(v.Index))) != len(v.Index) {
			t.Fatal("indices are not strictly ascending")
		}
		dense := v.Dense(h.Dim())
		for i, x := range v.Index {
			if dense[x] != v.Weight[i] {
				t.Fatal("Dense is another vector")
			}
		}
	})
}

func TestOnlyPowersOfTwoAreDimensions(t *testing.T) {
	for _, dim := range []int{0, -1, 32, 1000, 1 << 17} {
		_, err := relevance.NewHash(dim)
		require.ErrorContains(t, err, "write a power of two from 64 to 65536")
	}
	h, err := relevance.NewHash(1 << 16)
	require.NoError(t, err)
	require.Equal(t, 1<<16, h.Dim())
}

func TestTopicsAreLeftOutOfTheQuestion(t *testing.T) {
	h := newHash(t)
	for _, c := range []struct {
		name, question string
		topics         []string
		same           string
	}{
		{"a name", "who is Eva Braun's mother", []string{"eva_braun"}, "who is mother"},
		{"in another spelling", "what did Peter Franzen appear in", []string{"Peter Franzén"}, "what did appear in"},
		{"written as one word or two", "who sells the iPhone", []string{"iPhone"}, "who sells the"},
		{"several names", "films by Kubrick with Duvall", []string{"Stanley Kubrick", "Shelley Duvall"}, "films by with"},
		{"all of it is kept when nothing would remain", "Eva Braun", []string{"Eva Braun"}, "eva braun"},
		{"no names", "who directed it", nil, "who directed it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, h.Embed(c.same), h.Ask(c.question, c.topics...).Vector)
			left := c.same
			if len(c.topics) == 0 || c.same == "eva braun" {
				left = c.question
			}
			require.Equal(t, left, h.Ask(c.question, c.topics...).Text, "for a model")
		})
	}
}
