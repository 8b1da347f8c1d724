package render

import (
	"slices"
	"strconv"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
)

// Tree is the answer of a searched block: the kept paths under the relations' own names.
// Every triplet stands once. A node has its children at one place only, the first at which
// a path reached it; elsewhere it is a uid. Its values stand at
// the root and where a reader first meets it, be it down the tree or, as Ratel reads, level by
// level: clients take a node's first occurrence.
type Tree struct {
	values map[graph.UID]*Value
	single func(graph.Relation) bool
	scores bool

	roots []graph.UID
	kids  map[graph.UID][]*branch
	place map[graph.UID]bool
	edges map[graph.Triplet]bool
	shown map[graph.UID]bool
}

// branch is one relation of a node with the steps that follow it.
type branch struct {
	relation graph.Relation
	steps    []leg
}

type leg struct {
	step  graph.Step
	first bool // this is the place of the step's far end
	early bool // a reader who goes level by level meets the far end here first
}

// NewTree starts a tree at the start nodes, in the order in which they are to stand. values
// holds the re-read nodes; single tells the relations that hold at most one node.
func NewTree(starts []graph.UID, values map[graph.UID]*Value, single func(graph.Relation) bool) *Tree {
	t := &Tree{
		values: values, single: single, roots: starts,
		kids: map[graph.UID][]*branch{}, place: map[graph.UID]bool{}, edges: map[graph.Triplet]bool{},
	}
	for _, s := range starts {
		t.place[s] = true
	}
	return t
}

// ShowScores puts every edge's score beside it as the facet "pred|evorag.score".
func (t *Tree) ShowScores() { t.scores = true }

// Add hangs a path into the tree. Paths come best first.
func (t *Tree) Add(p graph.Path) {
	for _, s := range p.Steps {
		if t.edges[s.Triplet] {
			continue
		}
		t.edges[s.Triplet] = true
		t.branch(s).steps = append(t.branch(s).steps, leg{step: s, first: !t.place[s.To()]})
		t.place[s.To()] = true
	}
}

func (t *Tree) branch(s graph.Step) *branch {
	for _, b := range t.kids[s.From()] {
		if b.relation == s.Relation() {
			return b
		}
	}
	b := &branch{relation: s.Relation()}
	t.kids[s.From()] = append(t.kids[s.From()], b)
	return b
}

// Value is the block's array.
func (t *Tree) Value() *Value {
	t.shown = map[graph.UID]bool{}
	t.levels()
	out := Array()
	for _, r := range t.roots {
		out.Items = append(out.Items, t.node(r, true, true))
	}
	return out
}

// levels finds where Ratel first meets each node: it goes level by level, keys in order.
func (t *Tree) levels() {
	met := map[graph.UID]bool{}
	for _, r := range t.roots {
		met[r] = true
	}
	queue := slices.Clone(t.roots)
	for len(queue) > 0 {
		branches := slices.Clone(t.kids[queue[0]])
		queue = queue[1:]
		slices.SortFunc(branches, func(a, b *branch) int { return strings.Compare(a.relation.String(), b.relation.String()) })
		for _, b := range branches {
			for i := range b.steps {
				l := &b.steps[i]
				l.early = !met[l.step.To()]
				met[l.step.To()] = true
				if l.first {
					queue = append(queue, l.step.To())
				}
			}
		}
	}
}

// node writes a node; early where its values stand in any case.
func (t *Tree) node(u graph.UID, early, children bool) *Value {
	v := Object()
	if from := t.values[u]; from != nil && (early || !t.shown[u]) {
		for _, m := range from.Members {
			if !plan.Spliced(m.Key) {
				v.Members = append(v.Members, m)
			}
		}
	}
	t.shown[u] = true
	if len(v.Members) == 0 {
		v.Set("uid", String(u.String()))
	}
	if !children {
		return v
	}
	for _, b := range t.kids[u] {
		key, list := b.relation.String(), Array()
		for _, l := range b.steps {
			child := t.node(l.step.To(), l.early, l.first)
			if t.scores {
				child.Set(key+"|evorag.score", Raw(strconv.AppendFloat(nil, l.step.Score, 'f', -1, 64)))
			}
			list.Items = append(list.Items, child)
		}
		if t.single(b.relation) && len(list.Items) == 1 {
			v.Set(key, list.Items[0])
			continue
		}
		v.Set(key, list)
	}
	return v
}
