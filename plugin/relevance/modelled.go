package relevance

import "slices"

// Way is how Sr of triplets comes about.
type Way string

// The ways.
const (
	ByHash     Way = "hash"     // from the hashed words of names and labels; no model
	ByTriplet  Way = "triplet"  // from a model's vector of "head relation object", as in the paper
	ByComposed Way = "composed" // from a model's vectors of names and labels
)

// Ways are all of them.
var Ways = []Way{ByHash, ByTriplet, ByComposed}

// TripletText is the text whose vector stands for a triplet.
func TripletText(head, label, object string) string { return head + " " + label + " " + object }

// Modelled are Vectors of a model by dense id: Of gives the row of each, NoRow where there is
// none. Such an id, and every one where the question has no vector of the model, counts by its
// hashed vector.
type Modelled struct {
	Hashed Vectors
	Rows   Rows
	Of     []uint32
}

// Products makes it Vectors.
func (m Modelled) Products(dst []float32, q *Question) (cos []float32, greatest float32) {
	if !m.Rows.has(q) {
		return m.Hashed.Products(dst, q)
	}
	if !slices.Contains(m.Of, NoRow) {
		dst = dst[:0]
	} else {
		dst, _ = m.Hashed.Products(dst, q)
	}
	if short := len(m.Of) - len(dst); short > 0 {
		known := len(dst)
		dst = slices.Grow(dst, short)[:len(m.Of)]
		clear(dst[known:])
	}
	m.Rows.overwrite(dst, m.Of, q.Model.padded())
	for _, c := range dst {
		greatest = max(greatest, c)
	}
	return dst, greatest
}

// Triplets gives Sr from a vector for each triplet, by its edge's id; an edge without one, and
// every edge where the question has no vector of the model, counts by its hashed parts. It
// serves one question at a time, as Composed does. Vectors are compared when they are asked
// for, so nothing is known ahead of an edge: every bound is 1.
type Triplets struct {
	hashed *Composed
	rows   Rows
	of     []uint32
	x      Dense // padded; none: all is hashed
}

// NewTriplets is ready after Ask. of gives each edge's row.
func NewTriplets(hashed *Composed, rows Rows, of []uint32) *Triplets {
	return &Triplets{hashed: hashed, rows: rows, of: of}
}

// Ask turns to another question.
func (t *Triplets) Ask(q *Question) {
	t.x = Dense{}
	if t.rows.has(q) {
		t.x = q.Model.padded()
	}
	t.hashed.Ask(q.Hashed())
}

func (t *Triplets) row(edge uint32) uint32 {
	if t.x.None() || int(edge) >= len(t.of) {
		return NoRow
	}
	return t.of[edge]
}

// Sr is the relevance of a triplet, in [MinSr,1].
func (t *Triplets) Sr(from, relation, to, edge uint32) float64 {
	if row := t.row(edge); row != NoRow {
		return Sr(float64(t.rows.cosine(row, t.x)))
	}
	return t.hashed.Sr(from, relation, to, edge)
}

// Srs is Sr of many triplets of one relation at an entity; dst is as long as to and edge.
func (t *Triplets) Srs(dst []float64, from, relation uint32, to, edge []uint32) {
	if t.x.None() {
		t.hashed.Srs(dst, from, relation, to, edge)
		return
	}
	for i := range to {
		dst[i] = t.Sr(from, relation, to[i], edge[i])
	}
}

// Bound is at least the Sr of every triplet of the relation at the entity.
func (t *Triplets) Bound(from, relation uint32) float64 {
	return t.bound(t.hashed.Bound(from, relation))
}

// BoundFrom is at least the Sr of every triplet at the entity.
func (t *Triplets) BoundFrom(from uint32) float64 { return t.bound(t.hashed.BoundFrom(from)) }

// BoundOf is at least the Sr of every triplet of the relation.
func (t *Triplets) BoundOf(relation uint32) float64 { return t.bound(t.hashed.BoundOf(relation)) }

// Max is at least every Sr for the question.
func (t *Triplets) Max() float64 { return t.bound(t.hashed.Max()) }

// Pull orders relations as Bound does.
func (t *Triplets) Pull(relation uint32) float64 { return t.hashed.Pull(relation) }

func (t *Triplets) bound(hashed float64) float64 {
	if t.x.None() {
		return hashed
	}
	return 1
}
