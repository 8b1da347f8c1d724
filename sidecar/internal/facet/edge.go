// Package facet reads edges of the cluster with all their facets, and writes them back with
// what was learned changed and everything else as it was. A facet write replaces all facets
// of an edge, so whoever changes one writes them all, in one transaction with the read.
package facet

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Keys of what was learned about an edge.
const (
	Score  = "evorag.score"
	N      = "evorag.n"
	Low    = "evorag.low"
	Hidden = "evorag.hidden"
)

// Edge is an edge as a transaction read it.
type Edge struct {
	graph.Triplet
	graph.Contribution
	Learned bool // it has evorag.score; else its contribution is the neutral one

	others  []other // all other facets, by key
	touched bool    // it was, when it was read: it is noted under Touched already
}

// other is a facet that is not changed. text is its value as N-Quads have it, its type with it.
type other struct{ key, text string }

// Touched names, on a node, the predicates of its edges that feedback has touched: facets are
// not indexed, so this is how such edges are found.
const Touched = "evorag.touched"

// AppendTo appends the N-Quad that sets the edge with all its facets. A contribution that is
// neutral in every respect leaves no facet behind. The score is rounded as graph.RoundScore does. An edge that feedback has touched is
// noted under Touched; shortcuts, which are few and all looked at, are not.
func (e Edge) AppendTo(b []byte) []byte {
	b = fmt.Appendf(b, "<%s> <%s> <%s>", e.Head, e.Predicate, e.Object)
	var facets []string
	if e.Contribution != graph.Neutral() {
		facets = append(facets, Score+"="+Float(graph.RoundScore(e.Score)))
	}
	for _, n := range []struct {
		key   string
		value int
	}{{N, e.Updates}, {Low, e.Low}} {
		if n.value != 0 {
			facets = append(facets, n.key+"="+strconv.Itoa(n.value))
		}
	}
	if e.Hidden {
		facets = append(facets, Hidden+"=true")
	}
	for _, o := range e.others {
		facets = append(facets, o.key+"="+o.text)
	}
	if len(facets) > 0 {
		b = fmt.Appendf(b, " (%s)", strings.Join(facets, ", "))
	}
	b = append(b, " .\n"...)
	if e.Updates > 0 && !e.touched && e.Predicate != graph.ShortcutPredicate {
		b = fmt.Appendf(b, "<%s> <%s> %s .\n", e.Head, Touched, graph.Quote(e.Predicate))
	}
	return b
}

// Float spells a finite number so that Dgraph takes it for a float: with a decimal point.
// What is read back has the same bits.
func Float(f float64) string {
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// group collects edges by predicate: the heads and objects that a query asks it for.
type group struct {
	predicate      string
	heads, objects []graph.UID
}

func groups(triplets []graph.Triplet) []group {
	at := map[string]int{}
	var out []group
	for _, t := range triplets {
		i, known := at[t.Predicate]
		if !known {
			i = len(out)
			at[t.Predicate] = i
			out = append(out, group{predicate: t.Predicate})
		}
		out[i].heads = append(out[i].heads, t.Head)
		out[i].objects = append(out[i].objects, t.Object)
	}
	return out
}

// block asks for the group's edges between its heads and its objects; facets is what stands
// after them.
func (g group) block(name, facets string) string {
	return fmt.Sprintf("  %s(func: uid(%s)) { evorag.u: uid evorag.e: <%s> @filter(uid(%s)) %s { evorag.u: uid } }\n",
		name, list(g.heads), g.predicate, list(g.objects), facets)
}

func list(uids []graph.UID) string {
	uids = slices.Compact(slices.Sorted(slices.Values(uids)))
	text := make([]string, len(uids))
	for i, u := range uids {
		text[i] = u.String()
	}
	return strings.Join(text, ", ")
}
