package mutation

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// maxDepth bounds the nesting of JSON objects.
const maxDepth = 1000

var errJSON = errors.New("not the JSON of a mutation")

// JSON lists the edges that the JSON in text[within] sets, an object or an array of objects,
// as Dgraph's chunker reads them (chunker/json_parser.go). What is no such JSON sets none.
func JSON(text string, within dql.Span) []Edge {
	r := &jsonReader{decoder: newDecoder(text, within), root: &jsonRoot{span: within}}
	if r.document() != nil {
		return nil
	}
	return r.edges
}

// decoder gives tokens with their place in the whole text.
type decoder struct {
	*json.Decoder
	text string
	base int
}

func newDecoder(text string, within dql.Span) decoder {
	d := json.NewDecoder(strings.NewReader(text[within.Start:within.End]))
	d.UseNumber()
	return decoder{d, text, within.Start}
}

// offset is the end of what was read last.
func (d decoder) offset() int { return d.base + int(d.InputOffset()) }

// key reads a member's key.
func (d decoder) key() (string, error) {
	t, err := d.Token()
	key, ok := t.(string)
	if err == nil && !ok {
		err = errJSON
	}
	return key, err
}

// skip passes the next value, whatever it is.
func (d decoder) skip() (dql.Span, error) {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return dql.Span{}, err
	}
	end := d.offset()
	return dql.Span{Start: end - len(raw), End: end}, nil
}

// next is the first byte of the next value, past colons and commas.
func (d decoder) next() byte {
	for i := d.offset(); i < len(d.text); i++ {
		switch d.text[i] {
		case ' ', '\t', '\n', '\r', ':', ',':
		default:
			return d.text[i]
		}
	}
	return 0
}

// jsonRoot is the whole document; further objects can follow in its array.
type jsonRoot struct {
	span  dql.Span
	array bool
	more  []string // objects to add
}

func (r *jsonRoot) edits() []dql.Edit {
	if len(r.more) == 0 {
		return nil
	}
	add := "," + strings.Join(r.more, ",")
	if r.array {
		return []dql.Edit{{Span: dql.Span{Start: r.span.End - 1, End: r.span.End - 1}, Text: add}}
	}
	return []dql.Edit{
		{Span: dql.Span{Start: r.span.Start, End: r.span.Start}, Text: "["},
		{Span: dql.Span{Start: r.span.End, End: r.span.End}, Text: add + "]"},
	}
}

// jsonStatement is the place of an edge in JSON.
type jsonStatement struct {
	root   *jsonRoot
	at     int      // before the closing brace of the object's node
	facets []string // "pred|key": value of the user's own
}

func (p jsonStatement) edits(e Edge, found []Found) []dql.Edit {
	if !e.variable() {
		return []dql.Edit{{Span: dql.Span{Start: p.at, End: p.at}, Text: "," + strings.Join(jsonFacets(e, found[0].Facets), ",")}}
	}
	for _, f := range found { // a later object of a mutation replaces an earlier one's facets
		members := append([]string{`"uid":"` + f.Object.String() + `"`}, p.facets...)
		members = append(members, jsonFacets(e, f.Facets)...)
		p.root.more = append(p.root.more, `{"uid":"`+f.Head.String()+`",`+quote(e.Predicate)+`:{`+strings.Join(members, ",")+`}}`)
	}
	return nil
}

func jsonFacets(e Edge, facets []Facet) []string {
	out := make([]string, len(facets))
	for i, f := range facets {
		out[i] = quote(e.Predicate+"|"+f.Key) + ":" + f.Value
	}
	return out
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always marshals
	return string(b)
}

type jsonReader struct {
	decoder
	root  *jsonRoot
	edges []Edge
	depth int
}

func (r *jsonReader) document() error {
	t, err := r.Token()
	if err != nil {
		return err
	}
	r.root.span.Start = r.offset() - 1
	switch t {
	case json.Delim('{'):
		if _, err := r.object(""); err != nil {
			return err
		}
	case json.Delim('['):
		r.root.array = true
		for r.More() {
			if t, err := r.Token(); err != nil || t != json.Delim('{') {
				return errJSON
			}
			if _, err := r.object(""); err != nil {
				return err
			}
		}
		if _, err := r.Token(); err != nil {
			return err
		}
	default:
		return errJSON
	}
	r.root.span.End = r.offset()
	if _, err := r.Token(); !errors.Is(err, io.EOF) {
		return errJSON
	}
	return nil
}

// jsonNode is an object that stands for a node.
type jsonNode struct {
	Term
	end    int               // of its closing brace
	facets map[string]string // by "pred|key", values as written
}

// link is an edge whose subject is not read yet.
type link struct {
	predicate string
	object    jsonNode
	list      int  // place in a list of strings; -1 outside one
	inline    bool // the object is a string: its facets stand in the subject
}

// object reads what follows an opening brace; predicate is the one that leads to it.
func (r *jsonReader) object(predicate string) (jsonNode, error) {
	if r.depth++; r.depth > maxDepth {
		return jsonNode{}, errJSON
	}
	defer func() { r.depth-- }()
	node := jsonNode{facets: map[string]string{}}
	var links []link
	for r.More() {
		key, err := r.key()
		if err != nil {
			return node, err
		}
		switch {
		case strings.Contains(key, "|"):
			span, err := r.skip()
			if err != nil {
				return node, err
			}
			node.facets[key] = r.text[span.Start:span.End]
		case key == "uid":
			if node.Term, err = r.uid(); err != nil {
				return node, err
			}
		default:
			if links, err = r.links(links, key); err != nil {
				return node, err
			}
		}
	}
	if _, err := r.Token(); err != nil {
		return node, err
	}
	node.end = r.offset() - 1
	for _, l := range links {
		r.link(node, l)
	}
	return node, nil
}

// links reads the value under a key and adds the edges in it.
func (r *jsonReader) links(links []link, key string) ([]link, error) {
	if r.next() != '[' {
		return r.item(links, key, -1)
	}
	if _, err := r.Token(); err != nil {
		return nil, err
	}
	var err error
	for i := 0; r.More(); i++ {
		if links, err = r.item(links, key, i); err != nil {
			return nil, err
		}
	}
	_, err = r.Token()
	return links, err
}

func (r *jsonReader) item(links []link, key string, place int) ([]link, error) {
	switch r.next() {
	case '{':
		if _, err := r.Token(); err != nil {
			return nil, err
		}
		n, err := r.object(key)
		if err != nil {
			return nil, err
		}
		return append(links, link{predicate: key, object: n, list: -1}), nil
	case '"':
		t, err := r.Token()
		if err != nil {
			return nil, err
		}
		s, _ := t.(string)
		if term := ParseTerm(spaceless(s)); term.Var != "" {
			links = append(links, link{predicate: key, object: jsonNode{Term: term}, list: place, inline: true})
		}
		return links, nil
	}
	_, err := r.skip()
	return links, err
}

// uid reads a node's uid: a number, "0x1", "1", "_:a" or "uid(v)".
func (r *jsonReader) uid() (Term, error) {
	span, err := r.skip()
	if err != nil {
		return Term{}, err
	}
	raw := r.text[span.Start:span.End]
	if raw[0] == '"' {
		var s string
		if err := json.Unmarshal([]byte(raw), &s); err != nil {
			return Term{}, err
		}
		if strings.HasPrefix(spaceless(s), "uid(") {
			s = spaceless(s)
		}
		return ParseTerm(s), nil
	}
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil || n <= 0 {
		return Term{}, nil //nolint:nilerr // no uid: Dgraph will say so
	}
	return Term{UID: graph.UID(n)}, nil
}

// link adds the edge from a node that is read to its end.
func (r *jsonReader) link(from jsonNode, l link) {
	e := Edge{Subject: from.Term, Predicate: l.predicate, Object: l.object.Term}
	if !e.Subject.known() || !e.Object.known() || !e.readable() {
		return
	}
	p := jsonStatement{root: r.root, at: l.object.end}
	facets := l.object.facets
	if l.inline {
		facets = from.facets
	}
	for key, value := range facets {
		name, ok := strings.CutPrefix(key, l.predicate+"|")
		if !ok {
			continue
		}
		if l.list >= 0 { // {"0": value of the first in the list, ...}
			var byPlace map[string]json.RawMessage
			if json.Unmarshal([]byte(value), &byPlace) != nil {
				continue
			}
			raw, ok := byPlace[strconv.Itoa(l.list)]
			if !ok {
				continue
			}
			value = string(raw)
		}
		if value == "null" {
			continue
		}
		p.facets = append(p.facets, quote(key)+":"+value)
		if strings.HasPrefix(name, prefix) {
			e.Own = append(e.Own, name)
		}
	}
	e.place = p
	r.edges = append(r.edges, e)
}

// spaceless is s without white space, as Dgraph reads uid( v ).
func spaceless(s string) string { return strings.Join(strings.Fields(s), "") }
