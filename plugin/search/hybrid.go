package search

import (
	"cmp"
	"maps"
	"slices"

	"github.com/evorag/dgraph-evorag/plugin/rank"
)

// Relevance gives Sr of triplets for one question, by the dense ids of their parts; see
// relevance.Composed.
type Relevance interface {
	Sr(from, relation, to, edge uint32) float64 // in (0,1]
	Bound(from, relation uint32) float64        // at least every Sr of the relation at the node
	BoundFrom(from uint32) float64              // at least every Sr at the node
	BoundOf(relation uint32) float64            // at least every Sr of the relation
	Max() float64                               // at least every Sr
	Pull(relation uint32) float64               // the relation with the greater one has the greater Bound at every node
	// Srs is Sr of many triplets of one relation at a node; dst is as long as to and edge.
	Srs(dst []float64, from, relation uint32, to, edge []uint32)
}

// Contribution gives what feedback has taught about edges.
type Contribution interface {
	Sc(edge uint32) float64            // raw/200, in [0,1]
	MaxSc(r Rel) float64               // at least every Sc under the relation
	Scs(dst []float64, edges []uint32) // Sc of many edges; dst is as long
}

// Local is a Contribution that knows what meets at a node: with it less is looked at.
type Local interface {
	// At gives the buckets of the relations that can be walked from a node, and at least every
	// Sc of its steps.
	At(n Node) (relations Buckets, maxSc float64)
}

// Falling is a Contribution to a graph that lists the steps of a relation from a node by falling
// Sc: with it less is looked at.
type Falling interface{ FallingSc() }

// Buckets is a small set of relations: what it holds may be there, what it doesn't is not.
type Buckets uint64

// BucketOf is the set of one relation; that of the other direction is the same.
func BucketOf(r Rel) Buckets { return 1 << (r / 2 % 64) }

// Hybrid is the Scorer of equation (2).
type Hybrid struct {
	Alpha        float64
	Relevance    Relevance
	Contribution Contribution
	Question     []float64 // w_r.x/200 by Rel, added to Sc; shorter or nil counts as 0
	max          float64
	maxSc        float64 // the greatest Sc with its question's term
	lift         float64 // the greatest of the question's terms, at least 0
	local        Local   // nil: the Contribution is none
	falling      bool    // the Contribution is Falling
	byPull       []pull
}

// pull is a bucket and, of its relations, the one with the greatest Pull.
type pull struct {
	of  float64
	in  Buckets
	rel Rel
}

// NewHybrid readies a Scorer for relations 0..rels-1. question may be nil.
func NewHybrid(alpha float64, relevance Relevance, contribution Contribution, rels int, question []float64) *Hybrid {
	h := &Hybrid{Alpha: alpha, Relevance: relevance, Contribution: contribution, Question: question}
	best := map[Buckets]pull{}
	for r := range Rel(rels) {
		h.maxSc = max(h.maxSc, h.shifted(contribution.MaxSc(r), r))
		in := BucketOf(r)
		if of := relevance.Pull(uint32(r)); best[in].in == 0 || of > best[in].of {
			best[in] = pull{of, in, r}
		}
	}
	for _, q := range question {
		h.lift = max(h.lift, q)
	}
	h.max = rank.P(alpha, relevance.Max(), h.maxSc)
	h.local, _ = contribution.(Local)
	_, h.falling = contribution.(Falling)
	h.byPull = slices.SortedFunc(maps.Values(best), func(a, b pull) int { return cmp.Compare(b.of, a.of) })
	return h
}

// Score is P of the step and its Sc, the latter without the question's term.
func (h *Hybrid) Score(from Node, s Step) (p, sc float64) {
	sc = h.Contribution.Sc(s.Edge)
	sr := h.Relevance.Sr(uint32(from), uint32(s.Rel), uint32(s.To), s.Edge)
	return rank.P(h.Alpha, sr, h.shifted(sc, s.Rel)), sc
}

// ScoreGroup is Score of many steps.
func (h *Hybrid) ScoreGroup(from Node, r Rel, c *Columns) {
	h.Contribution.Scs(c.Sc, c.Edge)
	h.Relevance.Srs(c.P, uint32(from), uint32(r), c.To, c.Edge)
	for i, sr := range c.P {
		c.P[i] = rank.P(h.Alpha, sr, h.shifted(c.Sc[i], r))
	}
}

// Bound is at least every P of the relation from the node.
func (h *Hybrid) Bound(from Node, r Rel) float64 {
	sc := h.Contribution.MaxSc(r)
	if h.local != nil {
		relations, most := h.local.At(from)
		if relations&BucketOf(r) == 0 {
			return rank.Epsilon // no such step
		}
		sc = min(sc, most)
	}
	return rank.P(h.Alpha, h.Relevance.Bound(uint32(from), uint32(r)), h.shifted(sc, r))
}

// BoundRest is at least the P of the step, and of every one behind it under its relation.
func (h *Hybrid) BoundRest(from Node, s Step) float64 {
	if !h.falling {
		return h.Bound(from, s.Rel)
	}
	return rank.P(h.Alpha, h.Relevance.Bound(uint32(from), uint32(s.Rel)), h.shifted(h.Contribution.Sc(s.Edge), s.Rel))
}

// Relations holds the relations that can be walked from a node; all, where that isn't known.
func (h *Hybrid) Relations(n Node) Buckets {
	if h.local == nil {
		return ^Buckets(0)
	}
	relations, _ := h.local.At(n)
	return relations
}

// BoundOf is at least every P of the relation.
func (h *Hybrid) BoundOf(r Rel) float64 {
	return min(h.max, rank.P(h.Alpha, h.Relevance.BoundOf(uint32(r)), h.shifted(h.Contribution.MaxSc(r), r)))
}

// BoundFrom is at least every P from the node.
func (h *Hybrid) BoundFrom(from Node) float64 {
	if h.local == nil {
		return rank.P(h.Alpha, h.Relevance.BoundFrom(uint32(from)), h.maxSc)
	}
	relations, maxSc := h.local.At(from)
	for _, b := range h.byPull {
		if relations&b.in != 0 {
			return min(h.max, rank.P(h.Alpha, h.Relevance.Bound(uint32(from), uint32(b.rel)), rank.Shifted(maxSc, h.lift)))
		}
	}
	return rank.Epsilon // no step is left
}

// Max is at least every P.
func (h *Hybrid) Max() float64 { return h.max }

func (h *Hybrid) shifted(sc float64, r Rel) float64 {
	if int(r) >= len(h.Question) {
		return sc
	}
	return rank.Shifted(sc, h.Question[r])
}
