package graphcache

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// Sizes of the reads that make up a neighbourhood.
const (
	nodesPerAround     = 1000
	relationsPerAround = 500
	readsAtOnce        = 4
)

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

// Around is the neighbourhood of nodes as a graph of its own, where the whole graph is too large to
// hold: from the stars that are held, the rest read as the sidecar. It is false where a part of the
// graph isn't held, doesn't know one of the relations or can't be read.
func (c *Cache) Around(ctx context.Context, namespace uint64, reach Reach) (*Graph, Reached, bool) {
	p := c.part.Load()
	if p == nil || namespace != c.Namespace {
		return nil, Reached{}, false
	}
	w := &walk{Cache: c, part: p, reach: reach, since: c.since().UnixNano(), stars: map[graph.UID]*star{}, seen: map[graph.UID]bool{}}
	for _, r := range reach.Via {
		id, known := p.terms().Rel(r)
		if !known {
			return nil, Reached{}, false
		}
		w.via = append(w.via, id)
	}
	slices.Sort(w.via)
	w.set = relationSetOf(w.via, 2*len(p.predicates))
	t := p.stars.begin()
	defer p.stars.end(t)
	if err := w.walk(ctx, t); err != nil {
		if ctx.Err() == nil {
			c.Log.Warn("a part of the graph can't be read for the cache; the query reads the cluster", "error", err)
			return nil, w.reached, false
		}
		w.reached.Reason = "time was up while the neighbourhood was read"
	}
	return w.graph(), w.reached, true
}

// since is the time that what is used was read at least. With a feed, which may lose events, it
// is longer ago.
func (c *Cache) since() time.Time {
	age := c.Refresh
	if c.Feed != nil {
		age *= audits
	}
	return c.Now().Add(-age)
}

// walk goes through the neighbourhood.
type walk struct {
	*Cache
	*part
	reach   Reach
	via     []search.Rel // sorted
	set     relationSet
	since   int64
	stars   map[graph.UID]*star // with their edges
	called  map[graph.UID]*star // with their names
	seen    map[graph.UID]bool
	order   []graph.UID // nodes as they were seen
	reached Reached
}

// walk reads level by level, and then the names.
func (w *walk) walk(ctx context.Context, t *taking) error {
	level := w.newOf(w.reach.Starts)
	for hop := 0; hop < w.reach.Hops && len(level) > 0 && len(w.via) > 0 && w.reached.Reason == ""; hop++ {
		if err := w.bring(ctx, t, level, want{edges: w.set, since: w.since}, w.stars, w.readSpokes); err != nil {
			return err
		}
		from := len(w.order)
		for _, u := range level {
			if st := w.stars[u]; st != nil {
				for _, sp := range st.spokes {
					if w.set.has(search.Rel(sp.relation)) {
						w.newOf([]graph.UID{sp.to})
					}
				}
			}
		}
		level = w.order[from:]
	}
	w.called = make(map[graph.UID]*star, len(w.order))
	return w.bring(ctx, t, w.order, want{name: true, since: w.since}, w.called, w.readNames)
}

// newOf lists those of the nodes that haven't been seen.
func (w *walk) newOf(nodes []graph.UID) []graph.UID {
	from := len(w.order)
	for _, u := range nodes {
		if !w.seen[u] {
			w.seen[u] = true
			w.order = append(w.order, u)
		}
	}
	return w.order[from:]
}

// bring puts the stars of nodes into a map, several reads at once for those that aren't held. The
// budget of edges ends it early.
func (w *walk) bring(ctx context.Context, t *taking, nodes []graph.UID, wanted want, into map[graph.UID]*star, read func(context.Context, []graph.UID) (map[graph.UID]*star, error)) error {
	held := map[graph.UID]*star{}
	lacking := w.part.stars.get(nodes, wanted, held)
	w.take(held, wanted, into)
	parts := slices.Collect(slices.Chunk(lacking, nodesPerAround))
	for group := range slices.Chunk(parts, readsAtOnce) {
		if wanted.edges != "" && w.reached.Edges >= w.reach.Edges {
			w.reached.Reason = fmt.Sprintf("more than %d edges lie within reach; narrow it with via, fewer hops or fanout", w.reach.Edges)
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		found, errs := make([]map[graph.UID]*star, len(group)), make([]error, len(group))
		var reads sync.WaitGroup
		for i, nodes := range group {
			reads.Go(func() { found[i], errs[i] = read(ctx, nodes) })
		}
		reads.Wait()
		w.reached.Reads += len(group)
		for i := range group {
			if errs[i] != nil {
				return errs[i]
			}
			w.part.stars.put(t, found[i], w.since)
			w.take(found[i], wanted, into)
		}
	}
	return nil
}

func (w *walk) take(found map[graph.UID]*star, wanted want, into map[graph.UID]*star) {
	for u, st := range found {
		into[u] = st
		if wanted.edges != "" {
			w.reached.Edges += len(st.spokes)
		}
	}
}

func (w *walk) readSpokes(ctx context.Context, nodes []graph.UID) (map[graph.UID]*star, error) {
	found := make(map[graph.UID]*star, len(nodes))
	read := w.Now().UnixNano()
	for _, u := range nodes {
		found[u] = &star{has: w.set, read: read}
	}
	r := &reader{Reader: w.Reader}
	for relations := range slices.Chunk(w.via, relationsPerAround) {
		if err := w.spokes(ctx, r, nodes, relations, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (w *walk) readNames(ctx context.Context, nodes []graph.UID) (map[graph.UID]*star, error) {
	read := w.Now().UnixNano()
	names := make(map[graph.UID]string, len(nodes))
	if len(w.part.names) > 0 {
		if err := (&reader{Reader: w.Reader}).names(ctx, w.part.names, nodes, names); err != nil {
			return nil, err
		}
	}
	found := make(map[graph.UID]*star, len(nodes))
	for _, u := range nodes {
		found[u] = &star{named: true, name: names[u], vector: relevance.Pack(w.Embedder.Embed(names[u])), asked: read}
	}
	return found, nil
}

// graph lays out what was brought together. An edge between two nodes whose edges are here is as its
// head has it.
func (w *walk) graph() *Graph {
	b := &builder{
		names: w.part.names, predicates: w.predicates, labels: w.labels, hash: w.Embedder,
		ids: make(map[graph.UID]search.Node, len(w.order)), shortcut: map[[2]graph.UID]string{},
	}
	for _, u := range w.order {
		b.node(u)
		if st := w.called[u]; st != nil {
			b.called[len(b.called)-1] = st.name
			b.letters += int64(len(st.name))
		}
	}
	oldest := w.Now().UnixNano()
	for _, u := range w.order {
		st := w.stars[u]
		if st == nil {
			continue
		}
		oldest = min(oldest, st.read)
		for _, sp := range st.spokes {
			if rel := search.Rel(sp.relation); w.set.has(rel) {
				w.edge(b, u, rel, sp, st)
			}
		}
	}
	g := b.laid(w.asOf(time.Unix(0, oldest)))
	vectors := &vectors{list: make(relevance.List, g.nodes)}
	g.whole = make([]bool, g.nodes)
	for i, u := range b.uids {
		if st := w.called[u]; st != nil {
			vectors.list[i] = st.vector
		}
		g.whole[i] = w.stars[u] != nil
	}
	g.vectors, g.relations = vectors, w.relations
	if w.Vectors != nil {
		g.model = g.modelled(&modelled{way: cmp.Or(w.Way, relevance.ByHash)}, w.rowsOf)
	}
	return g
}

// edge takes in a spoke of a node, unless it is the other end's to tell.
func (w *walk) edge(b *builder, at graph.UID, rel search.Rel, sp spoke, st *star) {
	head, object := at, sp.to
	if rel%2 == 1 {
		if w.set.has(rel-1) && w.stars[sp.to] != nil {
			return
		}
		head, object = sp.to, at
	}
	label := ""
	if sp.label > 0 {
		label = st.labels[sp.label-1]
	}
	b.edge(uint32(rel/2), head, object, graph.Contribution{Score: sp.score}, label)
}

// asOf is a time before which everything committed is in what was read since oldest: a feed has told
// what came later.
func (w *walk) asOf(oldest time.Time) time.Time {
	if heard := w.Now().Add(-feedDelay); w.Feed != nil && heard.After(oldest) {
		return heard
	}
	return oldest
}
