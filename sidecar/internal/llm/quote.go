package llm

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Longest texts that go into a prompt, in runes.
const (
	longestName     = 200
	longestQuestion = 4_000
	longestResponse = 16_000
)

// shown is a text from the graph or from a person as it stands in a prompt: as it is where it
// can't be taken for anything else, else in double quotes, on one line, without a bracket
// that could open or close a part of the prompt. Empty stays empty.
func shown(s string, longest int) string {
	s = cut(s, longest)
	for _, r := range s {
		if !unicode.IsPrint(r) || strings.ContainsRune("[]<>{}|\\\"`;", r) {
			return quoted(s)
		}
	}
	return strings.TrimSpace(s)
}

// quoted puts the text between double quotes, with Go's escapes; brackets of every kind are
// escaped, so that no line number, no end of a part and no control word of a chat template
// is left in it.
func quoted(s string) string { return brackets.Replace(strconv.Quote(s)) }

var brackets = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "[", `\u005b`, "]", `\u005d`, "{", `\u007b`, "}", `\u007d`, "|", `\u007c`, "`", `\u0060`)

// cut shortens to so many runes, with a sign that something is gone.
func cut(s string, longest int) string {
	if utf8.RuneCountInString(s) <= longest {
		return s
	}
	return string([]rune(s)[:longest]) + "…"
}
