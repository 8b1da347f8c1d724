package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/entity"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/link"
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/render"
)

// candidatesPerRead bounds what one look-up of names may bring.
const candidatesPerRead = 1000

// ErrNoNameIndex is in the chain of the error for a graph whose names can't be looked up.
var ErrNoNameIndex = errors.New("no indexed name")

// link finds the start nodes of every block that asks for evorag.entities.
func (q *query) link(ctx context.Context) (map[string][]graph.UID, error) {
	starts := map[string][]graph.UID{}
	for _, b := range q.plan.Blocks {
		if b.Entities == 0 {
			continue
		}
		near, err := q.near(ctx, b)
		if err != nil {
			return nil, err
		}
		entities, err := q.entities(ctx, b.Names, b.Linked, near)
		if errors.Is(err, ErrNoNameIndex) {
			return nil, q.plan.Query.ErrorAt(b.Field.NameSpan.Start, "%s: %s", plan.EntitiesFunc, err)
		}
		if err != nil {
			return nil, err
		}
		entities = entities[:min(len(entities), b.Entities)]
		if len(entities) == 0 {
			q.note = nothingLinked
		}
		for _, e := range entities {
			starts[b.Key] = append(starts[b.Key], e.UID)
		}
		q.linked = append(q.linked, entities...)
	}
	return starts, nil
}

const nothingLinked = "no name in the question is the name of a node; write a name as it stands in the graph, or give start nodes with another root function"

// Near says how many start nodes are added that are near the question, and how near.
type Near struct {
	Most      int     // 0: none
	Cosine    float64 // at least
	Predicate string  // of the user's, holds nodes' vectors of the same model; empty: those of names in memory are gone by
}

// near proposes nodes whose vectors are near that of the text to link. They are shown to nobody before
// they have been read as the caller.
func (q *query) near(ctx context.Context, b *plan.Block) ([]link.Near, error) {
	if q.Model == nil || q.Near.Most == 0 {
		return nil, nil
	}
	if p, ok := q.view.schema.Predicates[q.Near.Predicate]; ok && len(p.Vector) > 0 {
		return q.similar(ctx, b, q.embed(ctx, b.Linked))
	}
	if q.Resident == nil {
		return nil, nil
	}
	return q.nearest(ctx, b.Linked), nil
}

// similar asks the engine's own index of vectors, as the caller.
func (q *query) similar(ctx context.Context, b *plan.Block, x relevance.Dense) ([]link.Near, error) {
	if x.None() || len(b.Names) == 0 {
		return nil, nil
	}
	p := q.Near.Predicate
	block := nameBlock("near", fmt.Sprintf("similar_to(<%s>, %d, $v)", p, q.Near.Most), b.Names)
	block = strings.Replace(block, plan.UIDKey+": uid", plan.UIDKey+": uid "+vectorKey+": <"+p+">", 1)
	answer, err := q.engine(ctx, graph.Call{Query: "query near($v: float32vector) {\n" + block + "}", Vars: map[string]string{"$v": x.String()}})
	if err != nil {
		return nil, fmt.Errorf("embedding.predicate %s, of which the vectors are to be of %s: %w", p, q.Model.Name(), err)
	}
	q.open(answer)
	data, err := render.Parse(answer.JSON)
	if err != nil {
		return nil, err
	}
	var near []link.Near
	for _, row := range items(data.Get("near")) {
		u, ok := uidOf(row)
		var v []float32
		if !ok || json.Unmarshal(row.Get(vectorKey).AppendTo(nil), &v) != nil {
			continue
		}
		n := link.Near{Node: graph.Node{UID: u}}
		for i := range b.Names {
			if name, has := row.Get(plan.NameKey(i)).Text(); has {
				n.Name = name
				break
			}
		}
		d, err := relevance.NewDense(v)
		if n.Cosine = d.Cosine(x); err == nil && n.Cosine >= q.Near.Cosine {
			near = append(near, n)
		}
	}
	slices.SortStableFunc(near, func(a, b link.Near) int { return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.UID, b.UID)) })
	return near, nil
}

// vectorKey is what a node's vector comes back under.
const vectorKey = "evorag.v"

// nearest looks among the vectors of names that are held in memory.
func (q *query) nearest(ctx context.Context, text string) []link.Near {
	g, ok := q.Resident.Graph(namespace(q.call.Credentials))
	if !ok {
		return nil
	}
	nodes, cosines := g.Nearest(q.embed(ctx, text), q.Near.Most, q.Near.Cosine)
	near := make([]link.Near, len(nodes))
	for i, n := range nodes {
		near[i] = link.Near{Node: graph.Node{UID: g.UID(n), Name: g.Name(n)}, Cosine: cosines[i]}
	}
	return near
}

// entities are the nodes whose whole names occur in the text, longest first, and behind them those
// that are near, by the names that the caller reads.
func (q *query) entities(ctx context.Context, names []string, text string, near []link.Near) ([]graph.Entity, error) {
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: none of %s is a string predicate of this graph; load data, or configure names with yours", ErrNoNameIndex, strings.Join(q.Defaults.Names, ", "))
	}
	var reads []*nameRead
	for _, p := range names {
		if r := lookup(q.view.schema.Predicates[p], names, text); r != nil {
			reads = append(reads, r)
		}
	}
	if len(near) > 0 {
		if len(reads) == 0 {
			reads = append(reads, &nameRead{})
		}
		uids := make([]graph.UID, len(near))
		for i, n := range near {
			uids[i] = n.UID
		}
		reads[0].blocks += nameBlock("near", plan.UIDFunc(uids), names)
	}
	if len(reads) == 0 && slices.ContainsFunc(names, func(p string) bool { return indexed(q.view.schema.Predicates[p]) }) {
		return nil, nil // a text without words
	}
	if len(reads) == 0 {
		return nil, fmt.Errorf("%w: names can't be looked up; alter the schema to %s: string @index(exact, term) .", ErrNoNameIndex, names[0])
	}
	named := map[graph.UID]link.Name{}
	for _, r := range reads {
		if err := q.candidates(ctx, r, len(names), named); err != nil {
			return nil, err
		}
	}
	near = slices.DeleteFunc(near, func(n link.Near) bool { return named[n.UID].Shown != n.Name || n.Name == "" })
	return link.Fuse(link.Entities(text, named), near), nil
}

// nameRead is a query that reads names.
type nameRead struct{ head, blocks, question string }

// nameBlock reads the names of the nodes that a root function finds.
func nameBlock(key, root string, names []string) string {
	var fields strings.Builder
	fields.WriteString(plan.UIDKey + ": uid")
	for i, n := range names {
		fields.WriteString(" " + plan.NameKey(i) + ": <" + n + ">")
	}
	return "  " + key + "(func: " + root + ") { " + fields.String() + " }\n"
}

// indexed tells whether names under p can be looked up.
func indexed(p graph.PredicateSchema) bool {
	return slices.ContainsFunc([]string{entity.Tokenizer, "exact", "hash", "term"}, p.HasTokenizer)
}

// called are the nodes with exactly this name: one that is too long for a question, or has no
// letters.
func (q *query) called(ctx context.Context, names []string, name string) ([]graph.Entity, error) {
	named := map[graph.UID]link.Name{}
	for _, p := range names {
		if s := q.view.schema.Predicates[p]; !s.HasTokenizer("exact") && !s.HasTokenizer("hash") {
			continue
		}
		r := &nameRead{"query called($q: string) ", nameBlock("n", fmt.Sprintf("eq(<%s>, $q), first: %d", p, candidatesPerRead), []string{p}), name}
		if err := q.candidates(ctx, r, 1, named); err != nil {
			return nil, err
		}
	}
	var out []graph.Entity
	for _, uid := range slices.Sorted(maps.Keys(named)) {
		out = append(out, graph.Entity{Node: graph.Node{UID: uid, Name: named[uid].Shown}, Score: 1, Reason: graph.ByCaller, Why: "it is called so"})
	}
	return out, nil
}

// candidates adds what a look-up finds to named.
func (q *query) candidates(ctx context.Context, r *nameRead, names int, named map[graph.UID]link.Name) error {
	call := graph.Call{Query: r.head + "{\n" + r.blocks + "}"}
	if r.head != "" {
		call.Vars = map[string]string{"$q": r.question}
	}
	answer, err := q.engine(ctx, call)
	if err != nil {
		return err
	}
	q.open(answer)
	data, err := render.Parse(answer.JSON)
	if err != nil {
		return err
	}
	for _, block := range data.Members {
		for _, row := range block.Value.Items {
			u, ok := uidOf(row)
			if _, known := named[u]; known || !ok {
				continue
			}
			var all []string
			for i := range names {
				if name, has := row.Get(plan.NameKey(i)).Text(); has {
					all = append(all, name)
				}
			}
			if len(all) > 0 {
				named[u] = link.Name{Shown: all[0], Aliases: all[1:]}
			}
		}
	}
	return nil
}

// lookup finds the nodes whose name under p may occur in the text, by the best index there is: the
// entity tokenizer knows whole names in any spelling; exact, hash and term indexes are asked for
// the text's words in a row. Nil where there is no index, or no word.
func lookup(p graph.PredicateSchema, names []string, text string) *nameRead {
	block := func(i int, fn string) string {
		return nameBlock(fmt.Sprintf("n%d", i), fmt.Sprintf("%s, first: %d", fn, candidatesPerRead), names)
	}
	if p.HasTokenizer(entity.Tokenizer) {
		return &nameRead{"query link($q: string) ", block(0, "anyof(<"+p.Name+">, "+entity.Tokenizer+", $q)"), entity.Question(text)}
	}
	var blocks strings.Builder
	if p.HasTokenizer("exact") || p.HasTokenizer("hash") {
		var values []string
		for _, g := range link.Spellings(text) {
			values = append(values, graph.Quote(g))
		}
		if len(values) > 0 {
			blocks.WriteString(block(0, "eq(<"+p.Name+">, ["+strings.Join(values, ", ")+"])"))
		}
	}
	if p.HasTokenizer("term") {
		for i, g := range link.Phrases(text) {
			blocks.WriteString(block(i+1, "allofterms(<"+p.Name+">, "+graph.Quote(g)+")"))
		}
	}
	if blocks.Len() == 0 {
		return nil
	}
	return &nameRead{blocks: blocks.String()}
}
