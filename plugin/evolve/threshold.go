package evolve

import (
	"math"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Bounds that keep a neutral edge from being judged: it is never hidden, and a bad one is
// never fused, however the scores are spread.
const (
	leastHigh = 105.0
	mostLow   = 85.0
)

// Thresholds are the lines that a run draws, in raw points.
type Thresholds struct {
	Mu      float64 `json:"mu"`
	Sigma   float64 `json:"sigma"`
	High    float64 `json:"tau_high"` // max(mu+sigma, 105)
	Low     float64 `json:"tau_low"`  // min(mu-sigma, 85)
	Touched int     `json:"touched"`  // triplets that feedback has touched
	Enough  bool    `json:"enough"`   // there are Rules.MinTouched of them: triplets are judged
}

// Thresholds are the lines that a run over the snapshot would draw.
func (r Rules) Thresholds(s Snapshot) Thresholds { return thresholds(s, r) }

// thresholds draws the lines over the touched triplets or, with Rules.All, over all of the
// graph: those outside the snapshot stand at 100. sigma is the population's.
func thresholds(s Snapshot, r Rules) Thresholds {
	var t Thresholds
	var n int
	var sum float64
	counts := func(e Edge) bool { return e.Updates > 0 || r.All }
	for _, e := range s.Edges {
		if e.Updates > 0 {
			t.Touched++
		}
		if counts(e) {
			n++
			sum += e.Score
		}
	}
	var others int
	if r.All {
		others = max(0, s.Total-len(s.Edges))
	}
	t.Enough = t.Touched >= r.MinTouched
	t.Mu = graph.NeutralScore
	if all := float64(n + others); all > 0 {
		t.Mu = (sum + float64(others)*graph.NeutralScore) / all
		squares := float64(others) * (graph.NeutralScore - t.Mu) * (graph.NeutralScore - t.Mu)
		for _, e := range s.Edges {
			if counts(e) {
				squares += (e.Score - t.Mu) * (e.Score - t.Mu)
			}
		}
		t.Sigma = math.Sqrt(squares / all)
	}
	t.High, t.Low = max(t.Mu+t.Sigma, leastHigh), min(t.Mu-t.Sigma, mostLow)
	return t
}
