package search

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"

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

	mu   sync.Mutex
	all  Columns                  // of all steps, once there is a best
	best atomic.Pointer[[]ranked] // the first ones; more when a search goes on
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
	if n >= len(h.steps) {
		return ranked{}, false
	}
	best := h.best.Load()
	if best == nil || n >= len(*best) {
		best = h.rank(n)
	}
	return (*best)[n], true
}

// growth is how many times more steps are ranked when those that are ranked were not enough.
const growth = 16

// rank puts the first steps in order, more than n of them, without sorting the others.
func (h *hub) rank(n int) *[]ranked {
	h.mu.Lock()
	defer h.mu.Unlock()
	keep := h.keep
	if best := h.best.Load(); best == nil {
		group, _ := h.scorer.(GroupScorer)
		h.all.score(h.scorer, group, h.from, h.steps)
	} else if n < len(*best) {
		return best
	} else {
		keep = growth * len(*best)
	}
	for keep <= n {
		keep *= growth
	}
	best := h.first(min(keep, len(h.steps)))
	h.best.Store(&best)
	return &best
}

// first is the first n steps in the order of compare.
func (h *hub) first(n int) []ranked {
	best := make([]ranked, 0, min(2*n, len(h.steps)))
	var last ranked // the n-th of those seen when best was last sorted
	full := false
	for i, p := range h.all.P {
		if full && (p < last.p || p == last.p && h.all.Sc[i] < last.sc) {
			continue
		}
		r := ranked{h.steps[i], p, h.all.Sc[i]}
		if full && h.compare(r, last) > 0 {
			continue
		}
		if best = append(best, r); len(best) == 2*n {
			slices.SortFunc(best, h.compare)
			best, last, full = best[:n], best[n-1], true
		}
	}
	slices.SortFunc(best, h.compare)
	return best[:n]
}

// scoreHub is score for a hub. Its steps come in the order of P. Before the last hop they are a
// stream. On the last hop, where a prefix and a relation make one metapath, they come in the
// order of the candidates, of which no more matter than there are places; only where rounding
// gives a lower P the same z may one go before its elders.
func (s *search) scoreHub(id int32, group []Step) bool {
	t := s.take(id, group[0].Rel)
	h := s.q.Hubs.get(t.p.step.To, group, s.adj, s.scorer)
	if t.hops < s.hops.most {
		s.streams = append(s.streams, stream{id: id, hub: h})
		return s.resume(int32(len(s.streams) - 1))
	}
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
		if !ok {
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

// stream is what is left of a hub's steps before the last hop.
type stream struct {
	id   int32 // the prefix that ends at the hub
	hub  *hub
	next int
}

// perResume is how many steps of a stream are taken in at once.
const perResume = 64

// resume takes in the next steps of a stream, whose rest waits in the frontier for its turn;
// false when a budget ended it.
func (s *search) resume(number int32) bool {
	st := &s.streams[number]
	t := s.take(st.id, st.hub.steps[0].Rel)
	for last := st.next + perResume; ; st.next++ {
		next, ok := st.hub.at(st.next)
		if !ok || next.p < t.least {
			return true
		}
		if st.next == last {
			bound := s.ceiling(t.p.sum+math.Log(next.p), t.hops)
			s.frontier.push(promise{bound: bound, prefix: number, stream: true})
			return true
		}
		if s.visited(st.id, next.step.To) {
			continue
		}
		if s.work.Edges >= s.limit.Edges || (s.work.Edges&1023 == 1023 && s.ctx.Err() != nil) {
			return !s.spent()
		}
		s.work.Edges++
		t.step(next.step, next.p, next.sc)
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
// Before the last hop the rule is applied only when the prefix is expanded.
func (t *taking) step(step Step, p, sc float64) (z float64, ok bool) {
	s := t.search
	sum, sumSc := t.p.sum+math.Log(p), t.p.sc+sc
	z = sum/float64(t.hops) + s.bias[t.hops]
	final := t.hops == s.hops.most
	ok = z < t.floor || final && s.candidate(t.id, t.hops, step.To) || !final && s.q.Rule == All
	if ok && t.hops >= s.hops.least && z >= t.floor {
		s.keep(found{rank.Key{Z: z, MeanSc: sumSc / float64(t.hops), Hops: t.hops}, t.meta, t.id, step})
		if f := s.best.floor(); f > t.floor {
			t.floor, t.least = f, s.leastP(t.p.sum, t.hops, f)
		}
	}
	if final {
		return z, ok
	}
	bound := s.ceiling(sum+s.lnMax, t.hops+1)
	if bound+slack >= t.floor {
		switch {
		case s.only != nil:
			bound = s.ceiling(sum+math.Log(s.scorer.Bound(step.To, s.only[t.hops])), t.hops+1)
		case s.nodes != nil:
			bound = s.ceiling(sum+math.Log(s.nodes.BoundFrom(step.To)), t.hops+1)
		}
	}
	if !ok && t.hops >= s.hops.least {
		bound = max(bound, z) // it may turn out to be a dead end
	}
	if bound+slack >= t.floor {
		s.frontier.push(promise{bound: bound, prefix: int32(len(s.prefixes))})
		s.prefixes = append(s.prefixes, prefix{step, t.id, t.meta, int32(t.hops), sum, sumSc})
	}
	return z, ok
}
