package mutation

import (
	"encoding/json"

	"github.com/evorag/dgraph-evorag/plugin/dql"
)

// Text is a whole mutation request in one text.
type Text struct {
	Query     string   // of an upsert
	QuerySpan dql.Span // of the JSON string that holds it; zero in RDF
	Edges     []Edge   // with their places in the text
	Blocks    []Block  // of RDF
}

// Block is one mutation of a text as Dgraph reads it (dql/parser_mutation.go): what follows "set"
// and "delete", the last of each, and the condition, which holds for the mutations after it too
// as long as they have none of their own.
type Block struct{ Cond, Set, Delete string }

// ReadRDF reads the body of a mutation in application/rdf, which is also the text that
// RunDQL takes: { set {...} delete {...} }, or upsert { query {...} mutation {...} }. Any
// other text sets no edge.
func ReadRDF(text string) Text {
	s := &scanner{text: text}
	s.begin()
	switch {
	case s.peek() == '{':
		s.mutation("")
	case s.word() == "upsert":
		s.upsert()
	}
	if s.space(); s.failed || s.pos < len(text) { // Dgraph reads the text to its end
		return Text{}
	}
	return s.out
}

// ReadJSON reads the body of a mutation in application/json: an object with "set", "delete",
// "cond" and "query", or with several of them under "mutations".
func ReadJSON(text string) Text {
	var out Text
	d := newDecoder(text, dql.Span{End: len(text)})
	if !json.Valid([]byte(text)) || out.members(d, true) != nil {
		return Text{}
	}
	return out
}

// members reads one object of ReadJSON.
func (t *Text) members(d decoder, top bool) error {
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return errJSON
	}
	for d.More() {
		key, err := d.key()
		if err != nil {
			return err
		}
		if top && key == "mutations" && d.next() == '[' {
			if _, err := d.Token(); err != nil {
				return err
			}
			for d.More() {
				if err := t.members(d, false); err != nil {
					return err
				}
			}
			if _, err := d.Token(); err != nil {
				return err
			}
			continue
		}
		span, err := d.skip()
		if err != nil {
			return err
		}
		switch {
		case key == "set":
			t.Edges = append(t.Edges, JSON(d.text, span)...)
		case top && key == "query":
			t.QuerySpan = span
			if err := json.Unmarshal([]byte(d.text[span.Start:span.End]), &t.Query); err != nil {
				return err
			}
		}
	}
	_, err := d.Token()
	return err
}

// scanner walks the blocks of a mutation as Dgraph's lexer does (dql/state.go).
type scanner struct {
	text   string
	pos    int
	failed bool
	out    Text
}

func (s *scanner) peek() byte {
	if s.failed || s.pos >= len(s.text) {
		return 0
	}
	return s.text[s.pos]
}

// begin moves to the first brace or word; Dgraph passes whatever stands before it, such as a
// byte order mark.
func (s *scanner) begin() {
	for ; s.pos < len(s.text); s.pos++ {
		if s.space(); s.pos == len(s.text) || s.peek() == '{' || isLetter(s.peek()) {
			return
		}
	}
}

// space passes white space and comments.
func (s *scanner) space() {
	for {
		switch s.peek() {
		case ' ', '\t', '\r', '\n':
			s.pos++
		case '#':
			for c := s.peek(); c != 0 && c != '\n' && c != '\r'; c = s.peek() {
				s.pos++
			}
		default:
			return
		}
	}
}

// word takes a name, empty where there is none.
func (s *scanner) word() string {
	start := s.pos
	for isLetter(s.peek()) {
		s.pos++
	}
	return s.text[start:s.pos]
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func (s *scanner) accept(c byte) {
	if s.peek() != c {
		s.failed = true
		return
	}
	s.pos++
}

// upsert reads { query {...} fragment f {...} mutation [@if(...)] {...} }.
func (s *scanner) upsert() {
	s.space()
	s.accept('{')
	cond := ""
	for {
		s.space()
		if s.peek() == '}' {
			s.pos++
			return
		}
		start := s.pos
		switch s.word() {
		case "query":
			start = s.pos
			s.content('{', '}')
			s.out.Query += s.text[start:s.pos]
		case "fragment":
			s.content('{', '}')
			s.out.Query += s.text[start:s.pos]
		case "mutation":
			s.space()
			if start = s.pos; s.peek() == '@' {
				s.content('(', ')')
				cond = s.text[start:s.pos]
				s.space()
			}
			s.mutation(cond)
		default:
			s.failed = true
		}
		if s.failed {
			return
		}
	}
}

// content passes what ends with the bracket that closes the first one opened; only strings
// hide brackets.
func (s *scanner) content(open, closing byte) {
	for depth := 0; ; s.pos++ {
		switch s.peek() {
		case 0:
			s.failed = true
			return
		case '"':
			if s.quoted(); s.failed {
				return
			}
		case open:
			depth++
		case closing:
			if depth--; depth <= 0 {
				s.pos++
				s.failed = depth < 0
				return
			}
		}
	}
}

// quoted moves to the quote that closes a string.
func (s *scanner) quoted() {
	for s.pos++; s.peek() != '"'; s.pos++ {
		if s.peek() == '\\' {
			s.pos++
		}
		if s.peek() == 0 {
			s.failed, s.pos = true, len(s.text) // pos may have gone past it
			return
		}
	}
}

// mutation reads { set {...} delete {...} }.
func (s *scanner) mutation(cond string) {
	s.accept('{')
	block := Block{Cond: cond}
	for {
		s.space()
		if s.peek() == '}' {
			s.pos++
			s.out.Blocks = append(s.out.Blocks, block)
			return
		}
		op := s.word()
		s.space()
		s.accept('{')
		start := s.pos
		for s.peek() != '}' {
			if s.peek() == '"' {
				s.quoted()
			}
			if c := s.peek(); c == 0 || c == '{' {
				s.failed = true
				return
			}
			s.pos++
		}
		switch op {
		case "set":
			block.Set = s.text[start:s.pos]
			s.out.Edges = append(s.out.Edges, NQuads(s.text, dql.Span{Start: start, End: s.pos})...)
		case "delete":
			block.Delete = s.text[start:s.pos]
		default: // Dgraph knows no other here
			s.failed = true
		}
		s.accept('}')
	}
}
