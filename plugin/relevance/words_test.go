package relevance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

func TestWords(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"dots and underscores part a Freebase label", "film.film.directed_by", []string{"film", "film", "directed", "by"}},
		{"slashes, hyphens and leading underscores too", "__film/co-star", []string{"film", "co", "star"}},
		{"an identifier is split at its capitals", "directedBy", []string{"directed", "by"}},
		{"several capitals stay together", "HTTPServer2URL", []string{"http", "server2", "url"}},
		{"a name keeps its capitals together", "Ronald McDonald", []string{"ronald", "mcdonald"}},
		{"a possessive is not a word", "Eva's and Hans’s mother", []string{"eva", "and", "hans", "mother"}},
		{"another apostrophe parts", "d'Artagnan, O'Brien's", []string{"d", "artagnan", "o", "brien"}},
		{"case and accents are folded", "Élan ŁÓDŹ Straße Æsir", []string{"elan", "lodz", "strasse", "aesir"}},
		{"combining marks fold as composed letters do", "E\u0301lan N\u0303andu\u0301", []string{"elan", "nandu"}},
		{"Vietnamese", "Nguyễn Ái Quốc", []string{"nguyen", "ai", "quoc"}},
		{"Greek and Cyrillic", "Αθήνας Йёлка", []string{"αθηνασ", "иелка"}},
		{"Chinese stays a run", "北京大学", []string{"北京大学"}},
		{"digits are words", "1984 (film)", []string{"1984", "film"}},
		{"punctuation alone is nothing", " -_-!? ", nil},
		{"nothing is nothing", "", nil},
		{"bytes that are not UTF-8 part words", "a\xffb", []string{"a", "b"}},
		{"an s after an apostrophe inside a word stays", "rock'summer", []string{"rock", "summer"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, relevance.Words(c.text))
		})
	}
}
