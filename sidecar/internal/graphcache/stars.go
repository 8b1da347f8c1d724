package graphcache

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// relationSet holds relations, a bit each; the empty one none. Equal sets are equal strings.
type relationSet string

func relationSetOf(relations []search.Rel, among int) relationSet {
	bits := make([]byte, (among+7)/8)
	for _, r := range relations {
		bits[r/8] |= 1 << (r % 8)
	}
	return relationSet(bits)
}

func (s relationSet) has(r search.Rel) bool { return int(r/8) < len(s) && s[r/8]>>(r%8)&1 == 1 }

// covers tells whether all relations of o are in s.
func (s relationSet) covers(o relationSet) bool {
	if s == o {
		return true
	}
	for i := range len(o) {
		if i >= len(s) && o[i] != 0 || i < len(s) && o[i]&^s[i] != 0 {
			return false
		}
	}
	return true
}

func (s relationSet) and(o relationSet) relationSet {
	if s.covers(o) {
		return s
	}
	bits := make([]byte, max(len(s), len(o)))
	copy(bits, s)
	for i := range len(o) {
		bits[i] |= o[i]
	}
	return relationSet(bits)
}

// star is a node with what is known of it: its edges under some relations, what it is called. It
// never changes.
type star struct {
	has    relationSet // whose edges are here
	spokes []spoke     // sorted by relation
	labels []string    // of shortcuts, see spoke
	read   int64       // Unix nanoseconds: everything committed before is in the edges
	named  bool        // name is what the node is called, though it may be empty
	name   string
	vector relevance.Packed // of the name
	asked  int64            // Unix nanoseconds, as read: of the name
}

// spoke is an edge as it can be walked from a node. Hidden ones are left out.
type spoke struct {
	to       graph.UID
	score    float64 // raw
	relation uint32
	label    uint32 // of a shortcut: its place in the labels, from 1; 0: none
}

// Sizes of what is held, about.
const (
	spokeBytes = int64(unsafe.Sizeof(spoke{}))
	starBytes  = int64(unsafe.Sizeof(star{})) + 120 // with its place in the list and in the map
)

func (s *star) bytes() int64 {
	n := starBytes + int64(len(s.spokes))*spokeBytes + int64(len(s.name)+s.vector.Bytes())
	for _, l := range s.labels {
		n += int64(unsafe.Sizeof(l)) + int64(len(l))
	}
	return n
}

// with is a star with what was read later. Edges of before since are not kept.
func (s *star) with(later *star, since int64) *star {
	if s == nil {
		return later
	}
	out := *later
	if !later.named {
		out.named, out.name, out.vector, out.asked = s.named, s.name, s.vector, s.asked
	}
	switch {
	case s.read < since:
	case later.has == "":
		out.has, out.spokes, out.labels, out.read = s.has, s.spokes, s.labels, s.read
	case !later.has.covers(s.has):
		out.has, out.read = later.has.and(s.has), min(s.read, later.read)
		out.spokes, out.labels = slices.Clone(later.spokes), slices.Concat(later.labels, s.labels)
		for _, sp := range s.spokes {
			if later.has.has(search.Rel(sp.relation)) {
				continue
			}
			if sp.label > 0 {
				sp.label += uint32(len(later.labels))
			}
			out.spokes = append(out.spokes, sp)
		}
		slices.SortStableFunc(out.spokes, func(a, b spoke) int { return cmp.Compare(a.relation, b.relation) })
	}
	return &out
}

// stars holds the stars that were asked for last, in a number of bytes. Its methods are safe for
// concurrent use; none of them waits.
type stars struct {
	most int64

	mu       sync.Mutex
	lru      *simplelru.LRU[graph.UID, *star]
	bytes    int64
	spokes   int
	takings  map[*taking]bool
	counters starCounters
}

// starCounters count nodes: asked for and found, asked for and not, put out for others.
type starCounters struct{ hits, misses, evictions uint64 }

// taking is a read under way. What is forgotten meanwhile it may have read before that was so.
type taking struct {
	stale map[graph.UID]bool
	all   bool
}

func newStars(most int64) *stars {
	lru, err := simplelru.NewLRU[graph.UID, *star](math.MaxInt, nil) // by bytes, not by number
	if err != nil {
		panic(err) // it wants a size above 0
	}
	return &stars{most: most, lru: lru, takings: map[*taking]bool{}}
}

// want is what is to be known of nodes, read at since or later.
type want struct {
	edges relationSet // "": none
	name  bool
	since int64 // Unix nanoseconds
}

func (w want) met(s *star) bool {
	return (!w.name || s.named && s.asked >= w.since) && (w.edges == "" || s.read >= w.since && s.has.covers(w.edges))
}

// get puts the stars of nodes that meet what is wanted into a map and lists the nodes that have none.
func (s *stars) get(nodes []graph.UID, w want, into map[graph.UID]*star) (lacking []graph.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range nodes {
		if st, ok := s.lru.Get(u); ok && w.met(st) {
			into[u] = st
		} else {
			lacking = append(lacking, u)
		}
	}
	s.counters.hits += uint64(len(nodes) - len(lacking))
	s.counters.misses += uint64(len(lacking))
	return lacking
}

// begin is called before a read whose stars are to be put.
func (s *stars) begin() *taking {
	t := &taking{stale: map[graph.UID]bool{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takings[t] = true
	return t
}

// end is called after the last put.
func (s *stars) end(t *taking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.takings, t)
}

// put takes what was read in, but for nodes that were forgotten since the read began. Edges that were
// read before since are let go.
func (s *stars) put(t *taking, found map[graph.UID]*star, since int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.all {
		return
	}
	for u, st := range found {
		if t.stale[u] {
			continue
		}
		old, _ := s.lru.Peek(u)
		s.drop(u)
		if st = old.with(st, since); st.bytes() <= s.most { // another would put out all there is, and then itself
			s.lru.Add(u, st)
			s.bytes += st.bytes()
			s.spokes += len(st.spokes)
		}
	}
	for s.bytes > s.most {
		u, _, _ := s.lru.GetOldest()
		s.drop(u)
		s.counters.evictions++
	}
}

func (s *stars) drop(u graph.UID) {
	if st, ok := s.lru.Peek(u); ok {
		s.lru.Remove(u)
		s.bytes -= st.bytes()
		s.spokes -= len(st.spokes)
	}
}

// forget lets go of nodes of which something may have changed.
func (s *stars) forget(nodes ...graph.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range nodes {
		s.drop(u)
		for t := range s.takings {
			t.stale[u] = true
		}
	}
}

// back is a relation as it leads to a node.
type back struct {
	to       graph.UID
	relation uint32
}

// forgetTo lets go of all nodes that one of the ways leads from. Which they are only they know: all
// are looked through.
func (s *stars) forgetTo(ways map[back]bool) {
	if len(ways) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.lru.Keys() {
		st, _ := s.lru.Peek(u)
		if slices.ContainsFunc(st.spokes, func(sp spoke) bool { return ways[back{sp.to, sp.relation}] }) {
			s.drop(u)
		}
	}
	for t := range s.takings {
		t.all = true
	}
}

// forgetAll lets go of everything.
func (s *stars) forgetAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lru.Purge()
	s.bytes, s.spokes = 0, 0
	for t := range s.takings {
		t.all = true
	}
}

// held is what is there now.
func (s *stars) held() (nodes, spokes int, bytes int64, c starCounters) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lru.Len(), s.spokes, s.bytes, s.counters
}
