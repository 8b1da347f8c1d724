package evolve

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// step is one edge as a path may walk it.
type step struct {
	edge    int32 // place in Snapshot.Edges
	to      int32 // place in fusion.nodes
	raw     float64
	inverse bool
}

// prefix is the beginning of a path: its last step is steps[from][place].
type prefix struct {
	parent int32 // place in fusion.prefixes, -1: the path has one step
	from   int32
	place  int32
	hops   int32
	sum    float64 // of the raw scores so far
}

// fusion searches best first: a prefix waits under the greatest average that a path through
// it or through a later sibling can have, so finished paths come out in falling order.
type fusion struct {
	Snapshot
	rules    Rules
	high     float64
	nodes    []graph.UID // sorted
	steps    [][]step    // by node, in descending raw
	most     float64     // the greatest raw
	prefixes []prefix
	queue    queue
	joined   map[Pair]bool
}

// fuse finds the best path for each ordered pair of ends that no edge of the snapshot joins,
// best first, spare times Rules.MaxShortcuts at most.
func fuse(s Snapshot, r Rules, t Thresholds, after []graph.Contribution) (out []Shortcut, cut bool) {
	f := &fusion{Snapshot: s, rules: r, high: t.High, joined: make(map[Pair]bool, len(s.Edges))}
	f.queue.f = f
	for _, e := range s.Edges {
		f.joined[Pair{e.Head, e.Object}] = true
	}
	f.build(after)
	for n := range f.nodes {
		if len(f.steps[n]) > 0 && f.starts(f.steps[n][0]) {
			f.wait(prefix{parent: -1, from: int32(n), hops: 1, sum: f.steps[n][0].raw}) //nolint:gosec // bounded by memory
		}
	}
	for work := 0; f.queue.Len() > 0 && len(out) < spare*r.MaxShortcuts; {
		w := heap.Pop(&f.queue).(waiting)
		if !w.done {
			if work++; work > r.Budget {
				cut = true
				continue // what is finished still comes out in order
			}
			f.expand(w.prefix)
			continue
		}
		path := f.path(w.prefix)
		pair := Pair{path.Start, path.End()}
		if !f.joined[pair] {
			f.joined[pair] = true // a path for it that comes later is no better
			out = append(out, Shortcut{Path: path, Score: w.key})
		}
	}
	return out, cut
}

// build lists the steps of every node, with those edges only that may be part of a path.
func (f *fusion) build(after []graph.Contribution) {
	usable := func(i int) bool {
		e := f.Edges[i]
		return !after[i].Hidden && !e.Hidden && e.Head != e.Object &&
			(f.rules.Nested || e.Predicate != graph.ShortcutPredicate) &&
			(f.rules.Average || e.Score > f.high)
	}
	var edges []int
	for i, e := range f.Edges {
		if usable(i) {
			edges = append(edges, i)
			f.nodes = append(f.nodes, e.Head, e.Object)
		}
	}
	slices.Sort(f.nodes)
	f.nodes = slices.Compact(f.nodes)
	ids := make(map[graph.UID]int32, len(f.nodes))
	for i, u := range f.nodes {
		ids[u] = int32(i) //nolint:gosec // bounded by memory
	}
	f.steps = make([][]step, len(f.nodes))
	for _, i := range edges {
		e := f.Edges[i]
		head, object, at := ids[e.Head], ids[e.Object], int32(i) //nolint:gosec // bounded by memory
		f.most = max(f.most, e.Score)
		f.steps[head] = append(f.steps[head], step{at, object, e.Score, false})
		if f.Inverse[e.Predicate] {
			f.steps[object] = append(f.steps[object], step{at, head, e.Score, true})
		}
	}
	for _, steps := range f.steps {
		slices.SortFunc(steps, func(a, b step) int {
			return cmp.Or(cmp.Compare(b.raw, a.raw), f.compareSteps(a, b))
		})
	}
}

// compareSteps orders steps by predicate, direction and target.
func (f *fusion) compareSteps(a, b step) int {
	if c := strings.Compare(f.Edges[a.edge].Predicate, f.Edges[b.edge].Predicate); c != 0 {
		return c
	}
	if a.inverse != b.inverse {
		if a.inverse {
			return 1
		}
		return -1
	}
	return cmp.Compare(a.to, b.to)
}

// starts tells whether a path may begin with the step.
func (f *fusion) starts(s step) bool { return s.raw >= f.high }

// expand puts the prefix's next sibling, itself as a finished path, and its first child in
// the queue.
func (f *fusion) expand(at int32) {
	p := f.prefixes[at]
	last := f.last(p)
	if siblings := f.steps[p.from]; int(p.place)+1 < len(siblings) {
		next := siblings[p.place+1]
		if p.hops > 1 || f.starts(next) {
			sibling := p
			sibling.place++
			sibling.sum = f.sumOf(p.parent) + next.raw
			f.wait(sibling)
		}
	}
	for q := at; q >= 0; q = f.prefixes[q].parent { // simple: no node twice
		if f.prefixes[q].from == last.to {
			return
		}
	}
	if average := p.sum / float64(p.hops); p.hops > 1 && average > f.high {
		heap.Push(&f.queue, waiting{key: average, done: true, prefix: at})
	}
	if children := f.steps[last.to]; int(p.hops) < f.rules.Hops && len(children) > 0 {
		f.wait(prefix{parent: at, from: last.to, hops: p.hops + 1, sum: p.sum + children[0].raw})
	}
}

// slack is above the rounding of a sum of few scores, and below any difference that matters.
const slack = 1 + 1e-12

// wait puts a prefix in the queue under its bound. One that can't be lifted above tau_high
// ends the expansion of its node: its later siblings can't either.
func (f *fusion) wait(p prefix) {
	var bound float64
	for h := max(int(p.hops), 2); h <= f.rules.Hops; h++ {
		bound = max(bound, (p.sum+float64(h-int(p.hops))*f.most)/float64(h))
	}
	bound *= slack
	if bound <= f.high {
		return
	}
	f.prefixes = append(f.prefixes, p)
	heap.Push(&f.queue, waiting{key: bound, prefix: int32(len(f.prefixes) - 1)}) //nolint:gosec // bounded by the budget
}

func (f *fusion) sumOf(at int32) float64 {
	if at < 0 {
		return 0
	}
	return f.prefixes[at].sum
}

func (f *fusion) last(p prefix) step { return f.steps[p.from][p.place] }

// walk lists the steps of a finished prefix, the last first.
func (f *fusion) walk(at int32) []step {
	var out []step
	for ; at >= 0; at = f.prefixes[at].parent {
		out = append(out, f.last(f.prefixes[at]))
	}
	return out
}

func (f *fusion) start(at int32) int32 {
	for f.prefixes[at].parent >= 0 {
		at = f.prefixes[at].parent
	}
	return f.prefixes[at].from
}

func (f *fusion) path(at int32) graph.Path {
	p := graph.Path{Start: f.nodes[f.start(at)]}
	steps := f.walk(at)
	slices.Reverse(steps)
	for _, s := range steps {
		e := f.Edges[s.edge]
		p.Steps = append(p.Steps, graph.Step{Triplet: e.Triplet, Inverse: s.inverse, Contribution: e.Contribution})
	}
	return p
}

// waiting is a prefix in the queue: to be expanded, or done, as a path.
type waiting struct {
	key    float64 // an upper bound; of a finished path its average
	done   bool
	prefix int32
}

// queue orders by key, the greatest first. At equal keys prefixes come first, so that
// finished paths of one average are all there when the first of them comes out: the fewest
// hops first, then by start, predicates and nodes.
type queue struct {
	f     *fusion
	items []waiting
}

func (q *queue) Len() int      { return len(q.items) }
func (q *queue) Swap(i, j int) { q.items[i], q.items[j] = q.items[j], q.items[i] }
func (q *queue) Push(x any)    { q.items = append(q.items, x.(waiting)) }

func (q *queue) Pop() any {
	last := len(q.items) - 1
	x := q.items[last]
	q.items = q.items[:last]
	return x
}

func (q *queue) Less(i, j int) bool {
	a, b := q.items[i], q.items[j]
	if a.key != b.key {
		return a.key > b.key
	}
	if a.done != b.done {
		return b.done
	}
	if !a.done {
		return a.prefix < b.prefix
	}
	return q.f.comparePaths(a.prefix, b.prefix) < 0
}

func (f *fusion) comparePaths(a, b int32) int {
	if c := cmp.Or(cmp.Compare(f.prefixes[a].hops, f.prefixes[b].hops), cmp.Compare(f.start(a), f.start(b))); c != 0 {
		return c
	}
	x, y := f.walk(a), f.walk(b)
	for i := len(x) - 1; i >= 0; i-- {
		if c := f.compareSteps(x[i], y[i]); c != 0 {
			return c
		}
	}
	return 0
}
