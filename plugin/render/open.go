package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
)

// ParseAnswer opens the object under "data" but none of its members' values, except that those
// under the keys of written blocks are read along the block's tree, in the same pass: see
// Value.Written. Edges that were suppressed are left out at once unless the block shows them,
// and so are nodes of which the user's own fields say nothing, as Dgraph would. The text's bytes
// must not change afterwards.
func ParseAnswer(text []byte, written func(key string) *plan.Block, isEdge func(predicate string) bool) (*Value, error) {
	p := parser{scanner: scanner{text: text}, keys: map[string]string{}}
	v := p.new(Value{kind: '{'})
	p.take('{')
	for p.more('}', len(v.Members) == 0) {
		raw := p.key().of(text)
		m := Member{Key: p.decoded(raw), raw: raw}
		if b := written(m.Key); b == nil {
			m.Value = p.value(0)
		} else {
			w, err := openWritten(&p.scanner, b, isEdge)
			if err != nil {
				return nil, err
			}
			m.Value = p.new(Value{by: w})
		}
		v.Members = append(v.Members, m)
	}
	return v, p.end()
}

// openWritten reads the array that comes next.
func openWritten(s *scanner, b *plan.Block, isEdge func(predicate string) bool) (*Written, error) {
	o := openers.Get().(*opener)
	o.scanner, o.block, o.isEdge, o.shapes = *s, b, isEdge, map[*plan.Node]*shape{}
	w := &Written{text: s.text, root: list{node: b.Tree}, opener: o}
	if o.next() != '[' {
		w.Release()
		return nil, fmt.Errorf("%w: block %s is not an array", ErrJSON, b.Key)
	}
	o.list(&w.root, o.shape(b.Tree), nil)
	w.Roots, w.size, *s = w.root.items, o.opened, o.scanner
	return w, nil
}

// opener reads elements. Those and their members are many and small, so they are made by the
// hundred and used again; members and items that are not whole yet wait on stacks.
type opener struct {
	scanner
	block  *plan.Block
	isEdge func(string) bool
	shapes map[*plan.Node]*shape
	opened int // elements so far

	elements slab[Element]
	members  slab[member]
	items    slab[*Element]
	waiting  struct {
		members []member
		items   []*Element
	}
}

var openers = sync.Pool{New: func() any { return new(opener) }}

// Release gives the elements back, for other answers: none may be used afterwards.
func (w *Written) Release() {
	o := w.opener
	o.elements.reset()
	o.members.reset()
	o.items.reset()
	clear(o.waiting.members[:cap(o.waiting.members)])
	clear(o.waiting.items[:cap(o.waiting.items)])
	*o = opener{elements: o.elements, members: o.members, items: o.items, waiting: o.waiting}
	openers.Put(o)
}

// shape is what is known of the elements of one list: what their keys are.
type shape struct {
	node  *plan.Node
	keys  map[string]*role // by the key as it is written, without the quotes
	order []expected       // the keys of the latest elements, by their place: the next one's are the same
}

// expected is a key that may come.
type expected struct {
	text []byte // as it is written, with the quotes and the colon
	role *role
}

// role is what a key of an element is for. A key may be for several things.
type role struct {
	use   use
	name  int    // its place among the names, from 1; 0: none
	shown bool   // the user sees it
	facet bool   // of the edge to the element
	child *shape // of the elements under the key, if they are an object or an array
}

// use is what ranking reads under a key.
type use uint8

const (
	nothing use = iota
	ofUID
	ofOrder
	ofScore
	ofHidden
)

func (o *opener) shape(n *plan.Node) *shape {
	s, ok := o.shapes[n]
	if !ok {
		s = &shape{node: n, keys: map[string]*role{}}
		o.shapes[n] = s
	}
	return s
}

// role finds out what a key is for, once for each key of a shape.
func (o *opener) role(s *shape, key []byte) *role {
	r, ok := s.keys[string(key)]
	if !ok {
		r = o.decide(s.node, key)
		s.keys[string(key)] = r
	}
	return r
}

// member reads the i-th key of an element and the colon.
func (o *opener) member(s *shape, i int) (span, *role) {
	if i < len(s.order) {
		if x := s.order[i]; bytes.HasPrefix(o.text[o.at:], x.text) {
			key := span{uint32(o.at), uint32(o.at + len(x.text) - 1)}
			o.at += len(x.text)
			return key, x.role
		}
	}
	key := o.key()
	if o.fault {
		return key, nil
	}
	r := o.role(s, o.text[key.start+1:key.end-1])
	x := expected{o.text[key.start:o.at], r}
	if x.text[len(x.text)-2] != '"' {
		return key, r // white space before the colon
	}
	if i == len(s.order) {
		s.order = append(s.order, x)
	} else if i < len(s.order) {
		s.order[i] = x
	}
	return key, r
}

func (o *opener) decide(n *plan.Node, written []byte) *role {
	key := string(unescaped(written))
	r := &role{}
	for _, c := range n.Children {
		if c.Key == key {
			return &role{shown: true, child: o.shape(c)}
		}
	}
	if n.Any != nil {
		if to := graph.ParseRelation(key); o.isEdge(to.Predicate) {
			return &role{shown: true, child: o.shape(&plan.Node{
				Key: key, Relation: to, Score: key + "|evorag.score", Hidden: key + "|evorag.hidden",
				Names: n.Any.Names, Children: n.Any.Children, Any: n.Any.Any,
			})}
		}
	}
	switch key {
	case plan.UIDKey:
		r.use = ofUID
	case plan.OrderKey:
		r.use = ofOrder
	case n.Score:
		r.use = ofScore
	case n.Hidden:
		r.use = ofHidden
	}
	for i, name := range n.Names {
		if name == key {
			r.name = i + 1
			break
		}
	}
	r.facet = len(key) > len(n.Key) && key[len(n.Key)] == '|' && key[:len(n.Key)] == n.Key
	r.shown = !plan.Spliced(key) && !(r.facet && plan.LearnedFacet(key) && !n.Keep[key])
	return r
}

// list reads an array of elements, or the object that stands for the only one.
func (o *opener) list(l *list, s *shape, parent *Element) {
	bottom := len(o.waiting.items)
	if o.next() == '{' {
		l.single = true
		o.item(l, s, parent)
	} else {
		o.take('[')
		for first := true; o.more(']', first); first = false {
			o.item(l, s, parent)
		}
	}
	l.items = o.items.copy(o.waiting.items[bottom:])
	l.ranked = o.items.take(len(l.items))[:0]
	o.waiting.items = o.waiting.items[:bottom]
}

// item reads one item of a list.
func (o *opener) item(l *list, s *shape, parent *Element) {
	if o.next() != '{' {
		l.foreign = append(l.foreign, o.skip())
		return
	}
	start := o.at
	e, isNode := o.element(l, s, parent)
	switch {
	case !isNode:
		l.foreign = append(l.foreign, span{uint32(start), uint32(o.at)})
	case e != nil:
		o.waiting.items = append(o.waiting.items, e)
	}
}

// element reads one node; nil where it is not to be seen, false where it is no node.
func (o *opener) element(l *list, s *shape, parent *Element) (e *Element, isNode bool) {
	e = &o.elements.take(1)[0]
	*e = Element{Parent: parent, Score: graph.NeutralScore, ID: o.opened, in: l, leaf: true}
	o.opened++
	hidden := false
	seen, named := false, math.MaxInt
	bottom := len(o.waiting.members)
	o.take('{')
	for i := 0; o.more('}', i == 0); i++ {
		key, r := o.member(s, i)
		if r == nil {
			break
		}
		m := member{key: key}
		if c := o.next(); r.child != nil && (c == '{' || c == '[') {
			m.list, e.leaf = &list{node: r.child.node}, false
			o.list(m.list, r.child, e)
			seen = seen || !m.list.empty()
		} else {
			m.value = o.skip()
			m.facet = r.facet
			seen = seen || r.shown && !r.facet
		}
		value := m.value.of(o.text)
		switch r.use {
		case ofUID:
			e.UID, isNode = uidIn(value)
		case ofOrder:
			e.by = m.value
		case ofScore:
			e.Score = number(value)
		case ofHidden:
			hidden = string(value) == "true"
		}
		if r.name > 0 && r.name < named {
			if name, ok := text(value); ok {
				e.Name, named = name, r.name
			}
		}
		if r.shown {
			o.waiting.members = append(o.waiting.members, m)
		}
	}
	e.members = o.members.copy(o.waiting.members[bottom:])
	o.waiting.members = o.waiting.members[:bottom]
	if !isNode {
		return nil, false
	}
	if !seen || hidden && !o.block.Hidden {
		return nil, true
	}
	return e, true
}

// uidIn reads "0x1f".
func uidIn(value []byte) (graph.UID, bool) {
	if uid, ok := hexIn(value); ok {
		return uid, true
	}
	s, ok := text(value)
	if !ok {
		return 0, false
	}
	uid, err := graph.ParseUID(string(s))
	return uid, err == nil
}

// hexIn reads a uid as the engine spells it; false for any other spelling.
func hexIn(value []byte) (graph.UID, bool) {
	const before, most = `"0x`, 16
	digits := len(value) - len(before) - 1
	if digits < 1 || digits > most || string(value[:len(before)]) != before || value[len(value)-1] != '"' {
		return 0, false
	}
	var uid graph.UID
	for _, c := range value[len(before) : len(value)-1] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		uid = uid<<4 | graph.UID(c)
	}
	return uid, uid != 0
}

// text is the content of a JSON string, and false for other values.
func text(raw []byte) ([]byte, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	content := unescaped(raw[1 : len(raw)-1])
	return content, content != nil
}

// unescaped is the content of a string as it is written without its quotes. Where there is
// nothing to decode, the engine writes UTF-8, it is the same bytes.
func unescaped(content []byte) []byte {
	if bytes.IndexByte(content, '\\') < 0 {
		return content
	}
	var s string
	if json.Unmarshal(append(append([]byte{'"'}, content...), '"'), &s) != nil {
		return nil
	}
	return []byte(s)
}

func triplet(r graph.Relation, from, to graph.UID) graph.Triplet {
	if r.Inverse {
		from, to = to, from
	}
	return graph.Triplet{Head: from, Predicate: r.Predicate, Object: to}
}

// Step is the edge between two nodes of an answer, with the learned facets as they stand
// beside the far node; an edge without them (nil) is neutral.
func Step(r graph.Relation, from, to graph.UID, score, hidden *Value) graph.Step {
	s := graph.Step{Triplet: triplet(r, from, to), Inverse: r.Inverse, Contribution: graph.Neutral()}
	if score != nil {
		s.Score = number(score.Raw)
	}
	s.Hidden = hidden != nil && string(hidden.Raw) == "true"
	return s
}

// number reads a score, in [0,200]; neutral where there is none or it is not finite.
func number(raw []byte) float64 {
	f, ok := decimal(raw)
	if !ok {
		var err error
		f, err = strconv.ParseFloat(string(raw), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			f = graph.NeutralScore
		}
	}
	return min(max(f, 0), graph.MaxScore)
}

// decimal reads what nearly all scores look like, "101.25": both numbers that it divides are exact, so
// that the quotient is what ParseFloat gives, in a third of the time.
func decimal(raw []byte) (f float64, ok bool) {
	const most = 15 // digits that are exact in a float64
	if len(raw) == 0 || len(raw) > most {
		return 0, false
	}
	whole, scale, point := 0, 1, false
	for _, c := range raw {
		switch {
		case '0' <= c && c <= '9':
			whole = whole*10 + int(c-'0')
			if point {
				scale *= 10
			}
		case c == '.' && !point:
			point = true
		default:
			return 0, false
		}
	}
	return float64(whole) / float64(scale), raw[0] != '.'
}
