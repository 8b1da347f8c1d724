package evolution

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

const (
	bins     = 40 // of the whole range of a score
	extremes = 10 // edges named at either end
)

// Scores are how the scores of the edges that feedback has touched are spread, with the lines
// that a run would draw now.
type Scores struct {
	Thresholds evolve.Thresholds `json:"thresholds"`
	Width      float64           `json:"width"`  // of a bin, in raw points
	Bins       []int             `json:"bins"`   // edges by score: bin i is [i*width, (i+1)*width), the last one closed
	Hidden     int               `json:"hidden"` // edges, of those in the bins
	Shortcuts  int               `json:"shortcuts"`
	Lowest     []Scored          `json:"lowest"`  // the edges with the lowest scores, the lowest first
	Highest    []Scored          `json:"highest"` // likewise
}

// Scored is an edge with what was learned about it.
type Scored struct {
	graph.Triplet
	graph.Contribution
	HeadName   string `json:"head_name,omitempty"`
	ObjectName string `json:"object_name,omitempty"`
	Label      string `json:"label,omitempty"` // of the predicate
}

// Scores reads how the scores are spread, at one timestamp. Its cost is that of a snapshot.
func (r *Runner) Scores(ctx context.Context) (Scores, error) {
	at := &reader{cluster: r.Cluster}
	s, _, err := at.snapshot(ctx, r.Rules.All)
	if err != nil {
		return Scores{}, err
	}
	out := spread(s, r.Rules)
	return out, r.nameScored(ctx, at.query, out.Lowest, out.Highest)
}

// spread counts and sorts the touched edges.
func spread(s evolve.Snapshot, rules evolve.Rules) Scores {
	out := Scores{Thresholds: rules.Thresholds(s), Width: graph.MaxScore / bins, Bins: make([]int, bins), Shortcuts: len(s.Shortcuts)}
	touched := make([]Scored, 0, len(s.Edges))
	for _, e := range s.Edges {
		if e.Updates == 0 {
			continue
		}
		out.Bins[min(int(e.Score/out.Width), bins-1)]++
		if e.Hidden {
			out.Hidden++
		}
		touched = append(touched, Scored{Triplet: e.Triplet, Contribution: e.Contribution})
	}
	slices.SortFunc(touched, func(a, b Scored) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Head, b.Head), cmp.Compare(a.Predicate, b.Predicate), cmp.Compare(a.Object, b.Object))
	})
	n := min(extremes, len(touched))
	out.Lowest = slices.Clone(touched[:n])
	out.Highest = slices.Clone(touched[len(touched)-n:])
	slices.Reverse(out.Highest)
	return out
}

// nameScored adds what the ends and predicates of edges are called.
func (r *Runner) nameScored(ctx context.Context, query facet.Query, lists ...[]Scored) error {
	seen := map[graph.UID]bool{}
	for _, list := range lists {
		for _, e := range list {
			seen[e.Head], seen[e.Object] = true, true
		}
	}
	if len(seen) == 0 {
		return nil
	}
	called, err := names(ctx, query, r.Names, slices.Sorted(maps.Keys(seen)))
	if err != nil {
		return err
	}
	relations, err := labels(ctx, query)
	if err != nil {
		return err
	}
	for _, list := range lists {
		for i, e := range list {
			list[i].HeadName, list[i].ObjectName, list[i].Label = called[e.Head], called[e.Object], relations[e.Predicate]
		}
	}
	return nil
}

// ServeScores is GET /evorag/v1/scores.
func (all Runners) ServeScores(w http.ResponseWriter, req *http.Request) {
	r := all.of(w, req.URL.Query().Get("namespace"))
	if r == nil {
		return
	}
	s, err := r.Scores(req.Context())
	answer(w, s, err)
}
