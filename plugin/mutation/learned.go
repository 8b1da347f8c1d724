package mutation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// prefix begins the key of every facet that is the extension's.
const prefix = "evorag."

// learned are the facets that feedback and evolution leave on the user's edges.
var learned = []string{"evorag.score", "evorag.n", "evorag.low", "evorag.hidden"}

// Facet is one learned facet. Value is its text, the same in N-Quads and in JSON; that of
// evorag.score always has a decimal point, since without one it would become an int facet.
type Facet struct{ Key, Value string }

// Found is an edge about which something was learned. Facets are in the order of their
// declaration: score, n, low, hidden, those that are there.
type Found struct {
	graph.Triplet
	Facets []Facet
}

// Learned is what the cluster knows of the edges of a mutation.
type Learned struct {
	found [][]Found // by the edge's place in the list
}

// Of gives what was learned about the edge at that place in the list that Lookup was given:
// for an edge with variables every edge that it stands for, else at most one. Facets that
// the user writes himself are left out.
func (l Learned) Of(edge int) []Found {
	if edge >= len(l.found) {
		return nil
	}
	return l.found[edge]
}

// Part is what was learned about the edges from one place in the list up to another.
func (l Learned) Part(from, to int) Learned {
	to = min(to, len(l.found))
	return Learned{l.found[min(from, to):to]}
}

// Any tells whether anything was learned about any edge.
func (l Learned) Any() bool {
	return slices.ContainsFunc(l.found, func(f []Found) bool { return len(f) > 0 })
}

// Lookup is a read of what was learned about a mutation's edges.
type Lookup struct {
	Text   string // DQL, to be run at the mutation's own timestamp
	Upsert bool   // Text holds the upsert's query, which is the caller's

	edges  []Edge
	blocks [][]int // edges by the block that reads them
}

// NewLookup plans the read. Edges between uids are read on their own; for those with
// variables the upsert's query runs too. The error is that of a query that doesn't parse.
func NewLookup(query string, edges []Edge) (Lookup, error) {
	l := Lookup{edges: edges}
	byPredicate := map[string]int{}
	for i, e := range edges {
		if e.variable() {
			l.Upsert = true
			l.blocks = append(l.blocks, []int{i})
			continue
		}
		b, ok := byPredicate[e.Predicate]
		if !ok {
			b = len(l.blocks)
			byPredicate[e.Predicate] = b
			l.blocks = append(l.blocks, nil)
		}
		l.blocks[b] = append(l.blocks[b], i)
	}
	var b strings.Builder
	for i, of := range l.blocks {
		subjects, objects := terms{}, terms{}
		for _, edge := range of {
			subjects.add(edges[edge].Subject)
			objects.add(edges[edge].Object)
		}
		fmt.Fprintf(&b, "evorag.b%d(func: uid(%s)) { evorag.u: uid evorag.e: <%s> @filter(uid(%s)) @facets(%s) { evorag.u: uid } }\n",
			i, subjects, edges[of[0]].Predicate, objects, strings.Join(learned, ", "))
	}
	var err error
	if l.Text = "{\n" + b.String() + "}"; l.Upsert {
		l.Text, err = beside(query, b.String())
	}
	return l, err
}

// beside puts blocks after the last one of an upsert's query. Dgraph refuses a query that
// defines a variable and doesn't use it, as the mutation would: one more block uses all.
func beside(query, blocks string) (string, error) {
	q, err := dql.Parse(query)
	if err != nil {
		return "", err
	}
	if len(q.Blocks) == 0 {
		return "", q.ErrorAt(len(query), "the upsert's query has no block")
	}
	vars := terms{}
	var collect func([]*dql.Field)
	collect = func(fields []*dql.Field) {
		for _, f := range fields {
			if f.Var != "" {
				vars.add(Term{Var: f.Var})
			}
			for _, d := range f.Directives {
				if d.Facets == nil {
					continue
				}
				for _, k := range d.Facets.Keys {
					if k.Var != "" {
						vars.add(Term{Var: k.Var})
					}
				}
			}
			collect(f.Children)
		}
	}
	collect(q.Blocks)
	collect(q.Fragments)
	if len(vars.list) > 0 {
		blocks += "evorag.all(func: uid(" + vars.String() + "), first: 1) { evorag.u: uid }\n"
	}
	at := q.Blocks[len(q.Blocks)-1].Span.End
	return dql.Splice(query, []dql.Edit{{Span: dql.Span{Start: at, End: at}, Text: "\n" + blocks}})
}

// terms is a list of terms, each once.
type terms struct {
	list []string
	seen map[Term]bool
}

func (t *terms) add(x Term) {
	if t.seen[x] {
		return
	}
	if t.seen == nil {
		t.seen = map[Term]bool{}
	}
	t.seen[x] = true
	t.list = append(t.list, x.String())
}

func (t terms) String() string { return strings.Join(t.list, ", ") }

// Read takes what was learned out of the answer's "data".
func (l Lookup) Read(data []byte) (Learned, error) {
	var blocks map[string]json.RawMessage
	if err := json.Unmarshal(data, &blocks); err != nil {
		return Learned{}, fmt.Errorf("the engine's answer about learned facets is not readable: %w", err)
	}
	out := Learned{found: make([][]Found, len(l.edges))}
	for i, of := range l.blocks {
		raw, ok := blocks["evorag.b"+strconv.Itoa(i)]
		if !ok {
			continue
		}
		var heads []struct {
			UID   graph.UID `json:"evorag.u"`
			Edges objects   `json:"evorag.e"`
		}
		if err := json.Unmarshal(raw, &heads); err != nil {
			return Learned{}, fmt.Errorf("the engine's answer about learned facets is not readable: %w", err)
		}
		found := map[graph.Triplet]Found{}
		var order []graph.Triplet
		for _, h := range heads {
			for _, o := range h.Edges {
				f := Found{graph.Triplet{Head: h.UID, Predicate: l.edges[of[0]].Predicate, Object: o.UID}, o.facets()}
				if _, twice := found[f.Triplet]; !twice && len(f.Facets) > 0 {
					found[f.Triplet] = f
					order = append(order, f.Triplet)
				}
			}
		}
		for _, edge := range of {
			e := l.edges[edge]
			if !e.variable() {
				out.add(edge, e, found[graph.Triplet{Head: e.Subject.UID, Predicate: e.Predicate, Object: e.Object.UID}])
				continue
			}
			for _, t := range order {
				out.add(edge, e, found[t])
			}
		}
	}
	return out, nil
}

func (l Learned) add(edge int, e Edge, f Found) {
	var facets []Facet
	for _, x := range f.Facets {
		if !slices.Contains(e.Own, x.Key) {
			facets = append(facets, x)
		}
	}
	if len(facets) > 0 {
		l.found[edge] = append(l.found[edge], Found{f.Triplet, facets})
	}
}

// object is a far end with the facets of the edge to it.
type object struct {
	UID    graph.UID `json:"evorag.u"`
	Score  *float64  `json:"evorag.e|evorag.score"`
	N      *int64    `json:"evorag.e|evorag.n"`
	Low    *int64    `json:"evorag.e|evorag.low"`
	Hidden *bool     `json:"evorag.e|evorag.hidden"`
}

func (o object) facets() []Facet {
	var out []Facet
	if o.Score != nil {
		s := strconv.FormatFloat(*o.Score, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		out = append(out, Facet{learned[0], s})
	}
	for i, n := range []*int64{o.N, o.Low} {
		if n != nil {
			out = append(out, Facet{learned[1+i], strconv.FormatInt(*n, 10)})
		}
	}
	if o.Hidden != nil {
		out = append(out, Facet{learned[3], strconv.FormatBool(*o.Hidden)})
	}
	return out
}

// objects are the far ends of one node's edges: a list, or one object where the predicate
// holds at most one.
type objects []object

// UnmarshalJSON reads both.
func (o *objects) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]object)(o))
	}
	*o = make(objects, 1)
	return json.Unmarshal(b, &(*o)[0])
}
