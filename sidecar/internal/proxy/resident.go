package proxy

import (
	"context"
	"slices"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/render"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// Resident holds graphs in memory. Of its methods Graph alone may wait, for a moment.
type Resident interface {
	// Graph is the newest state of a namespace's graph; false where there is none to go by.
	Graph(namespace uint64) (ResidentGraph, bool)
	// Changed tells edges that were found to be other than the graph has them.
	Changed(edges []graph.Triplet)
}

// ResidentGraph is one state of a graph, which doesn't change.
type ResidentGraph interface {
	Graph
	search.Contribution
	Rel(graph.Relation) (search.Rel, bool)
	Relations() int  // ids of relations are below
	Names() []string // predicates that hold a node's name
	AsOf() time.Time // everything committed before is here
	Degree(n search.Node, r search.Rel) int
	Relevance(*relevance.Question) search.Relevance
	// Nearest are the n nodes whose names' vectors are nearest to x, of those with a cosine of at
	// least least, nearest first. It has none where it has no vectors.
	Nearest(x relevance.Dense, n int, least float64) (nodes []search.Node, cosines []float64)
	// Corrected is the graph with edges as they are; a Hidden one is not there.
	Corrected([]graph.Step) ResidentGraph
}

// Graph is what a search walks, with what its ids stand for.
type Graph interface {
	search.Adjacency
	Node(graph.UID) (search.Node, bool)
	UID(search.Node) graph.UID
	Name(search.Node) string
	Relation(search.Rel) graph.Relation
	Score(edge uint32) float64 // raw
}

// resident is the graph in memory with the relations to follow in it, where a block may be
// searched there; what the answer says of the cache is set by the least of its blocks.
func (q *query) resident(b *plan.Block, starts []graph.UID) (g ResidentGraph, via []bool, ok bool) {
	if q.Resident == nil {
		return nil, nil, false
	}
	if g, via, ok = q.fit(b, starts); !ok {
		q.cache = graph.Cache{Mode: graph.CacheOnDemand}
	} else if q.cache.Mode != graph.CacheOnDemand {
		q.cache = graph.Cache{Mode: graph.CacheResident, AsOf: g.AsOf().UnixMilli()}
	}
	return g, via, ok
}

// fit tells whether the graph in memory will do: the block is not to see a transaction nor
// hidden edges, the names in it come from the predicates that the caller sees, and it knows
// the start nodes and all relations to follow.
func (q *query) fit(b *plan.Block, starts []graph.UID) (g ResidentGraph, via []bool, ok bool) {
	if q.fixed || b.Hidden {
		return nil, nil, false
	}
	if g, ok = q.Resident.Graph(namespace(q.call.Credentials)); !ok || !slices.Equal(g.Names(), b.Names) {
		return nil, nil, false
	}
	via = make([]bool, g.Relations())
	for _, r := range b.Via {
		id, known := g.Rel(r)
		if !known {
			return nil, nil, false
		}
		via[id] = true
	}
	for _, u := range starts {
		if _, known := g.Node(u); !known {
			return nil, nil, false
		}
	}
	return g, via, true
}

// rounds is how often a search is repeated because what it found has changed meanwhile.
const rounds = 4

// proposed searches the graph in memory and reads what was found again as the caller. Where
// that is other than the graph has it the search is repeated with the truth, so that what is
// shown is ranked by what the caller's own reads brought, and by nothing else.
func (q *query) proposed(ctx, limited context.Context, b *plan.Block, g ResidentGraph, via []bool, starts []graph.UID) (*render.Value, error) {
	c := &confirmed{edges: map[graph.Triplet]graph.Step{}, rows: map[graph.UID]*render.Value{}, names: map[graph.UID]string{}}
	topics := make([]string, len(starts))
	for i, u := range starts {
		n, _ := g.Node(u)
		topics[i] = g.Name(n)
	}
	asked, terms := q.ask(limited, b, topics)
	relevance := g.Relevance(asked)
	var found []found
	for round := 1; ; round++ {
		scorer := search.NewHybrid(b.Alpha, relevance, g, g.Relations(), terms.resident(g))
		var err error
		if found, err = q.top(limited, b, g, scorer, terms, via, starts); err != nil {
			return nil, err
		}
		q.stages.mark("search", q.Now())
		if err := ctx.Err(); err != nil { // the caller's own deadline, not the budget's
			return nil, err
		}
		edges, nodes := c.missing(g, found)
		if len(edges) == 0 && len(nodes) == 0 {
			break
		}
		if round > rounds {
			if len(edges) > 0 {
				q.reason = "the graph changed faster than it was searched"
			}
			break
		}
		if err := q.confirm(ctx, b, g, c, edges, nodes); err != nil {
			return nil, err
		}
		q.stages.mark("engine", q.Now())
		var wrong []graph.Step
		var triplets []graph.Triplet
		for _, e := range edges {
			is := c.edges[e.step.Triplet]
			if is.Hidden || is.Score != e.step.Score {
				wrong, triplets = append(wrong, is), append(triplets, is.Triplet)
			}
		}
		if len(wrong) == 0 {
			break
		}
		q.Resident.Changed(triplets)
		g = g.Corrected(wrong)
	}
	results := q.ranked(b, confirmedGraph{g, c.names}, relevance, terms, c.only(g, found))
	results, err := q.shortcuts(ctx, b, results)
	if err != nil {
		return nil, err
	}
	return q.hang(b, starts, results, c.rows), nil
}

// confirmed is what the caller's own reads have brought.
type confirmed struct {
	edges map[graph.Triplet]graph.Step // Hidden: not there for the caller
	rows  map[graph.UID]*render.Value  // the block's values
	names map[graph.UID]string
}

// proposal is an edge to be read, and its ends in the graph.
type proposal struct {
	step     graph.Step
	from, to search.Node
	rel      search.Rel
}

// missing lists what of the found paths has not been read yet.
func (c *confirmed) missing(g Graph, found []found) (edges []proposal, nodes []graph.UID) {
	asked, seen := map[graph.Triplet]bool{}, map[graph.UID]bool{}
	node := func(n search.Node) {
		u := g.UID(n)
		if _, known := c.rows[u]; !known && !seen[u] {
			seen[u] = true
			nodes = append(nodes, u)
		}
	}
	for _, f := range found {
		start, _ := g.Node(f.start)
		node(start)
		for _, b := range f.bundles {
			for _, p := range b.Paths {
				from := start
				for _, st := range p.Steps {
					s := stepOf(g, from, st)
					if _, known := c.edges[s.Triplet]; !known && !asked[s.Triplet] {
						asked[s.Triplet] = true
						edges = append(edges, proposal{s, from, st.To, st.Rel})
					}
					node(st.To)
					from = st.To
				}
			}
		}
	}
	return edges, nodes
}

// only leaves out the paths with an edge that was not read or is not there.
func (c *confirmed) only(g Graph, all []found) []found {
	there := func(start search.Node, p search.Path) bool {
		from := start
		for _, st := range p.Steps {
			if e, known := c.edges[stepOf(g, from, st).Triplet]; !known || e.Hidden {
				return false
			}
			from = st.To
		}
		return true
	}
	var out []found
	for _, f := range all {
		start, _ := g.Node(f.start)
		kept := found{start: f.start}
		for _, b := range f.bundles {
			total := len(b.Paths)
			b.Paths = slices.DeleteFunc(slices.Clone(b.Paths), func(p search.Path) bool { return !there(start, p) })
			b.Total -= total - len(b.Paths)
			if len(b.Paths) > 0 {
				kept.bundles = append(kept.bundles, b)
			}
		}
		out = append(out, kept)
	}
	return out
}

// confirm reads edges and nodes as the caller, in one query.
func (q *query) confirm(ctx context.Context, b *plan.Block, g ResidentGraph, c *confirmed, edges []proposal, nodes []graph.UID) error {
	ends := q.ends(g, edges)
	q.trips++
	answer, err := q.Engine.Query(ctx, q.asCaller(graph.Call{Query: q.plan.Confirm(b, nodes, ends), Vars: q.call.Vars, Debug: q.call.Debug}))
	if err != nil {
		return err
	}
	data, err := render.Parse(answer.JSON)
	if err != nil {
		return err
	}
	for _, e := range edges {
		gone := e.step
		gone.Hidden = true
		c.edges[gone.Triplet] = gone
	}
	for i, e := range ends {
		for _, row := range items(data.Get(plan.ConfirmKey(i))) {
			from, ok := uidUnder(plan.ConfirmUID, row)
			for _, t := range items(row.Get(plan.ConfirmEdge)) {
				if to, has := uidUnder(plan.ConfirmUID, t); ok && has {
					s := render.Step(e.Relation, from, to, t.Get(plan.ConfirmScore), t.Get(plan.ConfirmHidden))
					if _, asked := c.edges[s.Triplet]; asked {
						c.edges[s.Triplet] = s
					}
				}
			}
		}
	}
	for _, u := range nodes {
		c.rows[u] = nil
	}
	for _, row := range items(data.Get("nodes")) {
		u, ok := uidOf(row)
		if !ok {
			continue
		}
		c.rows[u] = row
	}
	if b.NamesShown() {
		c.called(data.Get("nodes"), b.Names)
		return nil
	}
	keys := make([]string, len(b.Names))
	for i := range keys {
		keys[i] = plan.NameKey(i)
	}
	c.called(data.Get(plan.ConfirmNames), keys)
	return nil
}

// called takes names from rows: of each the first of the keys that is there.
func (c *confirmed) called(rows *render.Value, keys []string) {
	for _, row := range items(rows) {
		u, ok := uidOf(row)
		for i := 0; ok && i < len(keys); i++ {
			if name, has := row.Get(keys[i]).Text(); has {
				c.names[u] = name
				break
			}
		}
	}
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

// ends groups edges by relation. To read an edge the engine reads the whole list of one of its
// ends, and most lists hold several of the edges: where the predicate can be walked both ways
// each edge is read in the list that costs less for each edge that it serves.
func (q *query) ends(g ResidentGraph, edges []proposal) []plan.Ends {
	type list struct {
		at  search.Node
		rel search.Rel
	}
	lists := make(map[list]int, 2*len(edges))
	var serves []int // edges, by list
	var sides [][2]int
	for _, e := range edges {
		var of [2]int
		for i, l := range [2]list{{e.from, e.rel}, {e.to, e.rel ^ 1}} {
			n, ok := lists[l]
			if !ok {
				n = len(serves)
				lists[l] = n
				serves = append(serves, 0)
			}
			serves[n]++
			of[i] = n
		}
		sides = append(sides, of)
	}
	cost := make([]float64, len(serves)) // for each edge that the list serves
	for l, n := range lists {
		cost[n] = float64(edgesPerList+g.Degree(l.at, l.rel)) / float64(serves[n])
	}
	by := map[search.Rel]*plan.Ends{}
	var order []search.Rel
	for i, e := range edges {
		from, to, rel := e.step.From(), e.step.To(), e.rel
		reverse := q.view.schema.Predicates[e.step.Predicate].Reverse
		if reverse && cost[sides[i][1]] < cost[sides[i][0]] || !reverse && e.step.Inverse {
			from, to, rel = to, from, rel^1
		}
		if by[rel] == nil {
			by[rel] = &plan.Ends{Relation: g.Relation(rel)}
			order = append(order, rel)
		}
		by[rel].From, by[rel].To = append(by[rel].From, from), append(by[rel].To, to)
	}
	out := make([]plan.Ends, 0, len(order))
	for _, rel := range order {
		e := by[rel]
		slices.Sort(e.From)
		slices.Sort(e.To)
		out = append(out, plan.Ends{Relation: e.Relation, From: slices.Compact(e.From), To: slices.Compact(e.To)})
	}
	return out
}

// confirmedGraph shows nodes by the names that the caller has read.
type confirmedGraph struct {
	ResidentGraph
	names map[graph.UID]string
}

func (g confirmedGraph) Name(n search.Node) string { return g.names[g.UID(n)] }
