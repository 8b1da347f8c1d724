package load

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Relation is one relation of the files and the predicate that it becomes.
type Relation struct {
	Label     string // for people and for relevance
	IRI       string // where RDF named the relation; then it is the identity, else Label is
	Type      string // "uid" for edges, else the type of its values
	List      bool   // of values: some head has several
	Predicate string
}

// key is the identity of a relation across files and loads.
type key struct {
	name  string // IRI or label
	value bool   // its objects are values
}

func (r Relation) key() key { return key{cmp.Or(r.IRI, r.Label), r.Type != "uid"} }

// recorded is an evorag.Relation node of the cluster.
type recorded struct {
	Predicate string `json:"predicate"`
	Label     string `json:"label"`
	IRI       string `json:"iri"`
}

// words that DQL does not read as a predicate inside a block, or that Dgraph keeps for itself.
var words = map[string]bool{
	"uid": true, "count": true, "val": true, "expand": true, "math": true, "min": true,
	"max": true, "sum": true, "avg": true, "checkpwd": true,
}

const maxPredicate = 200 // bytes; longer labels are cut

// slug is the predicate that the label asks for: letters, digits, "_" and "." stay, the
// rest becomes "_". The letters of every script stay: DQL takes them in <>.
func slug(label string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFC.String(label) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.' && !unicode.Is(unicode.M, r) {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('_')
		}
		gap = false
		b.WriteRune(r)
	}
	s := strings.Trim(b.String(), ".")
	if len(s) > maxPredicate {
		s = s[:maxPredicate]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	if graph.Internal(s) {
		s = strings.Replace(s, ".", "_", 1)
	}
	switch r, _ := utf8.DecodeRuneInString(s); {
	case s == "":
		return "relation"
	case !unicode.IsLetter(r) && r != '_':
		return "_" + s
	case words[strings.ToLower(s)]:
		return s + "_"
	}
	return s
}

// assign fills in the predicate of every relation; different keys get different ones. A
// relation that the cluster has recorded keeps its predicate. Of the others, one whose label
// is a predicate already comes first, so that "directed_by" is itself whatever "directed by"
// becomes; a name that is taken gets _2, _3 and so on. An existing predicate that nobody
// recorded is used when it holds what the relation needs: it is the user's, of this name.
func assign(relations []Relation, schema graph.Schema, known []recorded, reserved ...string) {
	taken := make(map[string]bool, len(known)+len(relations))
	for _, p := range reserved {
		taken[p] = true
	}
	had := map[string][]string{} // IRI or label -> predicates, in order
	known = slices.SortedFunc(slices.Values(known), func(a, b recorded) int { return cmp.Compare(a.Predicate, b.Predicate) })
	for _, k := range known {
		taken[k.Predicate] = true
		name := cmp.Or(k.IRI, k.Label)
		had[name] = append(had[name], k.Predicate)
	}
	used := make(map[string]bool, len(relations))
	for i := range relations {
		r := &relations[i]
		r.Predicate = ""
		for _, p := range had[r.key().name] {
			if !used[p] && !slices.Contains(reserved, p) && fits(*r, schema, p) {
				r.Predicate, used[p] = p, true
				break
			}
		}
	}
	order := make([]*Relation, 0, len(relations))
	for i := range relations {
		if relations[i].Predicate == "" {
			order = append(order, &relations[i])
		}
	}
	slices.SortFunc(order, func(a, b *Relation) int {
		return cmp.Or(later(slug(a.Label) != a.Label)-later(slug(b.Label) != b.Label),
			cmp.Compare(a.Label, b.Label), cmp.Compare(a.IRI, b.IRI), later(a.Type != "uid")-later(b.Type != "uid"))
	})
	for _, r := range order {
		base := slug(r.Label)
		p := base
		for n := 2; taken[p] || !fits(*r, schema, p); n++ {
			p = fmt.Sprintf("%s_%d", base, n)
		}
		r.Predicate, taken[p] = p, true
	}
}

func later(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fits reports whether the predicate is not there yet, or holds what the relation needs.
func fits(r Relation, schema graph.Schema, predicate string) bool {
	p, ok := schema.Predicates[predicate]
	if !ok {
		return true
	}
	if r.Type == "uid" {
		return p.Type == "uid" && p.List
	}
	return (p.Type == r.Type || p.Type == "string") && (p.List || !r.List) && !p.Lang
}
