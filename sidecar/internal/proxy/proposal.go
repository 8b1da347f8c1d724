package proxy

import (
	"cmp"
	"slices"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// proposal is what is to be read of what was found from one start node: the nodes, and each edge once,
// in the order in which the paths have them.
type proposal struct {
	nodes []proposedNode
	edges []proposedEdge
}

type proposedNode struct {
	id search.Node
	confirmedNode
}

type proposedEdge struct {
	id uint32
	confirmedEdge
}

// proposer makes proposals, of several start nodes at once.
type proposer struct {
	graph ResidentGraph
	both  []bool // by predicate: it can be walked backwards too
}

func (q *query) newProposer(g ResidentGraph) proposer {
	p := proposer{g, make([]bool, g.Relations()/2)}
	for i := range p.both {
		p.both[i] = q.view.schema.Predicates[g.Relation(search.Rel(2*i)).Predicate].Reverse
	}
	return p
}

// hop is an edge as a path walks it first, with its ends as places in proposal.nodes.
type hop struct {
	search.Step
	from, to int32
}

// hops are the nodes and the edges on the paths of one start node, each once, the start first.
func (p proposer) hops(f found) (nodes []search.Node, hops []hop) {
	paths := 0 // most bring an edge and a node of their own
	for _, b := range f.bundles {
		paths += len(b.Paths)
	}
	nodes, hops = make([]search.Node, 0, paths+1), make([]hop, 0, paths)
	place, met := make(map[search.Node]int32, paths+1), make(map[uint32]int32, paths)
	node := func(n search.Node) int32 {
		i, known := place[n]
		if !known {
			i = int32(len(nodes))
			place[n], nodes = i, append(nodes, n)
		}
		return i
	}
	start, _ := p.graph.Node(f.start)
	node(start)
	for _, b := range f.bundles {
		for _, path := range b.Paths {
			at := int32(0)
			for _, st := range path.Steps {
				i, known := met[st.Edge]
				if !known {
					i = int32(len(hops))
					met[st.Edge] = i
					hops = append(hops, hop{st, at, node(st.To)})
				}
				if at == hops[i].from {
					at = hops[i].to
				} else { // this path walks it the other way
					at = hops[i].from
				}
			}
		}
	}
	return nodes, hops
}

// propose lists what is to be read of what was found. It goes through the graph in loops that do
// nothing else: what they look for is all over the memory, and the processor waits for several at once.
func (p proposer) propose(f found) proposal {
	nodes, hops := p.hops(f)
	out := proposal{make([]proposedNode, len(nodes)), make([]proposedEdge, len(hops))}
	for i, n := range nodes {
		out.nodes[i] = proposedNode{n, confirmedNode{uid: p.graph.UID(n), called: p.graph.Name(n)}}
	}
	scores := make([]float64, len(hops))
	for i, h := range hops {
		scores[i] = p.graph.Score(h.Edge)
	}
	for i, h := range hops {
		step := stepAs(p.graph.Relation(h.Rel), out.nodes[h.from].uid, out.nodes[h.to].uid, scores[i])
		out.edges[i] = proposedEdge{h.Edge, confirmedEdge{step: step, rel: h.Rel}}
	}
	p.choose(nodes, hops, out.edges)
	return out
}

// edgesPerList is how many edges of a list the engine goes through in the time that it takes to
// find the list.
const edgesPerList = 40

// choose decides from which end the edges found from one start node are read. To read an edge the engine
// reads the whole list of one of its ends, and most lists hold several of the edges: where the predicate can
// be walked both ways each edge is read in the list that costs less for each of these edges that it serves.
// What other start nodes have found is not looked at, since their searches may be under way.
func (p proposer) choose(nodes []search.Node, hops []hop, edges []proposedEdge) {
	type list struct {
		at  search.Node
		rel search.Rel
	}
	ids := make(map[list]int32, 2*len(hops))
	all := make([]list, 0, 2*len(hops))
	serves := make([]int, 0, 2*len(hops)) // edges, by list
	sides := make([][2]int32, len(hops))
	for i, h := range hops {
		if !p.both[h.Rel/2] {
			continue
		}
		for side, l := range [2]list{{nodes[h.from], h.Rel}, {h.To, h.Rel ^ 1}} {
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
			costs[id] = cost(id, p.graph.Degree(all[id].at, all[id].rel))
		}
		return costs[id]
	}
	less := func(a, b int32) bool { // a costs less; its list is counted only where that can matter
		of := exact(b)
		return cost(a, serves[a]) < of && exact(a) < of
	}
	for i, h := range hops {
		e := &edges[i]
		if p.both[h.Rel/2] {
			e.back = less(sides[i][1], sides[i][0])
		} else {
			e.back = e.step.Inverse
		}
	}
}

// lists are edges of one relation, to be read from their near ends on: in the order of near and
// then of far ends.
type lists struct {
	relation graph.Relation
	edges    []listed
	next     int // of edges, which the answer has in the same order
}

// listed is an edge in a list of the engine's: near is the node whose list it is.
type listed struct {
	near, far graph.UID
	edge      int32
}

// listsOf groups edges by the relation under which they are read.
func listsOf(g ResidentGraph, edges []confirmedEdge) []lists {
	count := make([]int, g.Relations())
	for _, e := range edges {
		count[e.under()]++
	}
	room := make([]listed, 0, len(edges))
	by := make([][]listed, g.Relations())
	var order []search.Rel
	for i, e := range edges {
		rel, in := e.under(), listed{e.step.From(), e.step.To(), int32(i)}
		if e.back {
			in.near, in.far = in.far, in.near
		}
		if by[rel] == nil {
			n := len(room)
			room = room[:n+count[rel]]
			by[rel] = room[n:n:len(room)]
			order = append(order, rel)
		}
		by[rel] = append(by[rel], in)
	}
	out := make([]lists, len(order))
	for i, rel := range order {
		slices.SortFunc(by[rel], compareListed)
		out[i] = lists{relation: g.Relation(rel), edges: by[rel]}
	}
	return out
}

// under is the relation under which an edge is read.
func (e confirmedEdge) under() search.Rel {
	if e.back {
		return e.rel ^ 1
	}
	return e.rel
}

func compareListed(a, b listed) int {
	return cmp.Or(cmp.Compare(a.near, b.near), cmp.Compare(a.far, b.far))
}

// ends asks for the edges.
func (l lists) ends() plan.Ends {
	e := plan.Ends{Relation: l.relation, From: make([]graph.UID, len(l.edges)), To: make([]graph.UID, len(l.edges))}
	for i, in := range l.edges {
		e.From[i], e.To[i] = in.near, in.far
	}
	slices.Sort(e.To)
	e.From, e.To = slices.Compact(e.From), slices.Compact(e.To)
	return e
}

// find is the edge between two nodes; false where it was not asked for.
func (l *lists) find(near, far graph.UID) (edge int32, ok bool) {
	i := l.next
	if i >= len(l.edges) || l.edges[i].near != near || l.edges[i].far != far {
		if i, ok = slices.BinarySearchFunc(l.edges, listed{near: near, far: far}, compareListed); !ok {
			return 0, false
		}
	}
	l.next = i + 1
	return l.edges[i].edge, true
}
