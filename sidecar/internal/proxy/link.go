package proxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/entity"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/link"
	"github.com/evorag/dgraph-evorag/plugin/plan"
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
		entities, err := q.entities(ctx, b.Names, b.Linked)
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

// entities are the nodes whose whole names occur in the text, longest first.
func (q *query) entities(ctx context.Context, names []string, text string) ([]graph.Entity, error) {
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: none of %s is a string predicate of this graph; load data, or configure names with yours", ErrNoNameIndex, strings.Join(q.Defaults.Names, ", "))
	}
	var looked bool
	named := map[graph.UID]string{}
	for _, p := range names {
		text, vars := lookup(q.view.schema.Predicates[p], names, text)
		if text == "" {
			continue
		}
		looked = true
		if err := q.candidates(ctx, text, vars, len(names), named); err != nil {
			return nil, err
		}
	}
	if !looked {
		return nil, fmt.Errorf("%w: names can't be looked up; alter the schema to %s: string @index(exact, term) .", ErrNoNameIndex, names[0])
	}
	return link.Entities(text, named), nil
}

// called are the nodes with exactly this name: one that is too long for a question, or has no
// letters.
func (q *query) called(ctx context.Context, names []string, name string) ([]graph.Entity, error) {
	named := map[graph.UID]string{}
	for _, p := range names {
		if s := q.view.schema.Predicates[p]; !s.HasTokenizer("exact") && !s.HasTokenizer("hash") {
			continue
		}
		text := fmt.Sprintf("query called($q: string) { n(func: eq(<%s>, $q), first: %d) { %s: uid %s: <%s> } }", p, candidatesPerRead, plan.UIDKey, plan.NameKey(0), p)
		if err := q.candidates(ctx, text, map[string]string{"$q": name}, 1, named); err != nil {
			return nil, err
		}
	}
	var out []graph.Entity
	for _, uid := range slices.Sorted(maps.Keys(named)) {
		out = append(out, graph.Entity{Node: graph.Node{UID: uid, Name: named[uid]}, Score: 1, Why: "it is called so"})
	}
	return out, nil
}

// candidates adds what a look-up finds to named.
func (q *query) candidates(ctx context.Context, text string, vars map[string]string, names int, named map[graph.UID]string) error {
	answer, err := q.engine(ctx, graph.Call{Query: text, Vars: vars})
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
			for i := 0; ok && i < names; i++ {
				if name, has := row.Get(plan.NameKey(i)).Text(); has {
					named[u] = name
					break
				}
			}
		}
	}
	return nil
}

// lookup is the query that finds the nodes whose name under p may occur in the text, by the
// best index there is: the entity tokenizer knows whole names in any spelling; exact, hash
// and term indexes are asked for the text's words in a row. Empty where there is no index.
func lookup(p graph.PredicateSchema, names []string, text string) (string, map[string]string) {
	var fields strings.Builder
	fields.WriteString(plan.UIDKey + ": uid")
	for i, n := range names {
		fields.WriteString(" " + plan.NameKey(i) + ": <" + n + ">")
	}
	block := func(i int, fn string) string {
		return fmt.Sprintf("  n%d(func: %s, first: %d) { %s }\n", i, fn, candidatesPerRead, fields.String())
	}
	if p.HasTokenizer(entity.Tokenizer) {
		return "query link($q: string) {\n" + block(0, "anyof(<"+p.Name+">, "+entity.Tokenizer+", $q)") + "}",
			map[string]string{"$q": entity.Question(text)}
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
		return "", nil
	}
	return "{\n" + blocks.String() + "}", nil
}
