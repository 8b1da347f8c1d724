package relevance

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// block is what the length of kept vectors is rounded up to, with zeros, so that products need
// no remainder.
const block = 32

// Dense is a vector of a model as it is kept: int8 weights with a scale. Before rounding it had
// unit length. The zero Dense stands for none.
type Dense struct {
	Weight []int8
	Scale  float32
}

// ErrVector is in the chain of every error about a vector that a model gave.
var ErrVector = errors.New("not a vector to go by")

// NewDense brings a model's vector to unit length and rounds it. Errors, all ErrVector: no
// numbers, one that is not finite, zero everywhere.
func NewDense(v []float32) (Dense, error) {
	var square, top float64
	for i, f := range v {
		w := math.Abs(float64(f))
		if math.IsNaN(w) || math.IsInf(w, 0) {
			return Dense{}, fmt.Errorf("%w: number %d of %d is %v", ErrVector, i+1, len(v), f)
		}
		square += w * w
		top = max(top, w)
	}
	if top == 0 {
		return Dense{}, fmt.Errorf("%w: %d numbers, zero everywhere", ErrVector, len(v))
	}
	d := Dense{Weight: make([]int8, len(v)), Scale: float32(top / 127 / math.Sqrt(square))}
	for i, f := range v {
		d.Weight[i] = int8(math.Round(float64(f) * 127 / top))
	}
	return d, nil
}

// String spells the vector as Dgraph reads one: "[0.1,0.2]".
func (d Dense) String() string {
	b := []byte{'['}
	for i, w := range d.Weight {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(float32(w)*d.Scale), 'g', -1, 32)
	}
	return string(append(b, ']'))
}

// None tells whether there is no vector.
func (d Dense) None() bool { return len(d.Weight) == 0 }

// Cosine of two vectors of one model, in [-1,1] but for rounding; of different lengths it is 0.
func (d Dense) Cosine(o Dense) float64 {
	if len(d.Weight) != len(o.Weight) {
		return 0
	}
	return float64(cosine(float32(dotGeneric(d.Weight, o.Weight)) * d.Scale * o.Scale))
}

// padded is the vector with its length rounded up to whole blocks.
func (d Dense) padded() Dense {
	w := make([]int8, stride(len(d.Weight)))
	copy(w, d.Weight)
	return Dense{w, d.Scale}
}

func stride(dim int) int { return (dim + block - 1) / block * block }

// dotGeneric is the product where the processor has no instructions for it that we know.
func dotGeneric(a, b []int8) int32 {
	var s0, s1, s2, s3 int32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += int32(a[i]) * int32(b[i])
		s1 += int32(a[i+1]) * int32(b[i+1])
		s2 += int32(a[i+2]) * int32(b[i+2])
		s3 += int32(a[i+3]) * int32(b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}
