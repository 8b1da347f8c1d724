package rank

import "math"

// Term is what one triplet brings to a path's z.
type Term struct {
	Sr       float64 // in (0,1]
	Sc       float64 // raw/200, in [0,1]
	Question float64 // w_r.x/200, what the question moves Sc by; 0 before any feedback
}

// P is equation (2) of the triplet, the question-dependent term included.
func (t Term) P(alpha float64) float64 { return P(alpha, t.Sr, Shifted(t.Sc, t.Question)) }

// Part is one named summand of z.
type Part struct {
	Name  string
	Value float64
}

// Explain takes z apart into summands, in this order; their sum is Z up to rounding:
//
//	relevance     mean of ln P with every Sc neutral: what z is without feedback, <= 0
//	contribution  what the triplets' own scores add to that; 0 while they are neutral
//	question      what the question-dependent term w_r.x adds to that
//	hops          the term c_h.x/200 of the path's hop count
//
// bias is the last of them. A path without terms has no parts.
func Explain(alpha float64, path []Term, bias float64) []Part {
	if len(path) == 0 {
		return nil
	}
	var neutral, scored, asked float64
	for _, t := range path {
		neutral += math.Log(P(alpha, t.Sr, NeutralSc))
		scored += math.Log(P(alpha, t.Sr, t.Sc))
		asked += math.Log(t.P(alpha))
	}
	h := float64(len(path))
	return []Part{
		{"relevance", neutral / h},
		{"contribution", (scored - neutral) / h},
		{"question", (asked - scored) / h},
		{"hops", bias},
	}
}
