package graphcache

import (
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// relationSet holds relations, a bit each. Equal sets are equal strings.
type relationSet string

func relationSetOf(relations []search.Rel, among int) relationSet {
	bits := make([]byte, (among+7)/8)
	for _, r := range relations {
		bits[r/8] |= 1 << (r % 8)
	}
	return relationSet(bits)
}

func (s relationSet) has(r search.Rel) bool { return s[r/8]>>(r%8)&1 == 1 }

// star is a node with its edges under some relations, and what it and its neighbours are called. It
// never changes.
type star struct {
	spokes []spoke
	labels []string // of shortcuts, see spoke
	called called   // the node's own first, then those of the spokes in their order
	read   int64    // Unix nanoseconds: everything committed before is here
}

// spoke is an edge as it can be walked from a node. Hidden ones are left out.
type spoke struct {
	to       graph.UID
	score    float64 // raw
	relation uint32
	label    uint32 // of a shortcut: its place in the labels, from 1; 0: none
}

// called are names and their vectors.
type called struct {
	letters string
	ends    []uint32
	vectors relevance.Pile
}

// name is that of a place, with its vector.
func (c *called) name(i int) (string, relevance.Packed) {
	from := uint32(0)
	if i > 0 {
		from = c.ends[i-1]
	}
	return c.letters[from:c.ends[i]], c.vectors.At(i)
}

// Sizes of what is held, about.
const (
	spokeBytes = int64(unsafe.Sizeof(spoke{}))
	starBytes  = int64(unsafe.Sizeof(star{})) + 120 // with its place in the list and in the map
)

func (s *star) bytes() int64 {
	n := starBytes + int64(cap(s.spokes))*spokeBytes + int64(len(s.called.letters)+4*cap(s.called.ends)+s.called.vectors.Bytes())
	for _, l := range s.labels {
		n += int64(unsafe.Sizeof(l)) + int64(len(l))
	}
	return n
}

// starKey is the place of a star: what is held of a node under other relations is another.
type starKey struct {
	node graph.UID
	set  int
}

// stars holds the stars that were asked for last, in a number of bytes. Its methods are safe for
// concurrent use; none of them waits.
type stars struct {
	most int64

	mu       sync.Mutex
	lru      *simplelru.LRU[starKey, *star]
	sets     map[relationSet]int
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

// mostSets is how many sets of relations are told apart; with one more everything is forgotten.
const mostSets = 256

func newStars(most int64) *stars {
	lru, err := simplelru.NewLRU[starKey, *star](math.MaxInt, nil) // by bytes, not by number
	if err != nil {
		panic(err) // it wants a size above 0
	}
	return &stars{most: most, lru: lru, sets: map[relationSet]int{}, takings: map[*taking]bool{}}
}

// get puts the stars of nodes under relations, read at since or later, into a map and lists the nodes
// that have none.
func (s *stars) get(nodes []graph.UID, relations relationSet, since int64, into map[graph.UID]*star) (lacking []graph.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.set(relations)
	for _, u := range nodes {
		if st, ok := s.lru.Get(starKey{u, set}); ok && st.read >= since {
			into[u] = st
		} else {
			lacking = append(lacking, u)
		}
	}
	s.counters.hits += uint64(len(nodes) - len(lacking))
	s.counters.misses += uint64(len(lacking))
	return lacking
}

func (s *stars) set(relations relationSet) int {
	id, known := s.sets[relations]
	if !known {
		if len(s.sets) == mostSets {
			s.clear()
		}
		id = len(s.sets)
		s.sets[relations] = id
	}
	return id
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

// put takes what was read in, but for nodes that were forgotten since the read began.
func (s *stars) put(t *taking, relations relationSet, found map[graph.UID]*star) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.all {
		return
	}
	set := s.set(relations)
	for u, st := range found {
		if t.stale[u] || st.bytes() > s.most { // a larger one would put out all there is, and then itself
			continue
		}
		key := starKey{u, set}
		s.drop(key)
		s.lru.Add(key, st)
		s.bytes += st.bytes()
		s.spokes += len(st.spokes)
	}
	for s.bytes > s.most {
		key, _, _ := s.lru.GetOldest()
		s.drop(key)
		s.counters.evictions++
	}
}

func (s *stars) drop(key starKey) {
	if st, ok := s.lru.Peek(key); ok {
		s.lru.Remove(key)
		s.bytes -= st.bytes()
		s.spokes -= len(st.spokes)
	}
}

// forget lets go of nodes of which something may have changed.
func (s *stars) forget(nodes ...graph.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range nodes {
		for _, set := range s.sets {
			s.drop(starKey{u, set})
		}
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

// forgetTo lets go of all nodes that one of the ways leads from, or any way leads to one of the nodes.
// Which they are only they know: all are looked through.
func (s *stars) forgetTo(ways map[back]bool, nodes map[graph.UID]bool) {
	if len(ways)+len(nodes) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range s.lru.Keys() {
		st, _ := s.lru.Peek(key)
		if nodes[key.node] || slices.ContainsFunc(st.spokes, func(sp spoke) bool { return nodes[sp.to] || ways[back{sp.to, sp.relation}] }) {
			s.drop(key)
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
	s.clear()
}

func (s *stars) clear() {
	s.lru.Purge()
	s.bytes, s.spokes, s.sets = 0, 0, map[relationSet]int{}
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
