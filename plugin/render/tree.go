package render

import (
	"slices"
	"strconv"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Tree is the answer of a searched block: the kept paths under the relations' own names.
// Every triplet stands once. A node has its children at one place only, the first at which
// a path reached it; elsewhere it is a uid. Its values stand at
// the root and where a reader first meets it, be it down the tree or, as Ratel reads, level by
// level: clients take a node's first occurrence.
type Tree struct {
	values func(graph.UID) []byte
	single func(graph.Relation) bool
	scores bool

	roots     []int32 // numbers of nodes
	nodes     []treeNode
	number    map[graph.UID]int32 // into nodes
	relations []treeRelation
	of        map[graph.Relation]int32 // into relations
	edges     map[treeEdge]bool
}

// treeNode is a node of the tree.
type treeNode struct {
	uid    graph.UID
	kids   []branch
	placed bool // its place is known
	met    bool // by who goes level by level
	shown  bool // by who goes down the tree
}

// treeRelation is a relation by its number, and how it stands in the answer.
type treeRelation struct {
	graph.Relation
	key   string
	raw   []byte // key, quoted
	score []byte // the key of a step's score, quoted
}

// treeEdge is a triplet by the numbers of its ends and of the relation from head to object.
type treeEdge struct{ head, object, relation int32 }

// branch is one relation of a node with the steps that follow it.
type branch struct {
	relation int32
	steps    []leg
}

type leg struct {
	to    int32
	score float64 // raw
	first bool    // this is the place of the step's far end
	early bool    // a reader who goes level by level meets the far end here first
	whole bool    // the far end's values stand here
}

// NewTree starts a tree at the start nodes, in the order in which they are to stand; none may come twice. values
// gives the members of the re-read nodes as they are written, none for one that has none; single tells
// the relations that hold at most one node.
func NewTree(starts []graph.UID, values func(graph.UID) []byte, single func(graph.Relation) bool) *Tree {
	t := &Tree{values: values, single: single, number: map[graph.UID]int32{}, of: map[graph.Relation]int32{}, edges: map[treeEdge]bool{}}
	for _, s := range starts {
		n := t.node(s)
		t.nodes[n].placed = true
		t.roots = append(t.roots, n)
	}
	return t
}

// ShowScores puts every edge's score beside it as the facet "pred|evorag.score".
func (t *Tree) ShowScores() { t.scores = true }

// Add hangs a step into the tree. Paths come best first, each from its start on.
func (t *Tree) Add(s graph.Step) {
	from, to, relation := t.node(s.From()), t.node(s.To()), t.relation(s.Relation())
	edge := treeEdge{from, to, relation}
	if s.Inverse {
		edge = treeEdge{to, from, t.relation(graph.Relation{Predicate: s.Predicate})}
	}
	if t.edges[edge] {
		return
	}
	t.edges[edge] = true
	b := t.branch(from, relation)
	b.steps = append(b.steps, leg{to: to, score: s.Score, first: !t.nodes[to].placed})
	t.nodes[to].placed = true
}

// node gives a node its number.
func (t *Tree) node(u graph.UID) int32 {
	n, ok := t.number[u]
	if !ok {
		n = int32(len(t.nodes))
		t.number[u] = n
		t.nodes = append(t.nodes, treeNode{uid: u})
	}
	return n
}

// relation gives a relation its number.
func (t *Tree) relation(r graph.Relation) int32 {
	n, ok := t.of[r]
	if !ok {
		n = int32(len(t.relations))
		key := r.String()
		t.of[r] = n
		t.relations = append(t.relations, treeRelation{r, key, String(key).Raw, String(key + "|evorag.score").Raw})
	}
	return n
}

func (t *Tree) branch(from, relation int32) *branch {
	kids := &t.nodes[from].kids
	i := slices.IndexFunc(*kids, func(b branch) bool { return b.relation == relation })
	if i < 0 {
		i = len(*kids)
		*kids = append(*kids, branch{relation: relation})
	}
	return &(*kids)[i]
}

// Value is the block's array. Nothing may be added afterwards; values are asked for when it is written.
func (t *Tree) Value() *Value {
	t.levels()
	for _, r := range t.roots {
		t.nodes[r].shown = true
		t.down(r)
	}
	return &Value{kind: '[', by: t}
}

// levels finds where Ratel first meets each node: it goes level by level, keys in order.
func (t *Tree) levels() {
	for _, r := range t.roots {
		t.nodes[r].met = true
	}
	for queue := slices.Clone(t.roots); len(queue) > 0; queue = queue[1:] {
		branches := slices.Clone(t.nodes[queue[0]].kids)
		slices.SortFunc(branches, func(a, b branch) int {
			return strings.Compare(t.relations[a.relation].key, t.relations[b.relation].key)
		})
		for _, b := range branches {
			for i := range b.steps {
				l := &b.steps[i]
				l.early = !t.nodes[l.to].met
				t.nodes[l.to].met = true
				if l.first {
					queue = append(queue, l.to)
				}
			}
		}
	}
}

// down finds where nodes have their values: at the root, and where either reader meets them first.
func (t *Tree) down(n int32) {
	for _, b := range t.nodes[n].kids {
		for i := range b.steps {
			l := &b.steps[i]
			to := &t.nodes[l.to]
			l.whole = l.early || !to.shown
			to.shown = true
			if l.first {
				t.down(l.to)
			}
		}
	}
}

// appendTo writes the block's array.
func (t *Tree) appendTo(b []byte) []byte {
	b = append(b, '[')
	for i, r := range t.roots {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(t.appendNode(b, r, true, true), '}')
	}
	return append(b, ']')
}

// appendNode writes a node, but for the bracket that closes it.
func (t *Tree) appendNode(b []byte, n int32, whole, children bool) []byte {
	node := &t.nodes[n]
	b = append(b, '{')
	before := len(b)
	if whole {
		b = append(b, t.values(node.uid)...)
	}
	if len(b) == before {
		b = append(append(append(b, `"uid":"`...), node.uid.String()...), '"')
	}
	if !children {
		return b
	}
	for _, k := range node.kids {
		r := &t.relations[k.relation]
		b = append(append(append(b, ','), r.raw...), ':')
		alone := len(k.steps) == 1 && t.single(r.Relation)
		if !alone {
			b = append(b, '[')
		}
		for i, l := range k.steps {
			if i > 0 {
				b = append(b, ',')
			}
			b = t.appendNode(b, l.to, l.whole, l.first)
			if t.scores {
				b = append(append(append(b, ','), r.score...), ':')
				b = strconv.AppendFloat(b, l.score, 'f', -1, 64)
			}
			b = append(b, '}')
		}
		if !alone {
			b = append(b, ']')
		}
	}
	return b
}
