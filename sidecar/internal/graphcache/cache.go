package graphcache

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

// Options of a Cache. Feed may be nil, the rest is needed.
type Options struct {
	Reader    Reader
	Namespace uint64   // of the Reader's login
	Names     []string // predicates that hold a node's name, best first
	Embedder  *relevance.Hash
	Feed      Feed          // nil: changes are found by reading the graph anew
	Memory    int64         // bytes; a larger graph is not kept
	Refresh   time.Duration // without a Feed: a graph that may have changed is read anew after this long
	Now       func() time.Time
	Log       *slog.Logger
}

// Cache keeps the graph of one namespace. Its methods are safe for concurrent use; none of
// them but Graph waits.
type Cache struct {
	Options
	current atomic.Pointer[Graph] // nil: none, ask the cluster
	wrote   atomic.Int64          // writes that passed by us
	last    atomic.Int64          // when the last one did, in Unix nanoseconds
	read    atomic.Int64          // of them, those that current has in any case
	quick   atomic.Bool           // the whole graph is read within quickFill
	hidden  atomic.Int64          // suppressed edges
	wake    chan struct{}
	filling atomic.Bool   // nobody applies single changes now
	fast    time.Duration // what counts as quick
	settles time.Duration // the longest that Graph waits
	scores  distributed

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

// The states. In all but Resident queries read the cluster level by level.
const (
	Filling  State = "filling"
	Resident State = "resident"
	TooLarge State = "too large"
	Failing  State = "failing" // the cluster can't be read; tried again
)

// Status is what a Cache tells about itself.
type Status struct {
	State  State
	Nodes  int
	Edges  int   // while Filling: read so far
	Hidden int   // edges that are suppressed, and not among Edges
	Bytes  int64 // of memory, about
	AsOf   time.Time
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
	if paid >= owed || c.filling.Load() {
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
	if len(c.writing) > 0 {
		c.owed++
	}
	c.mu.Unlock()
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
	settleWithin = 100 * time.Millisecond
	keepWriting  = 30 * time.Second
	mostWriting  = 4000 // edges; further ones are found as everybody else's are
)

// Times of the keeper.
const (
	tick       = 250 * time.Millisecond
	quickFill  = 250 * time.Millisecond // a graph that is read so fast is simply read again
	fillShare  = 10                     // of the time at most this part goes into reading again
	calmAfter  = time.Second            // after the last write that passed by us a larger graph is read again too, within fillShare
	feedDelay  = 12 * time.Second       // until an alpha has written a change out: one second and a flush
	audits     = 20                     // with a Feed, which may lose events, the refreshes between two readings
	retryAfter = 2 * time.Second
	largeAfter = 10 * time.Minute // until a graph that was too large is tried again
)

// errAgain ends following: the graph is to be read anew.
var errAgain = errors.New("read anew")

// Run fills the cache and keeps it true until ctx ends. Failures are logged and tried again.
func (c *Cache) Run(ctx context.Context) {
	if c.Feed != nil {
		defer c.Feed.Close()
	}
	for ctx.Err() == nil {
		k := &keeper{Cache: c}
		err := k.fill(ctx)
		if err == nil {
			err = k.follow(ctx)
		}
		switch {
		case ctx.Err() != nil || errors.Is(err, errAgain):
		case errors.Is(err, errMemory):
			c.current.Store(nil)
			c.set(TooLarge, 0)
			c.Log.Warn("the graph is too large to keep; queries read the cluster", "cache.memory_mb", c.Memory>>20, "edges read", k.edges)
			c.pause(ctx, largeAfter)
		default:
			c.set(Failing, 0)
			c.Log.Warn("the graph can't be read for the cache; trying again", "error", err)
			c.pause(ctx, retryAfter)
		}
	}
}

func (c *Cache) pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// keeper keeps one generation: a graph from its filling to its next.
type keeper struct {
	*Cache
	edges  int // read so far
	began  time.Time
	took   time.Duration
	size   int64
	synced uint64 // a timestamp at which the graph was as the cluster
	latest uint64 // the cluster's last known timestamp,
	since  time.Time
	others map[string]bool        // predicates that play no part
	hidden map[graph.Triplet]bool // suppressed edges
}

// fill reads the graph while the one before it is still used.
func (k *keeper) fill(ctx context.Context) error {
	k.began = k.Now()
	k.filling.Store(true)
	defer k.filling.Store(false)
	writes := k.wrote.Load()
	k.mu.Lock()
	owed := k.owed
	k.mu.Unlock()
	if k.Feed != nil {
		if err := k.Feed.Skip(); err != nil {
			return err
		}
	}
	if k.current.Load() == nil {
		k.set(Filling, 0)
	}
	logged := k.began
	b, at, err := fill(ctx, k.Reader, k.Names, func(s graph.Schema, labels map[string]string) *builder {
		return newBuilder(s, k.Names, labels, k.Embedder, k.Memory)
	}, func(edges int) {
		k.edges = edges
		if k.current.Load() == nil {
			k.set(Filling, edges)
		}
		if now := k.Now(); now.Sub(logged) > 5*time.Second {
			logged = now
			k.Log.Info("reading the graph for the cache", "edges", edges)
		}
	})
	if err != nil {
		return err
	}
	g := b.done(k.began)
	k.size = g.Bytes()
	if k.size > k.Memory {
		return errMemory
	}
	k.took = k.Now().Sub(k.began)
	k.synced, k.latest, k.since = at, at, k.began
	k.others = map[string]bool{}
	k.hidden = b.hidden
	k.Cache.hidden.Store(int64(len(b.hidden)))
	first := k.current.Swap(g) == nil
	k.quick.Store(k.took < k.fast)
	k.read.Store(writes)
	k.pay(owed)
	k.set(Resident, g.Edges())
	level := slog.LevelDebug
	if first || k.took > time.Second {
		level = slog.LevelInfo
	}
	k.Log.Log(ctx, level, "the graph is in the cache", "nodes", g.Nodes(), "edges", g.Edges(), "bytes", k.size, "took", k.took.Round(time.Millisecond))
	return nil
}

// follow brings the graph up to date whenever it hears of a change.
func (k *keeper) follow(ctx context.Context) error {
	timer := time.NewTicker(tick)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-k.wake:
		case <-timer.C:
		}
		if err := k.step(ctx); err != nil {
			return err
		}
	}
}

func (k *keeper) step(ctx context.Context) error {
	began := k.Now()
	d, owed, err := k.heard()
	if err != nil {
		return err
	}
	if d.all {
		k.current.Store(nil)
		return errAgain
	}
	latest, err := timestamp(ctx, k.Reader)
	if err != nil {
		return err
	}
	if latest != k.latest {
		k.latest, k.since = latest, began
	}
	g := k.current.Load()
	if !d.empty() {
		if g, err = k.update(ctx, g, d); err != nil {
			return err
		}
	}
	if k.due(began, g) {
		return errAgain
	}
	next := *g
	next.asOf = k.asOf(began)
	k.current.Store(&next)
	k.pay(owed)
	return nil
}

// pay lets go whoever waits for the edges of the first calls.
func (c *Cache) pay(owed uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if owed > c.paid {
		c.paid = owed
		close(c.settled)
		c.settled = make(chan struct{})
	}
}

// heard gathers what is dirty, from the feed and from ourselves, and tells how many of the
// calls that are owed for are in it.
func (k *keeper) heard() (*dirty, uint64, error) {
	k.mu.Lock()
	d, owed := k.pending, k.owed
	k.pending = newDirty()
	if owed > k.paid {
		old := k.Now().Add(-keepWriting)
		for t, passed := range k.writing {
			d.triplets[t] = true
			if passed.Before(old) {
				delete(k.writing, t)
			}
		}
	}
	k.mu.Unlock()
	if k.Feed == nil {
		return d, owed, nil
	}
	events, err := k.Feed.Next()
	if err != nil {
		return nil, 0, err
	}
	g := k.current.Load()
	for _, e := range events {
		k.hear(g, e, d)
	}
	return d, owed, nil
}

// hear puts an event down to what it makes dirty.
func (k *keeper) hear(g *Graph, e Event, d *dirty) {
	if e.Drop && (e.Namespace == k.Namespace || e.Namespace == 0) {
		d.all = true
	}
	if e.Drop || e.Namespace != k.Namespace || k.others[e.Predicate] {
		return
	}
	p, edge := g.predicate(e.Predicate)
	switch {
	case edge && e.Object != 0 && g.predicates[p].list:
		d.triplets[graph.Triplet{Head: e.Head, Predicate: e.Predicate, Object: e.Object}] = true
	case edge:
		d.rows[place{e.Head, e.Predicate}] = true
	case e.Predicate == "evorag.relation.label":
		d.schema = true
	default:
		for _, n := range k.Names {
			if n == e.Predicate {
				d.names[e.Head] = true
				return
			}
		}
		k.others[e.Predicate] = true
		d.schema = d.schema || e.Object != 0 && !graph.Internal(e.Predicate) // a new uid predicate
	}
}

// update reads what is dirty and publishes the graph with it.
func (k *keeper) update(ctx context.Context, g *Graph, d *dirty) (*Graph, error) {
	var labels map[string]string
	if d.schema {
		schema, l, err := (&reader{Reader: k.Reader}).schema(ctx)
		if err != nil {
			return nil, err
		}
		if !g.sameSchema(schema, k.Names) {
			return nil, errAgain
		}
		labels = l
	}
	change, _, err := reread(ctx, k.Reader, g, d)
	if err != nil {
		return nil, err
	}
	change.Labels = labels
	for t, f := range change.Edges {
		if f.Hidden {
			k.hidden[t] = true
		} else {
			delete(k.hidden, t)
		}
	}
	k.Cache.hidden.Store(int64(len(k.hidden)))
	g = g.with(change, k.Embedder)
	k.current.Store(g)
	return g, nil
}

// due tells whether the graph is to be read anew: it may have changed unheard of, or it has
// become wasteful.
func (k *keeper) due(now time.Time, g *Graph) bool {
	if g.scored > 2*g.edges+100_000 || g.Bytes() > 2*k.size+64<<20 {
		return true
	}
	if k.read.Load() != k.wrote.Load() {
		calm := now.Sub(time.Unix(0, k.last.Load())) >= calmAfter
		if k.quick.Load() && now.Sub(k.began) >= 2*k.took || calm && now.Sub(k.began) >= fillShare*k.took {
			return true
		}
	}
	if k.latest == k.synced {
		return false
	}
	wait := k.Refresh
	if k.Feed != nil {
		wait *= audits
	}
	if k.quick.Load() {
		wait = min(wait, max(tick, fillShare*k.took))
	}
	return now.Sub(k.began) >= wait
}

// asOf is a time before which everything committed is in the graph.
func (k *keeper) asOf(now time.Time) time.Time {
	if k.Feed != nil && now.Sub(k.since) > feedDelay {
		k.synced = k.latest // nothing has begun for so long that the feed has told all
	}
	switch then := now.Add(-feedDelay); {
	case k.synced == k.latest:
		return now
	case k.Feed != nil && then.After(k.began):
		return then
	}
	return k.began
}
