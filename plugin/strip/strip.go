// Package strip keeps the extension's own facets and predicates out of answers to queries
// that did not ask for them. A query asks by name; expand(...) and a bare @facets name
// nothing, so without this they would show all that the extension keeps on the user's edges.
package strip

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/dql"
)

// prefix begins the name of every facet, predicate and type of the extension.
const prefix = "evorag."

// MayShow is a cheap look at a query, raw or inside JSON: false for one that can't show
// anything it doesn't name. A JSON escape could spell either word.
func MayShow(text []byte) bool {
	return bytes.Contains(text, []byte("expand")) || bytes.Contains(text, []byte("facets")) || bytes.Contains(text, []byte(`\u`))
}

// Filter takes out of answers what one query did not ask for.
type Filter struct {
	facets     map[string]bool // asked for by name
	predicates map[string]bool // likewise; an alias counts as asked for
	types      bool            // expand names a type of the extension's own
}

// For gives the filter for answers to a query; nil where they can hold nothing to strip, and
// for a text that doesn't parse, which the engine refuses.
func For(query string) *Filter {
	q, err := dql.Parse(query)
	if err != nil {
		return nil
	}
	f := &Filter{facets: map[string]bool{}, predicates: map[string]bool{}}
	shows := f.read(q.Blocks)
	if f.read(q.Fragments) || shows {
		return f
	}
	return nil
}

// read notes what is named and tells whether there is anything that names nothing.
func (f *Filter) read(fields []*dql.Field) (shows bool) {
	for _, x := range fields {
		f.predicates[x.Name], f.predicates[x.Alias] = true, true
		if x.Kind == dql.Expand {
			shows = true
			f.types = f.types || strings.Contains(x.Inner, prefix)
		}
		for _, d := range x.Directives {
			if d.Facets == nil {
				continue
			}
			shows = shows || d.Facets.All
			for _, k := range d.Facets.Keys {
				f.facets[k.Key], f.facets[k.Alias] = true, true
			}
		}
		shows = f.read(x.Children) || shows
	}
	return shows
}

// drops tells whether a member of an answer was not asked for.
func (f *Filter) drops(key string) bool {
	if i := strings.LastIndexByte(key, '|'); i >= 0 {
		facet := key[i+1:]
		return strings.HasPrefix(facet, prefix) && !f.facets[facet]
	}
	name := strings.TrimPrefix(key, "~")
	return strings.HasPrefix(name, prefix) && !f.types && !f.predicates[key]
}

// JSON gives the answer without what was not asked for, every other byte as it was. What is
// not JSON stays whole.
func (f *Filter) JSON(answer []byte) []byte {
	if !bytes.Contains(answer, []byte(prefix)) || !json.Valid(answer) {
		return answer
	}
	c := cutter{Filter: f, text: answer, out: make([]byte, 0, len(answer))}
	c.value()
	return append(c.out, answer[c.kept:]...)
}

// cutter copies valid JSON, members left out.
type cutter struct {
	*Filter
	text []byte
	pos  int
	kept int // text up to here was copied or cut
	out  []byte
}

func (c *cutter) space() {
	for c.pos < len(c.text) && strings.IndexByte(" \t\r\n", c.text[c.pos]) >= 0 {
		c.pos++
	}
}

func (c *cutter) value() {
	c.space()
	switch c.text[c.pos] {
	case '{':
		c.object()
	case '[':
		c.pos++
		for c.space(); c.text[c.pos] != ']'; c.space() {
			if c.text[c.pos] == ',' {
				c.pos++
			}
			c.value()
		}
		c.pos++
	case '"':
		c.quoted()
	default:
		for c.pos < len(c.text) && strings.IndexByte(",]} \t\r\n", c.text[c.pos]) < 0 {
			c.pos++
		}
	}
}

// object cuts a member with the comma before it, or, where all before it were cut, behind it.
func (c *cutter) object() {
	c.pos++
	some := false // a member was kept
	for {
		start := c.pos // at the comma, but for the first member
		c.space()
		if c.text[c.pos] == '}' {
			c.pos++
			return
		}
		comma := c.text[c.pos] == ','
		if comma {
			c.pos++
			c.space()
		}
		key := c.pos
		c.quoted()
		if name, ok := decoded(c.text[key:c.pos]); !ok || !c.drops(name) {
			if comma && !some {
				c.cut(start, key)
			}
			some = true
			c.space()
			c.pos++ // the colon
			c.value()
			continue
		}
		before := len(c.out)
		kept := c.kept
		c.space()
		c.pos++
		c.value()
		c.out, c.kept = c.out[:before], kept // what was cut inside goes with the whole
		c.cut(start, c.pos)
	}
}

// cut leaves text[from:to] out.
func (c *cutter) cut(from, to int) {
	c.out = append(c.out, c.text[c.kept:from]...)
	c.kept = to
}

func (c *cutter) quoted() {
	for c.pos++; c.text[c.pos] != '"'; c.pos++ {
		if c.text[c.pos] == '\\' {
			c.pos++
		}
	}
	c.pos++
}

func decoded(key []byte) (string, bool) {
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key[1 : len(key)-1]), true
	}
	var s string
	err := json.Unmarshal(key, &s)
	return s, err == nil
}
