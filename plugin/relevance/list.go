package relevance

import (
	"math"
	"slices"
)

// Packed is a vector as a Table keeps it: weights as int8, with a scale.
type Packed struct {
	index  []uint16
	weight []int8
	scale  float32
}

// Pack rounds a vector's weights.
func Pack(v Vector) Packed {
	var top float32
	for _, w := range v.Weight {
		top = max(top, w, -w)
	}
	if top == 0 {
		return Packed{}
	}
	p := Packed{index: v.Index, weight: make([]int8, len(v.Weight)), scale: top / 127}
	for i, w := range v.Weight {
		p.weight[i] = int8(math.Round(float64(w * 127 / top)))
	}
	return p
}

// dot is the product with q, a vector written out over all dimensions.
func (p Packed) dot(q []float32) float32 {
	var sum float32
	for i, x := range p.index {
		sum += q[x] * float32(p.weight[i])
	}
	return sum * p.scale
}

// List holds vectors by dense id as a Table does, for questions of which each has vectors of
// its own: it is made at no cost, and compared one by one.
type List []Packed

// Products gives the cosine of the question with every vector by id, in [-1,1], and the
// greatest of them and 0. dst is used when it is large enough.
func (l List) Products(dst []float32, q *Question) (cos []float32, greatest float32) {
	dst = slices.Grow(dst[:0], len(l))[:len(l)]
	for i, p := range l {
		c := cosine(p.dot(q.dense))
		dst[i] = c
		greatest = max(greatest, c)
	}
	return dst, greatest
}

// Pile holds vectors one behind the other, in little more than their weights take. It only grows.
type Pile struct {
	index  []uint16
	weight []int8
	ends   []uint32
	scale  []float32
}

// Append puts a vector on the pile, at the place that Len was.
func (p *Pile) Append(v Packed) {
	p.index, p.weight = append(p.index, v.index...), append(p.weight, v.weight...)
	p.ends, p.scale = append(p.ends, uint32(len(p.index))), append(p.scale, v.scale)
}

// Clip lets go of the room to grow.
func (p *Pile) Clip() {
	p.index, p.weight, p.ends, p.scale = slices.Clone(p.index), slices.Clone(p.weight), slices.Clone(p.ends), slices.Clone(p.scale)
}

// Len is the number of vectors.
func (p *Pile) Len() int { return len(p.ends) }

// At is the vector of a place.
func (p *Pile) At(i int) Packed {
	from := uint32(0)
	if i > 0 {
		from = p.ends[i-1]
	}
	return Packed{p.index[from:p.ends[i]:p.ends[i]], p.weight[from:p.ends[i]:p.ends[i]], p.scale[i]}
}

// Bytes is the memory that the vectors take.
func (p *Pile) Bytes() int {
	return 2*cap(p.index) + cap(p.weight) + 4*cap(p.ends) + 4*cap(p.scale)
}
