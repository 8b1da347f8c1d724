package proxy

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/render"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// parse opens the engine's answer.
func (q *query) parse(data []byte) (*render.Value, error) {
	return render.ParseAnswer(data, func(key string) *plan.Block {
		i := slices.IndexFunc(q.plan.Blocks, func(b *plan.Block) bool { return b.Key == key && b.Form == plan.Written })
		if i < 0 {
			return nil
		}
		return q.plan.Blocks[i]
	}, func(predicate string) bool { return q.view.schema.Predicates[predicate].Type == "uid" })
}

// written ranks a block whose paths are written out: w is the engine's answer to it, which
// holds every candidate.
func (q *query) written(ctx context.Context, b *plan.Block, w *render.Written) error {
	ends := w.Chains()
	if b.Apart {
		if err := q.nameChains(ctx, b, ends); err != nil {
			return err
		}
	}
	q.stages.mark("engine", q.Now())
	c := newChains(len(ends), w.Len())
	q.chains = append(q.chains, c)
	q.score(ctx, b, c, ends)
	results, err := q.shortcuts(ctx, b, c.question, c.retain(b, q.view))
	if err != nil {
		return err
	}
	q.results, q.drawn = append(q.results, results...), append(q.drawn, render.Draw(results)...)
	c.arrange(w, b)
	w.Close()
	q.stages.mark("search", q.Now())
	return nil
}

// nameChains reads the names that could not be spliced into the block.
func (q *query) nameChains(ctx context.Context, b *plan.Block, ends []*render.Element) error {
	var uids []graph.UID
	for _, end := range ends {
		for _, e := range end.Line() {
			uids = append(uids, e.UID)
		}
	}
	slices.Sort(uids)
	names, err := q.namesOf(ctx, b.Names, slices.Compact(uids))
	if err != nil {
		return err
	}
	for _, end := range ends {
		for _, e := range end.Line() {
			e.Name = []byte(names[e.UID])
		}
	}
	return nil
}

// chains are the candidates of a written block. They are many, so their room is used again.
type chains struct {
	all       []chain    // best first
	reached   []reached  // by the ID of the element
	metapaths []metapath // by their number
	numbers   map[followed]int32
	relations map[string]uint32 // numbers of the predicates
	question  *relevance.Question
	terms     *terms

	unsorted     []chain // all, as the engine gave them
	order, spare []sortKey
	digits       digits
	names        [][]byte
	entities     relevance.List // by the ID of the element
	picked       []int
}

// chain is one candidate, which ends at an element.
type chain struct {
	end  *render.Element
	key  rank.Key
	kept bool
}

// reached is the way from the root to an element. Chains share their beginnings, so each step
// is scored once.
type reached struct {
	element  *render.Element // nil: not on a chain
	known    bool
	root     int32 // the ID of the way's first element
	metapath int32
	place    int32   // of a root, from 1: how many roots have a better chain, and one; 0: not known
	sr       float64 // of the last step
	sum      rank.Sum
}

// metapath is a sequence of relations: another one, and one more. The first is the empty one.
type metapath struct {
	followed
	relation uint32  // the number of the last one's predicate
	asked    float64 // what the question moves the last one's Sc by
}

// followed tells metapaths apart.
type followed struct {
	before int32
	last   graph.Relation
}

var chainsPool = sync.Pool{New: func() any { return new(chains) }}

// newChains gives room for candidates that end at some of the elements of an answer.
func newChains(ends, elements int) *chains {
	c := chainsPool.Get().(*chains)
	c.all, c.unsorted, c.order, c.spare = room(c.all, ends), room(c.unsorted, ends), room(c.order, ends), room(c.spare, ends)
	c.reached, c.names = room(c.reached, elements), room(c.names, elements)
	c.metapaths, c.numbers, c.relations = append(c.metapaths[:0], metapath{}), map[followed]int32{}, map[string]uint32{}
	return c
}

// room is n zeros, in the room of s if there is enough.
func room[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// chainsKept is how many candidates may be kept room for; that of an uncommonly large answer
// is left to the collector.
const chainsKept = 1 << 15

// release gives the room back, for other answers.
func (c *chains) release() {
	if len(c.reached) > chainsKept {
		return
	}
	clear(c.all) // they hold the answer
	clear(c.unsorted)
	clear(c.names)
	clear(c.reached)
	c.question, c.terms = nil, nil
	chainsPool.Put(c)
}

// score gives every chain its z and sorts them.
func (q *query) score(ctx context.Context, b *plan.Block, c *chains, ends []*render.Element) {
	sr := q.relevanceOfChains(ctx, b, c, ends)
	for i, end := range ends {
		c.unsorted[i] = chain{end: end, key: c.reach(end, b.Alpha, sr).sum.Key(c.terms.hops(end.Hops()))}
		c.order[i] = keyOf(c.unsorted[i].key.Z, i)
	}
	ties := func(x, y int32) int {
		if d := rank.Compare(c.unsorted[x].key, c.unsorted[y].key); d != 0 {
			return d
		}
		return cmp.Or(compareLines(ends[x], ends[y]), cmp.Compare(x, y))
	}
	for place, k := range sortByZ(c.order, c.spare, &c.digits, ties) {
		c.all[place] = c.unsorted[k.at]
	}
}

// relevanceOfChains embeds the names on the chains and the labels of their relations, and asks the
// block's question. Entities have the IDs of their elements, and so have the edges that lead to them.
func (q *query) relevanceOfChains(ctx context.Context, b *plan.Block, c *chains, ends []*render.Element) search.Relevance {
	topics := map[string]bool{}
	var read texted
	last := "" // no predicate
	for _, end := range ends {
		for e := end; e != nil && c.reached[e.ID].element == nil; e = e.Parent {
			c.names[e.ID], c.reached[e.ID].element = e.Name, e
			if e.Parent == nil {
				topics[string(e.Name)] = true
				c.reached[e.ID].root = int32(e.ID)
				break
			}
			predicate := e.Relation().Predicate
			if predicate == last { // siblings follow one another
				continue
			}
			last = predicate
			if _, known := c.relations[predicate]; !known {
				c.relations[predicate] = uint32(len(read.relations))
				read.labels = append(read.labels, q.view.label(predicate))
				read.relations = append(read.relations, q.texts.vector(q.view.label(predicate)))
			}
		}
	}
	c.entities = q.texts.vectors(c.entities, c.names)
	read.entities = c.entities
	read.names = func() []string {
		out := make([]string, len(c.names))
		for i, name := range c.names {
			out[i] = string(name)
		}
		return out
	}
	read.triplets = func() []string {
		out := make([]string, len(c.reached))
		for i, r := range c.reached {
			e := r.element
			if e == nil || e.Parent == nil {
				continue
			}
			head, object := e.Parent.Name, e.Name
			if e.Relation().Inverse {
				head, object = object, head
			}
			out[i] = relevance.TripletText(string(head), q.view.label(e.Relation().Predicate), string(object))
		}
		return out
	}
	c.question, c.terms = q.ask(ctx, b, slices.Collect(maps.Keys(topics)))
	return q.relevanceOf(c.question, read)
}

// reach scores the step that leads to an element, behind those that lead to its parent.
func (c *chains) reach(e *render.Element, alpha float64, sr search.Relevance) *reached {
	r := &c.reached[e.ID]
	if r.known || e.Parent == nil {
		return r
	}
	before := c.reach(e.Parent, alpha, sr)
	r.known, r.root = true, before.root
	r.metapath = c.number(followed{before.metapath, e.Relation()})
	m := &c.metapaths[r.metapath]
	r.sr = sr.Sr(uint32(e.Parent.ID), m.relation, uint32(e.ID), uint32(e.ID))
	sc := graph.Contribution{Score: e.Score}.Sc()
	r.sum = before.sum.Add(rank.P(alpha, r.sr, rank.Shifted(sc, m.asked)), sc)
	return r
}

// number is that of a metapath.
func (c *chains) number(f followed) int32 {
	if last := len(c.metapaths) - 1; last > 0 && c.metapaths[last].followed == f { // siblings follow one another
		return int32(last)
	}
	n, known := c.numbers[f]
	if !known {
		n = int32(len(c.metapaths))
		c.metapaths = append(c.metapaths, metapath{f, c.relations[f.last.Predicate], c.terms.asked(f.last)})
		c.numbers[f] = n
	}
	return n
}

// spelled is a metapath's relations, the first step's first.
func (c *chains) spelled(n int32) []string {
	var out []string
	for ; n > 0; n = c.metapaths[n].before {
		out = append(out, c.metapaths[n].last.String())
	}
	slices.Reverse(out)
	return out
}

// compareLines orders chains of equal scores by the predicates and uids on the way.
func compareLines(a, b *render.Element) int {
	x, y := a.Hops(), b.Hops()
	for range x - y {
		a = a.Parent
	}
	for range y - x {
		b = b.Parent
	}
	return cmp.Or(compareSteps(a, b), cmp.Compare(x, y))
}

// compareSteps compares two ways of equal length from the root on.
func compareSteps(a, b *render.Element) int {
	if a == b {
		return 0
	}
	if a.Parent != nil {
		if c := compareSteps(a.Parent, b.Parent); c != 0 {
			return c
		}
	}
	return cmp.Or(strings.Compare(a.Relation().Predicate, b.Relation().Predicate), cmp.Compare(a.UID, b.UID))
}

// retain keeps the best results of every root and marks the chains that they hold.
func (c *chains) retain(b *plan.Block, v view) []graph.Result {
	group, instances := func(i int) int { return int(c.reached[c.all[i].end.ID].metapath) }, b.Instances
	if !b.Bundle {
		group, instances = func(i int) int { return i }, 1
	}
	var counts []int // by the place of the root among those in rank order
	for i := range c.all {
		root := c.rootOf(i)
		if root.place == 0 {
			counts = append(counts, 0)
			root.place = int32(len(counts))
		}
		counts[root.place-1]++
	}
	c.picked = room(c.picked, len(c.all))
	roots, rest := make([][]int, len(counts)), c.picked
	for place, n := range counts {
		roots[place], rest = rest[:0:n], rest[n:]
	}
	for i := range c.all {
		place := c.rootOf(i).place - 1
		roots[place] = append(roots[place], i)
	}
	var results []graph.Result
	met := make(map[graph.UID]bool, len(roots))
	for _, order := range roots {
		root := c.rootOf(order[0]).element.UID
		for _, bundle := range rank.Retain(order, group, b.Paths, instances) {
			if r := c.result(b, bundle, v); !met[root] { // a block may name a node twice: it is shown so, and counts once
				results = append(results, r)
			}
		}
		met[root] = true
	}
	slices.SortStableFunc(results, func(x, y graph.Result) int { return cmp.Compare(y.Z, x.Z) })
	return results
}

// rootOf is the root of the i-th best chain.
func (c *chains) rootOf(i int) *reached { return &c.reached[c.reached[c.all[i].end.ID].root] }

func (c *chains) result(b *plan.Block, bundle rank.Bundle, v view) graph.Result {
	best := &c.all[bundle.Members[0]]
	root := best.end.Line()[0]
	r := graph.Result{
		Block: b.Key, Start: graph.Node{UID: root.UID, Name: string(root.Name)},
		Z: best.key.Z, Bias: c.terms.hops(best.key.Hops), Total: bundle.Total, Metapath: c.spelled(c.reached[best.end.ID].metapath),
	}
	for _, m := range bundle.Members {
		ch := &c.all[m]
		ch.kept = true
		in := instance{explain: b.Explain, alpha: b.Alpha, z: ch.key.Z, bias: r.Bias, nodes: []graph.Node{r.Start}}
		for _, e := range ch.end.Line()[1:] {
			in.add(e.Step(), v.label(e.Relation().Predicate), graph.Node{UID: e.UID, Name: string(e.Name)}, c.reached[e.ID].sr, c.terms.asked(e.Relation()))
		}
		r.Instances = append(r.Instances, in.done())
	}
	return r
}

// arrange gives every element its place: that of the best chain through it. With paths
// given, only what was retained stays.
func (c *chains) arrange(w *render.Written, b *plan.Block) {
	if b.Prune {
		w.Each(func(e *render.Element) { e.Drop = true })
	}
	for i := range c.all {
		ch := &c.all[i]
		for e := ch.end; e != nil; e = e.Parent {
			known := !e.Rank()
			if known && (!ch.kept || !e.Drop) {
				break // and so are those above it
			}
			if ch.kept {
				e.Drop = false
			}
		}
	}
}
