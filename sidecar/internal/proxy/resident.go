package proxy

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/render"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// Resident holds graphs in memory. Of its methods Graph may wait, for a moment, and Around may read.
type Resident interface {
	// Graph is the newest state of a namespace's graph; false where there is none to go by.
	Graph(namespace uint64) (ResidentGraph, bool)
	// Around is the neighbourhood of nodes as a graph of its own, of a namespace whose graph is held in
	// part, after what isn't held was read; false where there is none to go by.
	Around(ctx context.Context, namespace uint64, r Reach) (ResidentGraph, Reached, bool)
	// Changed tells edges that were found to be other than the graph has them.
	Changed(edges []graph.Triplet)
}

// Reach is the neighbourhood of some nodes.
type Reach struct {
	Starts []graph.UID
	Via    []graph.Relation
	Hops   int
	Edges  int // beyond so many no more are read
}

// Reached tells what it took to bring a neighbourhood together.
type Reached struct {
	Reads  int    // of the cluster
	Edges  int    // as often as they can be walked
	Reason string // why some of it may be missing; empty: it is all there
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
	Whole(n search.Node) bool // all steps from it are here, of those that were there as of AsOf
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
// searched there: the whole, or a part of it around the start nodes. What the answer says of the
// cache is set by the least of its blocks.
func (q *query) resident(ctx context.Context, b *plan.Block, starts []graph.UID) (g ResidentGraph, via []bool, ok bool) {
	if q.Resident == nil {
		return nil, nil, false
	}
	mode := graph.CacheOnDemand
	if !q.fixed && !b.Hidden { // a block is to see a transaction, or hidden edges
		if g, ok = q.Resident.Graph(namespace(q.call.Credentials)); ok && allWhole(g, starts) {
			mode = graph.CacheResident
		} else if g, ok = q.around(ctx, b, starts); ok {
			mode = graph.CachePart
		}
	}
	if ok {
		via, ok = fit(g, b)
	}
	if !ok {
		mode = graph.CacheOnDemand
	}
	q.cached(mode, g)
	return g, via, ok
}

// allWhole tells whether start nodes can be searched from: the graph knows them, and none came with some
// of its edges alone, as when these were rated, since it may have others.
func allWhole(g ResidentGraph, starts []graph.UID) bool {
	return !slices.ContainsFunc(starts, func(u graph.UID) bool {
		n, known := g.Node(u)
		return !known || !g.Whole(n)
	})
}

// around is the part of the graph around the start nodes.
func (q *query) around(ctx context.Context, b *plan.Block, starts []graph.UID) (ResidentGraph, bool) {
	g, reached, ok := q.Resident.Around(ctx, namespace(q.call.Credentials), Reach{Starts: starts, Via: b.Via, Hops: b.Hops, Edges: q.Budget.Edges - q.edges})
	q.trips += reached.Reads
	if ok {
		q.edges += reached.Edges
		q.reason = cmp.Or(reached.Reason, q.reason)
	}
	q.stages.mark("engine", q.Now())
	return g, ok
}

// cached notes where a block was searched, and how far that may be behind.
func (q *query) cached(mode string, g ResidentGraph) {
	order := []string{graph.CacheOff, graph.CacheResident, graph.CachePart, graph.CacheOnDemand}
	switch was := slices.Index(order, q.cache.Mode); {
	case mode == graph.CacheOnDemand:
		q.cache = graph.Cache{Mode: mode}
	case slices.Index(order, mode) >= was:
		at := g.AsOf().UnixMilli()
		if q.cache.AsOf > 0 {
			at = min(at, q.cache.AsOf)
		}
		q.cache = graph.Cache{Mode: mode, AsOf: at}
	}
}

// fit tells whether the graph in memory will do: the names in it come from the predicates that the
// caller sees, and it knows all relations to follow.
func fit(g ResidentGraph, b *plan.Block) (via []bool, ok bool) {
	if !slices.Equal(g.Names(), b.Names) {
		return nil, false
	}
	via = make([]bool, g.Relations())
	for _, r := range b.Via {
		id, known := g.Rel(r)
		if !known {
			return nil, false
		}
		via[id] = true
	}
	return via, true
}

// rounds is how often a search is repeated because what it found has changed meanwhile.
const rounds = 4

// proposed searches the graph in memory and reads what was found again as the caller. Where
// that is other than the graph has it the search is repeated with the truth, so that what is
// shown is ranked by what the caller's own reads brought, and by nothing else. What is made ready
// by the graph while they are under way is used only where they say the same.
func (q *query) proposed(ctx, limited context.Context, b *plan.Block, g ResidentGraph, via []bool, starts []graph.UID) (*render.Value, error) {
	c := &confirmed{}
	topics := make([]string, len(starts))
	for i, u := range starts {
		n, _ := g.Node(u)
		topics[i] = g.Name(n)
	}
	asked, terms := q.ask(limited, b, topics)
	relevance := q.ahead(b).relevanceTo(g, asked)
	if r, ok := relevance.(interface{ Release() }); ok { // it holds a number for every node
		defer r.Release()
	}
	var all []found
	proposals := make([]proposal, len(starts))
	for round := 1; ; round++ {
		scorer, proposer := search.NewHybrid(b.Alpha, relevance, g, g.Relations(), terms.resident(g)), q.newProposer(g)
		propose := func(i int, f found) { proposals[i] = proposer.propose(f) }
		var err error
		if all, err = q.top(limited, b, g, scorer, terms, via, starts, propose); err != nil {
			return nil, err
		}
		q.stages.mark("search", q.Now())
		if err := ctx.Err(); err != nil { // the caller's own deadline, not the budget's
			return nil, err
		}
		if !c.add(proposals) {
			break
		}
		if round > rounds {
			if c.known < len(c.edges) {
				q.reason = "the graph changed faster than it was searched"
			}
			break
		}
		ahead := make(chan hung, 1) // while the engine works
		go func() { ahead <- q.hang(b, starts, q.ranked(b, g, relevance, terms, all), c.values) }()
		wrong, err := q.confirm(ctx, b, g, c)
		ready := <-ahead
		if err != nil {
			return nil, err
		}
		q.stages.mark("engine", q.Now())
		if len(wrong) == 0 && c.asCalled() && !withShortcuts(g, all) {
			return q.shown(ready), nil
		}
		if len(wrong) == 0 {
			break
		}
		triplets := make([]graph.Triplet, len(wrong))
		for i, is := range wrong {
			triplets[i] = is.Triplet
		}
		q.Resident.Changed(triplets)
		g = g.Corrected(wrong)
	}
	results := q.ranked(b, confirmedGraph{g, c}, relevance, terms, c.only(all))
	results, err := q.shortcuts(ctx, b, asked, results)
	if err != nil {
		return nil, err
	}
	return q.shown(q.hang(b, starts, results, c.values)), nil
}

// withShortcuts tells whether there is a shortcut on a path.
func withShortcuts(g Graph, all []found) bool {
	for _, f := range all {
		for _, bundle := range f.bundles {
			if slices.ContainsFunc(bundle.Metapath, func(r search.Rel) bool { return g.Relation(r).Predicate == graph.ShortcutPredicate }) {
				return true
			}
		}
	}
	return false
}
