package render

import (
	"slices"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
)

// Element is one node of a written block's answer, at one place.
type Element struct {
	UID    graph.UID
	Name   []byte  // a piece of the answer: to be copied by whoever keeps it
	Score  float64 // of the edge from Parent, raw, in [0,200]; neutral for a root
	Parent *Element
	ID     int  // dense over the elements of a Written, from 0, in the engine's order
	Drop   bool // leave it and everything below it out of the answer
	leaf   bool // none of the members is a list
	ranked bool // it is among those of in

	members []member
	in      *list // where it stands
	by      span  // what the user orders the list by; empty: no such value
}

// Relation is that of the edge from Parent; zero for a root.
func (e *Element) Relation() graph.Relation { return e.in.node.Relation }

// Step is how the element was reached from Parent; it has none that is a root.
func (e *Element) Step() graph.Step {
	r := e.in.node.Relation
	return graph.Step{
		Triplet: triplet(r, e.Parent.UID, e.UID), Inverse: r.Inverse, Contribution: graph.Contribution{Score: e.Score},
	}
}

// member is what the user sees of an element under one key.
type member struct {
	key, value span
	list       *list // in place of value: the elements under the key
	facet      bool  // of the edge to the element: it says nothing of the element itself
}

// list is the elements under one key of an element.
type list struct {
	node    *plan.Node
	single  bool   // the engine gave an object, not an array
	foreign []span // items that are no nodes, such as {"count": 3}
	items   []*Element
	ranked  []*Element // of those, best first; there is room for all
}

func (l *list) empty() bool { return len(l.items)+len(l.foreign) == 0 }

// Written is the opened answer of a written block.
type Written struct {
	Roots []*Element
	text  []byte
	root  list
	size  int

	opener *opener // whose elements they are
}

// Len is the number of elements: their IDs are below it.
func (w *Written) Len() int { return w.size }

// Chains returns the ends of the candidates: every element from which no further element
// is reached without coming back to a node of its own path. Paths are simple.
func (w *Written) Chains() []*Element {
	ends := make([]*Element, 0, w.size)
	var walk func(e *Element)
	walk = func(e *Element) {
		end := e.Parent != nil
		for i := range e.members {
			l := e.members[i].list
			if l == nil {
				continue
			}
			for _, c := range l.items {
				if !e.visits(c.UID) {
					end = false
					walk(c)
				}
			}
		}
		if end {
			ends = append(ends, e)
		}
	}
	for _, r := range w.Roots {
		walk(r)
	}
	return ends
}

// Each visits every element below the roots.
func (w *Written) Each(visit func(*Element)) {
	var walk func(e *Element)
	walk = func(e *Element) {
		for i := range e.members {
			if l := e.members[i].list; l != nil {
				for _, c := range l.items {
					visit(c)
					walk(c)
				}
			}
		}
	}
	for _, r := range w.Roots {
		walk(r)
	}
}

func (e *Element) visits(u graph.UID) bool {
	for ; e != nil; e = e.Parent {
		if e.UID == u {
			return true
		}
	}
	return false
}

// Hops is the number of steps from the root to the element.
func (e *Element) Hops() int {
	hops := 0
	for p := e.Parent; p != nil; p = p.Parent {
		hops++
	}
	return hops
}

// Line is the chain from the root to the element, both included.
func (e *Element) Line() []*Element {
	line := make([]*Element, e.Hops()+1)
	for i := len(line) - 1; i >= 0; i-- {
		line[i], e = e, e.Parent
	}
	return line
}

// Rank puts the element next in its list, behind those that were ranked before; it reports whether
// it was not ranked yet.
func (e *Element) Rank() bool {
	if e.ranked {
		return false
	}
	e.ranked = true
	e.in.ranked = append(e.in.ranked, e)
	return true
}

// Close puts every list in ranked order, what was not ranked last and in the engine's order (a list
// to which the user gave an order keeps it), pages it, and takes out what was dropped and what only the ranking needed.
func (w *Written) Close() { w.root.close(w.text) }

// close leaves what is to be shown of the list, in its order; text is the answer that it was read from.
func (l *list) close(text []byte) {
	if l.node.ByValue == "" && !l.node.Ordered {
		for _, e := range l.items {
			if !e.ranked {
				l.ranked = append(l.ranked, e)
			}
		}
		l.items = l.ranked
	}
	l.items = slices.DeleteFunc(l.items, func(e *Element) bool { return e.Drop || !e.close(text) })
	if l.node.ByValue != "" {
		l.items = byValue(text, l.items, l.node.ByValue == "orderdesc")
	}
	l.items = page(l.items, l.node)
}

func page(e []*Element, n *plan.Node) []*Element {
	e = e[min(n.Offset, len(e)):]
	switch {
	case !n.HasFirst:
		return e
	case n.First < 0:
		return e[max(0, len(e)+n.First):]
	}
	return e[:min(n.First, len(e))]
}

// close closes the element's lists and reports whether the user's own fields have anything
// left in it.
func (e *Element) close(text []byte) bool {
	if e.leaf {
		return true // or it would not have been kept
	}
	seen := false
	e.members = slices.DeleteFunc(e.members, func(m member) bool {
		if m.list != nil {
			m.list.close(text)
			if m.list.empty() {
				return true
			}
		}
		seen = seen || !m.facet
		return false
	})
	return seen
}

func (w *Written) appendTo(b []byte) []byte { return w.root.appendTo(b, w.text) }

// appendTo writes what is shown of the list; text is the answer that it was read from.
func (l *list) appendTo(b, text []byte) []byte {
	if l.single && len(l.items) > 0 {
		return l.items[0].appendTo(b, text)
	}
	if l.single {
		return append(b, l.foreign[0].of(text)...)
	}
	b = append(b, '[')
	for i, f := range l.foreign {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, f.of(text)...)
	}
	for i, e := range l.items {
		if i+len(l.foreign) > 0 {
			b = append(b, ',')
		}
		b = e.appendTo(b, text)
	}
	return append(b, ']')
}

func (e *Element) appendTo(b, text []byte) []byte {
	b = append(b, '{')
	for i := range e.members {
		m := &e.members[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, m.key.of(text)...), ':')
		if m.list != nil {
			b = m.list.appendTo(b, text)
		} else {
			b = append(b, m.value.of(text)...)
		}
	}
	return append(b, '}')
}
