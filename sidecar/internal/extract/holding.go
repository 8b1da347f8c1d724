package extract

import (
	"strings"
	"unicode"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

// holding tells which names a text holds: as runs of its words, whatever their case, accents
// and punctuation.
type holding struct{ words string }

func newHolding(text string) holding { return holding{" " + folded(text) + " "} }

func (h holding) has(name string) bool {
	words := folded(name)
	if words == "" {
		return false
	}
	if strings.ContainsFunc(words, unspaced) {
		return strings.Contains(h.words, words)
	}
	return strings.Contains(h.words, " "+words+" ")
}

// folded is the text's words with one space between. The space in front keeps a lone name
// from being read as an identifier, at whose capitals Words would part it.
func folded(text string) string { return strings.Join(relevance.Words(" "+text), " ") }

// unspaced reports letters of scripts that put no spaces between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
