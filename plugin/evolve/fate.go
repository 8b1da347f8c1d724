package evolve

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Why says what a change is.
type Why string

// The reasons of a Change.
const (
	Kept     Why = ""          // nothing changes
	Low      Why = "low"       // below tau_low, counted
	Better   Why = "better"    // not below tau_low any more, the count starts again
	Hide     Why = "hidden"    // below tau_low in W consecutive runs
	Decayed  Why = "decayed"   // hidden, a step nearer to 100
	Recover  Why = "recovered" // hidden until now, above tau_low + hysteresis
	OnTrial  Why = "on trial"  // hidden until now, shown to be judged again
	Conflict Why = "conflict"  // what the change went by has changed
)

// Fate is what becomes of one edge: suppression and recovery of Algorithm 1. The triplet
// and the seed decide whether a hidden one is shown on trial.
func (r Rules) Fate(t Thresholds, e Edge, seed string) (graph.Contribution, Why) {
	after := e.Contribution
	if e.Hidden {
		after.Score += r.Decay * (graph.NeutralScore - after.Score)
		switch {
		case after.Score > t.Low+r.Hysteresis:
			after.Hidden, after.Low = false, 0
			return after, Recover
		case draw(seed, e.Triplet) < r.Explore:
			after.Hidden, after.Low = false, r.Runs-1 // one more low run hides it again
			return after, OnTrial
		case after != e.Contribution:
			return after, Decayed
		}
		return after, Kept
	}
	if !t.Enough {
		return after, Kept
	}
	if e.Score >= t.Low {
		after.Low = 0
		if e.Low > 0 {
			return after, Better
		}
		return after, Kept
	}
	after.Low = min(e.Low+1, r.Runs)
	if after.Low >= r.Runs {
		after.Hidden = true
		return after, Hide
	}
	return after, Low
}

// draw is a number in [0,1) that the seed and the triplet decide.
func draw(seed string, t graph.Triplet) float64 {
	h := fnv.New64a()
	for _, s := range []string{seed, "\x00", t.Predicate, "\x00", t.Head.String(), "\x00", t.Object.String()} {
		_, _ = h.Write([]byte(s)) // never fails (hash.Hash)
	}
	x := h.Sum64() // FNV leaves neighbours alike in the high bits: mix them
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return math.Ldexp(float64(x>>11), -53)
}

// changes decides the fate of every edge and fills in what each is after the run. Of those
// to be hidden the worst are, as many as Rules.MaxHidden; the rest wait at W low runs.
func changes(s Snapshot, r Rules, t Thresholds, seed string, after []graph.Contribution) []Change {
	var out []Change
	var hide []int // places in s.Edges
	why := make([]Why, len(s.Edges))
	for i, e := range s.Edges {
		after[i], why[i] = r.Fate(t, e, seed)
		if why[i] == Hide {
			hide = append(hide, i)
		}
	}
	if len(hide) > r.MaxHidden {
		slices.SortFunc(hide, func(a, b int) int {
			return cmp.Or(cmp.Compare(s.Edges[a].Score, s.Edges[b].Score), compareTriplets(s.Edges[a].Triplet, s.Edges[b].Triplet))
		})
		for _, i := range hide[r.MaxHidden:] {
			after[i].Hidden, why[i] = false, Low
		}
	}
	for i, e := range s.Edges {
		if after[i] != e.Contribution {
			out = append(out, Change{e.Triplet, e.Contribution, after[i], why[i]})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return compareTriplets(a.Triplet, b.Triplet) })
	return out
}
