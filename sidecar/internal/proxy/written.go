package proxy

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/render"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// written ranks a block whose paths are written out: data is the engine's answer to it,
// which holds every candidate.
func (q *query) written(ctx context.Context, b *plan.Block, data []byte) (*render.Value, error) {
	w, err := render.OpenWritten(data, b, func(predicate string) bool {
		return q.view.schema.Predicates[predicate].Type == "uid"
	})
	if err != nil {
		return nil, err
	}
	defer w.Release()
	ends := w.Chains()
	if b.Apart {
		if err := q.nameChains(ctx, b, ends); err != nil {
			return nil, err
		}
	}
	q.stages.mark("engine", q.Now())
	c := q.score(ctx, b, w, ends)
	results, err := q.shortcuts(ctx, b, c.retain(b, q.view))
	if err != nil {
		return nil, err
	}
	q.results = append(q.results, results...)
	c.arrange(w, b)
	q.stages.mark("search", q.Now())
	return render.Raw(w.Close()), nil
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

// chains are the candidates of a written block.
type chains struct {
	all       []chain    // best first
	reached   []reached  // by the ID of the element
	metapaths []metapath // by their number
	numbers   map[metapath]int32
	relations map[string]uint32 // numbers of the predicates
	terms     *terms
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
	known    bool
	metapath int32
	sr       float64 // of the last step
	sum      rank.Sum
}

// metapath is a sequence of relations: another one, and one more. The first is the empty one.
type metapath struct {
	before int32
	last   graph.Relation
}

// score gives every chain its z and sorts them.
func (q *query) score(ctx context.Context, b *plan.Block, w *render.Written, ends []*render.Element) *chains {
	c := &chains{
		all: make([]chain, len(ends)), reached: make([]reached, w.Len()),
		metapaths: make([]metapath, 1), numbers: map[metapath]int32{}, relations: map[string]uint32{},
	}
	sr := q.relevanceOfChains(ctx, b, c, w, ends)
	keys, order := make([]rank.Key, len(ends)), make([]int32, len(ends))
	for i, end := range ends {
		keys[i], order[i] = c.reach(end, b.Alpha, sr).sum.Key(c.terms.hops(end.Hops())), int32(i)
	}
	slices.SortFunc(order, func(x, y int32) int {
		if c := rank.Compare(keys[x], keys[y]); c != 0 {
			return c
		}
		return cmp.Or(compareLines(ends[x], ends[y]), cmp.Compare(x, y))
	})
	for place, i := range order {
		c.all[place] = chain{end: ends[i], key: keys[i]}
	}
	return c
}

// relevanceOfChains embeds the names on the chains and the labels of their relations, and asks the
// block's question. Entities have the IDs of their elements, and so have the edges that lead to them.
func (q *query) relevanceOfChains(ctx context.Context, b *plan.Block, c *chains, w *render.Written, ends []*render.Element) search.Relevance {
	names, elements := make([][]byte, w.Len()), make([]*render.Element, w.Len())
	topics := map[string]bool{}
	var read texted
	for _, end := range ends {
		for e := end; e != nil && elements[e.ID] == nil; e = e.Parent {
			names[e.ID], elements[e.ID] = e.Name, e
			if e.Parent == nil {
				topics[string(e.Name)] = true
				break
			}
			if _, known := c.relations[e.Step.Predicate]; !known {
				c.relations[e.Step.Predicate] = uint32(len(read.relations))
				read.labels = append(read.labels, q.view.label(e.Step.Predicate))
				read.relations = append(read.relations, q.texts.vector(q.view.label(e.Step.Predicate)))
			}
		}
	}
	read.entities = q.texts.vectors(names)
	read.names = func() []string {
		out := make([]string, len(names))
		for i, name := range names {
			out[i] = string(name)
		}
		return out
	}
	read.triplets = func() []string {
		out := make([]string, len(elements))
		for i, e := range elements {
			if e == nil || e.Parent == nil {
				continue
			}
			head, object := e.Parent.Name, e.Name
			if e.Step.Inverse {
				head, object = object, head
			}
			out[i] = relevance.TripletText(string(head), q.view.label(e.Step.Predicate), string(object))
		}
		return out
	}
	var asked *relevance.Question
	asked, c.terms = q.ask(ctx, b, slices.Collect(maps.Keys(topics)))
	return q.relevanceOf(asked, read)
}

// reach scores the step that leads to an element, behind those that lead to its parent.
func (c *chains) reach(e *render.Element, alpha float64, sr search.Relevance) *reached {
	r := &c.reached[e.ID]
	if r.known || e.Parent == nil {
		return r
	}
	before := c.reach(e.Parent, alpha, sr)
	r.known = true
	r.sr = sr.Sr(uint32(e.Parent.ID), c.relations[e.Step.Predicate], uint32(e.ID), uint32(e.ID))
	r.sum = before.sum.Add(rank.P(alpha, r.sr, rank.Shifted(e.Step.Sc(), c.terms.asked(e.Step.Relation()))), e.Step.Sc())
	r.metapath = c.number(metapath{before.metapath, e.Step.Relation()})
	return r
}

// number is that of a metapath.
func (c *chains) number(m metapath) int32 {
	if last := len(c.metapaths) - 1; c.metapaths[last] == m && last > 0 { // siblings follow one another
		return int32(last)
	}
	n, known := c.numbers[m]
	if !known {
		n = int32(len(c.metapaths))
		c.metapaths = append(c.metapaths, m)
		c.numbers[m] = n
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
	return cmp.Or(strings.Compare(a.Step.Predicate, b.Step.Predicate), cmp.Compare(a.UID, b.UID))
}

// retain keeps the best results of every root and marks the chains that they hold.
func (c *chains) retain(b *plan.Block, v view) []graph.Result {
	group, instances := func(i int) int { return int(c.reached[c.all[i].end.ID].metapath) }, b.Instances
	if !b.Bundle {
		group, instances = func(i int) int { return i }, 1
	}
	places := map[*render.Element]int{} // of a root among those in rank order
	var roots [][]int
	for i := range c.all {
		root := c.all[i].end
		for root.Parent != nil {
			root = root.Parent
		}
		place, known := places[root]
		if !known {
			place = len(roots)
			places[root] = place
			roots = append(roots, nil)
		}
		roots[place] = append(roots[place], i)
	}
	var results []graph.Result
	for _, order := range roots {
		for _, bundle := range rank.Retain(order, group, b.Paths, instances) {
			results = append(results, c.result(b, bundle, v))
		}
	}
	slices.SortStableFunc(results, func(x, y graph.Result) int { return cmp.Compare(y.Z, x.Z) })
	return results
}

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
		in := instance{explain: b.Explain, alpha: b.Alpha, z: ch.key.Z, bias: r.Bias, start: r.Start}
		for _, e := range ch.end.Line()[1:] {
			in.add(e.Step, v.label(e.Step.Predicate), graph.Node{UID: e.UID, Name: string(e.Name)}, c.reached[e.ID].sr, c.terms.asked(e.Step.Relation()))
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
	for place := range c.all {
		ch := &c.all[place]
		for e := ch.end; e != nil; e = e.Parent {
			e.Order = min(e.Order, place)
			if ch.kept {
				e.Drop = false
			}
		}
	}
}
