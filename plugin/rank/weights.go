package rank

import (
	"maps"
	"slices"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// WeightOf names a weight vector: w_r of a relation in DQL's spelling ("pred", "~pred"), or c_h
// of a hop count. One of the two is set.
type WeightOf struct {
	Relation string `json:"relation,omitempty"`
	Hops     int    `json:"hops,omitempty"`
}

// Weights are what feedback has taught about relations and hop counts, in raw points: a vector
// for each, to be multiplied with the features x of a question. One that isn't there is 0.
// Weights don't change once they are made, so readers may share them; nil is empty.
type Weights struct {
	Template string // what x is made by
	vectors  map[WeightOf][]float64
}

// NewWeights makes Weights of vectors, which it keeps.
func NewWeights(template string, vectors map[WeightOf][]float64) *Weights {
	return &Weights{template, vectors}
}

// Of lists the vectors that there are, by relation, then by hop count.
func (w *Weights) Of() []WeightOf {
	if w == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(w.vectors), func(a, b WeightOf) int {
		if a.Relation != b.Relation {
			if a.Relation < b.Relation {
				return -1
			}
			return 1
		}
		return a.Hops - b.Hops
	})
}

// Vector is one of them, nil for none. It must not be changed.
func (w *Weights) Vector(of WeightOf) []float64 {
	if w == nil {
		return nil
	}
	return w.vectors[of]
}

// Term is w_r.x/200 or c_h.x/200: what the question moves Sc, or z, by.
func (w *Weights) Term(of WeightOf, x graph.Features) float64 {
	v := w.Vector(of)
	var sum float64
	for i, k := range x.Index {
		if int(k) < len(v) {
			sum += v[k] * float64(x.Weight[i])
		}
	}
	return sum / graph.MaxScore
}

// Bias is c_h.x/200 by hop count from 1 to most; index 0 is unused. Nil stands for zeros.
func (w *Weights) Bias(x graph.Features, most int) []float64 {
	if w == nil {
		return nil
	}
	bias := make([]float64, most+1)
	for h := 1; h <= most; h++ {
		bias[h] = w.Term(WeightOf{Hops: h}, x)
	}
	return bias
}

// Change is the step of one vector: Delta*X is added.
type Change struct {
	Of    WeightOf
	Delta float64
	X     graph.Features
}

// With gives the Weights after some changes, in their order; w stays as it is.
func (w *Weights) With(template string, changes []Change) *Weights {
	out := &Weights{template, map[WeightOf][]float64{}}
	if w != nil {
		maps.Copy(out.vectors, w.vectors)
	}
	mine := map[WeightOf]bool{}
	for _, c := range changes {
		v := out.vectors[c.Of]
		if !mine[c.Of] {
			mine[c.Of] = true
			v = slices.Clone(v)
		}
		if n := len(c.X.Index); n > 0 && int(c.X.Index[n-1]) >= len(v) {
			v = append(v, make([]float64, int(c.X.Index[n-1])+1-len(v))...)
		}
		for i, k := range c.X.Index {
			v[k] += c.Delta * float64(c.X.Weight[i])
		}
		out.vectors[c.Of] = v
	}
	return out
}
