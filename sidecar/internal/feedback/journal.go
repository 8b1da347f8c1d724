package feedback

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Kinds of entries.
const (
	kindApplied    = "applied"    // a rating took effect
	kindReversed   = "reversed"   // its effect was taken back, for a newer rating
	kindSuperseded = "superseded" // it came after a newer one, and has no effect
	kindVoid       = "void"       // it has no effect and never will
)

// Batch is what one transaction changed. Entries are in the order in which they took effect.
type Batch struct {
	Number  int             `json:"number"`
	Time    time.Time       `json:"time"`
	Edges   []graph.Triplet `json:"edges"` // what entries point into
	Entries []Entry         `json:"entries"`
}

// Entry is what one rating did.
type Entry struct {
	Kind      string     `json:"kind"`
	Feedback  string     `json:"feedback"` // the rating's uid
	Delivery  string     `json:"delivery"`
	Retrieval string     `json:"retrieval"`
	Question  string     `json:"question,omitempty"`
	Rating    float64    `json:"rating"`
	Rater     string     `json:"rater,omitempty"`
	Source    Source     `json:"source"`
	Response  string     `json:"response,omitempty"` // the beginning of it
	Steps     []Change   `json:"steps,omitempty"`
	Reason    string     `json:"reason,omitempty"` // of a rating that is void
	Void      []int      `json:"void,omitempty"`   // edges that were missing, and are not set again
	Alpha     [2]float64 `json:"alpha"`            // before and after

	Weights  []Weighed       `json:"weights,omitempty"`
	X        *graph.Features `json:"x,omitempty"`        // of the question, which Weights went along
	Template string          `json:"template,omitempty"` // what X is made by
}

// Change is one edge's score before and after, raw, and its number of updates after.
type Change struct {
	Edge          int
	Before, After float64
	N             int
}

// MarshalJSON writes [edge, before, after, n].
func (c Change) MarshalJSON() ([]byte, error) {
	return json.Marshal([4]float64{float64(c.Edge), c.Before, c.After, float64(c.N)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Change) UnmarshalJSON(b []byte) error {
	var v [4]float64
	err := json.Unmarshal(b, &v)
	*c = Change{int(v[0]), v[1], v[2], int(v[3])}
	return err
}

// entryOf finds the entry by which a rating took effect.
func (b Batch) entryOf(feedback string) (Entry, error) {
	for _, e := range b.Entries {
		if e.Feedback == feedback && e.Kind == kindApplied {
			return e, nil
		}
	}
	return Entry{}, fmt.Errorf("the journal's batch %d doesn't hold the rating %s", b.Number, feedback)
}

// written lists the edges that the batch wrote.
func (b Batch) written() []graph.Triplet {
	seen := make([]bool, len(b.Edges))
	for _, e := range b.Entries {
		for _, c := range e.Steps {
			seen[c.Edge] = true
		}
	}
	var out []graph.Triplet
	for i, t := range b.Edges {
		if seen[i] {
			out = append(out, t)
		}
	}
	return out
}

// fingerprint is an edge, or a head alone, as a number above zero, for the journal's index.
func fingerprint(parts ...any) int64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, parts...)
	return int64(h.Sum64() & (1<<63 - 1)) //nolint:gosec // the highest bit is taken off
}

// index is under which numbers a batch is found: the heads of all its edges, and the edges in fresh. That
// tells cheaply of an edge without a score whether it ever had one, and an edge that is
// rated again and again costs no entry of its own each time.
func (b Batch) index(fresh map[graph.Triplet]bool) []int64 {
	seen := map[int64]bool{}
	for _, t := range b.Edges {
		seen[fingerprint(t.Head)] = true
		if fresh[t] {
			seen[fingerprint(t.Head, t.Predicate, t.Object)] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// appendTo appends the N-Quads of the journal's node. fresh are the edges that had no score.
func (b Batch) appendTo(nquads []byte, fresh map[graph.Triplet]bool) ([]byte, error) {
	body, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	nquads = fmt.Appendf(nquads, `_:batch <dgraph.type> "evorag.Batch" .
_:batch <evorag.batch.number> "%d" .
_:batch <evorag.batch.time> "%s" .
_:batch <evorag.batch.body> %s .
`, b.Number, b.Time.UTC().Format(time.RFC3339Nano), graph.Quote(string(body)))
	for _, n := range b.index(fresh) {
		nquads = fmt.Appendf(nquads, "_:batch <evorag.batch.edges> \"%d\" .\n", n)
	}
	return nquads, nil
}
