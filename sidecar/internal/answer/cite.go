package answer

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/render"
)

// cited matches [3] and [1, 2].
var cited = regexp.MustCompile(`\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]`)

var digits = regexp.MustCompile(`\d+`)

// citations are the results that the text names, each once. Numbers of results that the model
// has not seen are its invention and left out.
func citations(text string, results []graph.Result, seen []int) []Citation {
	out := []Citation{}
	for _, group := range cited.FindAllString(text, -1) {
		for _, d := range digits.FindAllString(group, -1) {
			n, err := strconv.Atoi(d)
			at := slices.IndexFunc(seen, func(i int) bool { return results[i].N == n })
			if err != nil || at < 0 || slices.ContainsFunc(out, func(c Citation) bool { return c.N == n }) {
				continue
			}
			r := results[seen[at]]
			_, path, _ := strings.Cut(render.Context([]graph.Result{r}), "] ")
			out = append(out, Citation{N: n, Path: strings.TrimSpace(path), P: r.P})
		}
	}
	return out
}
