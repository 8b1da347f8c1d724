package graphcache

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// Fact is what the cluster says of one triplet.
type Fact struct {
	Score  float64 // raw, in [0,200]; without meaning where the edge isn't Here
	Here   bool    // it exists and is not hidden
	Hidden bool    // it exists and is suppressed
	Label  string  // of a shortcut; "": none
}

// Change is what a read of the cluster found.
type Change struct {
	Edges  map[graph.Triplet]Fact
	Names  map[graph.UID]string // of nodes; "" for one without a name
	Labels map[string]string    // of all relations, by predicate; nil: as they were
	AsOf   time.Time            // zero: as it was
}

// Corrected is the graph with other facts about edges, for one query: facts about nodes that
// the graph doesn't know are passed over. The receiver stays as it is.
func (g *Graph) Corrected(facts map[graph.Triplet]Fact) *Graph {
	e := edit(g, false)
	for _, t := range inOrder(facts) {
		e.edge(t, facts[t])
	}
	e.finish()
	return &e.Graph
}

// with is the graph after a change. Only one goroutine may call it on the newest state of a
// graph, since nodes get their ids here.
func (g *Graph) with(c Change, hash *relevance.Hash, rows rowsOf) *Graph {
	e := edit(g, true)
	for _, t := range inOrder(c.Edges) {
		e.edge(t, c.Edges[t])
	}
	e.finish()
	if len(e.called) > 0 {
		e.shortcuts = e.shortcuts.with(e.called, hash)
	}
	renamed := e.rename(c.Names, hash)
	if c.Labels != nil && !g.sameLabels(c.Labels) {
		e.labels = c.Labels
		e.relations = relationTable(e.predicates, c.Labels, hash)
		e.model = e.Graph.modelled(nil, rows)
	} else if e.model != nil {
		e.model = e.remodelled(renamed, rows)
		if len(e.called) > 0 {
			e.model = e.recalled(rows)
		}
	}
	if !c.AsOf.IsZero() {
		e.asOf = c.AsOf
	}
	return &e.Graph
}

// inOrder makes ids independent of the order of a map.
func inOrder[V any](facts map[graph.Triplet]V) []graph.Triplet {
	return slices.SortedFunc(maps.Keys(facts), func(a, b graph.Triplet) int {
		return cmp.Or(strings.Compare(a.Predicate, b.Predicate), cmp.Compare(a.Head, b.Head), cmp.Compare(a.Object, b.Object))
	})
}

// editor is a Graph in the making: it copies a page at the first change to it.
type editor struct {
	Graph
	was       *Graph
	grow      bool        // new nodes may come
	first     search.Node // of those that come
	ownPages  map[int]bool
	ownMeets  map[int]bool
	ownScores map[int]bool
	ownMaxSc  bool
	added     map[search.Node][]search.Step // to the rows of nodes; of an edge whose score changes both
	removed   map[search.Node][]search.Step
	called    map[uint32]string // labels of shortcuts, by edge id
}

func edit(g *Graph, grow bool) *editor {
	e := &editor{
		Graph: *g, was: g, grow: grow, first: search.Node(g.nodes), ownPages: map[int]bool{}, ownMeets: map[int]bool{}, ownScores: map[int]bool{},
		added: map[search.Node][]search.Step{}, removed: map[search.Node][]search.Step{}, called: map[uint32]string{},
	}
	e.pages, e.meets, e.scores = slices.Clone(g.pages), slices.Clone(g.meets), slices.Clone(g.scores)
	return e
}

func (e *editor) edge(t graph.Triplet, f Fact) {
	p, known := e.predicate(t.Predicate)
	if !known {
		return
	}
	head, h := e.node(t.Head, f.Here)
	object, o := e.node(t.Object, f.Here)
	if !h || !o {
		return
	}
	forward := 2 * p
	step, exists := e.find(head, forward, object)
	there := search.Step{Rel: forward, To: object, Edge: step.Edge}
	back := search.Step{Rel: forward + 1, To: head, Edge: step.Edge}
	switch {
	case f.Here && exists:
		e.callShortcut(step.Edge, p, f.Label)
		if e.Score(step.Edge) != f.Score {
			e.remove(head, there, object, back)
			e.score(step.Edge, f.Score)
			e.raise(forward, f.Score)
			e.add(head, there, object, back)
		}
	case f.Here:
		there.Edge, back.Edge = uint32(e.scored), uint32(e.scored)
		e.scored++
		if int(there.Edge)/scoresPerPage == len(e.scores) {
			e.scores = append(e.scores, new([scoresPerPage]float64))
			e.ownScores[len(e.scores)-1] = true
		}
		e.score(there.Edge, f.Score)
		e.callShortcut(there.Edge, p, f.Label)
		e.raise(forward, f.Score)
		e.add(head, there, object, back)
		e.edges++
	case exists:
		e.remove(head, there, object, back)
		e.edges--
	}
}

// add lists an edge at both of its ends.
func (e *editor) add(head search.Node, there search.Step, object search.Node, back search.Step) {
	e.added[head] = append(e.added[head], there)
	e.added[object] = append(e.added[object], back)
}

// remove takes it from there.
func (e *editor) remove(head search.Node, there search.Step, object search.Node, back search.Step) {
	e.removed[head] = append(e.removed[head], there)
	e.removed[object] = append(e.removed[object], back)
}

// node finds a node, and makes one where that is allowed and wanted.
func (e *editor) node(u graph.UID, wanted bool) (search.Node, bool) {
	if id, ok := e.Node(u); ok || !e.grow || !wanted {
		return id, ok
	}
	id := search.Node(e.nodes)
	e.nodes++
	if int(id)/nodesPerPage == len(e.pages) {
		e.pages, e.meets = append(e.pages, new([nodesPerPage]node)), append(e.meets, new([nodesPerPage]meeting))
		e.ownPages[len(e.pages)-1], e.ownMeets[len(e.pages)-1] = true, true
	}
	e.own(id).uid = u
	e.ids.set(u, id)
	return id, true
}

// own is a node on a page that may be written.
func (e *editor) own(n search.Node) *node {
	p := int(n) / nodesPerPage
	if !e.ownPages[p] {
		e.ownPages[p] = true
		page := *e.pages[p]
		e.pages[p] = &page
	}
	return e.at(n)
}

// met is what meets at a node, on a page that may be written.
func (e *editor) met(n search.Node) *meeting {
	p := int(n) / nodesPerPage
	if !e.ownMeets[p] {
		e.ownMeets[p] = true
		page := *e.meets[p]
		e.meets[p] = &page
	}
	return &e.meets[p][n%nodesPerPage]
}

func (e *editor) score(edge uint32, raw float64) {
	p := int(edge) / scoresPerPage
	if !e.ownScores[p] {
		e.ownScores[p] = true
		page := *e.scores[p]
		e.scores[p] = &page
	}
	e.scores[p][edge%scoresPerPage] = raw
}

func (e *editor) raise(forward search.Rel, score float64) {
	if score/graph.MaxScore <= e.maxSc[forward] {
		return
	}
	if !e.ownMaxSc {
		e.ownMaxSc = true
		e.maxSc = slices.Clone(e.maxSc)
	}
	raise(e.maxSc, forward, score)
}

// finish lays the changed rows out anew.
func (e *editor) finish() {
	for n, gone := range e.removed {
		e.row(n, gone, e.added[n])
	}
	for n, come := range e.added {
		if _, done := e.removed[n]; !done {
			e.row(n, nil, come)
		}
	}
}

// row replaces a node's steps. What is both gone and come has another score.
func (e *editor) row(n search.Node, gone, come []search.Step) {
	at := e.own(n)
	left := at.steps
	if len(gone) > 0 {
		slices.SortFunc(gone, e.was.compareSteps)
		left = make([]search.Step, 0, len(at.steps)-len(gone))
		rest := at.steps
		for _, s := range gone {
			i, _ := slices.BinarySearchFunc(rest, s, e.was.compareSteps)
			left, rest = append(left, rest[:i]...), rest[i+1:]
		}
		left = append(left, rest...)
	}
	slices.SortFunc(come, e.compareSteps)
	steps := make([]search.Step, 0, len(left)+len(come))
	for _, s := range come {
		i, _ := slices.BinarySearchFunc(left, s, e.compareSteps)
		steps, left = append(append(steps, left[:i]...), s), left[i:]
	}
	steps = append(steps, left...)
	if at.apart {
		e.bytes -= int64(len(at.steps)) * stepBytes
	}
	at.steps, at.apart = steps, true
	*e.met(n) = e.meeting(steps)
	e.bytes += int64(len(steps)) * stepBytes
}

// rename gives nodes their names and lists whose have changed; new ones count as changed with or
// without one.
func (e *editor) rename(names map[graph.UID]string, hash *relevance.Hash) []search.Node {
	for _, u := range slices.Sorted(maps.Keys(names)) {
		e.node(u, names[u] != "")
	}
	var changed []search.Node
	for n := e.first; int(n) < e.nodes; n++ {
		changed = append(changed, n)
	}
	for u, name := range names {
		n, ok := e.Node(u)
		if !ok || e.at(n).name == name {
			continue
		}
		e.own(n).name = strings.Clone(name)
		e.bytes += int64(len(name))
		if n < e.first {
			changed = append(changed, n)
		}
	}
	if len(changed) > 0 {
		e.vectors = e.vectors.with(hash, changed, e.Name)
	}
	return changed
}
