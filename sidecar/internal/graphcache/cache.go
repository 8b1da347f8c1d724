package graphcache

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

// Options of a Cache. Feed and Vectors may be nil, the rest is needed.
type Options struct {
	Reader    Reader
	Namespace uint64   // of the Reader's login
	Names     []string // predicates that hold a node's name, best first
	Embedder  *relevance.Hash
	Way       relevance.Way // how Sr comes about; empty: by hash
	Vectors   Vectors       // of an embeddings model; nil: there is none
	Feed      Feed          // nil: changes are found by reading the graph anew
	Memory    int64         // bytes; of a larger graph a part is kept
	Refresh   time.Duration // without a Feed: a graph that may have changed is read anew after this long
	Now       func() time.Time
	Log       *slog.Logger
}

// Cache keeps the graph of one namespace, or a part of it. Its methods are safe for concurrent
// use; none of them but Graph and Around waits.
type Cache struct {
	Options
	current   atomic.Pointer[Graph] // nil: none, see part
	part      atomic.Pointer[part]  // nil: the graph is in current, or not to be had
	wrote     atomic.Int64          // writes that passed by us
	last      atomic.Int64          // when the last one did, in Unix nanoseconds
	read      atomic.Int64          // of them, those that current has in any case
	quick     atomic.Bool           // the whole graph is read within quickFill
	hidden    atomic.Int64          // suppressed edges
	wake      chan struct{}
	following atomic.Bool   // single changes are applied
	fast      time.Duration // what counts as quick
	settles   time.Duration // the longest that Graph waits
	scores    distributed

	mu      sync.Mutex
	pending *dirty
	writing map[graph.Triplet]time.Time // edges of calls through us, and when they passed by
	owed    uint64                      // calls after which such edges are to be read
	paid    uint64                      // of them, those that current has
	settled chan struct{}               // closed, and made anew, when paid grows
	status  Status
}

// State says what a Cache is doing.
type State string

// The states. While Filling and Failing queries read the cluster level by level.
const (
	Filling  State = "filling"
	Resident State = "resident"
	TooLarge State = "too large" // a part is held, of the nodes that queries came by
	Failing  State = "failing"   // the cluster can't be read; tried again
)

// Status is what a Cache tells about itself.
type Status struct {
	State  State
	Nodes  int
	Edges  int   // while Filling: read so far; while TooLarge: as often as they are held
	Hidden int   // edges that are suppressed, and not among Edges
	Bytes  int64 // of memory, about
	AsOf   time.Time

	// Of nodes that queries came by while TooLarge, since then: held, read, and put out for others.
	Hits, Misses, Evictions uint64
}

// New makes a Cache that is empty until Run has filled it.
func New(o Options) *Cache {
	return &Cache{Options: o, wake: make(chan struct{}, 1), fast: quickFill, settles: settleWithin, pending: newDirty(),
		writing: map[graph.Triplet]time.Time{}, settled: make(chan struct{}), status: Status{State: Filling}}
}

// Graph is the newest state of a namespace's graph; false where there is none to go by. It
// waits, settleWithin at most, until the graph has the edges that passed by us before.
func (c *Cache) Graph(namespace uint64) (*Graph, bool) {
	g := c.current.Load()
	if g == nil || namespace != c.Namespace || c.quick.Load() && c.read.Load() != c.wrote.Load() {
		return nil, false
	}
	if c.settle() {
		g = c.current.Load()
	}
	return g, g != nil
}

// settle waits for what is owed now; false where nothing was.
func (c *Cache) settle() bool {
	c.mu.Lock()
	owed, paid, settled := c.owed, c.paid, c.settled
	c.mu.Unlock()
	if paid >= owed || !c.following.Load() {
		return false
	}
	late := time.NewTimer(c.settles)
	defer late.Stop()
	for paid < owed {
		select {
		case <-settled:
		case <-late.C:
			return true
		}
		c.mu.Lock()
		paid, settled = c.paid, c.settled
		c.mu.Unlock()
	}
	return true
}

// Writing tells edges that a call through us sets, before it does; after it comes Wrote. The call may
// only commit later, so the edges are read after each Wrote for keepWriting.
func (c *Cache) Writing(edges []graph.Triplet) {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range edges {
		if len(c.writing) < mostWriting {
			c.writing[t] = now
		}
	}
}

// Changed tells edges that may be other than the graph has them; they are read soon.
func (c *Cache) Changed(edges []graph.Triplet) {
	c.mu.Lock()
	for _, t := range edges {
		c.pending.triplets[t] = true
	}
	c.mu.Unlock()
	c.forgetEdges(edges)
	c.poke()
}

// Written tells edges that this process has committed.
func (c *Cache) Written(edges []graph.Triplet) {
	c.Changed(edges)
	c.mu.Lock()
	c.owed++
	c.mu.Unlock()
	c.poke()
}

// Wrote tells that something was committed that isn't known edge by edge. A graph that is
// read within quickFill is not used until it has been read again.
func (c *Cache) Wrote() {
	c.last.Store(c.Now().UnixNano())
	c.wrote.Add(1)
	c.mu.Lock()
	writing := slices.Collect(maps.Keys(c.writing))
	if len(writing) > 0 {
		c.owed++
	}
	c.mu.Unlock()
	c.forgetEdges(writing)
	c.poke()
}

// Altered tells that the schema or more may have changed.
func (c *Cache) Altered() {
	c.mu.Lock()
	c.pending.schema = true
	c.pending.all = c.pending.all || c.Feed == nil // a feed tells drops apart
	c.mu.Unlock()
	c.Wrote()
}

// Status is where the Cache stands.
func (c *Cache) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.status
	if g := c.current.Load(); g != nil {
		s.Nodes, s.Edges, s.Bytes, s.AsOf = g.Nodes(), g.Edges(), g.Bytes(), g.AsOf()
		s.Hidden = int(c.hidden.Load())
	}
	if p := c.part.Load(); p != nil {
		var n starCounters
		s.Nodes, s.Edges, s.Bytes, n = p.stars.held()
		s.Hits, s.Misses, s.Evictions = n.hits, n.misses, n.evictions
	}
	return s
}

func (c *Cache) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Cache) set(s State, edges int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.State, c.status.Edges = s, edges
}

// Bounds of what is kept of calls through us.
const (
	settleWithin = time.Second
	keepWriting  = 30 * time.Second
	mostWriting  = 4000 // edges; further ones are found as everybody else's are
)
