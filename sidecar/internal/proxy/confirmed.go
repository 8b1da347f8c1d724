package proxy

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

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
	byUID []int32               // nodes in the order of their uids, as many as have been read
}

type confirmedNode struct {
	uid    graph.UID
	called string        // in the graph
	row    *render.Value // the block's values; nil: it has none
	name   string
}

// confirmedEdge is an edge and its ends in the graph, as a search walked it first.
type confirmedEdge struct {
	step     graph.Step // as in the graph; once read as it is, Hidden where the caller finds none
	from, to search.Node
	rel      search.Rel
}

// add lists what was found and has not been met before; false where there is nothing.
func (c *confirmed) add(g Graph, found []found) (more bool) {
	nodes, edges := len(c.nodes), len(c.edges)
	if c.node == nil {
		paths := 0 // most paths bring one node and one edge of their own
		for _, f := range found {
			for _, b := range f.bundles {
				paths += len(b.Paths)
			}
		}
		c.node, c.edge = make(map[search.Node]int32, paths), make(map[uint32]int32, paths)
		c.nodes, c.edges = make([]confirmedNode, 0, paths), make([]confirmedEdge, 0, paths)
	}
	node := func(n search.Node) {
		if _, met := c.node[n]; !met {
			c.node[n] = int32(len(c.nodes))
			c.nodes = append(c.nodes, confirmedNode{uid: g.UID(n), called: g.Name(n)})
		}
	}
	for _, f := range found {
		start, _ := g.Node(f.start)
		node(start)
		for _, b := range f.bundles {
			for _, p := range b.Paths {
				from := start
				for _, st := range p.Steps {
					if _, met := c.edge[st.Edge]; !met {
						c.edge[st.Edge] = int32(len(c.edges))
						c.edges = append(c.edges, confirmedEdge{stepOf(g, from, st), from, st.To, st.Rel})
						node(st.To)
					}
					from = st.To
				}
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
	edges, nodes := c.edges[c.known:], c.nodes[len(c.byUID):]
	uids := make([]graph.UID, len(nodes))
	for i, n := range nodes {
		uids[i] = n.uid
		c.byUID = append(c.byUID, int32(len(c.byUID)))
	}
	slices.SortFunc(c.byUID, func(a, b int32) int { return cmp.Compare(c.nodes[a].uid, c.nodes[b].uid) })
	lists := q.lists(g, edges)
	ends := make([]plan.Ends, len(lists))
	for i, l := range lists {
		ends[i] = l.ends()
	}
	q.trips++
	answer, err := q.Engine.Query(ctx, q.asCaller(graph.Call{Query: q.plan.Confirm(b, uids, ends), Vars: q.call.Vars, Debug: q.call.Debug}))
	if err != nil {
		return nil, err
	}
	data, err := render.ParseMembers(answer.JSON)
	if err != nil {
		return nil, err
	}
	var taken errgroup.Group // nodes beside edges: they have nothing in common
	taken.Go(func() error { return c.take(b, data) })
	there := make([]bool, len(edges))
	for i, l := range lists {
		rows := data.Get(plan.ConfirmKey(i))
		if rows == nil {
			continue
		}
		if err := render.Edges(rows.Raw, func(near, far graph.UID, is graph.Contribution) {
			n, asked := l.find(near, far)
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
		}); err != nil {
			return nil, errors.Join(err, taken.Wait())
		}
	}
	for i := range edges {
		if !there[i] {
			edges[i].step.Hidden = true
			wrong = append(wrong, edges[i].step)
		}
	}
	c.known = len(c.edges)
	return wrong, taken.Wait()
}

// take keeps the values and names of nodes.
func (c *confirmed) take(b *plan.Block, data *render.Value) error {
	rows, err := listOf(data.Get("nodes"))
	if err != nil {
		return err
	}
	for i, row := range rows {
		if n := c.of(row, i); n != nil {
			n.row = row
		}
	}
	keys := b.Names
	if !b.NamesShown() {
		keys = make([]string, len(b.Names))
		for i := range keys {
			keys[i] = plan.NameKey(i)
		}
		if rows, err = listOf(data.Get(plan.ConfirmNames)); err != nil {
			return err
		}
	}
	for i, row := range rows {
		n := c.of(row, i)
		for k := 0; n != nil && k < len(keys); k++ {
			if name, has := row.Get(keys[k]).Text(); has {
				n.name = name
				break
			}
		}
	}
	return nil
}

// listOf opens the rows of a block's answer; there are none where there is no answer.
func listOf(v *render.Value) ([]*render.Value, error) {
	if v == nil {
		return nil, nil
	}
	v, err := render.Parse(v.Raw)
	if err != nil {
		return nil, err
	}
	return items(v), nil
}

// of is the node of a row; nil: it is none that was asked for. In a first reading, where all
// nodes have a row, the i-th is that of the i-th node.
func (c *confirmed) of(row *render.Value, i int) *confirmedNode {
	u, ok := uidOf(row)
	if !ok {
		return nil
	}
	if i < len(c.byUID) {
		if n := &c.nodes[c.byUID[i]]; n.uid == u {
			return n
		}
	}
	return c.read(u)
}

// read is the node of a uid that was read; nil: it was not.
func (c *confirmed) read(u graph.UID) *confirmedNode {
	i, known := slices.BinarySearchFunc(c.byUID, u, func(i int32, u graph.UID) int { return cmp.Compare(c.nodes[i].uid, u) })
	if !known {
		return nil
	}
	return &c.nodes[c.byUID[i]]
}

// row is what is shown of a node; nil: nothing.
func (c *confirmed) row(u graph.UID) *render.Value {
	if n := c.read(u); n != nil {
		return n.row
	}
	return nil
}

// items are the members of a list, or the one object that stands in its place.
func items(v *render.Value) []*render.Value {
	switch {
	case v.IsObject():
		return []*render.Value{v}
	case v.IsArray():
		return v.Items
	}
	return nil
}

// edgesPerList is how many edges of a list the engine goes through in the time that it takes to
// find the list.
const edgesPerList = 40

// lists are edges of one relation, to be read from their near ends on: in the order of near and
// then of far ends.
type lists struct {
	relation graph.Relation
	edges    []listed
}

// listed is an edge in a list of the engine's: near is the node whose list it is.
type listed struct {
	near, far graph.UID
	edge      int32
}

// lists groups edges by relation. To read an edge the engine reads the whole list of one of its
// ends, and most lists hold several of the edges: where the predicate can be walked both ways
// each edge is read in the list that costs less for each edge that it serves.
func (q *query) lists(g ResidentGraph, edges []confirmedEdge) []lists {
	type list struct {
		at  search.Node
		rel search.Rel
	}
	ids := make(map[list]int32, 2*len(edges))
	var all []list
	var serves []int // edges, by list
	sides := make([][2]int32, len(edges))
	reverse := make([]bool, g.Relations()/2) // by predicate
	for i, e := range edges {
		reverse[e.rel/2] = q.view.schema.Predicates[e.step.Predicate].Reverse
		for side, l := range [2]list{{e.from, e.rel}, {e.to, e.rel ^ 1}} {
			id, known := ids[l]
			if !known {
				id = int32(len(all))
				ids[l], all, serves = id, append(all, l), append(serves, 0)
			}
			serves[id]++
			sides[i][side] = id
		}
	}
	cost := func(id int32, edges int) float64 { return float64(edgesPerList+edges) / float64(serves[id]) }
	costs := make([]float64, len(all)) // 0: not yet known
	exact := func(id int32) float64 {
		if costs[id] == 0 {
			costs[id] = cost(id, g.Degree(all[id].at, all[id].rel))
		}
		return costs[id]
	}
	less := func(a, b int32) bool { // a costs less; its list is counted only where that can matter
		of := exact(b)
		return cost(a, serves[a]) < of && (cost(a, len(g.Steps(all[a].at))) < of || exact(a) < of)
	}
	by := make([]*lists, g.Relations())
	var order []search.Rel
	for i, e := range edges {
		in := listed{e.step.From(), e.step.To(), int32(i)}
		rel := e.rel
		both := reverse[rel/2]
		if both && less(sides[i][1], sides[i][0]) || !both && e.step.Inverse {
			in.near, in.far, rel = in.far, in.near, rel^1
		}
		if by[rel] == nil {
			by[rel] = &lists{relation: g.Relation(rel)}
			order = append(order, rel)
		}
		by[rel].edges = append(by[rel].edges, in)
	}
	out := make([]lists, len(order))
	for i, rel := range order {
		slices.SortFunc(by[rel].edges, compareListed)
		out[i] = *by[rel]
	}
	return out
}

func compareListed(a, b listed) int {
	return cmp.Or(cmp.Compare(a.near, b.near), cmp.Compare(a.far, b.far))
}

// ends asks for the edges.
func (l lists) ends() plan.Ends {
	e := plan.Ends{Relation: l.relation}
	for _, in := range l.edges {
		e.From, e.To = append(e.From, in.near), append(e.To, in.far)
	}
	slices.Sort(e.To)
	e.From, e.To = slices.Compact(e.From), slices.Compact(e.To)
	return e
}

// find is the edge between two nodes; false where it was not asked for.
func (l lists) find(near, far graph.UID) (edge int32, ok bool) {
	i, ok := slices.BinarySearchFunc(l.edges, listed{near: near, far: far}, compareListed)
	if !ok {
		return 0, false
	}
	return l.edges[i].edge, true
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
