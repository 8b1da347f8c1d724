package graphcache

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// dirty is what may no longer be as the graph has it.
type dirty struct {
	triplets map[graph.Triplet]bool
	rows     map[place]bool // all edges of a head under a predicate
	names    map[graph.UID]bool
	schema   bool // predicates or labels
	all      bool // too much to tell
}

type place struct {
	head      graph.UID
	predicate string
}

func newDirty() *dirty {
	return &dirty{triplets: map[graph.Triplet]bool{}, rows: map[place]bool{}, names: map[graph.UID]bool{}}
}

func (d *dirty) empty() bool {
	return len(d.triplets) == 0 && len(d.rows) == 0 && len(d.names) == 0 && !d.schema && !d.all
}

// add puts another's to it.
func (d *dirty) add(more *dirty) {
	maps.Copy(d.triplets, more.triplets)
	maps.Copy(d.rows, more.rows)
	maps.Copy(d.names, more.names)
	d.schema = d.schema || more.schema
}

// Sizes of the reads that bring a graph up to date.
const (
	edgesPerReread = 2000
	namesPerReread = 2000
)

// reread asks the cluster for all that is dirty about edges and names, at one timestamp.
func reread(ctx context.Context, from Reader, g *Graph, d *dirty) (Change, uint64, error) {
	r := &reader{Reader: from}
	c := Change{Edges: map[graph.Triplet]Fact{}, Names: map[graph.UID]string{}}
	rows := slices.SortedFunc(maps.Keys(d.rows), func(a, b place) int { return strings.Compare(a.predicate, b.predicate) })
	for part := range slices.Chunk(rows, edgesPerReread) {
		if err := r.rows(ctx, g, part, c.Edges); err != nil {
			return c, 0, err
		}
	}
	for part := range slices.Chunk(inOrder(d.triplets), edgesPerReread) {
		if err := r.triplets(ctx, part, c.Edges); err != nil {
			return c, 0, err
		}
	}
	names := maps.Clone(d.names)
	for t, f := range c.Edges {
		for _, u := range [2]graph.UID{t.Head, t.Object} {
			if _, known := g.Node(u); f.Here && !known {
				names[u] = true
			}
		}
	}
	for part := range slices.Chunk(slices.Sorted(maps.Keys(names)), namesPerReread) {
		if err := r.names(ctx, g.names, part, c.Names); err != nil {
			return c, 0, err
		}
	}
	return c, r.startTS, nil
}

// triplets reads edges. What is dirty and doesn't come is not there.
func (r *reader) triplets(ctx context.Context, dirty []graph.Triplet, facts map[graph.Triplet]Fact) error {
	var blocks []block
	for i := 0; i < len(dirty); {
		b := block{predicate: dirty[i].Predicate}
		for ; i < len(dirty) && dirty[i].Predicate == b.predicate; i++ {
			b.heads, b.objects = append(b.heads, dirty[i].Head), append(b.objects, dirty[i].Object)
			facts[dirty[i]] = Fact{}
		}
		blocks = append(blocks, b)
	}
	return r.blocks(ctx, blocks, facts)
}

// rows reads all edges of heads. What the graph has there and doesn't come is gone.
func (r *reader) rows(ctx context.Context, g *Graph, dirty []place, facts map[graph.Triplet]Fact) error {
	var blocks []block
	for i := 0; i < len(dirty); {
		b := block{predicate: dirty[i].predicate}
		p, known := g.predicate(b.predicate)
		for ; i < len(dirty) && dirty[i].predicate == b.predicate; i++ {
			head := dirty[i].head
			b.heads = append(b.heads, head)
			if n, ok := g.Node(head); ok && known {
				for _, s := range g.under(n, 2*p) {
					facts[graph.Triplet{Head: head, Predicate: b.predicate, Object: g.UID(s.To)}] = Fact{}
				}
			}
		}
		blocks = append(blocks, b)
	}
	return r.blocks(ctx, blocks, facts)
}

// block is what to read of one predicate; without objects all of the heads' edges.
type block struct {
	predicate      string
	heads, objects []graph.UID
}

func (r *reader) blocks(ctx context.Context, blocks []block, facts map[graph.Triplet]Fact) error {
	var text strings.Builder
	text.WriteString("{\n")
	for i, b := range blocks {
		fmt.Fprintf(&text, "b%d(func: uid(%s)) { u: uid e: <%s>", i, uidList(b.heads), b.predicate)
		if b.objects != nil {
			text.WriteString(" @filter(uid(" + uidList(b.objects) + "))")
		}
		text.WriteString(edgeFields(b.predicate) + " }\n")
	}
	text.WriteString("}")
	var answer map[string][]row
	if err := r.read(ctx, text.String(), &answer); err != nil {
		return err
	}
	for i, b := range blocks {
		for _, row := range answer["b"+strconv.Itoa(i)] {
			for _, t := range row.E {
				c := t.contribution()
				facts[graph.Triplet{Head: row.U, Predicate: b.predicate, Object: t.U}] = Fact{c.Score, !c.Hidden, c.Hidden, t.label()}
			}
		}
	}
	return nil
}

// names reads what nodes are called.
func (r *reader) names(ctx context.Context, predicates []string, uids []graph.UID, names map[graph.UID]string) error {
	var text strings.Builder
	text.WriteString("{ n(func: uid(" + uidList(uids) + ")) { u: uid")
	for i, p := range predicates {
		fmt.Fprintf(&text, " n%d: <%s>", i, p)
	}
	text.WriteString(" } }")
	var answer struct {
		N []map[string]json.RawMessage `json:"n"`
	}
	if err := r.read(ctx, text.String(), &answer); err != nil {
		return err
	}
	for _, node := range answer.N {
		var u graph.UID
		if err := json.Unmarshal(node["u"], &u); err != nil {
			return err
		}
		names[u] = ""
		for i := range predicates {
			var name string
			if json.Unmarshal(node["n"+strconv.Itoa(i)], &name) == nil {
				names[u] = name
				break
			}
		}
	}
	return nil
}

// uidList writes each uid once.
func uidList(uids []graph.UID) string {
	uids = slices.Compact(slices.Sorted(slices.Values(uids)))
	text := make([]byte, 0, 12*len(uids))
	for i, u := range uids {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, u.String()...)
	}
	return string(text)
}
