package graphcache

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// errMemory ends a build that outgrows its budget.
var errMemory = errors.New("the graph is larger than cache.memory_mb")

// builder takes in a whole graph and turns it into compact rows.
type builder struct {
	names      []string
	predicates []predicate
	labels     map[string]string
	hash       *relevance.Hash
	budget     int64 // bytes

	ids      map[graph.UID]search.Node
	uids     []graph.UID
	called   []string // by node
	named    []bool   // by node: called is its name, though it may be empty
	letters  int64    // bytes of all names
	edges    []edge
	hidden   map[graph.Triplet]bool  // suppressed edges
	shortcut map[[2]graph.UID]string // of shortcuts, by head and object
}

type edge struct {
	head, object search.Node
	predicate    uint32
	score        float64
}

// newBuilder starts a graph over a schema's uid predicates: the user's, and shortcuts.
func newBuilder(s graph.Schema, names []string, labels map[string]string, hash *relevance.Hash, budget int64) *builder {
	b := &builder{labels: labels, hash: hash, budget: budget, ids: map[graph.UID]search.Node{}, hidden: map[graph.Triplet]bool{}, shortcut: map[[2]graph.UID]string{}}
	b.predicates, b.names = predicatesOf(s), namesIn(s, names)
	return b
}

func predicatesOf(s graph.Schema) []predicate {
	var out []predicate
	for _, name := range s.PathPredicates() { // sorted
		out = append(out, predicate{name, s.Predicates[name].List})
	}
	return out
}

// namesIn are those of the name predicates that the schema has as strings.
func namesIn(s graph.Schema, names []string) []string {
	var out []string
	for _, n := range names {
		if t := s.Predicates[n].Type; t == "string" || t == "default" {
			out = append(out, n)
		}
	}
	return out
}

func (b *builder) node(u graph.UID) search.Node {
	id, ok := b.ids[u]
	if !ok {
		id = search.Node(len(b.uids))
		b.ids[u] = id
		b.uids = append(b.uids, u)
		b.called, b.named = append(b.called, ""), append(b.named, false)
	}
	return id
}

// edge takes in an edge that is there once. A hidden one is only counted.
func (b *builder) edge(p uint32, head, object graph.UID, c graph.Contribution, label string) {
	if c.Hidden {
		b.hidden[graph.Triplet{Head: head, Predicate: b.predicates[p].name, Object: object}] = true
		return
	}
	if label != "" {
		b.shortcut[[2]graph.UID{head, object}] = label
	}
	b.edges = append(b.edges, edge{b.node(head), b.node(object), p, c.Score})
}

// name takes in what a node is called, also one without edges: a search that starts there is
// known to find nothing. The best name predicate comes first and wins.
func (b *builder) name(u graph.UID, name string) {
	if id := b.node(u); !b.named[id] {
		b.called[id], b.named[id] = strings.Clone(name), true
		b.letters += int64(len(name))
	}
}

// check fails with errMemory once the graph that is being built would be too large.
func (b *builder) check() error {
	if b.estimate() > b.budget {
		return errMemory
	}
	return nil
}

// vectorBytes is about what a letter of a name takes in a relevance.Table.
const vectorBytes = 10

// edgesBytes is what so many edges take: a step at both ends, and a score.
func edgesBytes(n int) int64 { return int64(n) * (2*stepBytes + 8) }

func (b *builder) estimate() int64 {
	return edgesBytes(len(b.edges)) + int64(len(b.uids))*(idBytes+64+24) + b.letters*(1+vectorBytes)
}

// done is the finished graph.
func (b *builder) done(asOf time.Time) *Graph {
	g := b.laid(asOf)
	table := &relevance.Table{}
	for i, name := range b.called {
		table.Set(uint32(i), b.hash.Embed(name))
	}
	g.vectors = newVectors(table)
	g.relations = relationTable(b.predicates, b.labels, b.hash)
	return g
}

// laid is the graph without the vectors of names and relations.
func (b *builder) laid(asOf time.Time) *Graph {
	b.sortByUID()
	b.sortByHub()
	g := &Graph{
		names: b.names, predicates: b.predicates, labels: b.labels, asOf: asOf,
		ids: &ids{of: b.ids}, nodes: len(b.uids), inOrder: search.Node(len(b.uids)), told: search.Node(len(b.uids)), edges: len(b.edges), scored: len(b.edges),
		maxSc: make([]float64, 2*len(b.predicates)), bytes: b.letters,
	}
	neutral := graph.Neutral().Sc()
	for r := range g.maxSc {
		g.maxSc[r] = neutral
	}
	for range (len(b.edges) + scoresPerPage - 1) / scoresPerPage {
		g.scores = append(g.scores, new([scoresPerPage]float64))
	}
	for i, e := range b.edges {
		g.scores[i/scoresPerPage][i%scoresPerPage] = e.score
		raise(g.maxSc, search.Rel(2*e.predicate), e.score)
	}
	g.pages = make([]*[nodesPerPage]node, (g.nodes+nodesPerPage-1)/nodesPerPage)
	g.meets = make([]*[nodesPerPage]meeting, len(g.pages))
	for i := range g.pages {
		g.pages[i], g.meets[i] = new([nodesPerPage]node), new([nodesPerPage]meeting)
	}
	rows := b.rows()
	for i, u := range b.uids {
		n := g.at(search.Node(i))
		*n = node{uid: u, name: b.called[i], steps: rows[i]}
		slices.SortFunc(n.steps, g.compareSteps)
		g.meets[i/nodesPerPage][i%nodesPerPage] = g.meeting(n.steps)
	}
	g.bytes += 2 * int64(len(b.edges)) * stepBytes
	g.shortcuts = b.shortcuts()
	return g
}

// shortcuts are the labels of shortcuts by the edges' ids; nil where there are none.
func (b *builder) shortcuts() *edgeLabels {
	if len(b.shortcut) == 0 {
		return nil
	}
	called := map[uint32]string{}
	for i, e := range b.edges {
		if label := b.shortcut[[2]graph.UID{b.uids[e.head], b.uids[e.object]}]; label != "" && b.predicates[e.predicate].name == graph.ShortcutPredicate {
			called[uint32(i)] = label
		}
	}
	return (*edgeLabels)(nil).with(called, b.hash)
}

// raise lifts the greatest Sc of a predicate's two relations.
func raise(maxSc []float64, forward search.Rel, score float64) {
	sc := score / graph.MaxScore
	maxSc[forward], maxSc[forward+1] = max(maxSc[forward], sc), max(maxSc[forward+1], sc)
}

// sortByUID gives nodes their ids in the order of uids, so that ties, which the uids decide,
// are met in the order of memory.
func (b *builder) sortByUID() {
	order := make([]search.Node, len(b.uids))
	for i := range order {
		order[i] = search.Node(i)
	}
	slices.SortFunc(order, func(x, y search.Node) int { return cmp.Compare(b.uids[x], b.uids[y]) })
	uids, called, to := make([]graph.UID, len(order)), make([]string, len(order)), make([]search.Node, len(order))
	for id, was := range order {
		uids[id], called[id], to[was] = b.uids[was], b.called[was], search.Node(id)
		b.ids[uids[id]] = search.Node(id)
	}
	b.uids, b.called, b.named = uids, called, nil
	for i, e := range b.edges {
		b.edges[i].head, b.edges[i].object = to[e.head], to[e.object]
	}
}

// sortByHub gives the edges at a node with many of them ids in a row, as they are listed there, so
// that a search that goes through them reads their scores in the order of memory.
func (b *builder) sortByHub() {
	degree := make([]uint32, len(b.uids))
	for _, e := range b.edges {
		degree[e.head]++
		degree[e.object]++
	}
	hub := func(e edge) search.Node {
		if degree[e.head] > degree[e.object] {
			return e.head
		}
		return e.object
	}
	slices.SortFunc(b.edges, func(x, y edge) int {
		return cmp.Or(cmp.Compare(hub(x), hub(y)), cmp.Compare(x.predicate, y.predicate), cmp.Compare(y.score, x.score), cmp.Compare(x.head, y.head), cmp.Compare(x.object, y.object))
	})
}

// rows lays out the steps of all nodes in one array, in no order.
func (b *builder) rows() [][]search.Step {
	start := make([]uint32, len(b.uids)+1)
	for _, e := range b.edges {
		start[e.head+1]++
		start[e.object+1]++
	}
	for i := range b.uids {
		start[i+1] += start[i]
	}
	next := slices.Clone(start)
	steps := make([]search.Step, 2*len(b.edges))
	put := func(at search.Node, s search.Step) {
		steps[next[at]] = s
		next[at]++
	}
	for i, e := range b.edges {
		put(e.head, search.Step{Rel: search.Rel(2 * e.predicate), To: e.object, Edge: uint32(i)})
		put(e.object, search.Step{Rel: search.Rel(2*e.predicate + 1), To: e.head, Edge: uint32(i)})
	}
	rows := make([][]search.Step, len(b.uids))
	for i := range rows {
		rows[i] = steps[start[i]:start[i+1]:start[i+1]]
	}
	return rows
}

// relationTable embeds the labels of all relations.
func relationTable(predicates []predicate, labels map[string]string, hash *relevance.Hash) *relevance.Table {
	t := &relevance.Table{}
	for i, p := range predicates {
		v := hash.Embed(cmp.Or(labels[p.name], p.name))
		t.Set(uint32(2*i), v)
		t.Set(uint32(2*i+1), v)
	}
	t.Pack()
	return t
}

// sameSchema tells whether a graph is built on the predicates and names of the schema.
func (g *Graph) sameSchema(s graph.Schema, names []string) bool {
	return slices.Equal(g.predicates, predicatesOf(s)) && slices.Equal(g.names, namesIn(s, names))
}

func (g *Graph) sameLabels(labels map[string]string) bool { return maps.Equal(g.labels, labels) }
