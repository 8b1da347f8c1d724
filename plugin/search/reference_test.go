package search_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// world is a small graph with scores, held plainly: Adjacency, Scorer and the reference
// search read the same fields.
type world struct {
	steps    [][]search.Step
	uid      []uint64 // by node, not in the order of ids
	name     []string // by relation, likewise
	p, sc    map[key]float64
	loose    bool // bounds that say nothing, instead of exact ones
	maxScore float64
}

type key struct {
	from search.Node
	step search.Step
}

func newWorld(nodes, rels int) *world {
	w := &world{steps: make([][]search.Step, nodes), p: map[key]float64{}, sc: map[key]float64{}}
	for n := range nodes {
		w.uid = append(w.uid, uint64(n+1))
	}
	for r := range rels {
		w.name = append(w.name, fmt.Sprintf("r%02d", r))
	}
	return w
}

func (w *world) add(from search.Node, s search.Step, p, sc float64) {
	w.steps[from] = append(w.steps[from], s)
	slices.SortStableFunc(w.steps[from], func(a, b search.Step) int { return cmp.Compare(a.Rel, b.Rel) })
	w.p[key{from, s}], w.sc[key{from, s}] = p, sc
	w.maxScore = max(w.maxScore, p)
}

func (w *world) Steps(n search.Node) []search.Step { return w.steps[n] }
func (w *world) CompareNodes(a, b search.Node) int { return cmp.Compare(w.uid[a], w.uid[b]) }
func (w *world) CompareRels(a, b search.Rel) int   { return cmp.Compare(w.name[a], w.name[b]) }
func (w *world) Score(n search.Node, s search.Step) (p, sc float64) {
	return w.p[key{n, s}], w.sc[key{n, s}]
}

func (w *world) Bound(n search.Node, r search.Rel) float64 {
	if w.loose {
		return 1
	}
	best := rank.Epsilon
	for _, s := range w.steps[n] {
		if s.Rel == r {
			best = max(best, w.p[key{n, s}])
		}
	}
	return best
}

func (w *world) BoundFrom(n search.Node) float64 {
	if w.loose {
		return 1
	}
	best := rank.Epsilon
	for _, s := range w.steps[n] {
		best = max(best, w.p[key{n, s}])
	}
	return best
}

func (w *world) BoundOf(r search.Rel) float64 {
	if w.loose {
		return 1
	}
	best := rank.Epsilon
	for at, p := range w.p {
		if at.step.Rel == r {
			best = max(best, p)
		}
	}
	return best
}

// BoundRest goes by the order in which the steps stand.
func (w *world) BoundRest(n search.Node, s search.Step) float64 {
	if w.loose {
		return 1
	}
	best := rank.Epsilon
	for _, next := range w.steps[n][slices.Index(w.steps[n], s):] {
		if next.Rel == s.Rel {
			best = max(best, w.p[key{n, next}])
		}
	}
	return best
}

// fall lists the steps of every relation from a node by falling P.
func (w *world) fall() {
	for n, steps := range w.steps {
		slices.SortStableFunc(steps, func(a, b search.Step) int {
			return cmp.Or(cmp.Compare(a.Rel, b.Rel), cmp.Compare(w.p[key{search.Node(n), b}], w.p[key{search.Node(n), a}]))
		})
	}
}

func (w *world) Relations(n search.Node) search.Buckets {
	if w.loose {
		return ^search.Buckets(0)
	}
	var of search.Buckets
	for _, s := range w.steps[n] {
		of |= search.BucketOf(s.Rel)
	}
	return of
}

func (w *world) Max() float64 {
	if w.loose {
		return 1
	}
	return max(w.maxScore, rank.Epsilon)
}

// reference is the definition, by enumeration: every simple path of 1..k hops, the rule, the
// order, the grouping by metapath.
func (w *world) reference(q search.Query) []search.Bundle {
	allowed := func(r search.Rel) bool { return q.Via == nil || int(r) < len(q.Via) && q.Via[r] }
	type path struct {
		search.Path
		sc []float64
	}
	var all []path
	var walk func(at search.Node, nodes []search.Node, steps []search.Step, ps, scs []float64)
	walk = func(at search.Node, nodes []search.Node, steps []search.Step, ps, scs []float64) {
		extended := false
		if len(steps) < q.Hops {
			for _, s := range w.steps[at] {
				if !allowed(s.Rel) || slices.Contains(nodes, s.To) {
					continue
				}
				extended = true
				p, sc := w.Score(at, s)
				walk(s.To, append(slices.Clip(nodes), s.To), append(slices.Clip(steps), s),
					append(slices.Clip(ps), p), append(slices.Clip(scs), sc))
			}
		}
		if len(steps) > 0 && (q.Rule == search.All || !extended) {
			var bias float64
			if len(steps) < len(q.HopBias) {
				bias = q.HopBias[len(steps)]
			}
			all = append(all, path{search.Path{Steps: steps, Z: rank.Z(ps, bias), MeanSc: mean(scs)}, scs})
		}
	}
	walk(q.Start, []search.Node{q.Start}, nil, nil, nil)

	slices.SortFunc(all, func(a, b path) int {
		if c := rank.Compare(rank.Key{Z: a.Z, MeanSc: a.MeanSc, Hops: len(a.Steps)}, rank.Key{Z: b.Z, MeanSc: b.MeanSc, Hops: len(b.Steps)}); c != 0 {
			return c
		}
		for i := range a.Steps {
			if c := cmp.Or(w.CompareRels(a.Steps[i].Rel, b.Steps[i].Rel), w.CompareNodes(a.Steps[i].To, b.Steps[i].To)); c != 0 {
				return c
			}
		}
		return slices.CompareFunc(a.Steps, b.Steps, func(x, y search.Step) int { return cmp.Compare(x.Edge, y.Edge) })
	})

	group := map[string]int{}
	order := make([]int, len(all))
	for i := range all {
		order[i] = i
	}
	instances := q.Instances
	id := func(c int) int {
		if q.Single {
			return c
		}
		name := fmt.Sprint(rels(all[c].Steps))
		if _, ok := group[name]; !ok {
			group[name] = len(group)
		}
		return group[name]
	}
	if q.Single {
		instances = 1
	}
	var bundles []search.Bundle
	for _, g := range rank.Retain(order, id, q.Paths, instances) {
		b := search.Bundle{Metapath: rels(all[g.Members[0]].Steps), Total: g.Total}
		for _, m := range g.Members {
			b.Paths = append(b.Paths, all[m].Path)
		}
		bundles = append(bundles, b)
	}
	return bundles
}

func rels(steps []search.Step) []search.Rel {
	var r []search.Rel
	for _, s := range steps {
		r = append(r, s.Rel)
	}
	return r
}

// drawWorld gives a graph of few nodes with loops, parallel edges, hubs, dead ends, and
// scores from so few values that ties abound.
func drawWorld(t *rapid.T) *world {
	nodes := rapid.IntRange(1, 8).Draw(t, "nodes")
	predicates := rapid.IntRange(1, 3).Draw(t, "predicates")
	w := newWorld(nodes, 2*predicates)
	w.uid = rapid.Permutation(w.uid).Draw(t, "uids")
	w.name = rapid.Permutation(w.name).Draw(t, "names")
	w.loose = rapid.Bool().Draw(t, "loose bounds")
	scores := rapid.SampledFrom([][]float64{{.5}, {.25, .5, 1}, {.3, .55, .7, .9}, {rank.Epsilon, .5}}).Draw(t, "scores")
	hub := rapid.IntRange(0, nodes-1).Draw(t, "hub")
	edges := rapid.IntRange(0, 22).Draw(t, "edges")
	for e := range edges {
		from := rapid.IntRange(0, nodes-1).Draw(t, "from")
		if rapid.IntRange(0, 2).Draw(t, "at hub") == 0 {
			from = hub
		}
		to := rapid.IntRange(0, nodes-1).Draw(t, "to")
		predicate := rapid.IntRange(0, predicates-1).Draw(t, "predicate")
		sc := rapid.SampledFrom([]float64{0, .5, 1}).Draw(t, "Sc")
		forward := rapid.SampledFrom(scores).Draw(t, "P")
		w.add(search.Node(from), search.Step{Rel: search.Rel(2 * predicate), To: search.Node(to), Edge: uint32(e)}, forward, sc)
		if rapid.IntRange(0, 3).Draw(t, "reverse") > 0 {
			backward := rapid.SampledFrom(scores).Draw(t, "P back")
			w.add(search.Node(to), search.Step{Rel: search.Rel(2*predicate + 1), To: search.Node(from), Edge: uint32(e)}, backward, sc)
		}
	}
	if rapid.Bool().Draw(t, "falling") {
		w.fall()
	}
	return w
}

// drawStar gives a start node of which many steps of one relation lead to nodes, or back to it, and on
// from there, by falling P.
func drawStar(t *rapid.T) *world {
	n := rapid.IntRange(1, 100).Draw(t, "steps")
	w := newWorld(n+3, 4)
	w.loose = rapid.IntRange(0, 3).Draw(t, "loose bounds") == 0
	scores := rapid.SampledFrom([][]float64{{.5}, {.25, .5, 1}, {.3, .35, .4, .45, .5, .55, .6, .65, .7, .75, .8}}).Draw(t, "scores")
	edge := uint32(0)
	add := func(from, to int, rel search.Rel) {
		w.add(search.Node(from), search.Step{Rel: rel, To: search.Node(to), Edge: edge}, rapid.SampledFrom(scores).Draw(t, "P"), rapid.SampledFrom([]float64{0, .5, 1}).Draw(t, "Sc"))
		edge++
	}
	for i := range n {
		add(0, rapid.SampledFrom([]int{0, i + 1, i + 1, i + 1}).Draw(t, "to"), 0)
		if rapid.IntRange(0, 3).Draw(t, "goes on") == 0 {
			add(i+1, n+1+rapid.IntRange(0, 1).Draw(t, "end"), search.Rel(rapid.IntRange(0, 3).Draw(t, "relation")))
		}
	}
	add(n+1, 0, 1)
	w.fall()
	return w
}

func drawQuery(t *rapid.T, w *world) search.Query {
	q := search.Query{
		Start:     search.Node(rapid.IntRange(0, len(w.steps)-1).Draw(t, "start")),
		Hops:      rapid.IntRange(1, 4).Draw(t, "k"),
		Paths:     rapid.IntRange(1, 6).Draw(t, "M"),
		Instances: rapid.IntRange(1, 4).Draw(t, "instances"),
		Single:    rapid.Bool().Draw(t, "single"),
		Rule:      rapid.SampledFrom([]search.Rule{search.All, search.Maximal}).Draw(t, "rule"),
		Budget:    search.Budget{Count: math.MaxInt},
	}
	if rapid.Bool().Draw(t, "with hubs") {
		q.Hubs = &search.Hubs{Least: rapid.IntRange(1, 4).Draw(t, "hub")}
	}
	if rapid.Bool().Draw(t, "biased") {
		q.HopBias = rapid.SliceOfN(rapid.SampledFrom([]float64{-.4, 0, .25, math.Log(2)}), 0, 6).Draw(t, "bias")
	}
	if rapid.IntRange(0, 3).Draw(t, "restricted") == 0 {
		q.Via = rapid.SliceOfN(rapid.Bool(), len(w.name), len(w.name)).Draw(t, "via")
	}
	return q
}

// mean is that of one number or more.
func mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
