package credit

import (
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

// mentions finds names in one text. Both are folded to words, so case, accents and
// punctuation don't matter; a name is there when its words stand in a row.
type mentions struct {
	words []string
	at    map[string][]int // places of a word
}

func newMentions(texts ...string) mentions {
	m := mentions{at: map[string][]int{}}
	for _, text := range texts {
		for _, w := range relevance.Words(text) {
			m.at[w] = append(m.at[w], len(m.words))
			m.words = append(m.words, w)
		}
		m.words = append(m.words, "") // a name doesn't reach over the end of a text
	}
	return m
}

func (m mentions) has(name string) bool {
	words := relevance.Words(name)
	if len(words) == 0 {
		return false
	}
places:
	for _, at := range m.at[words[0]] {
		if at+len(words) > len(m.words) {
			break
		}
		for i, w := range words {
			if m.words[at+i] != w {
				continue places
			}
		}
		return true
	}
	return false
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
	m, about := newMentions(texts...), topics(r)
	known := map[string]bool{} // by name
	named := func(n graph.Node) bool {
		is, ok := known[n.Name]
		if !ok {
			is = m.has(n.Name)
			known[n.Name] = is
		}
		return is && !about[n.UID]
	}
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
