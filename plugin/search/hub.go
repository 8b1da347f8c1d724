package search

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/evorag/dgraph-evorag/plugin/rank"
)

// Hubs ranks the steps of hubs once for all searches of one question, which then take them
// from the best on and stop early. They share a graph and a scorer, and may run at once. The
// zero Hubs is ready; after the last search Release gives its memory back.
type Hubs struct {
	Least int // steps of one relation that make a node a hub, default 512

	mu sync.Mutex
	of map[hubKey]*hub
}

const defaultHub = 512

type hubKey struct {
	node Node
	rel  Rel
}

// hub is the steps of one relation from a node. They are dealt out into buckets by P at first;
// a bucket is sorted when the first of its steps is asked for.
type hub struct {
	from   Node
	steps  []Step
	adj    Adjacency
	scorer Scorer

	mu sync.Mutex
	hubRoom
	sorted int          // buckets
	ready  atomic.Int64 // steps that are in order

	met   sync.Once
	local bool // the scorer knows what meets at a node
}

// hubRoom is the memory that a hub needs. It is used again.
type hubRoom struct {
	p, sc   []float64 // by number of step
	order   []uint32  // numbers of steps, those of the buckets before ready in the order of compare
	next    []uint32  // by bucket, for deal
	buckets []uint32  // where each begins in order, and the end
	meets   []Buckets // by number of step: the relations of the node that it leads to
}

var hubRooms = sync.Pool{New: func() any { return new(hubRoom) }}

// Release gives the memory back for other questions. No search may use the Hubs after it.
func (h *Hubs) Release() {
	for _, hub := range h.of {
		room := hub.hubRoom
		hubRooms.Put(&room)
	}
	h.of = nil
}

// ranked is a step with its scores.
type ranked struct {
	step  Step
	p, sc float64
}

// compare orders the steps as the candidates stand that they make of one prefix.
func (h *hub) compare(a, b ranked) int {
	switch {
	case a.p != b.p:
		return cmp.Compare(b.p, a.p)
	case a.sc != b.sc:
		return cmp.Compare(b.sc, a.sc)
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
		found = &hub{from: from, steps: group, adj: adj, scorer: scorer, hubRoom: *hubRooms.Get().(*hubRoom)}
		h.of[key] = found
	}
	return found
}

// at is the n-th step in the order of compare, and false after the last.
func (h *hub) at(n int) (ranked, bool) {
	if n >= len(h.steps) {
		return ranked{}, false
	}
	if int64(n) >= h.ready.Load() {
		h.sort(n)
	}
	return h.ranked(h.order[n]), true
}

func (h *hub) ranked(i uint32) ranked { return ranked{h.steps[i], h.p[i], h.sc[i]} }

// sort puts more than n steps in order.
func (h *hub) sort(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sorted == 0 {
		h.score()
		h.deal()
	}
	for h.ready.Load() <= int64(n) {
		bucket := h.order[h.buckets[h.sorted]:h.buckets[h.sorted+1]]
		slices.SortFunc(bucket, func(a, b uint32) int { return h.compare(h.ranked(a), h.ranked(b)) })
		h.sorted++
		h.ready.Store(int64(h.buckets[h.sorted]))
	}
}

// perPart is how many steps of a hub are scored by one goroutine at least.
const perPart = 8192

// score fills p and sc, on several processors where that is worth it: as a rule the question's
// other searches wait for it.
func (h *hub) score() {
	n := len(h.steps)
	h.p, h.sc = slices.Grow(h.p[:0], n)[:n], slices.Grow(h.sc[:0], n)[:n]
	group, _ := h.scorer.(GroupScorer)
	parts := max(1, min(runtime.GOMAXPROCS(0), n/perPart))
	each := (n + parts - 1) / parts
	part := func(from, to int) {
		var c Columns
		for ; from < to; from += perColumns {
			end := min(from+perColumns, to)
			c.P, c.Sc = h.p[from:end], h.sc[from:end]
			c.fill(h.scorer, group, h.from, h.steps[from:end])
		}
	}
	var others sync.WaitGroup
	for from := each; from < n; from += each {
		others.Go(func() { part(from, min(from+each, n)) })
	}
	part(0, min(each, n))
	others.Wait()
}

// perColumns is how many steps of a hub are scored at once.
const perColumns = 1024

// leads tells whether a path may go on under a relation after the n-th step, which at has given.
// Asked for every bundle that is filled through the hub, it keeps what the nodes say in one place.
func (h *hub) leads(n int, r Rel) bool {
	h.met.Do(func() {
		var local LocalScorer
		if local, h.local = h.scorer.(LocalScorer); !h.local {
			return
		}
		h.meets = slices.Grow(h.meets[:0], len(h.steps))[:len(h.steps)]
		for i, s := range h.steps {
			h.meets[i] = local.Relations(s.To)
		}
	})
	return !h.local || h.meets[h.order[n]]&BucketOf(r) != 0
}

// perBucket is how many steps a bucket holds on average.
const perBucket = 32

// deal fills the buckets, the one with the greatest P first.
func (h *hub) deal() {
	most, least := h.p[0], h.p[0]
	for _, p := range h.p {
		if p > most {
			most = p
		}
		if p < least {
			least = p
		}
	}
	n := len(h.p)/perBucket + 1
	scale := 0.0 // all are in the first
	if most > least {
		scale = float64(n-1) / (most - least)
	}
	h.buckets = slices.Grow(h.buckets[:0], n+1)[:n+1]
	clear(h.buckets)
	for _, p := range h.p {
		h.buckets[int((most-p)*scale)+1]++
	}
	for i := range n {
		h.buckets[i+1] += h.buckets[i]
	}
	h.next = append(h.next[:0], h.buckets...)
	h.order = slices.Grow(h.order[:0], len(h.p))[:len(h.p)]
	for i, p := range h.p {
		b := int((most - p) * scale)
		h.order[h.next[b]] = uint32(i)
		h.next[b]++
	}
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
		if s.only != nil && !st.hub.leads(st.next, s.only[t.hops]) || s.visited(st.id, next.step.To) {
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
	bound := s.ceiling(sum+s.ahead[t.hops+1]-s.ahead[t.hops], t.hops+1)
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
