package relevance

import (
	"slices"
	"sync"
)

// postings lists for every dimension the vectors that have a weight there.
type postings struct {
	vectors int      // ids 0..vectors-1 are listed
	start   []uint32 // by dimension, into id and weight; one more at the end
	id      []uint32
	weight  []int8
}

func (p *postings) bytes() int { return 4*cap(p.start) + 4*cap(p.id) + cap(p.weight) }

// invert lists all vectors of a packed table.
func invert(t *Table) postings {
	p := postings{vectors: len(t.entries), id: make([]uint32, len(t.index)), weight: make([]int8, len(t.index))}
	if len(t.index) == 0 {
		return p
	}
	p.start = make([]uint32, int(slices.Max(t.index))+2)
	for _, x := range t.index {
		p.start[x+1]++
	}
	for d := range len(p.start) - 1 {
		p.start[d+1] += p.start[d]
	}
	next := slices.Clone(p.start)
	for id, e := range t.entries {
		for i := e.start; i < e.start+e.n; i++ {
			at := next[t.index[i]]
			next[t.index[i]]++
			p.id[at], p.weight[at] = uint32(id), t.weight[i]
		}
	}
	return p
}

// Products gives the cosine of a question with every vector of the table by id, in [-1,1],
// and the greatest of them and 0. dst is used when it is large enough.
// Only vectors that share a dimension with the question cost anything: 200,000 names take
// about a millisecond.
func (t *Table) Products(dst []float32, q *Question) (cos []float32, greatest float32) {
	dst = slices.Grow(dst[:0], len(t.entries))[:len(t.entries)]
	var mu sync.Mutex
	inParts(len(t.entries), func(from, to int) {
		most := t.listed(dst, q, uint32(from), uint32(to))
		mu.Lock()
		defer mu.Unlock()
		greatest = max(greatest, most)
	})
	for _, id := range t.fresh {
		dst[id] = cosine(t.dot(id, q.dense))
		greatest = max(greatest, dst[id])
	}
	return dst, greatest
}

// listed writes the cosines of ids from..to-1 by the postings, which for fresh ids are old, and
// gives the greatest of the others and 0.
func (t *Table) listed(dst []float32, q *Question, from, to uint32) (greatest float32) {
	p := &t.postings
	clear(dst[from:to])
	for i, x := range q.Vector.Index {
		if int(x)+1 >= len(p.start) {
			break
		}
		w := q.Vector.Weight[i]
		ids := p.id[p.start[x]:p.start[x+1]]
		weights := p.weight[p.start[x]:p.start[x+1]]
		first, _ := slices.BinarySearch(ids, from)
		for j, id := range ids[first:] {
			if id >= to {
				break
			}
			dst[id] += w * float32(weights[first+j])
		}
	}
	for id := from; id < min(to, uint32(p.vectors)); id++ {
		if sum := dst[id]; sum != 0 { // most have nothing in common with the question
			c := cosine(sum * t.scale[id])
			dst[id] = c
			if c > greatest && !t.entries[id].fresh {
				greatest = c
			}
		}
	}
	return greatest
}

// cosine takes out what the rounding of weights can add to a cosine.
func cosine(x float32) float32 {
	if x > 1 {
		return 1
	}
	if x < -1 {
		return -1
	}
	return x
}
