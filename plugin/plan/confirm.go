package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Keys of a Confirm answer, beside UIDKey and those of names.
const (
	ConfirmUID    = "u" // on a row of ConfirmKey(i) and on an edge: the node's uid
	ConfirmNames  = "names"
	ConfirmEdge   = "e" // on a row of ConfirmKey(i): the node's edges
	ConfirmScore  = "s" // on an edge: its facet evorag.score, if any
	ConfirmHidden = "h" // on an edge: its facet evorag.hidden, if any
)

// ConfirmKey is the key of the i-th Ends in the answer to Confirm.
func ConfirmKey(i int) string { return confirmKey + strconv.Itoa(i) }

const confirmKey = "e"

// ConfirmOf is the i of ConfirmKey(i); false for any other key.
func ConfirmOf(key string) (i int, ok bool) {
	digits, ok := strings.CutPrefix(key, confirmKey)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	return i, err == nil && i >= 0
}

// Ends asks for the edges of one relation from some nodes to others.
type Ends struct {
	Relation graph.Relation
	From, To []graph.UID
}

// NamesShown tells that the values of a Search block hold the nodes' names as they are, each
// under its predicate.
func (b *Block) NamesShown() bool {
	for _, n := range b.Names {
		if !slices.ContainsFunc(b.Field.Children, func(f *dql.Field) bool {
			return f.Kind == dql.Predicate && f.Name == n && f.Alias == "" && f.Lang == "" && !f.Args.HasParens && len(f.Directives) == 0
		}) {
			return false
		}
	}
	return len(b.Names) > 0
}

// Confirm is ReRead with what a search has gone by: the nodes' names under ConfirmNames, apart
// because a name beside expand(_all_) is an error, and left out where NamesShown; and under
// ConfirmKey(i) what there is of the i-th Ends.
func (p *Plan) Confirm(b *Block, uids []graph.UID, ends []Ends) string {
	var more strings.Builder
	if len(b.Names) > 0 && !b.NamesShown() {
		fmt.Fprintf(&more, "%s(func: %s) { %s: uid", ConfirmNames, UIDFunc(uids), UIDKey)
		for i, n := range b.Names {
			fmt.Fprintf(&more, " %s: <%s>", NameKey(i), n)
		}
		more.WriteString(" }\n")
	}
	for i, e := range ends {
		fmt.Fprintf(&more, "%s(func: %s) { %s: uid %s: <%s> @filter(%s) @facets(%s: %s, %s: %s) { %s: uid } }\n",
			ConfirmKey(i), UIDFunc(e.From), ConfirmUID, ConfirmEdge, e.Relation, UIDFunc(e.To),
			ConfirmScore, scoreFacet, ConfirmHidden, hideFacet, ConfirmUID)
	}
	return p.reread(uids, b.Values, more.String())
}
