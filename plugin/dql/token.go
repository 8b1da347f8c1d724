package dql

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// kind tells what a token is. Where Dgraph's lexer has one "name" item for words, IRIs and
// strings, the three are kept apart here, because only the first two can name a predicate.
type kind uint8

const (
	tokEnd     kind = iota // end of the text
	tokWord                // name, 12, 1.5, ~friend, en, also a directive's name
	tokIRI                 // <...>, brackets included in the span
	tokString              // "...", quotes included in the span
	tokRegex               // /.../flags
	tokOp                  // + - * / % < <= > >= == != !
	tokPunct               // { } ( ) [ ] : , @ . * $ =
	tokKeyword             // query, fragment or schema at the top level
)

// token is a piece of the text between two offsets. Space and comments lie between tokens.
type token struct {
	kind       kind
	start, end int
}

// scanner cuts a text into tokens as Dgraph's lexer does. What a character means depends on
// where it stands, so each mode of that lexer (dql/state.go) is one method here.
type scanner struct {
	text   string
	pos    int
	end    int // the scanner stops here
	tokens []token
	braces int // nesting of {}
	parens int // nesting of ()
}

// fault is an error at an offset, before it has a line and a column.
type fault struct {
	offset int
	msg    string
}

func (f *fault) Error() string { return f.msg }

func faultf(offset int, format string, args ...any) *fault {
	return &fault{offset, fmt.Sprintf(format, args...)}
}

// scan cuts text[start:end], which starts at the top level, into tokens. On a fault it
// returns the tokens before it as well.
func scan(text string, start, end int) ([]token, error) {
	s := &scanner{text: text, pos: start, end: end}
	err := s.topLevel()
	return s.tokens, err
}

func (s *scanner) emit(k kind, start int) {
	s.tokens = append(s.tokens, token{k, start, s.pos})
}

// punct emits the byte at pos.
func (s *scanner) punct(k kind) {
	s.pos++
	s.emit(k, s.pos-1)
}

// at is the byte n after pos; 0 past the end, a byte that no rule below accepts.
func (s *scanner) at(n int) byte {
	if s.pos+n >= s.end {
		return 0
	}
	return s.text[s.pos+n]
}

func (s *scanner) unexpected(where string) error {
	r, _ := utf8.DecodeRuneInString(s.text[s.pos:s.end])
	return faultf(s.pos, "the character %q means nothing %s; predicates with such characters are written <like this>, text is written \"like this\"", r, where)
}

func (s *scanner) topLevel() error {
	for s.pos < s.end {
		switch c := s.at(0); {
		case c == '{':
			s.braces++
			s.punct(tokPunct)
			if err := s.firstName(); err != nil {
				return err
			}
			if err := s.block(); err != nil {
				return err
			}
		case c == '}':
			return faultf(s.pos, "a } too many; every block is closed before it")
		case c == '(':
			return faultf(s.pos, "a ( outside every block; start with { or query name(...) {")
		case c == '#':
			s.comment()
		case isNameBegin(c):
			if err := s.operation(); err != nil {
				return err
			}
		default: // Dgraph skips anything else here, a byte order mark for one
			s.pos++
		}
	}
	return nil
}

// operation scans "query ...", "fragment ..." or "schema ..." to the end of its braces.
func (s *scanner) operation() error {
	start := s.pos
	s.acceptWord()
	word := s.text[start:s.pos]
	switch word {
	case "query", "fragment":
		s.emit(tokKeyword, start)
		return s.block()
	case "schema":
		s.emit(tokKeyword, start)
		return s.schema()
	case "upsert", "mutation":
		return faultf(start, "%s is not part of a query; send it to the mutation endpoint", word)
	}
	return faultf(start, "%q does not start anything; write query, fragment, schema or {", word)
}

// firstName looks at what follows the first brace: a bare {set ...} is a mutation.
func (s *scanner) firstName() error {
	s.skipSpace()
	if !isNameBegin(s.at(0)) {
		return nil
	}
	start := s.pos
	s.acceptWord()
	switch word := s.text[start:s.pos]; word {
	case "set", "delete", "del":
		return faultf(start, "{ %s starts a mutation; a block of that name is written query { %s(func: ...) }", word, word)
	}
	s.emit(tokWord, start)
	return nil
}

// block scans names, braces and directives until the braces close.
func (s *scanner) block() error {
	for s.pos < s.end {
		switch c := s.at(0); {
		case isSpace(c):
			s.pos++
		case c == '#':
			s.comment()
		case c == '{':
			s.braces++
			s.punct(tokPunct)
		case c == '}':
			s.braces--
			if s.braces < 0 {
				return faultf(s.pos, "a } before any {")
			}
			s.punct(tokPunct)
			if s.braces == 0 {
				return nil
			}
		case c == '(':
			s.parens++
			s.punct(tokPunct)
			if err := s.arguments(); err != nil {
				return err
			}
		case c == '@':
			if err := s.directive(); err != nil {
				return err
			}
		case c == '<':
			if err := s.iri(); err != nil {
				return err
			}
		case c == '-':
			s.punct(tokOp)
		case c == '.', c == ',', c == ':', c == '*':
			s.punct(tokPunct)
		case isNameBegin(c):
			s.word()
		default:
			return s.unexpected("here")
		}
	}
	return faultf(s.end, "the text ends inside a block; close it with }")
}

// arguments scans what stands between parentheses, nested ones included.
func (s *scanner) arguments() error {
	// A slash starts a regex after a comma and divides elsewhere. Dgraph forgets the comma
	// at every name and comment, but not at brackets and operators.
	afterComma := false
	for s.pos < s.end {
		switch c := s.at(0); {
		case isSpace(c):
			s.pos++
		case c == '#':
			s.comment()
			afterComma = false
		case c == '@':
			if err := s.directive(); err != nil {
				return err
			}
			afterComma = false
		case isNameBegin(c) || isDigit(c):
			s.word()
			afterComma = false
		case c == '/' && afterComma:
			if err := s.regex(); err != nil {
				return err
			}
			afterComma = false
		case c == '"':
			if err := s.quoted(); err != nil {
				return err
			}
			afterComma = false
		case c == '=' && !isComparison(s.at(1)):
			s.punct(tokPunct)
		case c == '<' && s.at(1) != ' ' && s.at(1) != '\t' && s.at(1) != '=':
			if err := s.iri(); err != nil {
				return err
			}
			afterComma = false
		case isComparison(c):
			start := s.pos
			s.pos++
			if isComparison(s.at(0)) {
				s.pos++
			}
			s.emit(tokOp, start)
		case isMathOp(c):
			s.punct(tokOp)
		case c == '(':
			s.parens++
			s.punct(tokPunct)
		case c == ')':
			if afterComma {
				return faultf(s.pos, "an argument is missing between , and )")
			}
			s.parens--
			s.punct(tokPunct)
			if s.parens == 0 {
				return nil
			}
		case c == ',':
			if afterComma {
				return faultf(s.pos, "two commas with nothing between them")
			}
			afterComma = true
			s.punct(tokPunct)
		case c == '{':
			afterComma = false
			s.punct(tokPunct)
		case strings.IndexByte("$:[]}.", c) >= 0:
			s.punct(tokPunct)
		default:
			return s.unexpected("between parentheses")
		}
	}
	return faultf(s.end, "the text ends inside parentheses; close them with )")
}

// schema scans a schema block to its closing brace.
func (s *scanner) schema() error {
	for s.pos < s.end {
		switch c := s.at(0); {
		case isSpace(c):
			s.pos++
		case c == '#':
			s.comment()
		case c == '<':
			if err := s.iri(); err != nil {
				return err
			}
		case c == '{':
			s.braces++
			s.punct(tokPunct)
		case c == '}':
			s.braces--
			if s.braces < 0 {
				return faultf(s.pos, "a } before any {")
			}
			s.punct(tokPunct)
			if s.braces == 0 {
				return nil
			}
		case strings.IndexByte("()[]:,", c) >= 0:
			s.punct(tokPunct)
		case isNameBegin(c):
			s.word()
		default:
			return s.unexpected("in a schema block")
		}
	}
	return faultf(s.end, "the text ends inside a schema block; close it with }")
}

// directive scans @name; no space may follow the @. A dot ends the name and belongs to it.
func (s *scanner) directive() error {
	s.punct(tokPunct)
	start := s.pos
	if c := s.at(0); !isNameBegin(c) && c != '.' && c != '*' {
		return faultf(s.pos-1, "a directive or language must follow @ without a space")
	}
	for {
		c := s.at(0)
		if c == '.' {
			s.pos++
			break
		}
		if !isNameBegin(c) && !isDigit(c) && c != '-' && c != '*' {
			break
		}
		s.pos++
	}
	s.emit(tokWord, start)
	return nil
}

func (s *scanner) word() {
	start := s.pos
	s.acceptWord()
	s.emit(tokWord, start)
}

func (s *scanner) acceptWord() {
	for c := s.at(0); isNameBegin(c) || isDigit(c) || c == '.'; c = s.at(0) {
		s.pos++
	}
}

func (s *scanner) skipSpace() {
	for s.pos < s.end {
		switch c := s.at(0); {
		case isSpace(c):
			s.pos++
		case c == '#':
			s.comment()
		default:
			return
		}
	}
}

// comment skips to the end of the line.
func (s *scanner) comment() {
	for s.pos < s.end && s.at(0) != '\n' && s.at(0) != '\r' {
		s.pos++
	}
}

// quoted scans "...". A line break may stand inside.
func (s *scanner) quoted() error {
	end, err := endOfString(s.text[:s.end], s.pos)
	if err != nil {
		return err
	}
	start := s.pos
	s.pos = end
	s.emit(tokString, start)
	return nil
}

// endOfString is the offset after the string that opens at text[start].
func endOfString(text string, start int) (int, error) {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1, nil
		case '\\':
			i++
			if i < len(text) && strings.IndexByte(escapes, text[i]) < 0 {
				return 0, faultf(i-1, `the string has an escape that DQL does not know; write one of \u \v \t \b \n \r \f \" \' \\`)
			}
		}
	}
	return 0, faultf(start, `the string is not closed; end it with "`)
}

// regex scans /.../flags.
func (s *scanner) regex() error {
	start := s.pos
	for s.pos++; s.pos < s.end; s.pos++ {
		switch s.at(0) {
		case '\\':
			s.pos++
		case '/':
			s.pos++
			for c := s.at(0); c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'; c = s.at(0) {
				s.pos++
			}
			s.emit(tokRegex, start)
			return nil
		}
	}
	return faultf(start, "the regular expression is not closed; end it with /")
}

// iri scans <...>: no space, no quotes, no braces inside, backslash only in \uXXXX.
func (s *scanner) iri() error {
	start := s.pos
	for s.pos++; s.pos < s.end; s.pos++ {
		switch c := s.at(0); {
		case c == '>':
			s.pos++
			s.emit(tokIRI, start)
			return nil
		case c == '\\':
			digits := map[byte]int{'u': 4, 'U': 8}[s.at(1)]
			for i := range digits {
				if !isHex(s.at(2 + i)) {
					digits = 0
					break
				}
			}
			if digits == 0 {
				return faultf(s.pos, `a \ in <...> must start \uXXXX or \UXXXXXXXX`)
			}
			s.pos += 1 + digits
		case c <= ' ' || strings.IndexByte("<\"{}|^`", c) >= 0:
			return faultf(s.pos, "the character %q may not stand in <...>; in a comparison leave a space after <", rune(c))
		}
	}
	return faultf(start, "the < is not closed; end the name with >")
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
func isNameBegin(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '~'
}
func isMathOp(c byte) bool     { return c == '+' || c == '-' || c == '*' || c == '/' || c == '%' }
func isComparison(c byte) bool { return c == '<' || c == '>' || c == '=' || c == '!' }
