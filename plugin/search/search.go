// Package search finds the best paths of a graph around a start node: exactly the top M by
// z, equation (3), over all simple paths of 1..k hops, as bundles of one metapath or as
// single paths. DESIGN.md beside this file states the invariant and why it holds.
package search

import (
	"context"
	"errors"
	"fmt"
)

// Node is the caller's dense id of a node.
type Node uint32

// Rel is the caller's dense id of a relation: a predicate and the direction it is walked in.
type Rel uint32

// Step is one edge as it can be walked from a node.
type Step struct {
	Rel  Rel
	To   Node
	Edge uint32 // the caller's id of the triplet, the same for both of its directions
}

// Adjacency is the graph as this caller may walk it.
type Adjacency interface {
	// Steps lists what can be walked from n, sorted by Rel, without hidden edges. The slice
	// must stay as it is until the search returns.
	Steps(n Node) []Step
	// CompareNodes and CompareRels order ids by what they stand for (uid; predicate and
	// direction), since dense ids come in the order of loading. Both decide ties only.
	CompareNodes(a, b Node) int
	CompareRels(a, b Rel) int
}

// Scorer scores triplets for one question.
type Scorer interface {
	// Score gives P in [rank.Epsilon,1] and Sc in [0,1] of a step from a node. The same step
	// scores the same throughout a search.
	Score(from Node, s Step) (p, sc float64)
	// Bound is at least the P of every step of the relation from the node, and at most 1. The
	// nearer it is, the less is looked at; 1 is always right.
	Bound(from Node, r Rel) float64
	// Max is at least every P, and at most 1.
	Max() float64
}

// NodeScorer is a Scorer that knows more: with it less is looked at.
type NodeScorer interface {
	Scorer
	// BoundFrom is at least the P of every step from the node, and at most Max.
	BoundFrom(from Node) float64
}

// RelScorer is a Scorer that knows more, likewise.
type RelScorer interface {
	Scorer
	// BoundOf is at least the P of every step of the relation, and at most Max.
	BoundOf(r Rel) float64
}

// RestScorer is a Scorer that knows more, likewise.
type RestScorer interface {
	Scorer
	// BoundRest is at least the P of the step, and of every one that stands behind it among the
	// steps of its relation from the node; at most Bound.
	BoundRest(from Node, s Step) float64
}

// LocalScorer is a Scorer that knows more, likewise.
type LocalScorer interface {
	Scorer
	// Relations holds the relations that can be walked from a node.
	Relations(n Node) Buckets
}

// Rule says which paths are candidates.
type Rule uint8

const (
	// All takes every simple path of 1..k hops.
	All Rule = iota
	// Maximal leaves out paths that are the beginning of another candidate: what remains has
	// k hops or ends where no step leads to a new node.
	Maximal
)

// MaxHops is the greatest k.
const MaxHops = 6

// Query says what to search for.
type Query struct {
	Start     Node
	Hops      int       // k, 1..MaxHops
	Paths     int       // M, bundles (or single paths) to keep, at least 1
	Instances int       // best paths to keep in a bundle, at least 1; not used with Single
	Single    bool      // single paths, each its own result
	Rule      Rule      // All by default
	HopBias   []float64 // c_h.x/200 by hop count h, index 0 unused; shorter or nil counts as 0
	Via       []bool    // by Rel: may it be walked; nil: all may, beyond its length none
	Hubs      *Hubs     // of the question, shared by its searches; nil: large groups are like others
	Budget    Budget
}

// Budget bounds one search; a zero field means its default. Time is bounded by the context.
type Budget struct {
	Expansions int // nodes whose steps are looked through, default 50,000
	Edges      int // steps scored, default 500,000; also bounds memory, at about 64 bytes each
	Count      int // steps walked to count one bundle's instances, default 10,000
}

// Defaults of a Budget.
const (
	DefaultExpansions = 50_000
	DefaultEdges      = 500_000
	DefaultCount      = 10_000
)

// Result is what a search found.
type Result struct {
	Bundles []Bundle // in rank order, at most Query.Paths
	Partial bool     // a budget or the context ended the search; Bundles is the best found so far
	Reason  string   // which one, when Partial
	Work    Work
}

// Work is what a search cost.
type Work struct {
	Expansions int // nodes whose steps were looked through
	Edges      int // steps scored
	Skipped    int // groups of steps passed over unscored, because none of them could win
}

// Bundle is one result: the paths from the start node that follow one metapath.
type Bundle struct {
	Metapath []Rel
	Paths    []Path // best first; Paths[0] gives the bundle its rank
	Total    int    // candidates that follow the metapath
	AtLeast  bool   // Total is a lower bound, since counting was cut
}

// Path is one simple path from the start node.
type Path struct {
	Steps  []Step
	Z      float64 // equation (3) with the hop bias
	MeanSc float64 // in [0,1]
}

// ErrQuery is in the chain of every error that a Query can cause.
var ErrQuery = errors.New("search")

func (q Query) check() error {
	switch {
	case q.Hops < 1 || q.Hops > MaxHops:
		return fmt.Errorf("%w: hops: %d; write a number from 1 to %d", ErrQuery, q.Hops, MaxHops)
	case q.Paths < 1:
		return fmt.Errorf("%w: paths: %d; write 1 or more", ErrQuery, q.Paths)
	case q.Instances < 1 && !q.Single:
		return fmt.Errorf("%w: instances: %d; write 1 or more", ErrQuery, q.Instances)
	}
	return nil
}

// Top is the search. The result depends on the graph, the scores and the query alone, not on
// the order of ids or of parallel steps; a Partial one on the budget too.
func Top(ctx context.Context, adj Adjacency, scorer Scorer, q Query) (Result, error) {
	if err := q.check(); err != nil {
		return Result{}, err
	}
	s := borrow(ctx, adj, scorer, q)
	defer s.release()

	s.best = kept{list: s.chosen[:0], limit: q.Paths, distinct: !q.Single}
	share := s.budget
	if !q.Single { // a quarter is left to fill the bundles that the rest has chosen
		share.Edges -= share.Edges / 4
		share.Expansions -= share.Expansions / 4
	}
	s.run(span{1, q.Hops}, share)
	s.chosen = s.best.list
	var result Result
	for _, best := range s.chosen {
		result.Bundles = append(result.Bundles, s.bundle(best))
	}
	result.Reason, result.Partial = s.cut, s.cut != ""
	result.Work = s.work
	return result, nil
}

// bundle turns the best path of a metapath into the finished result.
func (s *search) bundle(best found) Bundle {
	metapath := s.metapath(best)
	b := Bundle{Metapath: metapath, Total: 1}
	s.best = kept{limit: 1, list: append(s.filled[:0], best)}
	if !s.q.Single {
		if s.q.Instances > 1 {
			s.best.limit = s.q.Instances
			s.only = metapath
			s.run(span{len(metapath), len(metapath)}, s.budget)
			s.only = nil
		}
		b.Total, b.AtLeast = s.count(metapath)
		b.Total = max(b.Total, len(s.best.list))
	}
	s.filled = s.best.list
	b.Paths = make([]Path, len(s.filled))
	steps := make([]Step, 0, len(s.filled)*len(metapath))
	for i, f := range s.filled {
		var buf [MaxHops]Step
		from := len(steps)
		steps = append(steps, s.walk(f, &buf)...)
		b.Paths[i] = Path{Steps: steps[from:len(steps):len(steps)], Z: f.key.Z, MeanSc: f.key.MeanSc}
	}
	return b
}
