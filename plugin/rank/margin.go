package rank

import (
	"math"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// DefaultMargin is the Margin that the evaluation harness supports; see docs/LEARNING.md.
const DefaultMargin = 0.2

// taughtShare is the part of a Margin that must be feedback's doing.
const taughtShare = 0.25

// Margin is how far, in z, a path may lie behind the best of its start node before it is left
// out. At least a quarter of that must be what feedback has taught about their edges and relations,
// so nothing is left out before any feedback, however little relevant it is, nor for its length
// alone. 0 leaves nothing out.
type Margin float64

// Within parts results into those that are kept and those that lie too far behind the best one of
// their start node, each with its best instance alone, by which it counts. Their order stays; the
// memory of results is used again.
func (m Margin) Within(alpha float64, results []graph.Result) (kept, beyond []graph.Result) {
	if m <= 0 {
		return results, nil
	}
	type standing struct{ z, taught float64 }
	best, all := map[graph.UID]standing{}, make([]standing, len(results))
	for i, r := range results {
		s := standing{r.Z, taught(alpha, r)}
		if b, known := best[r.Start.UID]; known {
			best[r.Start.UID] = standing{max(b.z, s.z), max(b.taught, s.taught)}
		} else {
			best[r.Start.UID] = s
		}
		all[i] = s
	}
	kept = results[:0]
	for i, r := range results {
		b, s := best[r.Start.UID], all[i]
		if b.z-s.z > float64(m) && b.taught-s.taught > taughtShare*float64(m) {
			r.Instances = r.Instances[:1]
			beyond = append(beyond, r)
		} else {
			kept = append(kept, r)
		}
	}
	return kept, beyond
}

// taught is what feedback has added to a result's z by its edges and relations: all but the hop
// count's part, and what z would be with every Sc neutral.
func taught(alpha float64, r graph.Result) float64 {
	var neutral float64
	path := r.Instances[0].Triplets // a result has an instance, and that a hop
	for _, t := range path {
		neutral += math.Log(P(alpha, t.Sr, NeutralSc))
	}
	return r.Z - r.Bias - neutral/float64(len(path))
}
