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

// hub is the steps of one relation from a node. Of a Scorer that bounds the rest only so many are
// scored as are needed to know the best. They are dealt out into buckets by P at first; a bucket
// is sorted when the first of its steps is asked for.
type hub struct {
	from   Node
	steps  []Step
	first  int // so many steps are scored at first, then as many again, and so on
	adj    Adjacency
	scorer Scorer

	mu sync.Mutex
	hubRoom
	scored int          // steps
	sorted int          // buckets
	most   float64      // at least every P of what is not in a bucket; -Inf: all are
	ready  atomic.Int64 // steps that are in order

	met   sync.Once
	local bool // the scorer knows what meets at a node
}

// hubRoom is the memory that a hub needs. It is used again.
type hubRoom struct {
	p, sc   []float64 // by number of step, as many as are scored
	open    []uint32  // of those the ones that are not in a bucket
	settled []uint32  // those on their way there
	order   []uint32  // numbers of steps, those before ready in the order of compare
	next    []uint32  // by bucket, for deal
	buckets []uint32  // where each begins in order, and the end
	meets   []Buckets // by number of step: the relations of the node that it leads to
}

var hubRooms = sync.Pool{New: func() any { return new(hubRoom) }}

// empty makes room for n steps.
func (r *hubRoom) empty(n int) {
	r.p, r.sc, r.order = slices.Grow(r.p[:0], n)[:n], slices.Grow(r.sc[:0], n)[:n], slices.Grow(r.order[:0], n)[:n]
	r.open, r.buckets = r.open[:0], append(r.buckets[:0], 0)
}

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
	return h != nil && len(group) >= h.least()
}

func (h *Hubs) least() int { return orDefault(h.Least, defaultHub) }

func (h *Hubs) get(from Node, group []Step, adj Adjacency, scorer Scorer) *hub {
	key := hubKey{from, group[0].Rel}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = make(map[hubKey]*hub)
	}
	found := h.of[key]
	if found == nil {
		found = &hub{from: from, steps: group, first: h.least(), adj: adj, scorer: scorer, hubRoom: *hubRooms.Get().(*hubRoom), most: math.Inf(1)}
		found.empty(len(group))
		h.of[key] = found
	}
	return found
}

// at is the n-th step in the order of compare; false after the last, and where none that is left
// has a P of at least least.
func (h *hub) at(n int, least float64) (ranked, bool) {
	if int64(n) >= h.ready.Load() && !h.sort(n, least) {
		return ranked{}, false
	}
	r := h.ranked(h.order[n])
	return r, r.p >= least
}

// bucket gives the numbers of the steps in the first bucket from the n-th on that has any, in the room
// of dst, and which comes next; false where there is none with a P of at least least.
func (h *hub) bucket(n int, least float64, dst []uint32) (steps []uint32, next int, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for dst = dst[:0]; len(dst) == 0; n++ {
		for n == len(h.buckets)-1 {
			if !h.more(least) {
				return dst, n, false
			}
		}
		dst = append(dst, h.order[h.buckets[n]:h.buckets[n+1]]...)
	}
	return dst, n, true
}

func (h *hub) ranked(i uint32) ranked { return ranked{h.steps[i], h.p[i], h.sc[i]} }

// sort puts more than n steps in order; false where there are not so many with a P of at least least.
func (h *hub) sort(n int, least float64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.ready.Load() <= int64(n) {
		if h.sorted == len(h.buckets)-1 {
			if !h.more(least) {
				return false
			}
			continue
		}
		bucket := h.order[h.buckets[h.sorted]:h.buckets[h.sorted+1]]
		slices.SortFunc(bucket, func(a, b uint32) int { return h.compare(h.ranked(a), h.ranked(b)) })
		h.sorted++
		h.ready.Store(int64(h.buckets[h.sorted]))
	}
	return true
}

// more scores further steps and puts those into buckets that none of the others can come before. It is
// false where none that is left has a P of at least least.
func (h *hub) more(least float64) bool {
	if h.most < least || h.scored == len(h.steps) {
		return false
	}
	from, to, bound := h.scored, len(h.steps), math.Inf(-1)
	if rest, ok := h.scorer.(RestScorer); ok && max(h.first, 2*from) < to {
		next := max(h.first, 2*from)
		if b := rest.BoundRest(h.from, h.steps[next]); b > rest.BoundRest(h.from, h.steps[to-1]) { // else it says nothing
			to, bound = next, b
		}
	}
	h.score(from, to)
	for i := from; i < to; i++ {
		h.open = append(h.open, uint32(i))
	}
	h.scored, h.most = to, bound
	settled, open := h.settled[:0], h.open[:0]
	for _, i := range h.open {
		if h.p[i] > bound {
			settled = append(settled, i)
		} else {
			open = append(open, i)
		}
	}
	h.settled, h.open = settled, open
	if len(settled) > 0 {
		h.deal(settled)
	}
	return true
}

// perGoroutine is how many steps of a hub are scored by one goroutine at least.
const perGoroutine = 8192

// score fills p and sc of the steps in a range, on several processors where that is worth it: as a
// rule the question's other searches wait for it.
func (h *hub) score(from, to int) {
	group, _ := h.scorer.(GroupScorer)
	parts := max(1, min(runtime.GOMAXPROCS(0), (to-from)/perGoroutine))
	each := (to - from + parts - 1) / parts
	part := func(from, to int) {
		var c Columns
		for ; from < to; from += perColumns {
			end := min(from+perColumns, to)
			c.P, c.Sc = h.p[from:end], h.sc[from:end]
			c.fill(h.scorer, group, h.from, h.steps[from:end])
		}
	}
	var others sync.WaitGroup
	for begin := from + each; begin < to; begin += each {
		others.Go(func() { part(begin, min(begin+each, to)) })
	}
	part(from, min(from+each, to))
	others.Wait()
}

// perColumns is how many steps of a hub are scored at once.
const perColumns = 1024

// leads tells whether a path may go on under a relation after a step, by its number. Asked for every
// bundle that is filled or counted through the hub, it keeps what the nodes say in one place.
func (h *hub) leads(step int, r Rel) bool {
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
	return !h.local || h.meets[step]&BucketOf(r) != 0
}

// perBucket is how many steps a bucket holds on average.
const perBucket = 32

// deal puts steps into further buckets, those with the greatest P first.
func (h *hub) deal(steps []uint32) {
	most, least := h.p[steps[0]], h.p[steps[0]]
	for _, i := range steps {
		most, least = max(most, h.p[i]), min(least, h.p[i])
	}
	n := len(steps)/perBucket + 1
	scale := 0.0 // all are in the first
	if most > least {
		scale = float64(n-1) / (most - least)
	}
	h.next = slices.Grow(h.next[:0], n)[:n]
	clear(h.next)
	for _, i := range steps {
		h.next[int((most-h.p[i])*scale)]++
	}
	at := h.buckets[len(h.buckets)-1]
	for b, size := range h.next {
		h.next[b] = at
		at += size
		h.buckets = append(h.buckets, at)
	}
	for _, i := range steps {
		b := int((most - h.p[i]) * scale)
		h.order[h.next[b]] = i
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
		next, ok := h.at(n, t.least)
		if !ok || offered >= places && next.p == lastP {
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
	id     int32 // the prefix that ends at the hub
	hub    *hub
	bucket int      // the next
	steps  []uint32 // of it
}

// resume takes in the next bucket of a stream, in any order, as prefixes have none. The rest waits in
// the frontier for its turn. It is false when a budget ended it.
func (s *search) resume(number int32) bool {
	st := &s.streams[number]
	h := st.hub
	t := s.take(st.id, h.steps[0].Rel)
	var more bool
	if st.steps, st.bucket, more = h.bucket(st.bucket, t.least, st.steps); !more {
		return true
	}
	least := 1.0
	for _, n := range st.steps {
		step, p := h.steps[n], h.p[n]
		least = min(least, p)
		if p < t.least || s.only != nil && !h.leads(int(n), s.only[t.hops]) || s.visited(st.id, step.To) {
			continue
		}
		if s.work.Edges >= s.limit.Edges || (s.work.Edges&1023 == 1023 && s.ctx.Err() != nil) {
			return !s.spent()
		}
		s.work.Edges++
		t.step(step, p, h.sc[n])
	}
	if least >= t.least { // of which what comes has no more
		s.frontier.push(promise{bound: s.ceiling(t.p.sum+math.Log(least), t.hops), prefix: number, stream: true})
	}
	return true
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
			next := ofRelation(s.adj.Steps(step.To), s.only[t.hops])
			if len(next) == 0 {
				return z, ok
			}
			bound = s.ceiling(sum+math.Log(s.bound(step.To, next[0])), t.hops+1)
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
