package search

import "github.com/evorag/dgraph-evorag/plugin/rank"

// Relevance gives Sr of triplets for one question, by the dense ids of their parts; see
// relevance.Composed.
type Relevance interface {
	Sr(from, relation, to, edge uint32) float64 // in (0,1]
	Bound(from, relation uint32) float64        // at least every Sr of the relation at the node
	BoundFrom(from uint32) float64              // at least every Sr at the node
	Max() float64                               // at least every Sr
}

// Contribution gives what feedback has taught about edges.
type Contribution interface {
	Sc(edge uint32) float64 // raw/200, in [0,1]
	MaxSc(r Rel) float64    // at least every Sc under the relation
}

// Hybrid is the Scorer of equation (2).
type Hybrid struct {
	Alpha        float64
	Relevance    Relevance
	Contribution Contribution
	Question     []float64 // w_r.x/200 by Rel, added to Sc; shorter or nil counts as 0
	max          float64
	maxSc        float64 // the greatest Sc with its question's term
}

// NewHybrid readies a Scorer for relations 0..rels-1. question may be nil.
func NewHybrid(alpha float64, relevance Relevance, contribution Contribution, rels int, question []float64) *Hybrid {
	h := &Hybrid{Alpha: alpha, Relevance: relevance, Contribution: contribution, Question: question}
	var sc float64
	for r := range Rel(rels) {
		sc = max(sc, h.shifted(contribution.MaxSc(r), r))
	}
	h.max, h.maxSc = rank.P(alpha, relevance.Max(), sc), sc
	return h
}

// Score is P of the step and its Sc, the latter without the question's term.
func (h *Hybrid) Score(from Node, s Step) (p, sc float64) {
	sc = h.Contribution.Sc(s.Edge)
	sr := h.Relevance.Sr(uint32(from), uint32(s.Rel), uint32(s.To), s.Edge)
	return rank.P(h.Alpha, sr, h.shifted(sc, s.Rel)), sc
}

// Bound is at least every P of the relation from the node.
func (h *Hybrid) Bound(from Node, r Rel) float64 {
	return rank.P(h.Alpha, h.Relevance.Bound(uint32(from), uint32(r)), h.shifted(h.Contribution.MaxSc(r), r))
}

// BoundFrom is at least every P from the node.
func (h *Hybrid) BoundFrom(from Node) float64 {
	return rank.P(h.Alpha, h.Relevance.BoundFrom(uint32(from)), h.maxSc)
}

// Max is at least every P.
func (h *Hybrid) Max() float64 { return h.max }

func (h *Hybrid) shifted(sc float64, r Rel) float64 {
	if int(r) >= len(h.Question) {
		return sc
	}
	return rank.Shifted(sc, h.Question[r])
}
