package relevance

import (
	"fmt"
	"math"
	"slices"
)

// Table holds the vectors of many texts by dense id, and gives the products of all of them
// with a question at once. Weights are kept as int8 with a scale for each vector; with the
// postings that makes 8 bytes a feature and 16 a vector (a name of 15 letters takes about
// 160 bytes). Readers may share it; Set and Pack exclude them.
type Table struct {
	entries []entry
	scale   []float32 // by id, beside the entries: Products goes through all of them
	index   []uint16
	weight  []int8
	unused  int // features that Set has left behind

	postings postings
	fresh    []uint32 // ids set since the postings were built
}

type entry struct {
	start uint32
	n     uint32
	fresh bool
}

// Least numbers of leftovers and of fresh ids that are worth tidying up.
const (
	minUnused = 1 << 14
	minFresh  = 1 << 12
)

// Len is the number of ids: 0..Len()-1. An id that was never set has the zero Vector.
func (t *Table) Len() int { return len(t.entries) }

// Bytes is the memory that the vectors take.
func (t *Table) Bytes() int {
	return 12*cap(t.entries) + 4*cap(t.scale) + 2*cap(t.index) + cap(t.weight) + 4*cap(t.fresh) + t.postings.bytes()
}

// Clone is a copy that can be changed while others read t.
func (t *Table) Clone() *Table {
	c := *t
	c.entries, c.scale, c.index = slices.Clone(t.entries), slices.Clone(t.scale), slices.Clone(t.index)
	c.weight, c.fresh = slices.Clone(t.weight), slices.Clone(t.fresh)
	return &c // postings are never changed in place
}

// Set keeps v under id, in place of what was there; the table grows to hold id. Now and then
// it packs the table, so that its cost is constant on average. Beyond 2^32 features it panics.
func (t *Table) Set(id uint32, v Vector) {
	for uint32(len(t.entries)) <= id {
		t.entries, t.scale = append(t.entries, entry{}), append(t.scale, 0)
	}
	old := t.entries[id]
	t.unused += int(old.n)
	if !old.fresh {
		t.fresh = append(t.fresh, id)
	}
	t.entries[id], t.scale[id] = t.append(v)
	if len(t.fresh) > max(minFresh, len(t.entries)/4) || t.unused > max(minUnused, len(t.index)/2) {
		t.Pack()
	}
}

func (t *Table) append(v Vector) (e entry, scale float32) {
	p := Pack(v)
	if uint64(len(t.index))+uint64(len(p.index)) > math.MaxUint32 {
		panic(fmt.Sprintf("relevance: a table holds at most 2^32 features, it has %d", len(t.index)))
	}
	e = entry{start: uint32(len(t.index)), n: uint32(len(p.index)), fresh: true}
	t.index = append(t.index, p.index...)
	t.weight = append(t.weight, p.weight...)
	return e, p.scale
}

// Pack drops what Set has left behind and readies Products for all ids; worth calling after
// a bulk of Sets.
func (t *Table) Pack() {
	size := len(t.index) - t.unused
	index, weight := make([]uint16, 0, size), make([]int8, 0, size)
	for i := range t.entries {
		e := &t.entries[i]
		start := uint32(len(index))
		index = append(index, t.index[e.start:e.start+e.n]...)
		weight = append(weight, t.weight[e.start:e.start+e.n]...)
		e.start, e.fresh = start, false
	}
	t.index, t.weight, t.unused, t.fresh = index, weight, 0, nil
	t.postings = invert(t)
}

// dot is the product of vector id with q, a vector written out over all dimensions.
func (t *Table) dot(id uint32, q []float32) float32 {
	e := t.entries[id]
	return Packed{t.index[e.start : e.start+e.n], t.weight[e.start : e.start+e.n], t.scale[id]}.dot(q)
}
