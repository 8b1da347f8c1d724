// Package evolution runs what plugin/evolve decides: on a schedule or on request, by one
// process at a time, in batches that are one transaction each. Every run is recorded before
// it changes anything, so that a crash leaves one that the next start finishes, and with what
// was there before, so that it can be undone.
package evolution

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// State is how far a run has come.
type State string

// The states of a run.
const (
	Planned State = "planned" // a dry run: nothing was written
	Running State = "running" // recorded; some of its batches may be applied
	Done    State = "done"
	Undoing State = "undoing"
	Undone  State = "undone"
	Final   State = "final" // done so long ago that it can't be undone: its changes are off the record
)

// Kind is what a change is about.
type Kind string

// The kinds of a change.
const (
	EdgeChange  Kind = "edge"             // the learned facets of an edge change
	NewShortcut Kind = "shortcut"         // a shortcut is made
	OldShortcut Kind = "shortcut removed" // a shortcut is taken away: its path is gone
)

// Change is one thing that a run does or did.
type Change struct {
	Kind Kind `json:"kind"`
	graph.Triplet
	Before *graph.Contribution `json:"before,omitempty"`
	After  *graph.Contribution `json:"after,omitempty"`
	Why    evolve.Why          `json:"why,omitempty"`
	Label  string              `json:"label,omitempty"`  // of a shortcut
	Via    string              `json:"via,omitempty"`    // of a shortcut: graph.Path.String
	NQuads string              `json:"nquads,omitempty"` // of one taken away: what makes it again
	Note   string              `json:"note,omitempty"`   // why it was not done, or not undone
}

// done tells a change that has happened, and not only been planned.
func (c Change) done() bool { return c.Note == "" }

// Counts are how many changes of each kind there are.
type Counts struct {
	Shortcuts int `json:"shortcuts"` // made
	Removed   int `json:"removed"`   // shortcuts taken away
	Hidden    int `json:"hidden"`    // edges
	Shown     int `json:"shown"`     // edges that were hidden
	Counted   int `json:"counted"`   // edges whose low runs or decay went on
	Dropped   int `json:"dropped"`   // planned changes that the graph's own changes prevented
}

func count(changes []Change) Counts {
	var n Counts
	for _, c := range changes {
		switch {
		case !c.done():
			n.Dropped++
		case c.Kind == NewShortcut:
			n.Shortcuts++
		case c.Kind == OldShortcut:
			n.Removed++
		case c.After.Hidden && !c.Before.Hidden:
			n.Hidden++
		case c.Before.Hidden && !c.After.Hidden:
			n.Shown++
		default:
			n.Counted++
		}
	}
	return n
}

// Run is one run of evolution.
type Run struct {
	ID         string            `json:"id"`
	State      State             `json:"state"`
	Began      time.Time         `json:"began"`
	Ended      *time.Time        `json:"ended,omitempty"`
	Tick       *time.Time        `json:"tick,omitempty"` // of the schedule; nil for a run on request
	Thresholds evolve.Thresholds `json:"thresholds"`
	Counts     Counts            `json:"counts"`
	Note       string            `json:"note,omitempty"`
	Gate       *Gate             `json:"gate,omitempty"` // what held-out feedback said; nil: it was not asked

	Changes []Change             `json:"changes,omitempty"` // not in a list of runs
	Names   map[graph.UID]string `json:"names,omitempty"`   // of the nodes in Changes
	Labels  map[string]string    `json:"labels,omitempty"`  // of the predicates in Changes
}

// Errors of a Runner; lease.ErrHeld is another.
var (
	ErrNoRun    = errors.New("there is no such run")
	ErrNotDone  = errors.New("only a run that is done can be undone")
	ErrFinal    = errors.New("the run can't be undone any more")
	ErrTouched  = errors.New("the graph has learned since")
	errTakenOut = errors.New("the batch was applied before")
)

// Conflict is why a run can't be undone; it is ErrTouched.
type Conflict struct {
	Run     string
	Reasons []string // one for each edge that is in the way
	Later   bool     // some were changed by a later run: undo that one first
}

// shown bounds the reasons in an error's text.
const shown = 5

// Error names some of the edges and says what to do.
func (c *Conflict) Error() string {
	reasons := c.Reasons
	more := ""
	if len(reasons) > shown {
		more = fmt.Sprintf("; and %d more", len(reasons)-shown)
		reasons = reasons[:shown]
	}
	what := "undo it and keep that feedback (keep_feedback), or leave the run as it is"
	if c.Later {
		what = "undo the later run first"
	}
	return fmt.Sprintf("run %s can't be undone, %s: %s%s; %s", c.Run, ErrTouched, strings.Join(reasons, "; "), more, what)
}

// Unwrap makes it ErrTouched.
func (c *Conflict) Unwrap() error { return ErrTouched }
