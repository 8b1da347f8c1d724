package triplefile

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parseNQuad reads one line of N-Quads (W3C Recommendation of 25 February 2014), of which
// N-Triples is the part without graph labels, and Dgraph's facets before the full stop. The
// graph label is read and not kept. Relative IRIs are taken, as Dgraph's own files have them.
func parseNQuad(line string) (Statement, error) {
	c := &cursor{rest: line}
	c.space()
	if c.rest == "" || c.rest[0] == '#' {
		return Statement{}, errComment
	}
	var s Statement
	var err error
	if s.Head, err = c.term("the head", "<_"); err != nil {
		return Statement{}, err
	}
	if s.Relation, err = c.term("the relation", "<"); err != nil {
		return Statement{}, err
	}
	if s.Object, err = c.term("the object", `<_"`); err != nil {
		return Statement{}, err
	}
	if c.at('<') || c.at('_') {
		if _, err = c.term("the graph label", "<_"); err != nil {
			return Statement{}, err
		}
	}
	if c.at('(') {
		if s.Facets, err = c.facets(); err != nil {
			return Statement{}, err
		}
	}
	if !c.at('.') {
		return Statement{}, fmt.Errorf("a full stop is missing before %s", c.near())
	}
	c.rest = c.rest[1:]
	if c.space(); c.rest != "" && c.rest[0] != '#' {
		return Statement{}, fmt.Errorf("after the full stop stands %s; write one triplet a line", c.near())
	}
	return s, nil
}

// cursor walks along a line.
type cursor struct{ rest string }

func (c *cursor) space() { c.rest = strings.TrimLeft(c.rest, " \t") }

func (c *cursor) at(b byte) bool { return c.rest != "" && c.rest[0] == b }

// near quotes where the cursor stands, for errors.
func (c *cursor) near() string {
	if c.rest == "" {
		return "the end of the line"
	}
	s := c.rest
	if len(s) > 20 {
		s = strings.ToValidUTF8(s[:20], "") + "…"
	}
	return strconv.Quote(s)
}

// term reads one term that begins with a byte of starts, and the space after it.
func (c *cursor) term(what, starts string) (Term, error) {
	defer c.space()
	if c.rest == "" || !strings.Contains(starts, c.rest[:1]) {
		return Term{}, fmt.Errorf("%s cannot be %s; write <iri>%s", what, c.near(), map[string]string{"<": "", "<_": " or _:label", `<_"`: `, _:label or "value"`}[starts])
	}
	switch c.rest[0] {
	case '<':
		iri, err := c.iri()
		return Term{Kind: IRI, Value: iri}, err
	case '_':
		return c.blank()
	default:
		return c.literal()
	}
}

func (c *cursor) iri() (string, error) {
	end := strings.IndexByte(c.rest, '>')
	if end < 0 {
		return "", fmt.Errorf("%s has no closing >", c.near())
	}
	raw := c.rest[1:end]
	if bad := strings.IndexFunc(raw, func(r rune) bool { return r <= ' ' || strings.ContainsRune("<\"{}|^`", r) }); bad >= 0 {
		return "", fmt.Errorf("%q may not stand in an IRI", raw[bad:bad+1])
	}
	iri, err := unescape(raw, false)
	if err != nil {
		return "", err
	}
	c.rest = c.rest[end+1:]
	return iri, nil
}

func (c *cursor) blank() (Term, error) {
	if !strings.HasPrefix(c.rest, "_:") {
		return Term{}, fmt.Errorf("%s is not a blank node; write _:label", c.near())
	}
	end := 2
	for end < len(c.rest) {
		r, n := utf8.DecodeRuneInString(c.rest[end:])
		letter := unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == ':'
		if !letter && (end == 2 || r != '-' && r != '.' && r != '·' && !unicode.Is(unicode.Mn, r)) {
			break
		}
		end += n
	}
	label := strings.TrimRight(c.rest[2:end], ".") // a label does not end in the full stop
	if label == "" {
		return Term{}, fmt.Errorf("%s has no label after _:", c.near())
	}
	c.rest = c.rest[2+len(label):]
	return Term{Kind: Blank, Value: label}, nil
}

var langTag = regexp.MustCompile(`^@[a-zA-Z]+(-[a-zA-Z0-9]+)*`)

func (c *cursor) literal() (Term, error) {
	end := 1
	for end < len(c.rest) && c.rest[end] != '"' {
		if c.rest[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(c.rest) {
		return Term{}, fmt.Errorf("%s has no closing quote", c.near())
	}
	value, err := unescape(c.rest[1:end], true)
	if err != nil {
		return Term{}, err
	}
	t := Term{Kind: Literal, Value: value}
	c.rest = c.rest[end+1:]
	switch {
	case strings.HasPrefix(c.rest, "^^<"):
		c.rest = c.rest[2:]
		t.Datatype, err = c.iri()
	case strings.HasPrefix(c.rest, "^^"):
		err = errors.New("after ^^ stands the type in brackets: ^^<http://www.w3.org/2001/XMLSchema#int>")
	case c.at('@'):
		tag := langTag.FindString(c.rest)
		if tag == "" {
			return Term{}, fmt.Errorf("%s is not a language; write one like @en", c.near())
		}
		t.Lang, c.rest = tag[1:], c.rest[len(tag):]
	}
	return t, err
}

var escapes = map[byte]string{'t': "\t", 'b': "\b", 'n': "\n", 'r': "\r", 'f': "\f", '"': `"`, '\'': "'", '\\': `\`}

// unescape decodes \uXXXX and \UXXXXXXXX, and in strings the single-letter escapes.
func unescape(s string, text bool) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", errors.New(`a lone \ ; write \\`)
		}
		width := map[byte]int{'u': 4, 'U': 8}[s[i]]
		switch {
		case width > 0 && i+width < len(s):
			code, err := strconv.ParseUint(s[i+1:i+1+width], 16, 32)
			if err != nil || !utf8.ValidRune(rune(code)) {
				return "", fmt.Errorf(`\%s is not a character`, s[i:i+1+width])
			}
			b.WriteRune(rune(code))
			i += width
		case text && escapes[s[i]] != "":
			b.WriteString(escapes[s[i]])
		default:
			return "", fmt.Errorf(`\%c is no escape; write \t \b \n \r \f \" \' \\ \uXXXX or \UXXXXXXXX`, s[i])
		}
	}
	return b.String(), nil
}
