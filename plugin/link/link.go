// Package link finds the nodes that a question names: it says what to look up, and chooses
// among what was found.
package link

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/evorag/dgraph-evorag/plugin/entity"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Name is what a node is called: the name that it is shown by, and its others.
type Name struct {
	Shown   string
	Aliases []string
}

// match is one place of the text that is a whole name of a node.
type match struct {
	uid   graph.UID
	alias bool
	at    entity.NGram
}

// Entities chooses, of the nodes found by name, those whose whole name occurs in the text
// outside a longer name: "New York Times" leaves no "New York". Nodes of one name all stay.
// Longer names first, then by place, shown names before aliases, and by uid.
func Entities(text string, named map[graph.UID]Name) []graph.Entity {
	places := map[string][]entity.NGram{}
	for _, g := range entity.NGrams(text) {
		places[g.Text] = append(places[g.Text], g)
	}
	var all []match
	for _, uid := range slices.Sorted(maps.Keys(named)) {
		for i, name := range append([]string{named[uid].Shown}, named[uid].Aliases...) {
			for _, form := range entity.Names(name) {
				for _, g := range places[form] {
					all = append(all, match{uid, i > 0, g})
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.length(), a.length()), cmp.Compare(a.at.Start, b.at.Start), cmp.Compare(rankOf(a.alias), rankOf(b.alias)), cmp.Compare(a.uid, b.uid))
	})
	var out []graph.Entity
	taken := map[graph.UID]bool{}
	for _, m := range all {
		if taken[m.uid] || m.insideAny(all) {
			continue
		}
		taken[m.uid] = true
		e := graph.Entity{
			Node: graph.Node{UID: m.uid, Name: named[m.uid].Shown}, Score: 1, Reason: graph.ByName,
			Why: fmt.Sprintf("%q in the question is its name", text[m.at.Start:m.at.End]),
		}
		if m.alias {
			e.Reason, e.Why = graph.ByAlias, fmt.Sprintf("%q in the question is another name of it", text[m.at.Start:m.at.End])
		}
		out = append(out, e)
	}
	return out
}

func rankOf(alias bool) int {
	if alias {
		return 1
	}
	return 0
}

// Near is a node whose name's vector is near a question's.
type Near struct {
	graph.Node
	Cosine float64
}

// Fuse puts the nodes that are near behind those that are named: a name in the question says what
// is meant, nearness only suggests it. A node that is both counts as named.
func Fuse(named []graph.Entity, near []Near) []graph.Entity {
	out := slices.Clone(named)
	for _, n := range near {
		if slices.ContainsFunc(out, func(e graph.Entity) bool { return e.UID == n.UID }) {
			continue
		}
		out = append(out, graph.Entity{
			Node: n.Node, Score: (1 + n.Cosine) / 2, Reason: graph.ByVector, Similarity: n.Cosine,
			Why: fmt.Sprintf("its name is near the question (cosine %.2f)", n.Cosine),
		})
	}
	return out
}

// length is that of the name without a leading article: "The Who" does not outdo "Who".
func (m match) length() int {
	text := m.at.Text
	for _, article := range []string{"the ", "an ", "a "} {
		text = strings.TrimPrefix(text, article)
	}
	return len(text)
}

func (m match) insideAny(all []match) bool {
	return slices.ContainsFunc(all, func(o match) bool {
		return o.length() > m.length() && o.at.Start <= m.at.Start && m.at.End <= o.at.End
	})
}

// Bounds of what an exact or a term index is asked for.
const (
	maxSpellings = 500
	maxPhrases   = 60
	phraseWords  = 5
)

// Spellings are the ways in which an exact index may hold a name that the text holds: each
// run of words as it stands, with _ for spaces, in lower case and with capitals.
func Spellings(text string) []string {
	seen := map[string]bool{}
	var out []string
	for _, g := range entity.NGrams(text) {
		raw := text[g.Start:g.End]
		for _, s := range []string{raw, strings.ReplaceAll(raw, " ", "_"), strings.ToLower(raw), capitals(raw)} {
			if !seen[s] && len(out) < maxSpellings {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out
}

func capitals(s string) string {
	start := true
	return strings.Map(func(r rune) rune {
		if start {
			r = unicode.ToTitle(r)
		}
		start = unicode.IsSpace(r)
		return r
	}, s)
}

// Phrases are the runs of words to ask a term index for, longest first: all of a phrase's
// words occur in a name that is the phrase.
func Phrases(text string) []string {
	grams := entity.NGrams(text)
	slices.SortStableFunc(grams, func(a, b entity.NGram) int { return cmp.Compare(b.Words, a.Words) })
	var out []string
	for _, g := range grams {
		if g.Words <= phraseWords && len(out) < maxPhrases && !slices.Contains(out, g.Text) {
			out = append(out, g.Text)
		}
	}
	return out
}
