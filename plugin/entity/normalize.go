// Package entity finds names of nodes inside a question.
//
// A stored name and the question go through the same normalisation; the question is then cut
// into every run of one to MaxWords words, and a name occurs in it exactly where its normalised
// form equals one of those runs. It needs the standard library only, so that the tokenizer
// plugin, which the engine loads, can carry it.
package entity

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxWords is the longest name, in normalised words, that can be found inside a question.
const MaxWords = 12

// Normalize gives the form in which names are compared: lower case, accents folded
// ("Amélie" -> "amelie"), apostrophes and the possessive 's dropped ("Eva's" -> "eva"), "&"
// spelled "and", every other punctuation, underscore or hyphen one space, no space at the ends.
// "C++" and "C#" keep their signs. Scripts written without spaces become one word a character.
// A text without letters and digits gives "".
func Normalize(name string) string {
	words := split(name)
	var b strings.Builder
	b.Grow(len(name))
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.text)
	}
	return b.String()
}

// Names gives the normalised forms under which a stored name can be found: the whole, and
// shorter ones without a trailing qualifier in parentheses ("Titanic (1997 film)" -> "titanic")
// and without a leading English article ("The Matrix" -> "matrix"), unless nothing but a stop
// word is left ("The Who"). The whole comes first; nil for a name without letters and digits.
func Names(name string) []string {
	var names []string
	add := func(n string) {
		if n == "" {
			return
		}
		for _, have := range names {
			if have == n {
				return
			}
		}
		names = append(names, n)
	}
	for _, form := range []string{name, withoutQualifier(name)} {
		whole := Normalize(form)
		add(whole)
		if rest := withoutArticle(whole); !stopWords[rest] {
			add(rest)
		}
	}
	return names
}

// withoutQualifier drops "(...)" at the end, unless the name has nothing before it.
func withoutQualifier(name string) string {
	trimmed := strings.TrimRightFunc(name, unicode.IsSpace)
	if !strings.HasSuffix(trimmed, ")") {
		return name
	}
	open := strings.LastIndexByte(trimmed, '(')
	if open < 0 || Normalize(trimmed[:open]) == "" {
		return name
	}
	return trimmed[:open]
}

func withoutArticle(normalized string) string {
	for _, article := range [...]string{"the ", "a ", "an "} {
		if rest, ok := strings.CutPrefix(normalized, article); ok {
			return rest
		}
	}
	return normalized
}

// word is one normalised word and where it stands in the text, in bytes.
type word struct {
	text       string
	start, end int
}

// split cuts a text into normalised words.
func split(text string) []word {
	var words []word
	var b strings.Builder
	start, end := 0, 0
	flush := func() {
		if b.Len() > 0 {
			words = append(words, word{b.String(), start, end})
			b.Reset()
		}
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		next := i + size
		folded := fold(unicode.ToLower(r))
		first, _ := utf8.DecodeRuneInString(folded) // a sign such as ㆒ stands for a letter of another script
		switch {
		case unicode.In(r, unicode.Inherited) && unicode.Is(unicode.Mn, r): // a combining accent
			if b.Len() > 0 {
				end = next
			}
		case unspaced(r), unspaced(first):
			flush()
			if utf8.RuneCountInString(folded) > 1 { // ヿ would be two words in one place: it stays as it is
				folded = text[i:next]
			}
			words = append(words, word{folded, i, next})
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			if b.Len() == 0 {
				start = i
			}
			b.WriteString(folded)
			end = next
		case apostrophe(r) && b.Len() > 0:
			if n := possessive(text[next:]); n > 0 {
				next += n
				flush()
			}
		case (r == '+' || r == '#') && b.Len() > 0: // C++, C#
			b.WriteRune(r)
			end = next
		case r == '&':
			flush()
			words = append(words, word{"and", i, next})
		default:
			flush()
		}
		i = next
	}
	flush()
	return words
}

// possessive gives the length of an "s" that ends its word, the apostrophe before it read already.
func possessive(rest string) int {
	if rest == "" || rest[0] != 's' && rest[0] != 'S' {
		return 0
	}
	if r, _ := utf8.DecodeRuneInString(rest[1:]); len(rest) > 1 && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) && !unspaced(r) {
		return 0
	}
	return 1
}

func apostrophe(r rune) bool {
	switch r {
	case '\'', '’', '‘', 'ʼ', 'ʹ', '´', '`', '＇':
		return true
	}
	return false
}

// unspaced tells the scripts whose words stand without spaces between them.
func unspaced(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) &&
		(unicode.IsLetter(r) || unicode.IsNumber(r))
}
