package graphcache

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
)

// Reader reads the cluster as the sidecar itself.
type Reader interface {
	OwnQuery(ctx context.Context, c graph.Call) (graph.Answer, error)
}

// Sizes of the reads of a scan.
const (
	scansPerRead = 50   // predicates in one query
	nodesPerScan = 1000 // heads of each, with all their edges
	namesPerScan = 5000
)

// reader reads at one timestamp, the one that its first read was given.
type reader struct {
	Reader
	startTS uint64
	hash    string
}

func (r *reader) read(ctx context.Context, text string, into any) error {
	a, err := r.OwnQuery(ctx, graph.Call{Query: text, StartTS: r.startTS, Hash: r.hash, ReadOnly: true})
	if err != nil {
		return err
	}
	if r.startTS == 0 {
		r.startTS, r.hash = a.Txn.StartTS, a.Txn.Hash
	}
	if err := json.Unmarshal(a.JSON, into); err != nil {
		return fmt.Errorf("the engine's answer is not readable: %w", err)
	}
	return nil
}

// row is a node with its edges under one predicate.
type row struct {
	U graph.UID `json:"u"`
	E targets   `json:"e"`
}

type target struct {
	U graph.UID       `json:"u"`
	S json.RawMessage `json:"s"`
	H json.RawMessage `json:"h"`
	L json.RawMessage `json:"l"`
}

// contribution reads the facets as a ranked query does: a score that is no number counts as
// none, one outside [0,200] as the nearest.
func (t target) contribution() graph.Contribution {
	c := graph.Neutral()
	if f, err := strconv.ParseFloat(string(t.S), 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
		c.Score = min(max(f, 0), graph.MaxScore)
	}
	c.Hidden = string(t.H) == "true"
	return c
}

// label is a shortcut's own; what is no text counts as none.
func (t target) label() string {
	var label string
	if len(t.L) == 0 || json.Unmarshal(t.L, &label) != nil {
		return ""
	}
	return label
}

// targets are written as a list, or as one object where the predicate holds one node.
type targets []target

func (t *targets) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		*t = make([]target, 1)
		return json.Unmarshal(b, &(*t)[0])
	}
	return json.Unmarshal(b, (*[]target)(t))
}

// edgeFields are what is read of the edges of a predicate.
func edgeFields(predicate string) string {
	label := ""
	if predicate == graph.ShortcutPredicate {
		label = ", l: " + graph.LabelFacet
	}
	return " @facets(s: evorag.score, h: evorag.hidden" + label + ") { u: uid }"
}

// fill reads the whole graph at one timestamp, which it returns with the graph's builder.
// progress is told how many edges have come.
func fill(ctx context.Context, from Reader, names []string, newBuilder func(graph.Schema, map[string]string) *builder, progress func(edges int)) (*builder, uint64, error) {
	r := &reader{Reader: from}
	schema, labels, err := r.schema(ctx)
	if err != nil {
		return nil, 0, err
	}
	b := newBuilder(schema, labels)
	if err := r.edges(ctx, b, progress); err != nil {
		return nil, 0, err
	}
	for _, p := range namesIn(schema, names) {
		if err := r.allNames(ctx, b, p); err != nil {
			return nil, 0, err
		}
	}
	return b, r.startTS, b.check()
}

// schema reads the schema and the relations' labels.
func (r *reader) schema(ctx context.Context) (graph.Schema, map[string]string, error) {
	var raw json.RawMessage
	if err := r.read(ctx, "schema {}", &raw); err != nil {
		return graph.Schema{}, nil, err
	}
	s, err := graph.ParseSchema(raw)
	if err != nil {
		return s, nil, err
	}
	labels := map[string]string{}
	if _, ok := s.Predicates["evorag.predicate"]; !ok {
		return s, labels, nil
	}
	var answer struct {
		Relations []struct {
			Predicate string `json:"predicate"`
			Label     string `json:"label"`
		} `json:"relations"`
	}
	if err := r.read(ctx, queries.Text("relations"), &answer); err != nil {
		return s, nil, err
	}
	for _, l := range answer.Relations {
		if l.Label != "" {
			labels[l.Predicate] = l.Label
		}
	}
	return s, labels, nil
}

// scan is the place that the scan of a predicate has come to.
type scan struct {
	predicate uint32
	after     graph.UID
}

// edges reads every edge, many predicates at a time, each in the order of heads.
func (r *reader) edges(ctx context.Context, b *builder, progress func(int)) error {
	todo := make([]scan, len(b.predicates))
	for i := range todo {
		todo[i].predicate = uint32(i)
	}
	for len(todo) > 0 {
		part := todo[:min(len(todo), scansPerRead)]
		var text strings.Builder
		text.WriteString("{\n")
		for i, s := range part {
			name := b.predicates[s.predicate].name
			fmt.Fprintf(&text, "s%d(func: has(<%s>), first: %d, after: %s) { u: uid e: <%s>%s }\n", i, name, nodesPerScan, s.after, name, edgeFields(name))
		}
		text.WriteString("}")
		var answer map[string][]row
		if err := r.read(ctx, text.String(), &answer); err != nil {
			return err
		}
		rest := todo[len(part):]
		var more []scan
		for i, s := range part {
			rows := answer["s"+strconv.Itoa(i)]
			for _, row := range rows {
				for _, t := range row.E {
					b.edge(s.predicate, row.U, t.U, t.contribution(), t.label())
				}
			}
			if len(rows) == nodesPerScan {
				more = append(more, scan{s.predicate, rows[len(rows)-1].U})
			}
		}
		todo = append(more, rest...)
		progress(len(b.edges))
		if err := b.check(); err != nil {
			return err
		}
	}
	return nil
}

// allNames reads every node's name under one predicate.
func (r *reader) allNames(ctx context.Context, b *builder, predicate string) error {
	var after graph.UID
	for {
		var answer struct {
			S0 []struct {
				U graph.UID `json:"u"`
				N string    `json:"n"`
			} `json:"s0"`
		}
		text := fmt.Sprintf("{ s0(func: has(<%s>), first: %d, after: %s) { u: uid n: <%s> } }", predicate, namesPerScan, after, predicate)
		if err := r.read(ctx, text, &answer); err != nil {
			return err
		}
		for _, row := range answer.S0 {
			b.name(row.U, row.N)
		}
		if len(answer.S0) < namesPerScan {
			return nil
		}
		after = answer.S0[len(answer.S0)-1].U
	}
}

// timestamp is the cluster's newest for reading. It stays the same for as long as nobody
// begins a transaction that could write.
func timestamp(ctx context.Context, from Reader) (uint64, error) {
	a, err := from.OwnQuery(ctx, graph.Call{Query: "{ q(func: uid(0x1)) { uid } }", ReadOnly: true})
	return a.Txn.StartTS, err
}
