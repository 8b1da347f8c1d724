package graphcache

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/search"
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

// errDropped ends a keeper whose graph is no more.
var errDropped = errors.New("the graph was dropped")

// Run fills the cache and keeps it true until ctx ends. Failures are logged and tried again.
func (c *Cache) Run(ctx context.Context) {
	if c.Feed != nil {
		defer c.Feed.Close()
	}
	for ctx.Err() == nil {
		k := &keeper{Cache: c}
		err := k.run(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, errDropped):
		case errors.Is(err, errMemory):
			c.Log.Warn("the graph is too large to hold; of it a part is, the nodes that queries come by", "cache.memory_mb", c.Memory>>20, "edges read", c.Status().Edges)
			c.current.Store(nil)
			if err := c.runPart(ctx); err != nil && ctx.Err() == nil {
				c.fail(ctx, err)
			}
		default:
			c.fail(ctx, err)
		}
	}
}

// fail waits until it is time to try again.
func (c *Cache) fail(ctx context.Context, err error) {
	c.set(Failing, 0)
	c.Log.Warn("the graph can't be read for the cache; trying again", "error", err)
	select {
	case <-ctx.Done():
	case <-time.After(retryAfter):
	}
}

// keeper keeps the graph from its first filling until it is dropped or can't be read. While it
// reads the graph anew, the one before is still used and kept true.
type keeper struct {
	*Cache
	size    int64
	reading                 // of the graph as it is
	latest  uint64          // the cluster's last known timestamp,
	since   time.Time       // and when it was first seen
	others  map[string]bool // predicates that play no part
	nodes   int             // of the graph,
	counted time.Time       // at this time

	next  chan reading // the graph that is being read anew; nil: none is
	carry *dirty       // what was heard meanwhile: it may have been read before it was so
	stale bool         // what next brings is not enough
}

// reading is a whole graph as it was read.
type reading struct {
	graph      *Graph
	suppressed map[graph.Triplet]bool
	synced     uint64 // a timestamp at which the graph was as the cluster
	began      time.Time
	took       time.Duration
	writes     int64 // those that had passed by us before
	met        vectorsMet
	err        error
}

// run fills the cache and follows the cluster until that fails.
func (k *keeper) run(ctx context.Context) error {
	var reads sync.WaitGroup
	defer reads.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := k.fill(ctx); err != nil {
		return err
	}
	return k.follow(ctx, &reads)
}

// fill reads the first graph.
func (k *keeper) fill(ctx context.Context) error {
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
	r := k.scan(ctx)
	if r.err != nil {
		return r.err
	}
	k.adopt(ctx, r)
	k.publish(r.graph)
	k.pay(owed)
	return nil
}

// scan reads the whole graph and changes nothing.
func (k *keeper) scan(ctx context.Context) reading {
	r := reading{began: k.Now(), writes: k.wrote.Load()}
	logged := r.began
	b, at, err := fill(ctx, k.Reader, k.Names, func(s graph.Schema, labels map[string]string) *builder {
		return newBuilder(s, k.Names, labels, k.Embedder, k.Memory)
	}, func(edges int) {
		if k.current.Load() == nil {
			k.set(Filling, edges)
		}
		if now := k.Now(); now.Sub(logged) > 5*time.Second {
			logged = now
			k.Log.Info("reading the graph for the cache", "edges", edges)
		}
	})
	if err != nil {
		r.err = err
		return r
	}
	r.graph, r.suppressed, r.synced = b.done(r.began), b.hidden, at
	if k.Vectors != nil {
		r.met = k.embed(r.graph, nil)
	}
	if r.graph.Bytes() > k.Memory {
		r.err = errMemory
	}
	r.took = k.Now().Sub(r.began)
	return r
}

// adopt goes on from a graph that was read; it isn't published yet.
func (k *keeper) adopt(ctx context.Context, r reading) {
	k.reading, k.size = r, r.graph.Bytes()
	k.nodes, k.counted = r.graph.nodes, r.began
	if r.synced > k.latest {
		k.latest, k.since = r.synced, r.began
	}
	k.others = map[string]bool{}
	k.quick.Store(r.took < k.fast)
	level := slog.LevelDebug
	if k.current.Load() == nil || r.took > time.Second {
		level = slog.LevelInfo
	}
	k.Log.Log(ctx, level, "the graph is in the cache", "nodes", r.graph.Nodes(), "edges", r.graph.Edges(), "bytes", k.size, "took", r.took.Round(time.Millisecond))
}

// publish makes g the graph that queries get.
func (k *keeper) publish(g *Graph) {
	k.graph = g
	k.current.Store(g)
	k.hidden.Store(int64(len(k.suppressed)))
	k.read.Store(k.writes)
	k.set(Resident, g.Edges())
}

// follow brings the graph up to date whenever it hears of a change.
func (k *keeper) follow(ctx context.Context, reads *sync.WaitGroup) error {
	k.following.Store(true)
	defer k.following.Store(false)
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
		if k.next == nil && (k.stale || k.due(k.Now())) {
			next := make(chan reading, 1)
			reads.Go(func() {
				next <- k.scan(ctx)
				k.poke()
			})
			k.next, k.carry, k.stale = next, newDirty(), false
		}
	}
}

// step does what there is to do at once.
func (k *keeper) step(ctx context.Context) error {
	began := k.Now()
	d, owed, err := k.heard()
	if err != nil {
		return err
	}
	if d.all {
		k.current.Store(nil)
		return errDropped
	}
	if k.next != nil {
		k.carry.add(d)
		select {
		case r := <-k.next:
			if r.err != nil {
				return r.err
			}
			k.adopt(ctx, r)
			d, k.next, k.carry = k.carry, nil, nil
		default:
		}
	}
	latest, err := timestamp(ctx, k.Reader)
	if err != nil {
		return err
	}
	if latest != k.latest {
		k.latest, k.since = latest, began
	}
	g := k.graph
	if !d.empty() {
		if g, err = k.update(ctx, g, d); err != nil {
			return err
		}
	}
	next := *g
	if k.moreVectors(began) {
		k.met = k.embed(&next, g.model)
	}
	next.asOf = k.asOf(began)
	if k.Feed != nil && began.Sub(k.counted) > feedDelay { // by now it has told of all that these nodes had then
		next.told, k.nodes, k.counted = search.Node(k.nodes), next.nodes, began
	}
	k.publish(&next)
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
	for _, e := range events {
		k.hear(k.graph, e, d, k.others)
	}
	return d, owed, nil
}

// hear puts an event down to what it makes dirty in the terms of g. others are the predicates that play
// no part, as they come to be known.
func (c *Cache) hear(g *Graph, e Event, d *dirty, others map[string]bool) {
	if e.Drop && (e.Namespace == c.Namespace || e.Namespace == 0) {
		d.all = true
	}
	if e.Drop || e.Namespace != c.Namespace || others[e.Predicate] {
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
		for _, n := range c.Names {
			if n == e.Predicate {
				d.names[e.Head] = true
				return
			}
		}
		others[e.Predicate] = true
		d.schema = d.schema || e.Object != 0 && !graph.Internal(e.Predicate) // a new uid predicate
	}
}

// update is the graph with what is dirty as the cluster has it.
func (k *keeper) update(ctx context.Context, g *Graph, d *dirty) (*Graph, error) {
	var labels map[string]string
	if d.schema {
		schema, l, err := (&reader{Reader: k.Reader}).schema(ctx)
		if err != nil {
			return nil, err
		}
		if g.sameSchema(schema, k.Names) {
			labels = l
		} else {
			k.stale = true
		}
	}
	change, _, err := reread(ctx, k.Reader, g, d)
	if err != nil {
		return nil, err
	}
	change.Labels = labels
	for t, f := range change.Edges {
		if f.Hidden {
			k.suppressed[t] = true
		} else {
			delete(k.suppressed, t)
		}
	}
	return g.with(change, k.Embedder, k.rowsOf), nil
}

// due tells whether the graph is to be read anew: it may have changed unheard of, or it has
// become wasteful.
func (k *keeper) due(now time.Time) bool {
	g := k.graph
	if g.scored > 2*g.edges+100_000 || g.Bytes() > 2*k.size+64<<20 {
		return true
	}
	if k.writes != k.wrote.Load() {
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
