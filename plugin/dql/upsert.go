package dql

import "errors"

// ParseUpsert reads the query and the fragments inside an upsert block, as the mutation
// endpoint takes it; all spans are offsets in the whole text. An upsert's query is cut out of
// the text before it is read, by counting braces outside strings: there a brace or a quote in
// a comment or a regex counts, which in a plain query it does not. What is spliced into such
// a query must keep to that. (The query of a gRPC request with mutations is a plain one.)
func ParseUpsert(text string) (*Query, error) {
	q := &Query{Text: text}
	tokens, err := scanUpsert(text)
	if err != nil {
		return nil, q.located(err)
	}
	if err := q.parse(tokens); err != nil {
		return nil, q.located(err)
	}
	return q, q.located(q.check())
}

// scanUpsert cuts the query and the fragments of an upsert block into tokens.
func scanUpsert(text string) ([]token, error) {
	s := &scanner{text: text, end: len(text)}
	regions, err := s.upsert()
	var tokens []token
	for _, r := range regions {
		inner, innerErr := scan(text, r.Start, r.End)
		tokens = append(tokens, inner...)
		if innerErr == nil {
			continue
		}
		if f := new(fault); errors.As(innerErr, &f) && f.offset == r.End {
			return tokens, faultf(r.End, "the query of the upsert ends here for Dgraph, since in an upsert braces and quotes count in comments and regular expressions, too; take them out there")
		}
		return tokens, innerErr
	}
	return tokens, err
}

// upsert returns the regions of the text that Dgraph would put together to a query.
func (s *scanner) upsert() ([]Span, error) {
	for s.pos < s.end {
		switch c := s.at(0); {
		case c == '#':
			s.comment()
		case isNameBegin(c) && s.peekWord() == "upsert":
			s.acceptWord()
			regions, err := s.upsertBlock()
			if err != nil {
				return regions, err
			}
			s.skipSpace()
			if s.pos < s.end {
				return regions, faultf(s.pos, "nothing may follow the upsert block")
			}
			return regions, nil
		case isNameBegin(c) || c == '{' || c == '}' || c == '(':
			return nil, faultf(s.pos, "expected upsert {")
		default:
			s.pos++
		}
	}
	return nil, faultf(s.end, "expected upsert {")
}

func (s *scanner) upsertBlock() (regions []Span, err error) {
	s.skipSpace()
	if s.at(0) != '{' {
		return nil, faultf(s.pos, "expected { after upsert")
	}
	for s.pos++; s.pos < s.end; {
		switch c := s.at(0); {
		case isSpace(c):
			s.pos++
		case c == '#':
			s.comment()
		case c == '}':
			s.pos++
			return regions, nil
		case isNameBegin(c):
			word := s.pos
			s.acceptWord()
			start := s.pos
			switch s.text[word:s.pos] {
			case "query":
				err = s.content('{', '}')
			case "fragment":
				err = s.content('{', '}')
				start = word
			case "mutation":
				if err = s.mutation(); err != nil {
					return regions, err
				}
				continue
			default:
				return regions, faultf(word, "an upsert block holds query, fragment and mutation blocks only")
			}
			if err != nil {
				return regions, err
			}
			regions = append(regions, Span{start, s.pos})
		default:
			return regions, s.unexpected("in an upsert block")
		}
	}
	return regions, faultf(s.end, "the text ends inside the upsert block; close it with }")
}

// content skips past the bracket that closes the first one opened, looking at strings only.
func (s *scanner) content(open, closing byte) error {
	start := s.pos
	for depth := 0; s.pos < s.end; s.pos++ {
		switch s.at(0) {
		case '"':
			end, err := endOfString(s.text, s.pos)
			if err != nil {
				return err
			}
			s.pos = end - 1
		case open:
			depth++
		case closing:
			if depth--; depth < 0 {
				return faultf(s.pos, "a %c before any %c", closing, open)
			}
			if depth == 0 {
				s.pos++
				return nil
			}
		}
	}
	return faultf(start, "what starts here is not closed with %c; in an upsert braces in comments and regular expressions count, too", closing)
}

// mutation skips [@if(...)] { set {...} delete {...} }.
func (s *scanner) mutation() error {
	for depth := 0; s.pos < s.end; {
		switch c := s.at(0); {
		case isSpace(c):
			s.pos++
		case c == '#':
			s.comment()
		case c == '@':
			start := s.pos
			s.pos++
			if s.peekWord() != "if" {
				return faultf(start, "a mutation takes the directive @if(...) only")
			}
			if err := s.content('(', ')'); err != nil {
				return err
			}
		case c == '{':
			s.pos++
			if depth++; depth == 2 {
				if err := s.triples(); err != nil {
					return err
				}
			}
		case c == '}':
			s.pos++
			if depth--; depth == 0 {
				return nil
			}
			if depth < 0 {
				return faultf(s.pos-1, "a } before any {")
			}
		case isNameBegin(c):
			s.acceptWord()
		default:
			return s.unexpected("in a mutation block")
		}
	}
	return faultf(s.end, "the text ends inside a mutation; close it with }")
}

// triples skips to the brace that closes a set or delete block.
func (s *scanner) triples() error {
	for ; s.pos < s.end; s.pos++ {
		switch s.at(0) {
		case '}':
			return nil
		case '{':
			return faultf(s.pos, "a { may stand in a mutation only inside a string")
		case '"':
			for s.pos++; s.pos < s.end && s.at(0) != '"'; s.pos++ {
				if s.at(0) == '\\' {
					s.pos++
				}
			}
		}
	}
	return faultf(s.end, "the text ends inside a mutation; close it with }")
}
