package evolution

import (
	"context"
	"fmt"
	"slices"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

// Praised is a question whose answer earned a good rating that nothing has learned from.
type Praised struct {
	ID    string       // of the retrieval
	Paths []graph.Path // that earned the rating

	// Ask asks the question again and gives all paths that are retrieved now.
	Ask func(context.Context) ([]graph.Path, error)
}

// Gate is what a run was measured by before it went live: by each held-out retrieval the
// number of paths that earned its good rating, and of those that were retrieved.
type Gate struct {
	Ratings int     `json:"ratings"`
	Before  float64 `json:"before"`          // mean share of these paths that was retrieved before the run, in [0,1]
	After   float64 `json:"after,omitempty"` // after it, over the retrievals that could still be asked

	Found map[string]int `json:"found,omitempty"` // paths retrieved before the run, by retrieval
}

// mostPraised bounds the questions that are asked again before and after a run.
const mostPraised = 100

// ask measures the praised paths: how many of each retrieval's are retrieved now, and the
// mean share. A shortcut stands for its path: who gets it gets the path.
func (r *Runner) ask(ctx context.Context, praised []Praised) (found map[string]int, share float64, err error) {
	found = map[string]int{}
	for _, p := range praised {
		found[p.ID] = 0
		got, err := p.Ask(ctx)
		if err != nil {
			return nil, 0, fmt.Errorf("asking the question of %s again: %w", p.ID, err)
		}
		all, err := r.expanded(ctx, append(slices.Clip(got), p.Paths...))
		if err != nil {
			return nil, 0, err
		}
		retrieved := map[string]bool{}
		for _, path := range all[:len(got)] {
			retrieved[path] = true
		}
		for _, path := range all[len(got):] {
			if retrieved[path] {
				found[p.ID]++
			}
		}
		share += float64(found[p.ID]) / float64(len(p.Paths))
	}
	return found, share / float64(max(len(praised), 1)), nil
}

// deepest bounds shortcuts through shortcuts.
const deepest = 6

// expanded spells paths with each shortcut replaced by the path that it stands for.
func (r *Runner) expanded(ctx context.Context, paths []graph.Path) ([]string, error) {
	for range deepest {
		var shortcuts []graph.Triplet
		for _, p := range paths {
			for _, s := range p.Steps {
				if s.Predicate == graph.ShortcutPredicate {
					shortcuts = append(shortcuts, s.Triplet)
				}
			}
		}
		if len(shortcuts) == 0 {
			break
		}
		via, err := vias(ctx, r.now, shortcuts)
		if err != nil {
			return nil, err
		}
		if len(via) == 0 {
			break
		}
		for i, p := range paths {
			whole := graph.Path{Start: p.Start}
			for _, s := range p.Steps {
				if under, ok := via[s.Triplet]; ok && !s.Inverse {
					whole.Steps = append(whole.Steps, under.Steps...)
				} else {
					whole.Steps = append(whole.Steps, s)
				}
			}
			paths[i] = whole
		}
	}
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = p.String()
	}
	return out, nil
}

// vias reads what shortcuts stand for.
func vias(ctx context.Context, query facet.Query, shortcuts []graph.Triplet) (map[graph.Triplet]graph.Path, error) {
	var heads, objects []graph.UID
	for _, t := range shortcuts {
		heads, objects = append(heads, t.Head), append(objects, t.Object)
	}
	var answer struct {
		Nodes []row `json:"nodes"`
	}
	text := fmt.Sprintf("{ nodes(func: uid(%s)) { uid edges: <%s> @filter(uid(%s)) @facets(via: %s) { uid } } }", uids(heads), graph.ShortcutPredicate, uids(objects), graph.ViaFacet)
	if err := read(ctx, query, &answer, text, nil); err != nil {
		return nil, err
	}
	out := map[graph.Triplet]graph.Path{}
	for _, n := range answer.Nodes {
		for _, e := range n.Edges {
			if p, err := graph.ParsePath(e.Via); err == nil && p.Start == n.UID && p.End() == e.UID {
				out[graph.Triplet{Head: n.UID, Predicate: graph.ShortcutPredicate, Object: e.UID}] = p
			}
		}
	}
	return out, nil
}

// before measures what the run must not make worse; nil where there is no gate.
func (r *Runner) before(ctx context.Context) (*Gate, error) {
	if r.Praised == nil {
		return nil, nil //nolint:nilnil // no gate is a gate too
	}
	praised, err := r.Praised(ctx, mostPraised)
	if err != nil {
		return nil, fmt.Errorf("reading held-out ratings: %w", err)
	}
	r.Step("gate before")
	g := &Gate{Ratings: len(praised)}
	g.Found, g.Before, err = r.ask(ctx, praised)
	return g, err
}

// worse measures again and tells why the run must not stand, "" where it may. What can't be
// asked any more, such as ratings that were forgotten meanwhile, plays no part; where nothing
// can be asked the run does not stand.
func (r *Runner) worse(ctx context.Context, g *Gate) (string, error) {
	r.Step("gate after")
	praised, err := r.Praised(ctx, 2*mostPraised)
	if err == nil {
		praised = slices.DeleteFunc(praised, func(p Praised) bool { _, asked := g.Found[p.ID]; return !asked })
		var before float64
		for _, p := range praised {
			before += float64(g.Found[p.ID]) / float64(len(p.Paths))
		}
		g.Ratings, g.Before = len(praised), before/float64(max(len(praised), 1))
		_, g.After, err = r.ask(ctx, praised)
	}
	g.Found = nil
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "undone by the gate, which could not ask: " + err.Error(), nil //nolint:nilerr // it is why the run must not stand
	case g.After < g.Before-1e-9:
		return fmt.Sprintf("undone by the gate: of the paths that earned %d held-out good ratings %.1f%% were retrieved before and %.1f%% after it", g.Ratings, 100*g.Before, 100*g.After), nil
	}
	return "", nil
}
