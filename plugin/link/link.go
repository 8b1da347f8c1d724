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

// match is one place of the text that is the whole name of a node.
type match struct {
	uid  graph.UID
	name string
	at   entity.NGram
}

// Entities chooses, of the nodes found by name, those whose whole name occurs in the text
// outside a longer name: "New York Times" leaves no "New York". Nodes of one name all stay.
// Longer names first, then by place and uid.
func Entities(text string, named map[graph.UID]string) []graph.Entity {
	places := map[string][]entity.NGram{}
	for _, g := range entity.NGrams(text) {
		places[g.Text] = append(places[g.Text], g)
	}
	var all []match
	for _, uid := range slices.Sorted(maps.Keys(named)) {
		for _, form := range entity.Names(named[uid]) {
			for _, g := range places[form] {
				all = append(all, match{uid, named[uid], g})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.length(), a.length()), cmp.Compare(a.at.Start, b.at.Start), cmp.Compare(a.uid, b.uid))
	})
	var out []graph.Entity
	taken := map[graph.UID]bool{}
	for _, m := range all {
		if taken[m.uid] || m.insideAny(all) {
			continue
		}
		taken[m.uid] = true
		out = append(out, graph.Entity{
			Node:  graph.Node{UID: m.uid, Name: m.name},
			Score: 1,
			Why:   fmt.Sprintf("%q in the question is its name", text[m.at.Start:m.at.End]),
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
