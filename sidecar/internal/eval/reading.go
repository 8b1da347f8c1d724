package eval

import (
	"regexp"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/entity"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Budget is how many tokens of a retrieval's context a reader takes.
const Budget = 300

// bytesPerToken is the usual rule of thumb; arms are compared under the same one.
const bytesPerToken = 4

// never stands for an answer that is not in the context at all.
const never = 1 << 30

// Reading is what one retrieval gave for one question.
type Reading struct {
	Rank   int             // of the first result that ends at a reference answer, from 1; 0: none does
	First  int             // tokens of context up to the end of the first reference answer; never: it isn't there
	Tokens int             // of the whole context
	Recall float64         // share of the reference answers that are nodes on the results
	Top    []string        // names at which the best result ends
	Seen   []string        // reference answers within Budget
	Edges  map[string]bool // triplets on the results
}

// read looks for the reference answers in what a retrieval gave.
func read(q Question, found *graph.Retrieval) Reading {
	gold := map[string]bool{}
	for _, a := range q.Answers {
		gold[folded(a)] = true
	}
	out := Reading{First: never, Tokens: tokens(len(found.Context)), Edges: map[string]bool{}}
	names := map[string]bool{}
	for i, r := range found.Results {
		ends := endsOf(r)
		if i == 0 {
			out.Top = ends
		}
		if out.Rank == 0 && slices.ContainsFunc(ends, func(e string) bool { return gold[folded(e)] }) {
			out.Rank = i + 1
		}
		for _, in := range r.Instances {
			for _, n := range in.Nodes[1:] {
				names[folded(n.Name)] = true
			}
			for _, t := range in.Triplets {
				out.Edges[t.Head.String()+" "+t.Predicate+" "+t.Object.String()] = true
			}
		}
	}
	where := segments(found.Context)
	for _, a := range q.Answers {
		if names[folded(a)] {
			out.Recall += 1 / float64(len(q.Answers))
		}
		end := where.find(strings.Fields(entity.Normalize(a)))
		if end == 0 || !names[folded(a)] { // words of two neighbours may look like a name
			continue
		}
		out.First = min(out.First, tokens(end))
		if tokens(end) <= Budget {
			out.Seen = append(out.Seen, a)
		}
	}
	return out
}

// endsOf are the names at which a result's paths end, each once.
func endsOf(r graph.Result) []string {
	var ends []string
	for _, in := range r.Instances {
		if end := in.Nodes[len(in.Nodes)-1].Name; !slices.Contains(ends, end) {
			ends = append(ends, end)
		}
	}
	return ends
}

// folded is a name for comparison: case, accents and punctuation don't matter.
func folded(name string) string { return entity.Normalize(name) }

// tokens that so many bytes are counted as.
func tokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

// What a line of render.Context holds besides the names that a path leads to.
var (
	start  = regexp.MustCompile(`(?m)^\[\d+\] .*? (?:-\[.*?\]->|<-\[.*?\]-) `) // with the first relation
	arrow  = regexp.MustCompile(` (?:-\[.*?\]->|<-\[.*?\]-) `)
	parted = regexp.MustCompile(`\n+|, |; |: | / `)
)

// placed is a context as the names in it.
type placed struct {
	words []string
	ends  []int // byte offset behind the segment that the word closes; 0: it doesn't close one
	opens []bool
}

// segments takes a context apart. Starts and relations are blanked out: a topic that is an
// answer's name proves nothing.
func segments(context string) placed {
	blank := func(s string) string { return strings.Repeat("\n", len(s)) }
	text := arrow.ReplaceAllStringFunc(start.ReplaceAllStringFunc(context, blank), blank)
	var p placed
	at := 0
	add := func(from, to int) {
		words := strings.Fields(entity.Normalize(text[from:to]))
		for i, w := range words {
			end := 0
			if i == len(words)-1 {
				end = to
			}
			p.words, p.ends, p.opens = append(p.words, w), append(p.ends, end), append(p.opens, i == 0)
		}
	}
	for _, cut := range parted.FindAllStringIndex(text, -1) {
		add(at, cut[0])
		if text[cut[0]] == '\n' { // a name doesn't reach over it
			p.words, p.ends, p.opens = append(p.words, ""), append(p.ends, 0), append(p.opens, false)
		}
		at = cut[1]
	}
	add(at, len(text))
	return p
}

// find is the byte offset behind the first whole name that has these words; 0: there is none.
func (p placed) find(words []string) int {
	if len(words) == 0 {
		return 0
	}
	for i := 0; i+len(words) <= len(p.words); i++ {
		if end := p.ends[i+len(words)-1]; end > 0 && p.opens[i] && slices.Equal(p.words[i:i+len(words)], words) {
			return end
		}
	}
	return 0
}
