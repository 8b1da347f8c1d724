package graphcache

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// part is what is held of a graph that is larger than the budget: the nodes that queries came by, in
// the terms of one schema.
type part struct {
	names      []string
	predicates []predicate
	labels     map[string]string
	relations  *relevance.Table
	stars      *stars
}

func newPart(s graph.Schema, names []string, labels map[string]string, hash *relevance.Hash, held *stars) *part {
	p := &part{names: namesIn(s, names), predicates: predicatesOf(s), labels: labels, stars: held}
	p.relations = relationTable(p.predicates, labels, hash)
	return p
}

// terms is a graph without a node.
func (p *part) terms() *Graph {
	return &Graph{names: p.names, predicates: p.predicates, labels: p.labels}
}

// runPart keeps a part of the graph true until the whole may fit or ctx ends.
func (c *Cache) runPart(ctx context.Context) error {
	defer c.part.Store(nil)
	if err := c.readSchema(ctx); err != nil {
		return err
	}
	c.set(TooLarge, 0)
	timer := time.NewTicker(tick)
	defer timer.Stop()
	others := map[string]bool{}
	schemaRead, tried := c.Now(), c.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.wake:
		case <-timer.C:
		}
		d, err := c.heardInPart(others)
		if err != nil {
			return err
		}
		p := c.part.Load()
		p.forget(d)
		if d.schema || d.all || c.Now().Sub(schemaRead) >= c.Refresh {
			if err := c.readSchema(ctx); err != nil {
				return err
			}
			schemaRead, others = c.Now(), map[string]bool{}
		}
		if c.Now().Sub(tried) >= largeAfter {
			tried = c.Now()
			if fits, err := c.mayFit(ctx); err != nil || fits {
				return err
			}
		}
	}
}

// readSchema makes a part, of what is held where the schema is as it was.
func (c *Cache) readSchema(ctx context.Context) error {
	schema, labels, err := (&reader{Reader: c.Reader}).schema(ctx)
	if err != nil {
		return err
	}
	held := newStars(c.Memory)
	if old := c.part.Load(); old != nil {
		if old.terms().sameSchema(schema, c.Names) {
			held = old.stars
		} else {
			old.stars.forgetAll() // a query under way has it still
		}
	}
	c.part.Store(newPart(schema, c.Names, labels, c.Embedder, held))
	return nil
}

// heardInPart is what has changed, from the feed and from ourselves.
func (c *Cache) heardInPart(others map[string]bool) (*dirty, error) {
	old := c.Now().Add(-keepWriting)
	c.mu.Lock()
	d := c.pending
	c.pending = newDirty()
	for t, passed := range c.writing {
		if passed.Before(old) {
			delete(c.writing, t)
		}
	}
	c.mu.Unlock()
	if c.Feed == nil {
		return d, nil
	}
	events, err := c.Feed.Next()
	if err != nil {
		return nil, err
	}
	g := c.part.Load().terms()
	for _, e := range events {
		c.hear(g, e, d, others)
	}
	return d, nil
}

// forget lets go of what is dirty.
func (p *part) forget(d *dirty) {
	if d.all {
		p.stars.forgetAll()
		return
	}
	nodes := make([]graph.UID, 0, 2*len(d.triplets)+len(d.rows))
	ways := map[back]bool{}
	for t := range d.triplets {
		nodes = append(nodes, t.Head, t.Object)
	}
	for r := range d.rows {
		nodes = append(nodes, r.head)
		if i, ok := p.terms().predicate(r.predicate); ok {
			ways[back{r.head, uint32(2*i + 1)}] = true
		}
	}
	p.stars.forget(nodes...)
	p.stars.forgetTo(ways, d.names)
}

// forgetEdges lets go of the ends of edges at once, so that whoever asks after a call finds what it
// wrote.
func (c *Cache) forgetEdges(edges []graph.Triplet) {
	p := c.part.Load()
	if p == nil || len(edges) == 0 {
		return
	}
	nodes := make([]graph.UID, 0, 2*len(edges))
	for _, t := range edges {
		nodes = append(nodes, t.Head, t.Object)
	}
	p.stars.forget(nodes...)
}

// mayFit counts the edges of a graph that was too large: false where these alone are more than the
// budget.
func (c *Cache) mayFit(ctx context.Context) (bool, error) {
	predicates := c.part.Load().predicates
	total := 0
	for first := 0; first < len(predicates); first += scansPerRead {
		var text strings.Builder
		text.WriteString("{\n")
		for i, p := range predicates[first:min(first+scansPerRead, len(predicates))] {
			fmt.Fprintf(&text, "var(func: has(<%s>)) { c%d as count(<%s>) }\nn%d() { n: sum(val(c%d)) }\n", p.name, i, p.name, i, i)
		}
		text.WriteString("}")
		var answer map[string][]struct {
			N float64 `json:"n"`
		}
		if err := (&reader{Reader: c.Reader}).read(ctx, text.String(), &answer); err != nil {
			return false, err
		}
		for _, rows := range answer {
			for _, r := range rows {
				total += int(r.N)
			}
		}
	}
	return edgesBytes(total) <= c.Memory, nil
}

// spokes reads the edges of nodes under relations, the hidden ones left out.
func (p *part) spokes(ctx context.Context, r *reader, nodes []graph.UID, relations []search.Rel, into map[graph.UID]*star) error {
	var text strings.Builder
	text.WriteString("{ n(func: uid(" + uidList(nodes) + ")) { u: uid\n")
	for _, rel := range relations {
		fmt.Fprintf(&text, "r%d: <%s>%s\n", rel, p.relation(rel), edgeFields(p.relation(rel).Predicate))
	}
	text.WriteString("} }")
	var answer struct {
		N []map[string]targetsOrUID `json:"n"`
	}
	if err := r.read(ctx, text.String(), &answer); err != nil {
		return err
	}
	for _, node := range answer.N {
		st := into[node["u"].uid]
		if st == nil {
			continue
		}
		for _, rel := range relations {
			for _, t := range node["r"+strconv.Itoa(int(rel))].targets {
				c := t.contribution()
				if c.Hidden {
					continue
				}
				sp := spoke{to: t.U, score: c.Score, relation: uint32(rel)}
				if label := t.label(); label != "" {
					st.labels = append(st.labels, label)
					sp.label = uint32(len(st.labels))
				}
				st.spokes = append(st.spokes, sp)
			}
		}
	}
	return nil
}

func (p *part) relation(r search.Rel) graph.Relation {
	return graph.Relation{Predicate: p.predicates[r/2].name, Inverse: r%2 == 1}
}

// targetsOrUID is a node's own uid, or its edges under one relation.
type targetsOrUID struct {
	uid     graph.UID
	targets targets
}

// UnmarshalJSON tells them apart.
func (t *targetsOrUID) UnmarshalJSON(b []byte) (err error) {
	if len(b) > 0 && b[0] == '"' {
		t.uid, err = graph.ParseUID(strings.Trim(string(b), `"`))
		return err
	}
	return t.targets.UnmarshalJSON(b)
}
