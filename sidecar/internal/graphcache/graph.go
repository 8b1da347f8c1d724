// Package graphcache holds the graph of one namespace in memory: who is linked to whom, what
// was learned about each edge, what nodes are called. It only proposes paths to look at; what
// is shown is read from the cluster again by the caller's own right.
package graphcache

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// Nodes and scores are kept in pages, so that a changed Graph shares with the one before all
// pages but those that hold a change.
const (
	nodesPerPage  = 128
	scoresPerPage = 1024
)

// Graph is one state of the graph. It never changes: a change makes a new Graph that shares
// what stayed. Relation 2p walks predicate p from head to object, 2p+1 back; hidden edges are
// left out.
type Graph struct {
	names      []string // predicates that hold a name, best first
	predicates []predicate
	labels     map[string]string // by predicate, where one is recorded
	ids        *ids
	nodes      int
	inOrder    search.Node // nodes below have their ids in the order of uids
	told       search.Node // all edges of nodes below are here, as of asOf; later ones came with some of theirs
	pages      []*[nodesPerPage]node
	meets      []*[nodesPerPage]meeting // by node; apart, since a search looks there for many more nodes than it goes through
	scored     int                      // edge ids in use
	scores     []*[scoresPerPage]float64
	edges      int       // edges there are; ids of deleted ones are not used again
	maxSc      []float64 // by relation
	vectors    *vectors
	relations  *relevance.Table
	shortcuts  *edgeLabels // nil: none has a label
	model      *modelled   // nil: there is no embeddings model
	whole      []bool      // of a part of the graph, by node: all its steps are here; nil: see told
	asOf       time.Time
	bytes      int64 // of names and rows, see Bytes
}

// predicate is a uid predicate of the user's.
type predicate struct {
	name string
	list bool
}

type node struct {
	uid   graph.UID
	name  string
	steps []search.Step // sorted by relation, by falling score, and by node
	apart bool          // steps are in a piece of memory of their own
}

// meeting is what the steps of a node are.
type meeting struct {
	relations search.Buckets
	maxSc     float64 // at least every Sc
}

func (g *Graph) meeting(steps []search.Step) meeting {
	var m meeting
	for len(steps) > 0 { // the first of each relation has its greatest Sc
		m.relations |= search.BucketOf(steps[0].Rel)
		m.maxSc = max(m.maxSc, g.Sc(steps[0].Edge))
		_, next := span(steps, steps[0].Rel)
		steps = steps[next:]
	}
	return m
}

// ids finds nodes by uid. It is shared by all states of a graph: an id is given once.
type ids struct {
	mu sync.RWMutex
	of map[graph.UID]search.Node
}

func (i *ids) get(u graph.UID) (search.Node, bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	id, ok := i.of[u]
	return id, ok
}

func (i *ids) set(u graph.UID, id search.Node) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.of[u] = id
}

func (g *Graph) at(n search.Node) *node { return &g.pages[n/nodesPerPage][n%nodesPerPage] }

// Steps lists what can be walked from a node, in both directions; under each relation by falling Sc.
func (g *Graph) Steps(n search.Node) []search.Step { return g.at(n).steps }

// CompareNodes orders by uid.
func (g *Graph) CompareNodes(a, b search.Node) int {
	if a < g.inOrder && b < g.inOrder {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(g.at(a).uid, g.at(b).uid)
}

// CompareRels orders by predicate, the inverse second.
func (g *Graph) CompareRels(a, b search.Rel) int {
	if a/2 == b/2 {
		return cmp.Compare(a, b)
	}
	return strings.Compare(g.predicates[a/2].name, g.predicates[b/2].name)
}

// Node finds a node by its uid; false for one that has neither a name nor an edge.
func (g *Graph) Node(u graph.UID) (search.Node, bool) {
	id, ok := g.ids.get(u)
	return id, ok && int(id) < g.nodes
}

// UID is a node's uid.
func (g *Graph) UID(n search.Node) graph.UID { return g.at(n).uid }

// Name is what a node is shown by, empty where it has no name.
func (g *Graph) Name(n search.Node) string { return g.at(n).name }

// Names are the predicates that hold a node's name, best first.
func (g *Graph) Names() []string { return g.names }

// Relation is a relation by its id.
func (g *Graph) Relation(r search.Rel) graph.Relation {
	return graph.Relation{Predicate: g.predicates[r/2].name, Inverse: r%2 == 1}
}

// Rel is the id of a relation; false where the graph doesn't know the predicate.
func (g *Graph) Rel(r graph.Relation) (search.Rel, bool) {
	p, ok := g.predicate(r.Predicate)
	if r.Inverse {
		return 2*p + 1, ok
	}
	return 2 * p, ok
}

func (g *Graph) predicate(name string) (search.Rel, bool) {
	i, ok := slices.BinarySearchFunc(g.predicates, name, func(p predicate, name string) int { return strings.Compare(p.name, name) })
	return search.Rel(i), ok
}

// Relations is the number of relations: their ids are 0..Relations()-1.
func (g *Graph) Relations() int { return 2 * len(g.predicates) }

// Score is an edge's raw score, in [0,200].
func (g *Graph) Score(edge uint32) float64 {
	return g.scores[edge/scoresPerPage][edge%scoresPerPage]
}

// Sc is an edge's normalised score, in [0,1].
func (g *Graph) Sc(edge uint32) float64 { return g.Score(edge) / graph.MaxScore }

// Scs is Sc of many edges; dst is as long.
func (g *Graph) Scs(dst []float64, edges []uint32) {
	for i, e := range edges {
		dst[i] = g.scores[e/scoresPerPage][e%scoresPerPage] / graph.MaxScore
	}
}

// MaxSc is at least every Sc under the relation.
func (g *Graph) MaxSc(r search.Rel) float64 { return g.maxSc[r] }

// FallingSc tells the search how Steps are listed.
func (g *Graph) FallingSc() {}

// At tells what meets at a node: its relations, and at least every Sc.
func (g *Graph) At(n search.Node) (search.Buckets, float64) {
	m := &g.meets[n/nodesPerPage][n%nodesPerPage]
	return m.relations, m.maxSc
}

// Whole tells whether all steps from a node are here, of those that were there as of AsOf.
func (g *Graph) Whole(n search.Node) bool {
	if g.whole != nil {
		return g.whole[n]
	}
	return n < g.told
}

// Degree is the number of steps of one relation from a node; the greatest number where it isn't known.
func (g *Graph) Degree(n search.Node, r search.Rel) int {
	if !g.Whole(n) {
		return math.MaxInt32
	}
	return len(g.under(n, r))
}

// Nodes is the number of nodes that have, or had, a name or an edge.
func (g *Graph) Nodes() int { return g.nodes }

// Edges is the number of edges, the hidden ones left out.
func (g *Graph) Edges() int { return g.edges }

// AsOf is a time before which everything committed is here.
func (g *Graph) AsOf() time.Time { return g.asOf }

// idBytes is what a Go map takes for a uid and an id, about.
const idBytes = 40

// Bytes is the memory that the graph takes, without what it shares with states before it.
func (g *Graph) Bytes() int64 {
	return int64(len(g.pages))*int64(unsafe.Sizeof([nodesPerPage]node{})+unsafe.Sizeof([nodesPerPage]meeting{})) +
		int64(len(g.scores))*scoresPerPage*8 + int64(g.nodes)*idBytes +
		g.bytes + int64(g.vectors.bytes()) + int64(g.relations.Bytes()) + g.shortcuts.bytes() + g.model.bytes()
}

const stepBytes = int64(unsafe.Sizeof(search.Step{}))

// span is the range of the steps of one relation in a row.
func span(steps []search.Step, r search.Rel) (from, to int) {
	from, _ = slices.BinarySearchFunc(steps, r, func(s search.Step, r search.Rel) int { return cmp.Compare(s.Rel, r) })
	to, _ = slices.BinarySearchFunc(steps, r+1, func(s search.Step, r search.Rel) int { return cmp.Compare(s.Rel, r) })
	return from, to
}

// find is the step of a relation from a node to another, if there is one.
func (g *Graph) find(n search.Node, r search.Rel, to search.Node) (search.Step, bool) {
	steps, other := g.under(n, r), g.under(to, r^1)
	if len(other) < len(steps) {
		steps, to = other, n
	}
	i := slices.IndexFunc(steps, func(s search.Step) bool { return s.To == to })
	if i < 0 {
		return search.Step{}, false
	}
	return steps[i], true
}

// under is the steps of one relation from a node.
func (g *Graph) under(n search.Node, r search.Rel) []search.Step {
	steps := g.Steps(n)
	from, to := span(steps, r)
	return steps[from:to]
}

// compareSteps is the order of the steps from a node.
func (g *Graph) compareSteps(a, b search.Step) int {
	return cmp.Or(cmp.Compare(a.Rel, b.Rel), cmp.Compare(g.Score(b.Edge), g.Score(a.Edge)), cmp.Compare(a.To, b.To))
}
