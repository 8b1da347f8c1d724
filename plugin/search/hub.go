package search

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/evorag/dgraph-evorag/plugin/rank"
)

// Hubs ranks the steps of hubs once for all searches of one question, which then take them
// from the best on and stop early. They share a graph and a scorer, and may run at once. The
// zero Hubs is ready.
type Hubs struct {
	Least int // steps of one relation that make a node a hub, default 512
	Best  int // of them, those that are ranked at once; the others when a search goes on; default 64

	mu sync.Mutex
	of map[hubKey]*hub
}

const (
	defaultHub  = 512
	defaultBest = 64
)

type hubKey struct {
	node Node
	rel  Rel
}

// hub is the steps of one relation from a node.
type hub struct {
	from   Node
	steps  []Step
	adj    Adjacency
	scorer Scorer
	keep   int
	first  sync.Once
	second sync.Once
	best   []ranked // the first keep
	full   []ranked
}

// ranked is a step with its scores.
type ranked struct {
	step  Step
	p, sc float64
}

// compare orders the steps as the candidates stand that they make of one prefix.
func (h *hub) compare(a, b ranked) int {
	if a.p != b.p || a.sc != b.sc {
		return cmp.Or(cmp.Compare(b.p, a.p), cmp.Compare(b.sc, a.sc))
	}
	return cmp.Or(h.adj.CompareNodes(a.step.To, b.step.To), cmp.Compare(a.step.Edge, b.step.Edge))
}

// takes tells whether a group is a hub's.
func (h *Hubs) takes(group []Step) bool {
	return h != nil && len(group) >= orDefault(h.Least, defaultHub)
}

func (h *Hubs) get(from Node, group []Step, adj Adjacency, scorer Scorer) *hub {
	key := hubKey{from, group[0].Rel}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = make(map[hubKey]*hub)
	}
	found := h.of[key]
	if found == nil {
		found = &hub{from: from, steps: group, adj: adj, scorer: scorer, keep: orDefault(h.Best, defaultBest)}
		h.of[key] = found
	}
	return found
}

// at is the n-th step in the order of compare, and false after the last.
func (h *hub) at(n int) (ranked, bool) {
	h.first.Do(h.rankBest)
	if n < len(h.best) {
		return h.best[n], true
	}
	if n >= len(h.steps) {
		return ranked{}, false
	}
	h.second.Do(h.rankAll)
	return h.full[n], true
}

// rankBest finds the first ones without sorting the others.
func (h *hub) rankBest() {
	best := make([]ranked, 0, 2*h.keep)
	full := false // best[h.keep-1] is the last that could have a place
	for _, s := range h.steps {
		r := h.ranked(s)
		if full && h.compare(r, best[h.keep-1]) > 0 {
			continue
		}
		best = append(best, r)
		if len(best) == cap(best) {
			slices.SortFunc(best, h.compare)
			best, full = best[:h.keep], true
		}
	}
	slices.SortFunc(best, h.compare)
	h.best = best[:min(len(best), h.keep)]
}

func (h *hub) rankAll() {
	all := make([]ranked, len(h.steps))
	for i, s := range h.steps {
		all[i] = h.ranked(s)
	}
	slices.SortFunc(all, h.compare)
	h.full = all
}

func (h *hub) ranked(s Step) ranked {
	p, sc := h.scorer.Score(h.from, s)
	return ranked{s, p, sc}
}

// scoreHub is score for a hub. Its steps come in the order of P, so what follows one that is
// too low is too low. On the last hop, where a prefix and a relation make one metapath, they
// come in the order of the candidates, of which no more matter than there are places; only
// where rounding gives a lower P the same z may one go before its elders.
func (s *search) scoreHub(id int32, group []Step) bool {
	t := s.take(id, group[0].Rel)
	h := s.q.Hubs.get(t.p.step.To, group, s.adj, s.scorer)
	places := s.best.limit
	if s.best.distinct {
		places = 1
	}
	offered, lastP, lastZ := 0, 0.0, math.Inf(-1)
	for n := 0; ; n++ {
		next, ok := h.at(n)
		if !ok || next.p < t.least || offered >= places && next.p == lastP {
			return true
		}
		if s.visited(id, next.step.To) {
			continue
		}
		if s.work.Edges >= s.limit.Edges || (s.work.Edges&1023 == 1023 && s.ctx.Err() != nil) {
			return !s.spent()
		}
		s.work.Edges++
		z, ok := t.step(next.step, next.p, next.sc)
		if t.hops < s.hops.most || !ok {
			continue
		}
		if offered >= places && z+slack < lastZ {
			return true
		}
		if offered++; offered == places {
			lastP, lastZ = next.p, z
		}
	}
}

// taking is the taking in of the steps of one relation from the end of a prefix.
type taking struct {
	*search
	id           int32
	p            prefix
	hops         int
	meta         int32
	floor, least float64 // a z, and a P, below which nothing matters
}

func (s *search) take(id int32, rel Rel) *taking {
	t := &taking{search: s, id: id, p: s.prefixes[id], floor: s.best.floor()}
	t.hops, t.meta = int(t.p.hops)+1, s.meta(t.p.meta, rel)
	t.least = s.leastP(t.p.sum, t.hops, t.floor)
	return t
}

// step makes a step, whose P is at least t.least, a candidate and the beginning of longer
// ones. It returns the z that it has as a candidate; ok is false where the rule makes it none.
func (t *taking) step(step Step, p, sc float64) (z float64, ok bool) {
	s := t.search
	sum, sumSc := t.p.sum+math.Log(p), t.p.sc+sc
	z = sum/float64(t.hops) + s.bias[t.hops]
	ok = z < t.floor || s.candidate(t.id, t.hops, step.To)
	if ok && t.hops >= s.hops.least && z >= t.floor {
		s.keep(found{rank.Key{Z: z, MeanSc: sumSc / float64(t.hops), Hops: t.hops}, t.meta, t.id, step})
		if f := s.best.floor(); f > t.floor {
			t.floor, t.least = f, s.leastP(t.p.sum, t.hops, f)
		}
	}
	if t.hops == s.hops.most {
		return z, ok
	}
	bound := s.ceiling(sum+s.lnMax, t.hops+1)
	if s.nodes != nil && bound+slack >= t.floor {
		bound = s.ceiling(sum+math.Log(s.nodes.BoundFrom(step.To)), t.hops+1)
	}
	if bound+slack >= t.floor {
		s.frontier.push(promise{bound, int32(len(s.prefixes))})
		s.prefixes = append(s.prefixes, prefix{step, t.id, t.meta, int32(t.hops), sum, sumSc})
	}
	return z, ok
}
