// Package credit is the backward half of the method: what a rating says about the retained
// paths, the exact gradient of the loss, and the step that each triplet's score and alpha
// take. Everything is a function of its arguments. Equation numbers are the paper's, see
// docs/METHOD.md; DESIGN.md beside this file states what always holds.
package credit

import (
	"fmt"
	"math"
	"slices"

	"github.com/evorag/dgraph-evorag/plugin/rank"
)

// Problem is one retrieval in numbers: the distinct triplets, the retained paths over them,
// and what each path was worth. Path i is Index[Start[i]:Start[i+1]].
type Problem struct {
	Alpha       float64   // trade-off with which it was ranked
	Delta       float64   // smoothing of the loss, >= 0
	Temperature float64   // of the softmax over z/Temperature; 0 stands for 1, equation (4)
	Sr, Sc      []float64 // by triplet, in [0,1]
	Asked       []float64 // by triplet: w_r.x/200, what the question moves Sc by
	Start       []int32   // by path, one more at the end; empty paths are left out of the loss by the caller
	Index       []int32   // triplets of the paths, in walking order
	Bias        []float64 // by path: c_h.x/200, a summand of z
	U           []float64 // utility by path, in [-1,1]
}

// Reset empties the problem and keeps its memory.
func (p *Problem) Reset(alpha, delta float64) {
	p.Alpha, p.Delta, p.Temperature = alpha, delta, 0
	p.Sr, p.Sc, p.Asked, p.Index = p.Sr[:0], p.Sc[:0], p.Asked[:0], p.Index[:0]
	p.Bias, p.U = p.Bias[:0], p.U[:0]
	p.Start = append(p.Start[:0], 0)
}

// AddTriplet adds a triplet that the question doesn't move, and gives its index.
func (p *Problem) AddTriplet(sr, sc float64) int32 { return p.AddAsked(sr, sc, 0) }

// AddAsked adds a triplet whose Sc the question moves by asked, and gives its index.
func (p *Problem) AddAsked(sr, sc, asked float64) int32 {
	p.Sr, p.Sc, p.Asked = append(p.Sr, sr), append(p.Sc, sc), append(p.Asked, asked)
	return int32(len(p.Sr) - 1) //nolint:gosec // bounded by memory
}

// AddPath adds a path over triplets that were added before.
func (p *Problem) AddPath(u float64, triplets ...int32) { p.AddBiased(u, 0, triplets...) }

// AddBiased is AddPath with a bias of its z.
func (p *Problem) AddBiased(u, bias float64, triplets ...int32) {
	p.Index = append(p.Index, triplets...)
	p.Start = append(p.Start, int32(len(p.Index))) //nolint:gosec // bounded by memory
	p.U, p.Bias = append(p.U, u), append(p.Bias, bias)
}

// Paths is the number of paths m.
func (p *Problem) Paths() int { return len(p.U) }

func (p *Problem) check() error {
	for _, x := range []float64{p.Alpha, p.Delta, p.Temperature} {
		if x-x != 0 || x < 0 {
			return fmt.Errorf("alpha %v, delta %v or temperature %v: %w", p.Alpha, p.Delta, p.Temperature, ErrNotFinite)
		}
	}
	for i := range p.Sr {
		if x := p.Sr[i] + p.Sc[i] + p.Asked[i]; x-x != 0 {
			return fmt.Errorf("triplet %d has Sr %v, Sc %v and the question's %v: %w", i, p.Sr[i], p.Sc[i], p.Asked[i], ErrNotFinite)
		}
	}
	for i, u := range p.U {
		if x := p.Bias[i]; x-x != 0 {
			return fmt.Errorf("path %d has the bias %v: %w", i, x, ErrNotFinite)
		}
		if !(u >= -1 && u <= 1) {
			return fmt.Errorf("path %d has the utility %v; it lies in [-1,1]", i, u)
		}
		if p.Start[i] == p.Start[i+1] {
			return fmt.Errorf("path %d has no triplet", i)
		}
	}
	return nil
}

// Gradient is the loss of a Problem and its derivatives there.
type Gradient struct {
	Loss       float64   // -ln((1 + Ubar + delta)/2); +Inf where degenerate
	P          []float64 // p_i by path, equation (4)
	Sc         []float64 // dLoss/dSc by triplet, which is dLoss/dAsked too
	Bias       []float64 // dLoss/dBias by path
	Alpha      float64   // dLoss/dalpha
	Degenerate bool      // 1 + Ubar + delta is 0: the step is zero
}

// Calculus computes gradients. It keeps its memory between calls, so that it allocates
// nothing once it has seen a problem as large; it is not safe for concurrent use. The zero
// value is ready.
type Calculus struct {
	g             Gradient
	sc, x, lnP, a []float64 // by triplet: Sc as the question has it, the hybrid before its clamp, ln P, A_t
	z             []float64 // over the temperature
}

// Gradient is exact: the derivative of the loss of equations (2) to (4) with the smoothing
// delta and the question's terms, where the paper's (5) and (7) carry a factor that is not. What it
// returns is good until the next call. Where P(t), or Sc as the question moves it, stands at its
// clamp, only a step that leads back inside passes.
// The error is ErrNotFinite, or names a number out of range.
func (c *Calculus) Gradient(p *Problem) (*Gradient, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	g := &c.g
	n, m := len(p.Sr), p.Paths()
	c.sc, c.x, c.lnP, c.a, g.Sc = sized(c.sc, n), sized(c.x, n), sized(c.lnP, n), sized(c.a, n), sized(g.Sc, n)
	c.z, g.P, g.Bias = sized(c.z, m), sized(g.P, m), sized(g.Bias, m)
	g.Alpha, g.Degenerate = 0, false
	clear(c.a)
	clear(g.Sc)
	clear(g.Bias)
	temperature := p.Temperature
	if temperature == 0 {
		temperature = 1
	}
	if m == 0 {
		g.Loss = -math.Log((1 + p.Delta) / 2)
		return g, nil
	}

	for t := range p.Sr { // equation (2)
		c.sc[t] = rank.Shifted(p.Sc[t], p.Asked[t])
		c.x[t] = (1-p.Alpha)*p.Sr[t] + p.Alpha*c.sc[t]
		c.lnP[t] = math.Log(clamped(c.x[t]))
	}
	for i := range m { // equation (3)
		path := p.Index[p.Start[i]:p.Start[i+1]]
		var sum float64
		for _, t := range path {
			sum += c.lnP[t]
		}
		c.z[i] = (sum/float64(len(path)) + p.Bias[i]) / temperature
	}
	rank.Softmax(g.P, c.z) // equation (4)
	var mean float64
	for i, u := range p.U {
		mean += g.P[i] * u
	}
	e := 1 + mean + p.Delta
	g.Loss = -math.Log(e / 2)
	if !(e > 0) {
		g.Loss, g.Degenerate = math.Inf(1), true
		return g, nil
	}

	for i, u := range p.U {
		path := p.Index[p.Start[i]:p.Start[i+1]]
		share := g.P[i] * (u - mean) / e / temperature // (q_i - p_i)/temperature
		g.Bias[i] = -share
		share /= float64(len(path))
		for _, t := range path {
			c.a[t] += share
		}
	}
	for t, a := range c.a {
		x := c.x[t]
		if (x <= rank.Epsilon && a <= 0) || (x >= 1 && a >= 0) {
			continue // held at the clamp
		}
		w := a / clamped(x)
		g.Alpha -= (c.sc[t] - p.Sr[t]) * w
		if moved := p.Sc[t] + p.Asked[t]; p.Asked[t] == 0 || !(moved <= 0 && a <= 0) && !(moved >= 1 && a >= 0) {
			g.Sc[t] = -p.Alpha * w
		}
	}
	return g, nil
}

// clamped is P of equation (2) from its unclamped hybrid.
func clamped(x float64) float64 { return max(rank.Epsilon, min(1, x)) }

// sized gives s the length n and keeps its memory where it is enough.
func sized(s []float64, n int) []float64 { return slices.Grow(s[:0], n)[:n] }
