package eval

import (
	"math/rand/v2"
	"slices"
)

// resamples of a bootstrap.
const resamples = 2000

// Interval is a mean with its 95% bootstrap interval.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	N    int     `json:"n"`
}

// bootstrap resamples values that belong together in groups: whole groups are drawn, since the
// questions of one seed share what was learned, then values within each. One group is resampled
// within only.
func bootstrap(groups [][]float64, seed uint64) Interval {
	var all Interval
	for _, g := range groups {
		for _, x := range g {
			all.Mean += x
			all.N++
		}
	}
	if all.N == 0 {
		return all
	}
	all.Mean /= float64(all.N)
	r := rand.New(rand.NewPCG(seed, 0xb007)) //nolint:gosec // reproducible on purpose
	means := make([]float64, resamples)
	for i := range means {
		sum, n := 0.0, 0
		for range groups {
			g := groups[r.IntN(len(groups))]
			for range g {
				sum += g[r.IntN(len(g))]
			}
			n += len(g)
		}
		means[i] = sum / float64(max(1, n))
	}
	slices.Sort(means)
	all.Low, all.High = means[resamples*25/1000], means[resamples*975/1000]
	return all
}
