// Package rank is the forward half of the method: the score P of a triplet, the score z
// of a path, its probability p, and the order of results. It works on numbers; what they
// belong to is the caller's. Equation numbers are the paper's, see docs/METHOD.md.
package rank

import (
	"cmp"
	"math"
)

// Defaults and limits of the trade-off between relevance and contribution.
const (
	Epsilon      = 1e-6 // least P of a triplet, so that ln P is finite
	DefaultAlpha = 0.5  // before any feedback
	MinAlpha     = 0.1  // alpha learns inside [MinAlpha, MaxAlpha]
	MaxAlpha     = 0.9
	NeutralSc    = 0.5 // Sc of a triplet that feedback never touched
)

// P is the hybrid score of a triplet, equation (2), clamped to [Epsilon, 1]:
// (1-alpha)*sr + alpha*sc, with sr in (0,1] and sc in [0,1]. A NaN gives Epsilon.
func P(alpha, sr, sc float64) float64 {
	p := (1-alpha)*sr + alpha*sc
	if !(p > Epsilon) {
		return Epsilon
	}
	return min(p, 1)
}

// Shifted is Sc moved by the question-dependent term w_r.x/200, kept in [0,1].
func Shifted(sc, question float64) float64 {
	return max(0, min(1, sc+question))
}

// Z is the length-normalised score of a path, equation (3): the mean of ln P over its
// triplets, plus bias, the term c_h.x/200 of its hop count (0 before any feedback). The sum
// runs from the first triplet to the last, so that equal inputs give equal bits. A path
// without triplets has z = -Inf.
func Z(p []float64, bias float64) float64 {
	if len(p) == 0 {
		return math.Inf(-1)
	}
	var sum float64
	for _, x := range p {
		sum += math.Log(x)
	}
	return sum/float64(len(p)) + bias
}

// Softmax writes p_i = exp(z_i)/sum_j exp(z_j), equation (4), over the retained paths into
// dst, which must be as long as z, and returns it; a nil dst is allocated. The greatest z is
// taken out first, so nothing overflows.
func Softmax(dst, z []float64) []float64 {
	if dst == nil {
		dst = make([]float64, len(z))
	}
	top := math.Inf(-1)
	for _, x := range z {
		top = max(top, x)
	}
	var sum float64
	for i, x := range z {
		dst[i] = math.Exp(x - top)
		sum += dst[i]
	}
	for i := range z {
		dst[i] /= sum
	}
	return dst[:len(z)]
}

// Key is what paths are ordered by.
type Key struct {
	Z      float64 // equation (3)
	MeanSc float64 // mean contribution of the triplets, in [0,1]
	Hops   int
}

// Compare is negative where a ranks before b: higher z, then higher mean Sc, then fewer
// hops. On 0 the caller goes on with the sequence of uids and predicates, which makes the
// order total.
func Compare(a, b Key) int {
	if c := cmp.Compare(b.Z, a.Z); c != 0 {
		return c
	}
	if c := cmp.Compare(b.MeanSc, a.MeanSc); c != 0 {
		return c
	}
	return cmp.Compare(a.Hops, b.Hops)
}
