package evolution

import (
	"fmt"
	"slices"

	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

// present is what a transaction has read about the edges of a batch.
type present struct {
	edges  map[graph.Triplet]facet.Edge
	joined map[evolve.Pair]bool
}

// judge is what changes are decided by.
type judge struct {
	Rules      evolve.Rules      `json:"rules"`
	Thresholds evolve.Thresholds `json:"thresholds"`
	Run        string            `json:"-"` // the seed
}

// depends lists the edges that a change goes by.
func (c Change) depends() []graph.Triplet {
	out := []graph.Triplet{c.Triplet}
	for _, s := range c.path().Steps {
		out = append(out, s.Triplet)
	}
	return out
}

func (c Change) path() graph.Path {
	if c.Via == "" {
		return graph.Path{}
	}
	p, err := graph.ParsePath(c.Via)
	if err != nil {
		return graph.Path{} // written by us: can't be
	}
	return p
}

// settle decides a planned change again on what is there now. Where that is what the plan
// went by the plan stands; else the same rules are applied to what is there, or the change
// is dropped with a note.
func (j judge) settle(c Change, now present) Change {
	switch c.Kind {
	case EdgeChange:
		return j.settleEdge(c, now)
	case NewShortcut:
		return j.settleShortcut(c, now)
	default:
		return j.settleRemoval(c, now)
	}
}

func (c Change) drop(format string, args ...any) Change {
	c.Note = fmt.Sprintf(format, args...)
	return c
}

func (j judge) settleEdge(c Change, now present) Change {
	e, there := now.edges[c.Triplet]
	if !there {
		return c.drop("the edge is gone")
	}
	if e.Contribution == *c.Before {
		return c
	}
	after, why := j.Rules.Fate(j.Thresholds, evolve.Edge{Triplet: e.Triplet, Contribution: e.Contribution}, j.Run)
	after.Score = graph.RoundScore(after.Score)
	if why == evolve.Hide && c.Why != evolve.Hide { // more than the plan may hide
		after.Hidden, why = false, evolve.Low
	}
	if after == e.Contribution {
		return c.drop("feedback has changed the edge")
	}
	c.Before, c.After, c.Why = new(e.Contribution), &after, why
	return c
}

func (j judge) settleShortcut(c Change, now present) Change {
	if now.joined[evolve.Pair{Head: c.Head, Object: c.Object}] {
		return c.drop("an edge joins its ends")
	}
	path := c.path()
	sum, all := 0.0, true
	for _, s := range path.Steps {
		e, there := now.edges[s.Triplet]
		if !there || e.Hidden {
			return c.drop("its path is gone")
		}
		sum += e.Score
		all = all && e.Score > j.Thresholds.High
	}
	average := sum / float64(len(path.Steps))
	if j.Rules.Average && average <= j.Thresholds.High || !j.Rules.Average && !all {
		return c.drop("its path is not good any more")
	}
	c.After = &graph.Contribution{Score: graph.RoundScore(average)}
	return c
}

func (j judge) settleRemoval(c Change, now present) Change {
	e, there := now.edges[c.Triplet]
	if !there {
		return c.drop("the shortcut is gone")
	}
	if !slices.ContainsFunc(c.path().Steps, func(s graph.Step) bool {
		e, there := now.edges[s.Triplet]
		return !there || e.Hidden
	}) {
		return c.drop("its path is there again")
	}
	c.Before, c.NQuads = new(e.Contribution), string(e.AppendTo(nil))
	return c
}

// restore decides how an applied change is undone on what is there now: the change with the
// sides exchanged, or with a note where there is nothing to undo. keep lets feedback that
// came after the run stand; without it why is not empty where there is some. Nor is it for
// what a later run has changed.
func restore(c Change, now present, keep, later bool) (back Change, why string) {
	e, there := now.edges[c.Triplet]
	if !c.done() {
		return c, ""
	}
	back = c
	back.Before, back.After = c.After, c.Before
	name := fmt.Sprintf("%s <%s> %s", c.Head, c.Predicate, c.Object)
	switch {
	case later:
		return c.drop("a later run changed it"), name + " was changed by a later run"
	case c.Kind == OldShortcut && there:
		return c.drop("a shortcut is there"), ""
	case c.Kind == OldShortcut:
		return back, ""
	case !there:
		return c.drop("the edge is gone"), ""
	}
	was := *c.After
	switch {
	case e.Contribution == was:
		return back, ""
	case e.Updates < was.Updates || e.Low != was.Low || e.Hidden != was.Hidden: // feedback adds to the one, and only runs change the others
		return c.drop("somebody has set the edge anew"), ""
	case c.Kind == NewShortcut:
		return c.drop("feedback on it is kept"), refused(keep, name+" was rated")
	}
	after := *c.Before
	after.Updates = e.Updates
	after.Score = graph.RoundScore(min(max(e.Score-(was.Score-c.Before.Score), 0), graph.MaxScore))
	back.Before, back.After = new(e.Contribution), &after
	return back, refused(keep, name+" was rated")
}

func refused(keep bool, why string) string {
	if keep {
		return ""
	}
	return why
}
