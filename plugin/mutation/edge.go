// Package mutation reads which edges a mutation sets, in every form in which Dgraph takes
// one, and adds to those edges the facets that the extension has learned: a facet write
// replaces all facets of an edge, so an edge that is set again would lose them. What is not
// added to stays as it was, byte for byte; what Dgraph would refuse is left for it to refuse.
package mutation

import (
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Term is one end of an edge that a mutation sets: a node by its uid, or the variable of an
// upsert that holds the nodes. The zero Term is a node that nothing is known of before the
// mutation: a blank node, or a value.
type Term struct {
	UID graph.UID
	Var string // of uid(Var)
}

// ParseTerm reads "0x2a", "42" or "uid(v)"; anything else is the zero Term.
func ParseTerm(s string) Term {
	if v, ok := strings.CutPrefix(s, "uid("); ok {
		if v, ok = strings.CutSuffix(v, ")"); ok && isName(v) {
			return Term{Var: v}
		}
		return Term{}
	}
	uid, err := graph.ParseUID(s)
	if err != nil {
		return Term{}
	}
	return Term{UID: uid}
}

// known tells a node that may have existed before.
func (t Term) known() bool { return t != Term{} }

// String is the term between the parentheses of DQL's uid().
func (t Term) String() string {
	if t.Var != "" {
		return t.Var
	}
	return t.UID.String()
}

// Edge is one statement of a mutation that sets an edge between nodes that may have existed
// before. One with variables stands for an edge between each two of their nodes.
type Edge struct {
	Subject, Object Term
	Predicate       string
	Own             []string // keys under evorag. that the user writes: his values win

	place place // nil for an edge that doesn't stand in a text
}

// NewEdge is an edge that doesn't stand in a text. It is false where Dgraph would refuse the
// edge, or one of its ends is new. own are the keys of the facets that the user gives it.
func NewEdge(subject, predicate, object string, own []string) (Edge, bool) {
	e := Edge{Subject: ParseTerm(subject), Predicate: predicate, Object: ParseTerm(object)}
	for _, key := range own {
		if strings.HasPrefix(key, prefix) {
			e.Own = append(e.Own, key)
		}
	}
	return e, e.Subject.known() && e.Object.known() && e.readable()
}

// variable tells an edge whose ends are known only when the upsert's query has run.
func (e Edge) variable() bool { return e.Subject.Var != "" || e.Object.Var != "" }

// readable tells an edge whose predicate can be asked for; Dgraph refuses to set others.
func (e Edge) readable() bool {
	if e.Predicate == "" || strings.HasPrefix(e.Predicate, "~") {
		return false
	}
	return !strings.ContainsFunc(e.Predicate, func(r rune) bool { return r <= ' ' || strings.ContainsRune("<>\"{}|^`\\@", r) })
}

// place is where an edge stands in its text.
type place interface {
	// edits adds facets to the edge; where the edge is variable, to each edge found.
	edits(e Edge, found []Found) []dql.Edit
}

// Keep gives the edits that add to the edges of one text what was learned about them; none
// where nothing was. Facets that the user writes himself are not added.
func Keep(edges []Edge, l Learned) []dql.Edit {
	var out []dql.Edit
	roots := map[*jsonRoot]bool{}
	for i, e := range edges {
		found := l.Of(i)
		if e.place == nil || len(found) == 0 {
			continue
		}
		out = append(out, e.place.edits(e, found)...)
		if p, ok := e.place.(jsonStatement); ok {
			roots[p.root] = true
		}
	}
	for root := range roots {
		out = append(out, root.edits()...)
	}
	return out
}

// isName tells a variable's name: what could end a uid() in DQL is none.
func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune(`(),:{}[]<>"'#@$*/\`, r)
	})
}
