// Package plan turns a query that carries @evorag into what the engine is sent and how its
// answer is ranked. It decides and rewrites; it reads nothing.
package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// EntitiesFunc is the root function that links the question to start nodes.
const EntitiesFunc = "evorag.entities"

// Keys that a plan splices into the user's block; they are stripped from the answer.
const (
	UIDKey     = "evorag.u"
	OrderKey   = "evorag.o" // the value that the user orders a list by
	ScoreKey   = "evorag.s" // the score of the edge to a child; shorter than the facet's own key, which says the predicate again
	HiddenKey  = "evorag.h" // likewise, the flag
	nameKey    = "evorag.n" // followed by the index into Defaults.Names
	scoreFacet = "evorag.score"
	hideFacet  = "evorag.hidden"
)

// Defaults are what a directive that is silent means.
type Defaults struct {
	Hops, Paths, Instances, Entities int
	Alpha                            float64
	Names                            []string // predicates that hold a node's name, best first
	Vectors                          Vectors
}

// Vectors are those of an embeddings model, which a directive may bring the question's own of.
type Vectors struct {
	Of  string // the model; empty: there is none that relevance goes by
	Dim int    // numbers of each; 0: not known
}

// Form is one of the three ways to write a ranked block.
type Form uint8

// The forms.
const (
	Written Form = iota + 1 // nested uid predicates: the engine's answer holds the candidates
	Search                  // a flat block: the sidecar searches Hops hops over Via
)

// Plan is a query that is ready to be run: Text for the engine, Blocks to rank.
type Plan struct {
	Query  *dql.Query
	Blocks []*Block // those that carry the directive, in the query's order
}

// OneQuestion tells that all blocks ask the same, with one alpha.
func (p *Plan) OneQuestion() bool {
	return !slices.ContainsFunc(p.Blocks, func(b *Block) bool {
		first := p.Blocks[0]
		return b.Question != first.Question || b.Alpha != first.Alpha || !slices.Equal(b.Embedding, first.Embedding)
	})
}

// Block is one ranked block.
type Block struct {
	Field *dql.Field
	Key   string // its key in the answer's data
	Form  Form

	Question  string
	Embedding []float32 // the question's own vector, in place of Question; neither zero nor infinite; nil: there is none
	Hops      int
	Paths     int  // results per start node
	Prune     bool // a written block shows only what was retained: paths was given
	Instances int
	Fanout    int // edges per node and relation; 0: no limit
	Alpha     float64
	Bundle    bool
	Hidden    bool
	Explain   bool

	Entities int              // start nodes that evorag.entities may give; 0: the block has a root function of the engine
	Linked   string           // the text that evorag.entities links
	Texts    []string         // in a root function of the engine: perhaps the names of start nodes
	UIDs     []graph.UID      // likewise
	Tree     *Node            // of a Written block
	Names    []string         // name predicates that the schema has
	Apart    bool             // names can't be spliced into the block (@cascade would drop nodes without one)
	Via      []graph.Relation // of a Search block, sorted
	Values   string           // of a Search block: the text of its value fields, for the re-read
	edits    []dql.Edit
	rootFunc dql.Span
}

// Node is a uid predicate of a Written block, or its root.
type Node struct {
	Key      string // its key in the answer
	Relation graph.Relation
	Score    string          // key of the score on a child: ScoreKey, or "knows|evorag.score" where the user fetches facets of that name
	Hidden   string          // key of the flag on a child
	Keep     map[string]bool // learned facets that the user asked for by name, by key on a child
	Ordered  bool            // the user gave an order: it stays
	ByValue  string          // "orderasc" or "orderdesc" when that order is by OrderKey, which the renderer sorts by
	Offset   int             // after ranking
	First    int             // after ranking; negative: from the end
	HasFirst bool
	Names    []string // keys under which Block.Names come back on a child; of the user's own where he reads them
	Children []*Node
	Any      *Node // expand(_all_) {...}: every uid predicate that Children doesn't name
}

// Text is what the engine is sent: the user's text with the blocks' edits. starts holds,
// by block key, the uids that evorag.entities was linked to.
func (p *Plan) Text(starts map[string][]graph.UID) (string, error) {
	return dql.Splice(p.Query.Text, p.edits(starts))
}

func (p *Plan) edits(starts map[string][]graph.UID) []dql.Edit {
	var edits []dql.Edit
	for _, b := range p.Blocks {
		edits = append(edits, b.edits...)
		if b.Entities > 0 {
			edits = append(edits, dql.Edit{Span: b.rootFunc, Text: UIDFunc(starts[b.Key])})
		}
	}
	return edits
}

// UIDFunc spells the root function uid(0x1,0x2); without uids it matches nothing.
func UIDFunc(uids []graph.UID) string {
	text := append(make([]byte, 0, 12*len(uids)+6), "uid("...)
	for i, u := range uids {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendUint(append(text, "0x"...), uint64(u), 16)
	}
	return string(append(text, ')'))
}

// ReReadNodes is the key of the nodes in the answer to ReRead.
const ReReadNodes = "nodes"

// ReRead is the query that shows a Search block's kept nodes: the block's value fields,
// for the uids, in uid order under ReReadNodes, each with its UIDKey. It takes the
// user's variables.
func (p *Plan) ReRead(b *Block, uids []graph.UID) string { return p.reread(uids, b.Values, "") }

// reread is a query for fields of some nodes, with more blocks after it.
func (p *Plan) reread(uids []graph.UID, fields, blocks string) string {
	var t strings.Builder
	t.WriteString("query evorag")
	for i, v := range p.Query.Vars {
		t.WriteString(map[bool]string{true: "(", false: ", "}[i == 0] + p.text(v.Span))
	}
	if len(p.Query.Vars) > 0 {
		t.WriteString(")")
	}
	t.WriteString(" {\n" + ReReadNodes + "(func: " + UIDFunc(uids) + ") {\n" + UIDKey + ": uid,\n" + fields + "\n}\n" + blocks + "}\n")
	for _, f := range p.Query.Fragments {
		t.WriteString("fragment " + p.text(f.Span) + "\n")
	}
	return t.String()
}

func (p *Plan) text(s dql.Span) string { return p.Query.Text[s.Start:s.End] }

// NameKey is the spliced key under which the i-th of Block.Names comes back.
func NameKey(i int) string { return nameKey + strconv.Itoa(i) }

// Spliced reports whether a key of the answer was put there by a plan.
func Spliced(key string) bool {
	switch key {
	case UIDKey, OrderKey, ScoreKey, HiddenKey:
		return true
	}
	rest, ok := strings.CutPrefix(key, nameKey)
	if !ok {
		return false
	}
	_, err := strconv.Atoi(rest)
	return err == nil
}

// LearnedFacet reports whether a key of the answer ("knows|evorag.score") is a facet of the
// extension's.
func LearnedFacet(key string) bool {
	_, facet, ok := strings.Cut(key, "|")
	return ok && strings.HasPrefix(facet, "evorag.")
}
