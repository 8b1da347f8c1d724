// Package graph is the vocabulary of the extension: the values that its rooms hand
// to each other. It holds no behaviour beyond naming, ordering and printing.
package graph

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// UID is a Dgraph node id. Its text form is Dgraph's own: "0x2a".
type UID uint64

// String gives Dgraph's hexadecimal form.
func (u UID) String() string { return "0x" + strconv.FormatUint(uint64(u), 16) }

// MarshalText gives Dgraph's hexadecimal form.
func (u UID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads what ParseUID reads.
func (u *UID) UnmarshalText(b []byte) error {
	v, err := ParseUID(string(b))
	*u = v
	return err
}

// ParseUID reads "0x2a" or "42". Zero is not a uid.
func ParseUID(s string) (UID, error) {
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil || v == 0 {
		return 0, fmt.Errorf("%q is not a uid; write one like 0x2a", strings.Clone(s)) // or every s would be allocated
	}
	return UID(v), nil
}

// Triplet is an edge's identity: (head uid, predicate, object uid), never a string of names.
type Triplet struct {
	Head      UID    `json:"head"`
	Predicate string `json:"predicate"`
	Object    UID    `json:"object"`
}

// Bounds of the raw contribution score kept in the facet evorag.score.
const (
	NeutralScore = 100.0 // an edge without the facet
	MaxScore     = 200.0
)

// Contribution is what feedback has taught about one edge, as kept in its facets.
type Contribution struct {
	Score   float64 `json:"score"`            // evorag.score, raw, in [0,200]
	Updates int     `json:"n,omitempty"`      // evorag.n, how often it was updated
	Low     int     `json:"low,omitempty"`    // evorag.low, consecutive low evolution runs
	Hidden  bool    `json:"hidden,omitempty"` // evorag.hidden, suppressed from retrieval
}

// Neutral is the contribution of an edge that feedback never touched.
func Neutral() Contribution { return Contribution{Score: NeutralScore} }

// RoundScore gives a raw score as it is kept: in steps of a millionth of a point. Dgraph before
// v25 prints no more decimals, so only such scores are read back there as they were written.
func RoundScore(raw float64) float64 { return math.Round(raw*1e6) / 1e6 }

// Sc is the normalised contribution raw/200, in [0,1]. The span is fixed (see docs/METHOD.md).
func (c Contribution) Sc() float64 { return c.Score / MaxScore }

// Relation is a predicate and the direction in which a path walks it.
type Relation struct {
	Predicate string
	Inverse   bool
}

// String gives the DQL spelling: "pred", or "~pred" when walked from object to head.
func (r Relation) String() string {
	if r.Inverse {
		return "~" + r.Predicate
	}
	return r.Predicate
}

// ParseRelation reads the DQL spelling.
func ParseRelation(s string) Relation {
	if p, ok := strings.CutPrefix(s, "~"); ok {
		return Relation{Predicate: p, Inverse: true}
	}
	return Relation{Predicate: s}
}

// Step is one edge of a path, as it was walked.
type Step struct {
	Triplet
	Inverse bool // walked from object to head
	Contribution
}

// From is the node at which the step starts.
func (s Step) From() UID {
	if s.Inverse {
		return s.Object
	}
	return s.Head
}

// To is the node at which the step ends.
func (s Step) To() UID {
	if s.Inverse {
		return s.Head
	}
	return s.Object
}

// Relation is the step's predicate and direction.
func (s Step) Relation() Relation { return Relation{s.Predicate, s.Inverse} }

// Path is a simple path: no node twice, Steps[i].To() == Steps[i+1].From().
type Path struct {
	Start UID
	Steps []Step
}

// Hops is h_i, the number of steps.
func (p Path) Hops() int { return len(p.Steps) }

// End is the last node; Start for a path without steps.
func (p Path) End() UID {
	if len(p.Steps) == 0 {
		return p.Start
	}
	return p.Steps[len(p.Steps)-1].To()
}

// Metapath is the sequence of relations that the path follows.
func (p Path) Metapath() []Relation {
	m := make([]Relation, len(p.Steps))
	for i, s := range p.Steps {
		m[i] = s.Relation()
	}
	return m
}
