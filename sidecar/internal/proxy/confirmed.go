package proxy

import (
	"cmp"
	"context"
	"slices"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/render"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// confirmed is what the caller's own reads have brought of a graph in memory: nodes and edges,
// each once, in the order in which searches found them. It goes by the graph's ids, which a
// Corrected one keeps.
type confirmed struct {
	nodes []confirmedNode
	edges []confirmedEdge
	node  map[search.Node]int32 // into nodes
	edge  map[uint32]int32      // into edges
	known int                   // of edges, how many have been read
	byUID []atUID               // nodes in the order of their uids, as many as have been read
}

type confirmedNode struct {
	uid    graph.UID
	called string // in the graph
	name   string
	values []byte // members of the block's row, as they are written
}

// atUID is where the node of a uid is.
type atUID struct {
	uid  graph.UID
	node int32 // into nodes
}

func compareUIDs(a, b atUID) int { return cmp.Compare(a.uid, b.uid) }

// confirmedEdge is an edge as a search walked it first.
type confirmedEdge struct {
	step graph.Step // as in the graph; once read as it is, Hidden where the caller finds none
	rel  search.Rel
	back bool // it is read from its far end on
}

// add lists what was found and has not been met before; false where there is nothing.
func (c *confirmed) add(all []proposal) (more bool) {
	nodes, edges := len(c.nodes), len(c.edges)
	if c.node == nil {
		n := 0 // most nodes and edges are on the paths of one start node
		for _, p := range all {
			n += len(p.nodes)
		}
		c.node, c.edge = make(map[search.Node]int32, n), make(map[uint32]int32, n)
		c.nodes, c.edges = make([]confirmedNode, 0, n), make([]confirmedEdge, 0, n)
	}
	for _, p := range all {
		for _, n := range p.nodes {
			if _, met := c.node[n.id]; !met {
				c.node[n.id] = int32(len(c.nodes))
				c.nodes = append(c.nodes, n.confirmedNode)
			}
		}
		for _, e := range p.edges {
			if _, met := c.edge[e.id]; !met {
				c.edge[e.id] = int32(len(c.edges))
				c.edges = append(c.edges, e.confirmedEdge)
			}
		}
	}
	return len(c.nodes) > nodes || len(c.edges) > edges
}

// only leaves out the paths with an edge that was not read or is not there.
func (c *confirmed) only(all []found) []found {
	gone := func(p search.Path) bool {
		return slices.ContainsFunc(p.Steps, func(st search.Step) bool {
			e := c.edge[st.Edge]
			return int(e) >= c.known || c.edges[e].step.Hidden
		})
	}
	var out []found
	for _, f := range all {
		kept := found{start: f.start}
		for _, b := range f.bundles {
			if slices.ContainsFunc(b.Paths, gone) {
				total := len(b.Paths)
				b.Paths = slices.DeleteFunc(slices.Clone(b.Paths), gone)
				b.Total -= total - len(b.Paths)
			}
			if len(b.Paths) > 0 {
				kept.bundles = append(kept.bundles, b)
			}
		}
		out = append(out, kept)
	}
	return out
}

// confirm reads what has been added as the caller, in one query. It returns the edges that are
// other than the graph has them.
func (q *query) confirm(ctx context.Context, b *plan.Block, g ResidentGraph, c *confirmed) (wrong []graph.Step, err error) {
	edges := c.edges[c.known:]
	uids := c.index()
	lists := listsOf(g, edges)
	ends := make([]plan.Ends, len(lists))
	for i, l := range lists {
		ends[i] = l.ends()
	}
	q.trips++
	answer, err := q.Engine.Query(ctx, q.asCaller(graph.Call{Query: q.plan.Confirm(b, uids, ends), Vars: q.call.Vars, Debug: q.call.Debug}))
	if err != nil {
		return nil, err
	}
	q.brought += len(answer.JSON)
	there := make([]bool, len(edges))
	r := c.reread(b)
	r.Edge = func(ends int, near, far graph.UID, is graph.Contribution) {
		n, asked := int32(0), false
		if ends < len(lists) {
			n, asked = lists[ends].find(near, far)
		}
		if !asked {
			return
		}
		e := &edges[n].step
		there[n] = true
		differs := is.Hidden || is.Score != e.Score
		e.Contribution = is
		if differs {
			wrong = append(wrong, *e)
		}
	}
	if err := r.Read(answer.JSON); err != nil {
		return nil, err
	}
	for i := range edges {
		if !there[i] {
			edges[i].step.Hidden = true
			wrong = append(wrong, edges[i].step)
		}
	}
	c.known = len(c.edges)
	return wrong, nil
}

// index makes the nodes that have been added to be found by uid, and gives theirs in order.
func (c *confirmed) index() []graph.UID {
	known := len(c.byUID)
	c.byUID = slices.Grow(c.byUID, len(c.nodes)-known)
	for i := known; i < len(c.nodes); i++ {
		c.byUID = append(c.byUID, atUID{c.nodes[i].uid, int32(i)})
	}
	added := c.byUID[known:]
	slices.SortFunc(added, compareUIDs)
	uids := make([]graph.UID, len(added))
	for i, n := range added {
		uids[i] = n.uid
	}
	if known > 0 {
		slices.SortFunc(c.byUID, compareUIDs)
	}
	return uids
}

// reread keeps the values and names of nodes.
func (c *confirmed) reread(b *plan.Block) render.Reread {
	r := render.Reread{Names: b.Names}
	shown := b.NamesShown()
	if !shown {
		r.Names = make([]string, len(b.Names))
		for i := range r.Names {
			r.Names[i] = plan.NameKey(i)
		}
	}
	i, j := 0, 0
	r.Node = func(row render.Row) {
		if n := c.of(row.UID, i); n != nil {
			n.values = row.Members
			if shown {
				n.call(row.Name)
			}
		}
		i++
	}
	r.Named = func(row render.Row) {
		if n := c.of(row.UID, j); n != nil {
			n.call(row.Name)
		}
		j++
	}
	return r
}

// call gives a node the name that was read; as a rule it is that of the graph.
func (n *confirmedNode) call(name []byte) {
	if string(name) == n.called {
		n.name = n.called
	} else {
		n.name = string(name)
	}
}

// of is the node of the i-th row; nil: it is none that was asked for. In a first reading, where all
// nodes have a row, the i-th is that of the i-th node.
func (c *confirmed) of(u graph.UID, i int) *confirmedNode {
	if i < len(c.byUID) && c.byUID[i].uid == u {
		return &c.nodes[c.byUID[i].node]
	}
	return c.read(u)
}

// read is the node of a uid that was read; nil: it was not.
func (c *confirmed) read(u graph.UID) *confirmedNode {
	i, known := slices.BinarySearchFunc(c.byUID, atUID{uid: u}, compareUIDs)
	if !known {
		return nil
	}
	return &c.nodes[c.byUID[i].node]
}

// values is what is shown of a node, its members as they are written.
func (c *confirmed) values(u graph.UID) []byte {
	if n := c.read(u); n != nil {
		return n.values
	}
	return nil
}

// asCalled tells whether all nodes have the names that they have in the graph.
func (c *confirmed) asCalled() bool {
	return !slices.ContainsFunc(c.nodes, func(n confirmedNode) bool { return n.name != n.called })
}

// confirmedGraph shows nodes by the names that the caller has read.
type confirmedGraph struct {
	ResidentGraph
	*confirmed
}

func (g confirmedGraph) Name(n search.Node) string {
	if i, ok := g.node[n]; ok {
		return g.nodes[i].name
	}
	return ""
}
