package dql

import (
	"errors"
	"strings"
)

// Form is what a text asks for, where one endpoint takes several.
type Form uint8

// The forms of a text.
const (
	FormQuery    Form = iota // {...}, query ..., fragment ..., schema ...
	FormUpsert               // upsert { query {...} mutation {...} }
	FormMutation             // { set {...} }, { delete {...} }, mutation {...}
)

// FormOf tells a text's form from its first words. A text that is none of them counts as a
// query, which Dgraph will refuse.
func FormOf(text string) Form {
	s := &scanner{text: text, end: len(text)}
	for s.pos < s.end {
		switch c := s.at(0); {
		case c == '#':
			s.comment()
		case c == '{':
			s.pos++
			s.skipSpace()
			switch s.peekWord() {
			case "set", "delete", "del":
				return FormMutation
			}
			return FormQuery
		case isNameBegin(c):
			switch s.peekWord() {
			case "upsert":
				return FormUpsert
			case "mutation":
				return FormMutation
			}
			return FormQuery
		default:
			s.pos++
		}
	}
	return FormQuery
}

func (s *scanner) peekWord() string {
	start := s.pos
	s.acceptWord()
	word := s.text[start:s.pos]
	s.pos = start
	return word
}

// Mentions reports whether a text may carry @evorag, and so has to be parsed; every other
// text goes to Dgraph as it came. It costs one pass over the bytes unless "@evorag" occurs,
// and then tells a directive from a comment, a string, an IRI and a regex. Where the text
// breaks off unreadably before a further "@evorag", it says true.
func Mentions(text string) bool {
	if !containsDirective(text) {
		return false
	}
	var tokens []token
	var err error
	switch FormOf(text) {
	case FormMutation:
		return false
	case FormUpsert:
		tokens, err = scanUpsert(text)
	case FormQuery:
		tokens, err = scan(text, 0, len(text))
	}
	for i := 1; i < len(tokens); i++ {
		at, name := tokens[i-1], tokens[i]
		if at.kind == tokPunct && text[at.start] == '@' && strings.EqualFold(text[name.start:name.end], DirectiveName) {
			return true
		}
	}
	var f *fault
	return errors.As(err, &f) && containsDirective(text[f.offset:])
}

// containsDirective looks for "@evorag" in any case, wherever it stands.
func containsDirective(text string) bool {
	for {
		i := strings.IndexByte(text, '@')
		if i < 0 || len(text)-i <= len(DirectiveName) {
			return false
		}
		text = text[i+1:]
		if strings.EqualFold(text[:len(DirectiveName)], DirectiveName) {
			return true
		}
	}
}
