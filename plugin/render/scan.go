package render

import "bytes"

// span is a stretch of a text.
type span struct{ start, end uint32 }

func (s span) of(text []byte) []byte { return text[s.start:s.end] }

// scanner goes through JSON once. Its brackets, commas, colons and the ends of its strings are
// checked on the way, and that every other scalar is a number or a word of JSON; what stands
// inside strings and numbers is the engine's. At the first fault it goes to the end and stays.
type scanner struct {
	text  []byte
	at    int
	fault bool
}

func (s *scanner) fail() { s.at, s.fault = len(s.text), true }

// next is the byte that follows the white space; 0 at the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take passes the byte, which must come next.
func (s *scanner) take(c byte) {
	if s.next() != c {
		s.fail()
		return
	}
	s.at++
}

// more tells whether another member or item comes before the bracket that closes, which it
// passes. first is true at the first call for a container.
func (s *scanner) more(closing byte, first bool) bool {
	c := s.next()
	if c == closing {
		s.at++
		return false
	}
	if !first {
		s.take(',')
		c = s.next()
	}
	if c == closing || s.at >= len(s.text) {
		s.fail()
	}
	return !s.fault
}

// items goes through a list, or the one item that stands in its place; each passes one.
func (s *scanner) items(each func()) {
	if s.next() != '[' {
		each()
		return
	}
	s.at++
	for first := true; s.more(']', first); first = false {
		each()
	}
}

// members goes through an object; each is given a key, quotes included, and passes its value.
func (s *scanner) members(each func(key []byte)) {
	s.take('{')
	for first := true; !s.fault && s.more('}', first); first = false {
		each(s.key().of(s.text))
	}
}

// end tells what was wrong with the text, of which nothing must be left.
func (s *scanner) end() error {
	if s.next() != 0 || s.at < len(s.text) || s.fault {
		return ErrJSON
	}
	return nil
}

// str reads a string, quotes included.
func (s *scanner) str() span {
	if s.next() != '"' {
		s.fail()
		return span{}
	}
	start := s.at
	for at := start + 1; ; {
		n := bytes.IndexByte(s.text[at:], '"')
		if n < 0 {
			s.fail()
			return span{}
		}
		at += n + 1
		escapes := 0
		for s.text[at-2-escapes] == '\\' { // ends at the quote before
			escapes++
		}
		if escapes%2 == 0 {
			s.at = at
			return span{uint32(start), uint32(at)}
		}
	}
}

// key reads a member's key and the colon.
func (s *scanner) key() span {
	k := s.str()
	s.take(':')
	return k
}

// scalar reads a string, number or word.
func (s *scanner) scalar() span {
	if s.next() == '"' {
		return s.str()
	}
	start := s.at
	for s.at < len(s.text) && !ends[s.text[s.at]] {
		s.at++
	}
	if !isWord(s.text[start:s.at]) {
		s.fail()
		return span{}
	}
	return span{uint32(start), uint32(s.at)}
}

// ends are the bytes that end a number or a word.
var ends = [256]bool{',': true, ']': true, '}': true, ' ': true, '\t': true, '\n': true, '\r': true, ':': true, '"': true, '[': true, '{': true}

// isWord tells a number or a word of JSON.
func isWord(b []byte) bool {
	switch string(b) {
	case "true", "false", "null":
		return true
	}
	for i, c := range b {
		if c-'0' > 9 && c != '-' && (i == 0 || c != '+' && c != '.' && c != 'e' && c != 'E') {
			return false
		}
	}
	return len(b) > 0
}

// skip passes a value without looking into it.
func (s *scanner) skip() span {
	c := s.next()
	if c != '{' && c != '[' {
		return s.scalar()
	}
	start := s.at
	var open []byte // the brackets that are to come
	for {
		first := true // in the container at hand
		switch s.next() {
		case '{':
			s.at++
			open = append(open, '}')
		case '[':
			s.at++
			open = append(open, ']')
		default:
			s.scalar()
			first = false
		}
		for !s.more(open[len(open)-1], first) {
			open, first = open[:len(open)-1], false
			if s.fault {
				return span{}
			}
			if len(open) == 0 {
				return span{uint32(start), uint32(s.at)}
			}
		}
		if open[len(open)-1] == '}' {
			s.key()
		}
	}
}
