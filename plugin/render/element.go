package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
)

// Element is one node of a written block's answer, at one place.
type Element struct {
	UID    graph.UID
	Name   string
	Step   graph.Step // how it was reached from Parent; zero for a root
	Parent *Element
	ID     int  // for whoever ranks, 0 at first
	Order  int  // place in the ranking, from 0; Unranked where no chain goes through it
	Drop   bool // leave it and everything below it out of the answer

	value *Value
	by    *Value // what the user orders the list by; nil: no such value
	lists []*list
}

// Unranked elements stand last, in the engine's order.
const Unranked = math.MaxInt

// list is the elements under one key of an element.
type list struct {
	node    *plan.Node
	key     string
	value   *Value
	foreign []*Value // items that are no nodes, such as {"count": 3}
	items   []*Element
}

// Written is the opened answer of a written block.
type Written struct {
	Roots []*Element
	root  list
}

// OpenWritten reads a written block's answer (the bytes of the array under the block's key in
// what ParseMembers opened) along the block's tree. Edges that were suppressed are left out at once unless the block shows them,
// and so are nodes of which the user's own fields say nothing, as Dgraph would.
func OpenWritten(data []byte, b *plan.Block, isEdge func(predicate string) bool) (*Written, error) {
	v := open(data, -1)
	if !v.IsArray() {
		return nil, fmt.Errorf("%w: block %s is not an array", ErrJSON, b.Key)
	}
	o := opener{block: b, isEdge: isEdge}
	w := &Written{root: list{node: b.Tree, key: b.Key, value: v}}
	o.fill(&w.root, v.Items, nil)
	w.Roots = w.root.items
	return w, nil
}

type opener struct {
	block  *plan.Block
	isEdge func(string) bool
}

// fill opens the items of a list.
func (o *opener) fill(l *list, items []*Value, parent *Element) {
	for _, item := range items {
		e, ok := o.element(l, item, parent)
		switch {
		case !ok:
			l.foreign = append(l.foreign, item)
		case e != nil:
			l.items = append(l.items, e)
		}
	}
}

// element opens one node; nil where it is not to be seen, false where it is no node.
func (o *opener) element(l *list, v *Value, parent *Element) (*Element, bool) {
	text, ok := v.Get(plan.UIDKey).Text()
	if !ok {
		return nil, false
	}
	uid, err := graph.ParseUID(text)
	if err != nil {
		return nil, false
	}
	e := &Element{UID: uid, Parent: parent, Order: Unranked, value: v}
	if parent != nil {
		e.Step = Step(l.node.Relation, parent.UID, uid, v.Get(l.node.Score), v.Get(l.node.Hidden))
		if e.Step.Hidden && !o.block.Hidden {
			return nil, true
		}
	}
	for _, key := range l.node.Names {
		if e.Name, ok = v.Get(key).Text(); ok {
			break
		}
	}
	seen := false
	for _, m := range v.Members {
		n := o.node(l.node, m)
		if n == nil {
			seen = seen || !plan.Spliced(m.Key) && !isFacet(l.key, m.Key)
			continue
		}
		sub := &list{node: n, key: m.Key, value: m.Value}
		if m.Value.IsObject() {
			o.fill(sub, []*Value{m.Value}, e)
		} else {
			o.fill(sub, m.Value.Items, e)
		}
		seen = seen || len(sub.items)+len(sub.foreign) > 0
		e.lists = append(e.lists, sub)
	}
	if !seen {
		return nil, true
	}
	return e, true
}

func isFacet(listKey, key string) bool {
	return len(key) > len(listKey) && key[len(listKey)] == '|' && key[:len(listKey)] == listKey
}

// node finds what a member of an element was planned as; nil for values.
func (o *opener) node(n *plan.Node, m Member) *plan.Node {
	for _, c := range n.Children {
		if c.Key == m.Key {
			return c
		}
	}
	if n.Any == nil || !m.Value.IsObject() && !m.Value.IsArray() {
		return nil
	}
	r := graph.ParseRelation(m.Key)
	if !o.isEdge(r.Predicate) {
		return nil
	}
	return &plan.Node{Key: m.Key, Relation: r, Score: m.Key + "|evorag.score", Hidden: m.Key + "|evorag.hidden", Names: n.Any.Names, Children: n.Any.Children, Any: n.Any.Any}
}

// Step is the edge between two nodes of an answer, with the learned facets as they stand
// beside the far node; an edge without them (nil) is neutral.
func Step(r graph.Relation, from, to graph.UID, score, hidden *Value) graph.Step {
	s := graph.Step{Inverse: r.Inverse, Contribution: graph.Neutral()}
	s.Triplet = graph.Triplet{Head: from, Predicate: r.Predicate, Object: to}
	if s.Inverse {
		s.Head, s.Object = to, from
	}
	s.Score = min(max(number(score, graph.NeutralScore), 0), graph.MaxScore)
	s.Hidden = hidden != nil && string(hidden.Raw) == "true"
	return s
}

// Chains returns the ends of the candidates: every element from which no further element
// is reached without coming back to a node of its own path. Paths are simple.
func (w *Written) Chains() []*Element {
	var ends []*Element
	var walk func(e *Element)
	walk = func(e *Element) {
		end := e.Parent != nil
		for _, l := range e.lists {
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
		for _, l := range e.lists {
			for _, c := range l.items {
				visit(c)
				walk(c)
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

// Line is the chain from the root to the element, both included.
func (e *Element) Line() []*Element {
	hops := 0
	for p := e.Parent; p != nil; p = p.Parent {
		hops++
	}
	line := make([]*Element, hops+1)
	for i := hops; i >= 0; i-- {
		line[i], e = e, e.Parent
	}
	return line
}

// Close puts every list in ranked order (a list to which the user gave an order keeps it),
// pages it, takes out what was dropped and what only the ranking needed, and returns the
// block's array.
func (w *Written) Close() *Value {
	w.root.close()
	return w.root.value
}

// close rewrites the value of the list and reports whether anything is left in it.
func (l *list) close() bool {
	for _, e := range l.items {
		e.by = e.value.Get(plan.OrderKey) // before it is stripped
	}
	kept := slices.DeleteFunc(l.items, func(e *Element) bool { return e.Drop || !e.close(l) })
	switch {
	case l.node.ByValue != "":
		kept = byValue(kept, l.node.ByValue == "orderdesc")
	case !l.node.Ordered:
		slices.SortStableFunc(kept, func(a, b *Element) int { return cmp.Compare(a.Order, b.Order) })
	}
	items := slices.Clone(l.foreign)
	for _, e := range page(kept, l.node) {
		items = append(items, e.value)
	}
	if l.value.IsArray() {
		l.value.Items = items
	}
	return len(items) > 0
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

// close closes the element's lists, strips its object and reports whether the user's own
// fields have anything left in it.
func (e *Element) close(in *list) bool {
	var empty map[*Value]bool
	for _, l := range e.lists {
		if l.close() {
			continue
		}
		if empty == nil {
			empty = map[*Value]bool{}
		}
		empty[l.value] = true
	}
	seen := false
	e.value.Members = slices.DeleteFunc(e.value.Members, func(m Member) bool {
		facet := isFacet(in.key, m.Key)
		out := plan.Spliced(m.Key) || empty[m.Value] || facet && plan.LearnedFacet(m.Key) && !in.node.Keep[m.Key]
		seen = seen || !out && !facet
		return out
	})
	return seen
}

// number reads a JSON number; the fallback where there is none or it is not finite.
func number(v *Value, fallback float64) float64 {
	if v == nil {
		return fallback
	}
	f, err := strconv.ParseFloat(string(v.Raw), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return fallback
	}
	return f
}
