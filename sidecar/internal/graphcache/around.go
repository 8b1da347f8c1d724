package graphcache

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	namesPerAround     = 5000
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
	stars   map[graph.UID]*star
	seen    map[graph.UID]bool
	order   []graph.UID // nodes as they were seen
	reached Reached
}

// walk reads level by level.
func (w *walk) walk(ctx context.Context, t *taking) error {
	w.see(w.reach.Starts...)
	level := w.order
	for hop := 0; hop < w.reach.Hops && len(level) > 0 && w.reached.Reason == ""; hop++ {
		if err := w.bring(ctx, t, level); err != nil {
			return err
		}
		from := len(w.order)
		for _, u := range level {
			if st := w.stars[u]; st != nil {
				for _, sp := range st.spokes {
					w.see(sp.to)
				}
			}
		}
		level = w.order[from:]
	}
	return nil
}

func (w *walk) see(nodes ...graph.UID) {
	for _, u := range nodes {
		if !w.seen[u] {
			w.seen[u] = true
			w.order = append(w.order, u)
		}
	}
}

// bring brings the stars of nodes, several reads at once for those that aren't held. The budget of
// edges ends it early.
func (w *walk) bring(ctx context.Context, t *taking, nodes []graph.UID) error {
	held := map[graph.UID]*star{}
	lacking := w.part.stars.get(nodes, w.set, w.since, held)
	w.take(held)
	parts := slices.Collect(slices.Chunk(lacking, nodesPerAround))
	for group := range slices.Chunk(parts, readsAtOnce) {
		if w.reached.Edges >= w.reach.Edges {
			w.reached.Reason = fmt.Sprintf("more than %d edges lie within reach; narrow it with via, fewer hops or fanout", w.reach.Edges)
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		found, reads, errs := make([]map[graph.UID]*star, len(group)), make([]int, len(group)), make([]error, len(group))
		var reading sync.WaitGroup
		for i, nodes := range group {
			reading.Go(func() { found[i], reads[i], errs[i] = w.read(ctx, nodes) })
		}
		reading.Wait()
		for i := range group {
			w.reached.Reads += reads[i]
			if errs[i] != nil {
				return errs[i]
			}
			w.part.stars.put(t, w.set, found[i])
			w.take(found[i])
		}
	}
	return nil
}

func (w *walk) take(found map[graph.UID]*star) {
	for u, st := range found {
		w.stars[u] = st
		w.reached.Edges += len(st.spokes)
	}
}

// read reads stars, and tells in how many reads of the cluster.
func (w *walk) read(ctx context.Context, nodes []graph.UID) (found map[graph.UID]*star, reads int, err error) {
	found = make(map[graph.UID]*star, len(nodes))
	read := w.Now().UnixNano()
	for _, u := range nodes {
		found[u] = &star{read: read}
	}
	r := &reader{Reader: w.Reader}
	for relations := range slices.Chunk(w.via, relationsPerAround) {
		reads++
		if err := w.spokes(ctx, r, nodes, relations, found); err != nil {
			return nil, reads, err
		}
	}
	names := map[graph.UID]string{}
	for u, st := range found {
		names[u] = ""
		for _, sp := range st.spokes {
			names[sp.to] = ""
		}
	}
	if len(w.part.names) > 0 {
		for part := range slices.Chunk(slices.Sorted(maps.Keys(names)), namesPerAround) {
			reads++
			if err := r.names(ctx, w.part.names, part, names); err != nil {
				return nil, reads, err
			}
		}
	}
	vectors := make(map[graph.UID]relevance.Packed, len(names))
	for u, name := range names {
		vectors[u] = relevance.Pack(w.Embedder.Embed(name))
	}
	for u, st := range found {
		var letters strings.Builder
		for i := range len(st.spokes) + 1 {
			of := u
			if i > 0 {
				of = st.spokes[i-1].to
			}
			letters.WriteString(names[of])
			st.called.ends = append(st.called.ends, uint32(letters.Len()))
			st.called.vectors.Append(vectors[of])
		}
		st.spokes, st.called.ends, st.called.letters = slices.Clone(st.spokes), slices.Clone(st.called.ends), strings.Clone(letters.String())
		st.called.vectors.Clip()
	}
	return found, reads, nil
}

// graph lays out what was brought together. An edge between two nodes whose edges are here is as its
// head has it.
func (w *walk) graph() *Graph {
	b := &builder{
		names: w.part.names, predicates: w.predicates, labels: w.labels, hash: w.Embedder,
		ids: make(map[graph.UID]search.Node, len(w.order)), shortcut: map[[2]graph.UID]string{},
	}
	vectors := make(map[graph.UID]relevance.Packed, len(w.order))
	name := func(u graph.UID, st *star, i int) {
		id := b.node(u)
		if b.named[id] {
			return
		}
		b.named[id] = true
		b.called[id], vectors[u] = st.called.name(i)
		b.letters += int64(len(b.called[id]))
	}
	for _, u := range w.reach.Starts {
		b.node(u)
	}
	oldest := w.Now().UnixNano()
	for _, u := range w.order {
		st := w.stars[u]
		if st == nil {
			continue
		}
		oldest = min(oldest, st.read)
		name(u, st, 0)
		for i, sp := range st.spokes {
			name(sp.to, st, i+1)
			w.edge(b, u, sp, st)
		}
	}
	g := b.laid(w.asOf(time.Unix(0, oldest)))
	list := make(relevance.List, g.nodes)
	g.whole = make([]bool, g.nodes)
	for i, u := range b.uids {
		list[i], g.whole[i] = vectors[u], w.stars[u] != nil
	}
	g.vectors, g.relations = vectorsOf(list), w.relations
	if w.Vectors != nil {
		g.model = g.modelled(&modelled{way: cmp.Or(w.Way, relevance.ByHash)}, w.rowsOf)
	}
	return g
}

// edge takes in a spoke of a node, unless it is the other end's to tell.
func (w *walk) edge(b *builder, at graph.UID, sp spoke, st *star) {
	rel, head, object := search.Rel(sp.relation), at, sp.to
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
