// Package evolve decides how a graph changes after feedback, as in Algorithm 1: shortcuts
// between the ends of good paths, suppression of what stays bad, recovery of what deserves
// another chance. Everything is a function of its arguments: the same snapshot, rules and
// seed give the same changeset. DESIGN.md beside this file states what always holds.
package evolve

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Edge is a triplet with what feedback has taught about it.
type Edge struct {
	graph.Triplet
	graph.Contribution
}

// Pair is two nodes in the order in which a shortcut would join them.
type Pair struct {
	Head   graph.UID `json:"head"`
	Object graph.UID `json:"object"`
}

// Shortcut is an edge (e1, r^, ek) and the path that it stands for.
type Shortcut struct {
	Path  graph.Path
	Score float64 // raw, in [0,200]: the path's average when it was made
}

// Pair is the shortcut's ends.
func (s Shortcut) Pair() Pair { return Pair{s.Path.Start, s.Path.End()} }

// Triplet is the shortcut as an edge.
func (s Shortcut) Triplet() graph.Triplet {
	return graph.Triplet{Head: s.Path.Start, Predicate: graph.ShortcutPredicate, Object: s.Path.End()}
}

// Standing is a shortcut that is there.
type Standing struct {
	Shortcut
	Gone bool // an edge of its path is not there any more
}

// Snapshot is what a run looks at, as it stood at one timestamp.
type Snapshot struct {
	Edges     []Edge          // what feedback touched, what is hidden, and all shortcuts; each triplet once
	Inverse   map[string]bool // predicates that paths may follow from object to head
	Shortcuts []Standing      // with Edges that have their triplets
	Total     int             // triplets of the whole graph; for Rules.All
}

// Rules are the settings of a run.
type Rules struct {
	All          bool    // mu and sigma over all triplets of the graph, not over the touched ones
	MinTouched   int     // touched triplets that it takes to judge any
	Hops         int     // H, longest path that is fused, 2..6
	Average      bool    // a path is good by its average; else each of its triplets must be
	Nested       bool    // paths through shortcuts may be fused
	MaxShortcuts int     // that one run makes
	MaxHidden    int     // that one run hides
	Runs         int     // W, consecutive low runs after which a triplet is hidden
	Decay        float64 // share of its way to 100 that a hidden triplet goes in one run, in [0,1]
	Hysteresis   float64 // raw points above tau_low at which a hidden triplet shows again, in [0,15)
	Explore      float64 // share of hidden triplets that one run shows on trial, in [0,1]
	Budget       int     // beginnings of paths that are looked at; beyond it the best found are taken
}

// DefaultRules are those of docs/METHOD.md.
func DefaultRules() Rules {
	return Rules{
		MinTouched: 30, Hops: 3, MaxShortcuts: 1000, MaxHidden: 1000,
		Runs: 3, Decay: 0.1, Hysteresis: 3, Explore: 0.02, Budget: 500_000,
	}
}

// ErrRules is in the chain of every error about a setting.
var ErrRules = errors.New("rules of evolution")

// Check tells what is wrong with the rules.
func (r Rules) Check() error {
	var faults []error
	number := func(name string, v, low, high int) {
		if v < low || v > high {
			faults = append(faults, fmt.Errorf("%w: %s is %d; write a number from %d to %d", ErrRules, name, v, low, high))
		}
	}
	share := func(name string, v, high float64, open bool) {
		if !(v >= 0 && v <= high) || open && v == high {
			faults = append(faults, fmt.Errorf("%w: %s is %v; write a number from 0 to %v", ErrRules, name, v, high))
		}
	}
	number("min_touched", r.MinTouched, 1, 1<<30)
	number("hops", r.Hops, 2, 6)
	number("max_shortcuts", r.MaxShortcuts, 0, 100_000)
	number("max_hidden", r.MaxHidden, 0, 1_000_000)
	number("runs", r.Runs, 1, 1000)
	number("budget", r.Budget, 1, 100_000_000)
	share("decay", r.Decay, 1, false)
	share("hysteresis", r.Hysteresis, graph.NeutralScore-mostLow, true)
	share("explore", r.Explore, 1, false)
	return errors.Join(faults...)
}

// Change is what a run does to one edge.
type Change struct {
	graph.Triplet
	Before graph.Contribution `json:"before"`
	After  graph.Contribution `json:"after"`
	Why    Why                `json:"why"`
}

// Proposal is a run's decisions, but for which of its candidates become shortcuts: that
// depends on edges outside the snapshot.
type Proposal struct {
	Thresholds
	Changes    []Change   // by predicate, head and object
	Candidates []Shortcut // best first, one for each ordered pair that no edge of the snapshot joins
	Removed    []Standing // by pair
	Cut        bool       // Rules.Budget ended the search for candidates

	most int
}

// Changeset is what a run does.
type Changeset struct {
	Thresholds
	Changes   []Change   // by predicate, head and object
	Shortcuts []Shortcut // to be made, best first
	Removed   []Standing // to be taken away, by pair
	Cut       bool       // the search for shortcuts was cut; these are the best found
}

// Empty tells a changeset that changes nothing.
func (c Changeset) Empty() bool {
	return len(c.Changes)+len(c.Shortcuts)+len(c.Removed) == 0
}

// spare is how many times more candidates are proposed than shortcuts may be made, since
// the ends of some are joined outside the snapshot.
const spare = 4

// Propose makes all decisions that the snapshot allows. The seed, such as the run's id,
// decides what is explored. The errors are ErrRules, ErrSnapshot.
func Propose(s Snapshot, r Rules, seed string) (Proposal, error) {
	if err := r.Check(); err != nil {
		return Proposal{}, err
	}
	if err := s.check(); err != nil {
		return Proposal{}, err
	}
	p := Proposal{Thresholds: thresholds(s, r), most: r.MaxShortcuts}
	after := make([]graph.Contribution, len(s.Edges))
	p.Changes = changes(s, r, p.Thresholds, seed, after)
	p.Removed = broken(s, after)
	if p.Enough && r.MaxShortcuts > 0 {
		p.Candidates, p.Cut = fuse(s, r, p.Thresholds, after)
	}
	return p, nil
}

// Build chooses the shortcuts. joined are the candidates' pairs that an edge of any
// predicate joins, from head to object.
func (p Proposal) Build(joined map[Pair]bool) Changeset {
	c := Changeset{Thresholds: p.Thresholds, Changes: p.Changes, Removed: p.Removed, Cut: p.Cut}
	for _, s := range p.Candidates {
		if len(c.Shortcuts) == p.most {
			break
		}
		if !joined[s.Pair()] {
			c.Shortcuts = append(c.Shortcuts, s)
		}
	}
	return c
}

// ErrSnapshot is in the chain of every error about a snapshot.
var ErrSnapshot = errors.New("snapshot")

func (s Snapshot) check() error {
	seen := make(map[graph.Triplet]bool, len(s.Edges))
	for _, e := range s.Edges {
		if !(e.Score >= 0 && e.Score <= graph.MaxScore) {
			return fmt.Errorf("%w: %s %s %s has the score %v; scores lie in [0,200]", ErrSnapshot, e.Head, e.Predicate, e.Object, e.Score)
		}
		if seen[e.Triplet] {
			return fmt.Errorf("%w: %s %s %s stands twice", ErrSnapshot, e.Head, e.Predicate, e.Object)
		}
		seen[e.Triplet] = true
	}
	return nil
}

// broken lists the shortcuts whose path is gone, or has an edge that is hidden after this run.
func broken(s Snapshot, after []graph.Contribution) []Standing {
	hidden := map[graph.Triplet]bool{}
	for i, e := range s.Edges {
		if after[i].Hidden {
			hidden[e.Triplet] = true
		}
	}
	var out []Standing
	for _, sc := range s.Shortcuts {
		gone := sc.Gone || slices.ContainsFunc(sc.Path.Steps, func(st graph.Step) bool { return hidden[st.Triplet] })
		if gone {
			out = append(out, sc)
		}
	}
	slices.SortFunc(out, func(a, b Standing) int { return compareTriplets(a.Triplet(), b.Triplet()) })
	return out
}

func compareTriplets(a, b graph.Triplet) int {
	return cmp.Or(strings.Compare(a.Predicate, b.Predicate), cmp.Compare(a.Head, b.Head), cmp.Compare(a.Object, b.Object))
}
