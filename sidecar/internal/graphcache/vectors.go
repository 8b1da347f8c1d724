package graphcache

import (
	"slices"
	"unsafe"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// foldAt is how many changed names are kept beside the packed table before they are folded
// into a copy of it. A relevance.Table keeps so many without packing itself.
const foldAt = 4096

// vectors are those of the nodes' names by node: a packed table that many states of the graph
// share, and what has changed since. It never changes itself.
type vectors struct {
	list   relevance.List // of a graph that is made for one query: in place of the rest
	packed *relevance.Table
	recent *relevance.Table
	of     []search.Node // whose the rows of recent are; of two for a node the later counts
}

// vectorsOf are those of a list by node.
func vectorsOf(l relevance.List) *vectors { return &vectors{list: l} }

// newVectors packs the table.
func newVectors(t *relevance.Table) *vectors {
	t.Pack()
	return &vectors{packed: t, recent: &relevance.Table{}}
}

// Products makes vectors a relevance.Vectors.
func (v *vectors) Products(dst []float32, q *relevance.Question) ([]float32, float32) {
	if v.packed == nil {
		return v.list.Products(dst, q)
	}
	dst, greatest := v.packed.Products(dst, q)
	recent, most := v.recent.Products(nil, q)
	for i, n := range v.of {
		for int(n) >= len(dst) {
			dst = append(dst, 0)
		}
		dst[n] = recent[i]
	}
	return dst, max(greatest, most)
}

// with is the vectors after some nodes have changed their names.
func (v *vectors) with(hash *relevance.Hash, changed []search.Node, name func(search.Node) string) *vectors {
	if len(v.of)+len(changed) > foldAt {
		packed := v.packed.Clone()
		all := slices.Concat(v.of, changed)
		slices.Sort(all)
		for _, n := range slices.Compact(all) {
			packed.Set(uint32(n), hash.Embed(name(n)))
		}
		return newVectors(packed)
	}
	next := &vectors{packed: v.packed, recent: v.recent.Clone(), of: slices.Concat(v.of, changed)}
	for i, n := range changed {
		next.recent.Set(uint32(len(v.of)+i), hash.Embed(name(n)))
	}
	return next
}

func (v *vectors) bytes() int {
	if v.packed == nil {
		return cap(v.list) * int(unsafe.Sizeof(relevance.Packed{})) // the weights are others' too
	}
	return v.packed.Bytes() + v.recent.Bytes() + 4*cap(v.of)
}
