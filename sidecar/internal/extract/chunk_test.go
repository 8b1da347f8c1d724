package extract

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

func TestChunksAreBoundedAndLoseNothing(t *testing.T) {
	s := newSplitter()
	words := rapid.SampledFrom([]string{"Alien", "was", "directed", "by", "Ridley", "Scott.", "Who?", "日本語のテキスト。", "🙂", "\n\n", "e\u0301té", "3.14", "Dr.", strings.Repeat("x", 300)})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(words, 0, 120).Draw(t, "words"), rapid.SampledFrom([]string{" ", ""}).Draw(t, "between"))
		most := rapid.IntRange(32, 64).Draw(t, "most")
		chunks, err := s.split(text, most)
		require.NoError(t, err)
		require.Equal(t, bare(text), bare(strings.Join(chunks, "")))
		for _, c := range chunks {
			require.True(t, utf8.ValidString(c))
			require.NotEmpty(t, strings.TrimSpace(c))
			n, err := s.codec.Count(c)
			require.NoError(t, err)
			require.LessOrEqual(t, n, most)
		}
	})
}

func TestAPieceThatTakesMoreTokensByItselfIsCutAgain(t *testing.T) {
	s := newSplitter()
	text := "\n\n Alien " + strings.Repeat("x", 300)
	chunks, err := s.split(text, 40)
	require.NoError(t, err)
	require.Equal(t, bare(text), bare(strings.Join(chunks, "")))
	for _, c := range chunks {
		n, err := s.codec.Count(c)
		require.NoError(t, err)
		require.LessOrEqual(t, n, 40)
	}
}

func TestChunksEndWhereSentencesEnd(t *testing.T) {
	one := "Alien is a film that was directed by Ridley Scott in the year 1979."
	chunks, err := newSplitter().split(strings.Repeat(one+" ", 9), 60)
	require.NoError(t, err)
	require.Equal(t, []string{one + " " + one + " " + one, one + " " + one + " " + one, one + " " + one + " " + one}, chunks)
}

func TestATextHoldsNames(t *testing.T) {
	h := newHolding("L'ÉTÉ of McDonald's (1999), by Jean-Luc Godard. 東京は日本の首都です。")
	for name, want := range map[string]bool{
		"Jean-Luc Godard": true, "jean luc godard": true, "McDonald": true, "L'été": true, "1999": true, "東京": true, "日本": true,
		"Godard Jean": false, "God": false, "大阪": false, "": false, "!": false, "Donald": false,
	} {
		require.Equal(t, want, h.has(name), name)
	}
}
