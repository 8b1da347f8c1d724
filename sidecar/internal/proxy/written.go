package proxy

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/render"
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
	ends := w.Chains()
	if b.Apart {
		if err := q.nameChains(ctx, b, ends); err != nil {
			return nil, err
		}
	}
	q.stages.mark("engine", q.Now())
	chains := q.score(b, ends)
	order := make([]int, len(chains))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return compare(&chains[x], &chains[y]) })
	results, err := q.shortcuts(ctx, b, retain(b, chains, order, q.view))
	if err != nil {
		return nil, err
	}
	q.results = append(q.results, results...)
	arrange(w, b, chains, order)
	q.stages.mark("search", q.Now())
	return w.Close(), nil
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
			e.Name = names[e.UID]
		}
	}
	return nil
}

// chain is one candidate of a written block.
type chain struct {
	line     []*render.Element // the root first
	metapath string
	sr       []float64 // of its steps
	key      rank.Key
	kept     bool
}

// score gives every chain its z.
func (q *query) score(b *plan.Block, ends []*render.Element) []chain {
	s := newTextScorer(q, b, ends)
	chains := make([]chain, len(ends))
	metapaths := map[string]string{} // each spelled once
	var metapath []byte
	var p, sc []float64
	for i, end := range ends {
		c := chain{line: end.Line()}
		c.sr = make([]float64, 0, len(c.line)-1)
		p, sc, metapath = p[:0], sc[:0], metapath[:0]
		for j, e := range c.line[1:] {
			sr := s.sr(e)
			c.sr = append(c.sr, sr)
			p = append(p, rank.P(b.Alpha, sr, e.Step.Sc()))
			sc = append(sc, e.Step.Sc())
			if j > 0 {
				metapath = append(metapath, 0)
			}
			metapath = append(metapath, e.Step.Relation().String()...)
		}
		if _, known := metapaths[string(metapath)]; !known {
			metapaths[string(metapath)] = string(metapath)
		}
		c.metapath = metapaths[string(metapath)]
		c.key = rank.Key{Z: rank.Z(p, 0), MeanSc: rank.MeanSc(sc), Hops: len(p)}
		chains[i] = c
	}
	return chains
}

// textScorer gives the Sr of the steps of written chains, each once.
type textScorer struct {
	composed  *relevance.Composed
	relations map[string]uint32 // by predicate
	srs       []float64         // by the ID of the element that a step leads to; 0: not known yet
}

// newTextScorer gives every element on a chain its ID.
func newTextScorer(q *query, b *plan.Block, ends []*render.Element) *textScorer {
	s := &textScorer{relations: map[string]uint32{}}
	entities := make(relevance.List, 1, len(ends)+len(ends)/8+1) // no element has ID 0
	var relations relevance.List
	topics := map[string]bool{}
	for _, end := range ends {
		for e := end; e != nil && e.ID == 0; e = e.Parent {
			e.ID = len(entities)
			entities = append(entities, q.texts.vector(e.Name))
			if e.Parent == nil {
				topics[e.Name] = true
				break
			}
			if _, known := s.relations[e.Step.Predicate]; !known {
				s.relations[e.Step.Predicate] = uint32(len(relations))
				relations = append(relations, q.texts.vector(q.view.label(e.Step.Predicate)))
			}
		}
	}
	s.srs = make([]float64, len(entities))
	s.composed = relevance.NewComposed(relevance.DefaultTemplate, entities, relations)
	names := make([]string, 0, len(topics))
	for n := range topics {
		names = append(names, n)
	}
	s.composed.Ask(q.hash.Ask(b.Question, names...))
	return s
}

func (s *textScorer) sr(e *render.Element) float64 {
	if s.srs[e.ID] == 0 {
		s.srs[e.ID] = s.composed.Sr(uint32(e.Parent.ID), s.relations[e.Step.Predicate], uint32(e.ID), 0)
	}
	return s.srs[e.ID]
}

// compare orders chains: z, mean Sc, hops, then the predicates and uids on the way.
func compare(a, b *chain) int {
	if c := rank.Compare(a.key, b.key); c != 0 {
		return c
	}
	for i := 0; i < len(a.line) && i < len(b.line); i++ {
		x, y := a.line[i], b.line[i]
		if c := cmp.Or(strings.Compare(x.Step.Predicate, y.Step.Predicate), cmp.Compare(x.UID, y.UID)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a.line), len(b.line))
}

// retain keeps the best results of every root and marks the chains that they hold.
func retain(b *plan.Block, chains []chain, order []int, v view) []graph.Result {
	groups := map[string]int{}
	group := func(i int) int {
		key := chains[i].metapath
		if !b.Bundle {
			return i
		}
		if _, ok := groups[key]; !ok {
			groups[key] = len(groups)
		}
		return groups[key]
	}
	instances := b.Instances
	if !b.Bundle {
		instances = 1
	}
	roots := map[*render.Element][]int{}
	var inOrder []*render.Element
	for _, i := range order {
		r := chains[i].line[0]
		if roots[r] == nil {
			inOrder = append(inOrder, r)
		}
		roots[r] = append(roots[r], i)
	}
	var results []graph.Result
	for _, r := range inOrder {
		for _, bundle := range rank.Retain(roots[r], group, b.Paths, instances) {
			results = append(results, resultOf(b, chains, bundle, v))
		}
	}
	slices.SortStableFunc(results, func(x, y graph.Result) int { return cmp.Compare(y.Z, x.Z) })
	return results
}

func resultOf(b *plan.Block, chains []chain, bundle rank.Bundle, v view) graph.Result {
	best := chains[bundle.Members[0]]
	root := best.line[0]
	r := graph.Result{
		Block: b.Key, Start: graph.Node{UID: root.UID, Name: root.Name},
		Z: best.key.Z, Total: bundle.Total, Metapath: strings.Split(best.metapath, "\x00"),
	}
	for _, m := range bundle.Members {
		c := &chains[m]
		c.kept = true
		in := instance{explain: b.Explain, alpha: b.Alpha, z: c.key.Z, start: r.Start}
		for i, e := range c.line[1:] {
			in.add(e.Step, v.label(e.Step.Predicate), graph.Node{UID: e.UID, Name: e.Name}, c.sr[i])
		}
		r.Instances = append(r.Instances, in.done())
	}
	return r
}

// arrange gives every element its place: that of the best chain through it. With paths
// given, only what was retained stays.
func arrange(w *render.Written, b *plan.Block, chains []chain, order []int) {
	keep := map[*render.Element]bool{}
	for place, i := range order {
		for _, e := range chains[i].line {
			e.Order = min(e.Order, place)
			if chains[i].kept {
				keep[e] = true
			}
		}
	}
	if b.Prune {
		w.Each(func(e *render.Element) { e.Drop = !keep[e] })
	}
}
