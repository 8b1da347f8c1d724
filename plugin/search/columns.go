package search

import "slices"

// Columns are steps of one relation from a node, column by column, and their scores.
type Columns struct {
	To, Edge []uint32  // of the steps
	P, Sc    []float64 // as Scorer.Score gives them
}

// GroupScorer is a Scorer that scores many steps of one relation faster than one by one.
type GroupScorer interface {
	Scorer
	// ScoreGroup fills P and Sc, which are as long as To and Edge, with what Score gives.
	ScoreGroup(from Node, r Rel, c *Columns)
}

// score fills the columns for a group; a nil scorer of groups is asked for step by step.
func (c *Columns) score(scorer Scorer, all GroupScorer, from Node, group []Step) {
	n := len(group)
	c.P, c.Sc = slices.Grow(c.P[:0], n)[:n], slices.Grow(c.Sc[:0], n)[:n]
	c.fill(scorer, all, from, group)
}

// fill is score where P and Sc are as long as the group.
func (c *Columns) fill(scorer Scorer, all GroupScorer, from Node, group []Step) {
	if all == nil {
		for i, s := range group {
			c.P[i], c.Sc[i] = scorer.Score(from, s)
		}
		return
	}
	n := len(group)
	c.To, c.Edge = slices.Grow(c.To[:0], n)[:n], slices.Grow(c.Edge[:0], n)[:n]
	for i, s := range group {
		c.To[i], c.Edge[i] = uint32(s.To), s.Edge
	}
	all.ScoreGroup(from, group[0].Rel, c)
}
