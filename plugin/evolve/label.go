package evolve

import (
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Label joins what the path's relations are called: "produced by, founded by, born in".
// A relation that is walked backwards is marked: "directed by (of), starring". labels are by
// predicate; a predicate without one is its own.
func Label(p graph.Path, labels map[string]string) string {
	parts := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		label := labels[s.Predicate]
		if label == "" {
			label = s.Predicate
		}
		if s.Inverse {
			label += " (of)"
		}
		parts[i] = label
	}
	return strings.Join(parts, ", ")
}
