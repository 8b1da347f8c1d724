package rank

import "math"

// Sum is what Z and the mean Sc add up over the first triplets of a path: that of a longer path goes
// on from it, so that paths with a beginning in common pay for it once. The zero Sum is that of
// no triplets.
type Sum struct {
	ln, sc float64
	hops   int
}

// Add is the sum with one more triplet, of the hybrid score p (equation 2) and the contribution
// sc in [0,1].
func (s Sum) Add(p, sc float64) Sum {
	return Sum{s.ln + math.Log(p), s.sc + sc, s.hops + 1}
}

// Key is what the path is ordered by, to the bit that of Z over its triplets; bias is as in Z. A
// path without triplets has z = -Inf.
func (s Sum) Key(bias float64) Key {
	if s.hops == 0 {
		return Key{Z: math.Inf(-1)}
	}
	h := float64(s.hops)
	return Key{Z: s.ln/h + bias, MeanSc: s.sc / h, Hops: s.hops}
}
