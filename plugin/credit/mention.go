package credit

import (
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/entity"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// mentions finds a retrieval's names in texts, as package entity finds names in a question: case,
// accents and punctuation don't matter, nor an article before a name or a qualifier behind it. The
// longest name wins: who names "Kingdom of Hungary" has not named "Hungary".
type mentions struct {
	words []string
	at    map[string][]int // places of a word
	named map[string]bool  // by name
}

func newMentions(r graph.Retrieval, texts ...string) mentions {
	m := mentions{at: map[string][]int{}, named: map[string]bool{}}
	for _, text := range texts {
		for _, w := range strings.Fields(entity.Normalize(text)) {
			m.at[w] = append(m.at[w], len(m.words))
			m.words = append(m.words, w)
		}
		m.words = append(m.words, "") // a name doesn't reach over the end of a text
	}
	m.find(r)
	return m
}

func (m mentions) has(n graph.Node) bool { return m.named[n.Name] }

// find looks for the names of all nodes. A place inside that of a longer name doesn't count.
func (m mentions) find(r graph.Retrieval) {
	long := make([]int, len(m.words)) // by place: words of the longest name that starts there
	all := map[string][][]string{}    // words of each name's forms
	for _, result := range r.Results {
		for _, in := range result.Instances {
			for _, n := range in.Nodes {
				if _, known := all[n.Name]; known {
					continue
				}
				all[n.Name] = [][]string{}
				for _, form := range entity.Names(n.Name) {
					words := strings.Fields(form)
					all[n.Name] = append(all[n.Name], words)
					for _, at := range m.places(words) {
						long[at] = max(long[at], len(words))
					}
				}
			}
		}
	}
	furthest, reach := make([]int, len(long)), 0 // by place: where a name that starts before it ends
	for at, words := range long {
		furthest[at] = reach
		reach = max(reach, at+words)
	}
	for name, forms := range all {
		m.named[name] = slices.ContainsFunc(forms, func(words []string) bool {
			return slices.ContainsFunc(m.places(words), func(at int) bool {
				return long[at] == len(words) && furthest[at] < at+len(words)
			})
		})
	}
}

// places are where the words stand in a row.
func (m mentions) places(words []string) (out []int) {
	if len(words) == 0 {
		return nil
	}
	for _, at := range m.at[words[0]] {
		if at+len(words) <= len(m.words) && slices.Equal(m.words[at:at+len(words)], words) {
			out = append(out, at)
		}
	}
	return out
}

// topics are the nodes that the question is about: they prove nothing when a response
// repeats them.
func topics(r graph.Retrieval) map[graph.UID]bool {
	out := map[graph.UID]bool{}
	for _, e := range r.Entities {
		out[e.UID] = true
	}
	for _, result := range r.Results {
		out[result.Start.UID] = true
	}
	return out
}

// Mention is what of one instance a response names; topics don't count.
type Mention struct {
	End  bool // the last node
	Some bool // any node
	Own  bool // a node that not all instances of its result share
}

// Mentions tells for each result and instance what of it stands in one of the texts. A result of
// one instance, which shares nothing, counts all its nodes as its own.
func Mentions(r graph.Retrieval, texts ...string) [][]Mention {
	m, about := newMentions(r, texts...), topics(r)
	named := func(n graph.Node) bool { return m.has(n) && !about[n.UID] }
	out := make([][]Mention, len(r.Results))
	for i, result := range r.Results {
		out[i] = make([]Mention, len(result.Instances))
		in := map[graph.UID]int{} // in how many instances a node is
		for _, instance := range result.Instances {
			for _, n := range instance.Nodes {
				in[n.UID]++
			}
		}
		for j, instance := range result.Instances {
			at := &out[i][j]
			for k, n := range instance.Nodes {
				if !named(n) {
					continue
				}
				at.Some = true
				at.End = at.End || k == len(instance.Nodes)-1
				at.Own = at.Own || in[n.UID] < len(result.Instances) || len(result.Instances) == 1
			}
		}
	}
	return out
}
