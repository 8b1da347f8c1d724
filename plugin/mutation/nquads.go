package mutation

import (
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/dql"
)

// NQuads lists the edges that the N-Quads in text[within] set, one statement a line, as
// Dgraph's chunker reads them (chunker/rdf_state.go).
func NQuads(text string, within dql.Span) []Edge {
	var edges []Edge
	for start := within.Start; start < within.End; {
		end := within.End
		if n := strings.IndexByte(text[start:end], '\n'); n >= 0 {
			end = start + n
		}
		if e, ok := nquad(text[:end], start); ok {
			edges = append(edges, e)
		}
		start = end + 1
	}
	return edges
}

// nquad reads the statement that ends with its line, at the end of text.
func nquad(text string, at int) (Edge, bool) {
	r := line{text: text, pos: at}
	var e Edge
	r.space()
	e.Subject = r.node()
	r.space()
	e.Predicate = r.iri()
	r.space()
	e.Object = r.node()
	place := rdfStatement{at: r.pos, lineEnd: len(text)}
	r.space()
	if r.peek() == '<' || r.peek() == '_' { // a label
		r.node()
		place.at = r.pos
		r.space()
	}
	if r.peek() == '(' {
		place.facets, e.Own = r.facets()
		place.at = r.pos - 1
		place.has = true
		r.space()
	}
	if r.failed || r.peek() != '.' || !e.Subject.known() || !e.Object.known() || !e.readable() {
		return Edge{}, false
	}
	e.place = place
	return e, true
}

// rdfStatement is the place of one N-Quad.
type rdfStatement struct {
	at      int    // where facets are added: before the closing parenthesis, or where one could open
	has     bool   // facets of the user's own
	facets  string // those, as written, without parentheses
	lineEnd int    // where further statements can follow
}

func (p rdfStatement) edits(e Edge, found []Found) []dql.Edit {
	if !e.variable() {
		text := " (" + rdfFacets(found[0].Facets) + ")"
		if p.has {
			text = ", " + rdfFacets(found[0].Facets)
		}
		return []dql.Edit{{Span: dql.Span{Start: p.at, End: p.at}, Text: text}}
	}
	var b strings.Builder
	for _, f := range found { // a later statement of a mutation replaces an earlier one's facets
		b.WriteString("\n<" + f.Head.String() + "> <" + e.Predicate + "> <" + f.Object.String() + "> (")
		if p.has {
			b.WriteString(p.facets + ", ")
		}
		b.WriteString(rdfFacets(f.Facets) + ") .")
	}
	return []dql.Edit{{Span: dql.Span{Start: p.lineEnd, End: p.lineEnd}, Text: b.String()}}
}

func rdfFacets(facets []Facet) string {
	parts := make([]string, len(facets))
	for i, f := range facets {
		parts[i] = f.Key + "=" + f.Value
	}
	return strings.Join(parts, ", ")
}

// line reads the terms of a statement; after the first that is none, it gives nothing more.
type line struct {
	text   string
	pos    int
	failed bool
}

func (r *line) peek() byte {
	if r.failed || r.pos >= len(r.text) {
		return 0
	}
	return r.text[r.pos]
}

func (r *line) space() {
	for c := r.peek(); c == ' ' || c == '\t'; c = r.peek() {
		r.pos++
	}
}

// accept takes the byte or fails.
func (r *line) accept(c byte) {
	if r.peek() != c {
		r.failed = true
		return
	}
	r.pos++
}

// node takes <0x1>, <iri>, _:blank or uid(v).
func (r *line) node() Term {
	switch r.peek() {
	case '<':
		return ParseTerm(r.iri())
	case '_':
		for c := r.peek(); c != 0 && c != ' ' && c != '\t'; c = r.peek() {
			r.pos++
		}
		return Term{}
	case 'u':
		for _, c := range []byte("uid") {
			r.accept(c)
		}
		r.space()
		r.accept('(')
		r.space()
		start := r.pos
		for c := r.peek(); c != 0 && c != ' ' && c != '\t' && c != ')'; c = r.peek() {
			r.pos++
		}
		name := r.text[start:r.pos]
		r.space()
		r.accept(')')
		if !isName(name) {
			return Term{}
		}
		return Term{Var: name}
	}
	r.failed = true
	return Term{}
}

// iri takes <...> and gives what is between.
func (r *line) iri() string {
	r.accept('<')
	start := r.pos
	for c := r.peek(); c > ' ' && c != '>'; c = r.peek() {
		r.pos++
	}
	end := r.pos
	r.accept('>')
	if r.failed {
		return ""
	}
	return r.text[start:end]
}

// facets takes (key=value, ...) and gives what is between, and the keys under evorag.
func (r *line) facets() (text string, own []string) {
	r.accept('(')
	start, key := r.pos, r.pos
	isKey := true
	for {
		switch c := r.peek(); {
		case c == 0:
			r.failed = true
			return "", nil
		case c == '"':
			r.quoted()
			continue
		case c == ')':
			text = r.text[start:r.pos]
			r.pos++
			return text, own
		case c == ',':
			key, isKey = r.pos+1, true
		case c == '=' && isKey:
			if k := strings.TrimSpace(r.text[key:r.pos]); strings.HasPrefix(k, prefix) {
				own = append(own, k)
			}
			isKey = false
		}
		r.pos++
	}
}

func (r *line) quoted() {
	for r.pos++; r.peek() != '"'; r.pos++ {
		if r.peek() == '\\' {
			r.pos++
		}
		if r.peek() == 0 {
			r.failed, r.pos = true, len(r.text)
			return
		}
	}
	r.pos++
}
