package relevance

import (
	"strings"
	"unicode"
)

// Words splits a text into its words, folded as Fold folds. Letters, digits and marks make
// words; everything else parts them, so `film.film.directed_by` has four. In a text without
// spaces, an identifier, a capital after a small letter or a digit begins a word
// (`directedBy`), as does the last of several capitals before a small one (`HTTPServer`). An
// apostrophe ends a word and takes a possessive s along.
func Words(text string) []string {
	return split(text, !strings.ContainsFunc(text, unicode.IsSpace))
}

func split(text string, camelCase bool) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			if w := Fold(string(word)); w != "" {
				words = append(words, w)
			}
			word = word[:0]
		}
	}
	runes := []rune(text)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			flush()
			continue
		case possessive(runes, i):
			continue
		case camelCase && unicode.IsUpper(r) && i > 0:
			if !unicode.IsUpper(runes[i-1]) || (i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
				flush()
			}
		}
		word = append(word, r)
	}
	flush()
	return words
}

// possessive reports whether runes[i] is the s of an English genitive: Eva's.
func possessive(runes []rune, i int) bool {
	return (runes[i] == 's' || runes[i] == 'S') && i > 1 &&
		(runes[i-1] == '\'' || runes[i-1] == '’') && unicode.IsLetter(runes[i-2]) &&
		(i+1 == len(runes) || !unicode.IsLetter(runes[i+1]))
}

// Fold takes case and accents out of a word: `Élan` and `ELAN` both give `elan`, whether
// the accent is composed or a combining mark. Letters of two sounds are written out
// (`æ` ae, `ß` ss).
func Fold(word string) string {
	var b strings.Builder
	b.Grow(len(word))
	for _, r := range word {
		r = unicode.ToLower(r)
		switch {
		case r < 0x80:
			b.WriteByte(byte(r))
		case unicode.IsMark(r):
		default:
			if base, ok := bases[r]; ok {
				b.WriteString(base)
			} else {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// bases maps a small accented letter of the Latin, Greek and Cyrillic scripts to its base.
var bases = func() map[rune]string {
	m := make(map[rune]string)
	for base, accented := range map[string]string{
		"a": "àáâãäåāăąǎǟǡǻȁȃȧḁạảấầẩẫậắằẳẵặª",
		"b": "ḃḅḇ",
		"c": "çćĉċčḉ",
		"d": "ďđðḋḍḏḑḓ",
		"e": "èéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ",
		"f": "ḟ",
		"g": "ĝğġģǧǵḡ",
		"h": "ĥħȟḣḥḧḩḫẖ",
		"i": "ìíîïĩīĭįıǐȉȋḭḯỉị",
		"j": "ĵǰ",
		"k": "ķǩḱḳḵ",
		"l": "ĺļľłḷḹḻḽ",
		"m": "ḿṁṃ",
		"n": "ñńņňŋǹṅṇṉṋ",
		"o": "òóôõöøōŏőơǒǫǭǿȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợº",
		"p": "ṕṗ",
		"r": "ŕŗřȑȓṙṛṝṟ",
		"s": "śŝşšșſṡṣṥṧṩ",
		"t": "ţťŧțṫṭṯṱẗ",
		"u": "ùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự",
		"v": "ṽṿ",
		"w": "ŵẁẃẅẇẉẘ",
		"x": "ẋẍ",
		"y": "ýÿŷȳẏẙỳỵỷỹ",
		"z": "źżžẑẓẕ",

		"ae": "æǣǽ", "oe": "œ", "ss": "ß", "th": "þ",

		"α": "ά", "ε": "έ", "η": "ή", "ι": "ίϊΐ", "ο": "ό", "σ": "ς", "υ": "ύϋΰ", "ω": "ώ",

		"г": "ѓ", "е": "ёѐ", "и": "йѝ", "і": "ї", "к": "ќ", "у": "ў",
	} {
		for _, r := range accented {
			m[r] = base
		}
	}
	return m
}()
