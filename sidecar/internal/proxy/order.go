package proxy

import (
	"cmp"
	"math"
	"slices"
)

// sortKey is what nearly all chains are ordered by, and which chain it is.
type sortKey struct {
	bits uint64 // of z, such that a greater z has the smaller number
	at   int32
}

// keyOf is the key of a z that is a number or infinite.
func keyOf(z float64, at int) sortKey {
	const sign = 1 << 63
	bits := math.Float64bits(z + 0) // of both zeros the positive one
	if bits < sign {
		bits ^= sign - 1
	}
	return sortKey{bits, int32(at)}
}

// digits are counts of the upper bytes of keys: too many for a stack, which would have to grow for
// them.
type digits [4][256]int32

// sortByZ sorts the highest z first, those of one z by ties. Digit by digit it takes a fraction of
// the time that comparing takes; few keys differ in their lower halves alone, and those are compared.
// spare is as long as keys; one of both comes back, sorted.
func sortByZ(keys, spare []sortKey, counts *digits, ties func(x, y int32) int) []sortKey {
	*counts = digits{}
	for _, k := range keys {
		for digit := range counts {
			counts[digit][byte(k.bits>>(32+8*digit))]++
		}
	}
	for digit := range counts {
		from := &counts[digit]
		sum := int32(0)
		for i, n := range from {
			from[i] = sum
			sum += n
		}
		for _, k := range keys {
			place := &from[byte(k.bits>>(32+8*digit))]
			spare[*place] = k
			*place++
		}
		keys, spare = spare, keys
	}
	for start := 0; start < len(keys); {
		end := start + 1
		for end < len(keys) && keys[end].bits>>32 == keys[start].bits>>32 {
			end++
		}
		if end > start+1 {
			slices.SortFunc(keys[start:end], func(x, y sortKey) int { return cmp.Or(cmp.Compare(x.bits, y.bits), ties(x.at, y.at)) })
		}
		start = end
	}
	return keys
}
