package entity

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestNormalize(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"case is folded", "Eva GREEN", "eva green"},
		{"accents are folded", "Le Fabuleux Destin d'Amélie Poulain", "le fabuleux destin damelie poulain"},
		{"a decomposed accent equals the composed one", norm.NFD.String("Amélie Škvorecký"), "amelie skvorecky"},
		{"letters with strokes and ligatures fold", "Søren Łódź Æsop Straße ﬁn", "soren lodz aesop strasse fin"},
		{"full-width letters fold", "ＡＢＣ１２", "abc12"},
		{"the possessive is dropped", "Eva's films", "eva films"},
		{"a typographic possessive is dropped", "Schindler’s List", "schindler list"},
		{"a possessive at the end is dropped", "McDonald's", "mcdonald"},
		{"a possessive before a script without spaces is dropped", "Eva's東京", "eva 東 京"},
		{"a sign for a letter of such a script is a word as the letter is", "A㆒", "a 一"},
		{"an apostrophe inside a name joins", "O'Brien and D’Artagnan", "obrien and dartagnan"},
		{"the plural possessive leaves the plural", "the directors' cut", "the directors cut"},
		{"underscores and hyphens are spaces", "spider-man_2", "spider man 2"},
		{"punctuation is one space", "  J. R. R.  Tolkien!? ", "j r r tolkien"},
		{"an ampersand is the word and", "Simon & Garfunkel", "simon and garfunkel"},
		{"names of languages keep their signs", "C++ or C#", "c++ or c#"},
		{"Cyrillic", "Война и мир", "воина и мир"},
		{"Greek has one sigma", "ΟΔΥΣΣΕΎΣ Οδυσσεύς", "οδυσσευσ οδυσσευσ"},
		{"Turkish dotless i", "Işık İstanbul", "isik istanbul"},
		{"Japanese is one word a character", "東京タワー", "東 京 タ ワ ー"},
		{"vowel signs of Indic scripts stay", "हिन्दी", "हिन्दी"},
		{"nothing but punctuation is empty", "!!! ???", ""},
		{"broken UTF-8 is a separator", "a\xffb", "a b"},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, Normalize(c.in)) })
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"a plain name is itself", "Eva Green", []string{"eva green"}},
		{"a qualifier in parentheses may be left out", "Titanic (1997 film)", []string{"titanic 1997 film", "titanic"}},
		{"a leading article may be left out", "The Matrix", []string{"the matrix", "matrix"}},
		{"both may be left out", "The Thing (1982)", []string{"the thing 1982", "thing 1982", "the thing", "thing"}},
		{"an article before a stop word stays", "The Who", []string{"the who"}},
		{"nothing before the parentheses keeps them", "(500) Days of Summer", []string{"500 days of summer"}},
		{"parentheses alone are the name", "(Untitled)", []string{"untitled"}},
		{"no letters, no name", "...", nil},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, Names(c.in)) })
	}
}

func texts(grams []NGram) []string {
	var out []string
	for _, g := range grams {
		out = append(out, g.Text)
	}
	return out
}

func TestNGrams(t *testing.T) {
	t.Run("every run of words, longer ones first", func(t *testing.T) {
		require.Equal(t, []string{
			"films of eva green", "films of eva", "films of", "films",
			"of eva green", "of eva",
			"eva green", "eva", "green",
		}, texts(NGrams("films of Eva Green's?")))
	})
	t.Run("spans are those of the question as written", func(t *testing.T) {
		q := "Wer führte Regie in »Die Amélie«?"
		for _, g := range NGrams(q) {
			if g.Text == "die amelie" {
				require.Equal(t, "Die Amélie", q[g.Start:g.End])
				require.Equal(t, 2, g.Words)
				return
			}
		}
		t.Fatal("the run is missing")
	})
	t.Run("stop words count when they are written as names", func(t *testing.T) {
		require.Contains(t, texts(NGrams("who directed It?")), "it")
		require.Contains(t, texts(NGrams("who directed [her] last")), "her")
		require.NotContains(t, texts(NGrams("Who directed it?")), "who")
		require.NotContains(t, texts(NGrams("who directed it?")), "it")
		require.NotContains(t, texts(NGrams("what should I see")), "i")
	})
	t.Run("a long question is cut", func(t *testing.T) {
		grams := NGrams(strings.Repeat("green ", 1000))
		require.LessOrEqual(t, len(grams), MaxWords*MaxQuestionWords)
		require.NotEmpty(t, grams)
	})
	t.Run("an empty question has none", func(t *testing.T) { require.Empty(t, NGrams(" ?! ")) })
}

func TestTokens(t *testing.T) {
	t.Run("a question shares a token with the names in it and with no other", func(t *testing.T) {
		question := Tokens(Question("Which movies did Amelie Poulain's director make after The Matrix and O’Brien?"))
		shares := func(name string) bool {
			for _, tok := range Tokens(name) {
				for _, q := range question {
					if tok == q {
						return true
					}
				}
			}
			return false
		}
		for _, name := range []string{"Amélie Poulain", "AMELIE", "matrix", "The Matrix", "Matrix (1999 film)", "O'Brien"} {
			require.True(t, shares(name), name)
		}
		for _, name := range []string{"Poulain Amelie", "The Matrix Reloaded", "Ma", "Brien", "The Who", "Which", "", "!!!"} {
			require.False(t, shares(name), name)
		}
	})
	t.Run("a value that no question can name has one token of its own", func(t *testing.T) {
		long := strings.Repeat("word ", 50)
		require.Len(t, Tokens(long), 1)
		require.NotContains(t, Tokens(Question(long)), Tokens(long)[0])
		require.Len(t, Tokens(""), 1)
		require.LessOrEqual(t, len(Tokens(strings.Repeat("x-", 5000))[0]), maxOther+1)
	})
	t.Run("tokens of a question are distinct", func(t *testing.T) {
		tokens := Tokens(Question("new york new york"))
		seen := map[string]bool{}
		for _, tok := range tokens {
			require.False(t, seen[tok], tok)
			seen[tok] = true
		}
	})
}

// anyText mixes letters, accents, marks and punctuation of many scripts.
var anyText = rapid.StringOfN(rapid.OneOf(
	rapid.SampledFrom([]rune(" _-'’.,()&+#sS\"éßŁ東タไทยहिน्Ⅻﬁ½\u0301\u3099")),
	rapid.RuneFrom(nil, unicode.L, unicode.M, unicode.N, unicode.P),
), 0, 30, -1)

func TestNormalizeProperties(t *testing.T) {
	t.Run("normalising twice changes nothing", rapid.MakeCheck(func(t *rapid.T) {
		once := Normalize(anyText.Draw(t, "text"))
		require.Equal(t, once, Normalize(once))
	}))
	t.Run("composed and decomposed text are the same name", rapid.MakeCheck(func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom(nil, unicode.Latin, unicode.Greek, unicode.Cyrillic)).Draw(t, "text")
		require.Equal(t, Normalize(norm.NFC.String(s)), Normalize(norm.NFD.String(s)))
	}))
	t.Run("a short name is found in any question that holds it between spaces", rapid.MakeCheck(func(t *rapid.T) {
		name := anyText.Draw(t, "name")
		n := Normalize(name)
		if n == "" || len(split(name)) > MaxWords || stopWords[n] {
			t.Skip()
		}
		grams := texts(NGrams("tell me of " + name + " , please"))
		require.Contains(t, grams, n)
	}))
	t.Run("spans of runs are ordered, inside the question and normalise to the run", rapid.MakeCheck(func(t *rapid.T) {
		q := anyText.Draw(t, "question")
		for _, g := range NGrams(q) {
			require.True(t, 0 <= g.Start && g.Start < g.End && g.End <= len(q))
			require.Equal(t, g.Text, Normalize(q[g.Start:g.End]))
		}
	}))
}

func BenchmarkTokensOfQuestion(b *testing.B) {
	q := Question("Which movies did the director of Amélie Poulain make after The Matrix and before Casino Royale?")
	b.ReportAllocs()
	for b.Loop() {
		Tokens(q)
	}
}
