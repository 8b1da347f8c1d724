package load

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
)

const (
	iriPredicate    = "iri"
	entityTokenizer = "evorag_entity" // the extension's own, where the engine was started with it
)

// prepare maps labels to predicates, records the mapping and alters the schema, once.
func (l *loader) prepare(ctx context.Context) error {
	l.meter.begin(PhasePredicates, int64(len(l.table.relations)))
	defer l.meter.end()
	var err error
	if l.schema, err = l.cluster.OwnSchema(ctx); err != nil {
		return fmt.Errorf("reading the schema: %w", err)
	}
	if _, ok := l.schema.Predicates["evorag.relation.label"]; !ok {
		return ErrNotMigrated
	}
	if p, ok := l.schema.Predicates[l.opts.NamePredicate]; ok && (p.Type != "string" || p.List) {
		return fmt.Errorf("the predicate %s is there already as %q, names need a string; choose another with --name-predicate", l.opts.NamePredicate, p.String())
	}
	if p, ok := l.schema.Predicates[iriPredicate]; ok && l.hasIRIs() && (p.Type != "string" || p.List) {
		return fmt.Errorf("the predicate %s is there already as %q; RDF is loaded only where it is a string or absent", iriPredicate, p.String())
	}
	if l.opts.DryRun {
		_, err = l.claim(ctx, l.cluster.Read)
	} else {
		err = l.cluster.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
			nquads, err := l.claim(ctx, tx.Query)
			if err == nil && len(nquads) > 0 {
				_, err = tx.Set(ctx, nquads)
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("recording the relations: %w", err)
	}
	l.report.Relations = relationsByPredicate(l.table.relations)
	if l.opts.DryRun {
		l.meter.set(int64(len(l.table.relations)))
		return nil
	}
	if err := l.alter(ctx); err != nil {
		return fmt.Errorf("defining the predicates: %w", err)
	}
	l.meter.set(int64(len(l.table.relations)))
	return nil
}

// querier is a read, in a transaction or not.
type querier func(ctx context.Context, text string, vars map[string]string) ([]byte, error)

// claim assigns predicates by what the cluster has recorded and gives the N-Quads that
// record the rest. Two loads that claim one predicate for two labels conflict on its index.
func (l *loader) claim(ctx context.Context, query querier) ([]byte, error) {
	data, err := query(ctx, queries.Text("relations"), nil)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Relations []recorded `json:"relations"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	known := slices.DeleteFunc(answer.Relations, func(r recorded) bool { return strings.HasPrefix(r.Predicate, "~") })
	assign(l.table.relations, l.schema, known, l.opts.NamePredicate, iriPredicate)
	have := make(map[string]bool, len(known))
	for _, k := range known {
		have[k.Predicate] = true
	}
	var b []byte
	for i, r := range l.table.relations {
		if have[r.Predicate] {
			continue
		}
		b = fmt.Appendf(b, "_:r%[1]d <dgraph.type> \"evorag.Relation\" .\n_:r%[1]d <evorag.predicate> %[2]s .\n_:r%[1]d <evorag.relation.label> %[3]s .\n",
			i, graph.Quote(r.Predicate), graph.Quote(r.Label))
		if r.IRI != "" {
			b = fmt.Appendf(b, "_:r%d <evorag.relation.iri> %s .\n", i, graph.Quote(r.IRI))
		}
	}
	return b, nil
}

// alter defines what is missing. Predicates of the user's that the load goes on using keep
// all that they have; the name predicate gains the indexes that looking names up needs.
func (l *loader) alter(ctx context.Context) error {
	alter := func(text string) error {
		if text == "" {
			return nil
		}
		return l.cluster.Alter(ctx, text)
	}
	err := alter(l.definitions(entityTokenizer))
	if err != nil && strings.Contains(err.Error(), "Invalid tokenizer "+entityTokenizer) {
		err = alter(l.definitions())
	}
	return err
}

func (l *loader) definitions(extra ...string) string {
	fields := slices.Clone(l.schema.Types[l.opts.EntityType])
	var b strings.Builder
	add := func(p graph.PredicateSchema) {
		if have, ok := l.schema.Predicates[p.Name]; !ok || have.String() != p.String() {
			fmt.Fprintln(&b, p)
		}
		fields = append(fields, p.Name)
	}
	add(l.indexed(l.opts.NamePredicate, append([]string{"exact", "term"}, extra...)))
	if l.hasIRIs() {
		add(l.indexed(iriPredicate, []string{"exact"}))
	}
	for _, r := range l.report.Relations {
		p, ok := l.schema.Predicates[r.Predicate]
		if !ok {
			p = graph.PredicateSchema{Name: r.Predicate, Type: r.Type, List: r.Type == "uid" || r.List, Reverse: r.Type == "uid"}
		}
		add(p)
	}
	slices.Sort(fields)
	fields = slices.Compact(fields)
	if !slices.Equal(fields, slices.Sorted(slices.Values(l.schema.Types[l.opts.EntityType]))) {
		fmt.Fprintf(&b, "type <%s> {\n", l.opts.EntityType)
		for _, f := range fields {
			fmt.Fprintf(&b, "  <%s>\n", f)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// indexed is the string predicate with at least these tokenizers and @upsert.
func (l *loader) indexed(name string, tokenizers []string) graph.PredicateSchema {
	p, ok := l.schema.Predicates[name]
	if !ok {
		p = graph.PredicateSchema{Name: name, Type: "string"}
	}
	p.Index, p.Upsert, p.Tokenizers = true, true, slices.Clone(p.Tokenizers)
	for _, t := range tokenizers {
		if !p.HasTokenizer(t) {
			p.Tokenizers = append(p.Tokenizers, t)
		}
	}
	return p
}

func (l *loader) hasIRIs() bool {
	return slices.ContainsFunc(l.table.entities, func(e entity) bool { return e.iri != "" })
}
