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
	values func(graph.UID) *Value
	single func(graph.Relation) bool
	scores bool

	roots     []int32 // numbers of nodes
	nodes     []treeNode
	number    map[graph.UID]int32 // into nodes
	relations []treeRelation
	of        map[graph.Relation]int32 // into relations
	edges     map[treeEdge]bool
	room      parser // for values
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
	key string
	raw []byte // key, quoted
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
}

// NewTree starts a tree at the start nodes, in the order in which they are to stand. values
// gives the re-read nodes, nil for one that has none; single tells the relations that hold at
// most one node.
func NewTree(starts []graph.UID, values func(graph.UID) *Value, single func(graph.Relation) bool) *Tree {
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
		t.of[r] = n
		t.relations = append(t.relations, treeRelation{r, r.String(), String(r.String()).Raw})
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

// Value is the block's array.
func (t *Tree) Value() *Value {
	t.levels()
	out := Array()
	for _, r := range t.roots {
		out.Items = append(out.Items, t.value(r, true, true))
	}
	return out
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

// value writes a node; early where its values stand in any case.
func (t *Tree) value(n int32, early, children bool) *Value {
	node := &t.nodes[n]
	v := t.room.new(Value{kind: '{'})
	if early || !node.shown {
		v.Members = own(t.values(node.uid))
	}
	node.shown = true
	if len(v.Members) == 0 {
		v.Set("uid", String(node.uid.String()))
	}
	if !children {
		return v
	}
	for _, b := range node.kids {
		list := t.room.new(Value{kind: '[', Items: make([]*Value, 0, len(b.steps))})
		r := &t.relations[b.relation]
		for _, l := range b.steps {
			child := t.value(l.to, l.early, l.first)
			if t.scores {
				child.Set(r.key+"|evorag.score", Raw(strconv.AppendFloat(nil, l.score, 'f', -1, 64)))
			}
			list.Items = append(list.Items, child)
		}
		if len(list.Items) == 1 && t.single(r.Relation) {
			list = list.Items[0]
		}
		v.Members = append(v.Members, Member{Key: r.key, raw: r.raw, Value: list})
	}
	return v
}

// own are the members of a re-read node that no plan has put there; what is appended to them
// changes no others.
func own(from *Value) []Member {
	if from == nil {
		return nil
	}
	spliced := func(m Member) bool { return plan.Spliced(m.Key) }
	rest := from.Members
	for len(rest) > 0 && spliced(rest[0]) { // as a rule it comes first, alone
		rest = rest[1:]
	}
	if slices.ContainsFunc(rest, spliced) {
		rest = slices.DeleteFunc(slices.Clone(rest), spliced)
	}
	return slices.Clip(rest)
}
