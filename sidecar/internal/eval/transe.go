package eval

import (
	"math"
	"math/rand/v2"
)

// transE embeds a graph so that head + relation is near object (Bordes et al., Translating
// Embeddings for Modeling Multi-relational Data, 2013): margin ranking loss against corrupted
// triplets, squared distances, stochastic gradient descent, entities kept on the unit sphere.
type transE struct {
	entity, relation map[string]int
	e, r             [][]float64
}

// Settings of transE.
const (
	transDim    = 24
	transMargin = 1.0
	transRate   = 0.02
	transSteps  = 3_000_000 // triplets looked at, in all
)

// newTransE trains on all triplets; the same seed gives the same embedding.
func newTransE(triples []Triple, seed uint64) *transE {
	chance := rand.New(rand.NewPCG(seed, 0x7e)) //nolint:gosec // reproducible on purpose
	m := &transE{entity: map[string]int{}, relation: map[string]int{}}
	index := func(in map[string]int, rows *[][]float64, name string) int {
		i, ok := in[name]
		if !ok {
			i = len(*rows)
			in[name] = i
			v := make([]float64, transDim)
			for d := range v {
				v[d] = chance.Float64()*2 - 1
			}
			unit(v)
			*rows = append(*rows, v)
		}
		return i
	}
	facts := make([][3]int, len(triples))
	for i, t := range triples {
		facts[i] = [3]int{index(m.entity, &m.e, t[0]), index(m.relation, &m.r, t[1]), index(m.entity, &m.e, t[2])}
	}
	if len(facts) == 0 {
		return m
	}
	for range transSteps {
		good := facts[chance.IntN(len(facts))]
		bad := good
		bad[2*chance.IntN(2)] = chance.IntN(len(m.e)) // head or object
		if transMargin+m.distance(good)-m.distance(bad) <= 0 {
			continue
		}
		m.pull(good, -transRate)
		m.pull(bad, transRate)
		for _, i := range []int{good[0], good[2], bad[0], bad[2]} {
			unit(m.e[i])
		}
	}
	return m
}

// distance is |h + r - o| squared.
func (m *transE) distance(t [3]int) float64 {
	h, r, o := m.e[t[0]], m.r[t[1]], m.e[t[2]]
	sum := 0.0
	for d := range h {
		x := h[d] + r[d] - o[d]
		sum += x * x
	}
	return sum
}

// pull moves a triplet's vectors along the gradient of its distance.
func (m *transE) pull(t [3]int, rate float64) {
	h, r, o := m.e[t[0]], m.r[t[1]], m.e[t[2]]
	for d := range h {
		x := rate * 2 * (h[d] + r[d] - o[d])
		h[d] += x
		r[d] += x
		o[d] -= x
	}
}

// score of a triplet, the higher the more plausible: minus its distance.
func (m *transE) score(t Triple) float64 {
	return -math.Sqrt(m.distance([3]int{m.entity[t[0]], m.relation[t[1]], m.entity[t[2]]}))
}

func unit(v []float64) {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	if sum > 0 {
		for d := range v {
			v[d] /= math.Sqrt(sum)
		}
	}
}
