package proxy

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/render"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// searched ranks a flat block: data holds its start nodes.
func (q *query) searched(ctx context.Context, b *plan.Block, data []byte) (*render.Value, error) {
	rows, err := render.Parse(data)
	if err != nil {
		return nil, err
	}
	var starts []graph.UID
	for _, row := range rows.Items {
		if u, ok := uidOf(row); ok {
			starts = append(starts, u)
		}
	}
	limited, cancel := context.WithTimeout(ctx, q.Budget.Time)
	defer cancel()
	n, err := q.explore(limited, b, starts)
	if err != nil {
		return nil, err
	}
	q.stages.mark("engine", q.Now())
	found, err := q.top(limited, b, n, starts)
	if err != nil {
		return nil, err
	}
	q.stages.mark("search", q.Now())
	if err := ctx.Err(); err != nil { // the caller's own deadline, not the budget's
		return nil, err
	}
	return q.show(ctx, b, n, starts, found)
}

// scorer scores the edges of a neighbourhood for one question.
type scorer struct {
	n     *neighbourhood
	sr    *relevance.Composed
	alpha float64
}

// newScorer embeds the neighbourhood's names and labels and asks it the block's question.
func (q *query) newScorer(b *plan.Block, n *neighbourhood, topics []string) *scorer {
	var entities, relations relevance.Table
	for i, name := range n.names {
		entities.Set(uint32(i), q.hash.Embed(name))
	}
	for i, r := range n.relations {
		relations.Set(uint32(i), q.hash.Embed(q.view.label(r.Predicate)))
	}
	sr := relevance.NewComposed(relevance.DefaultTemplate, &entities, &relations)
	sr.Ask(q.hash.Ask(b.Question, topics...))
	return &scorer{n: n, sr: sr, alpha: b.Alpha}
}

func (s *scorer) Score(from search.Node, st search.Step) (p, sc float64) {
	sc = s.n.edges[st.Edge].Sc()
	return rank.P(s.alpha, s.sr.Sr(uint32(from), uint32(st.Rel), uint32(st.To), st.Edge), sc), sc
}

func (s *scorer) Bound(from search.Node, r search.Rel) float64 {
	return rank.P(s.alpha, s.sr.Bound(uint32(from), uint32(r)), 1)
}

func (s *scorer) Max() float64 { return rank.P(s.alpha, s.sr.Max(), 1) }

// found is the results of one start node.
type found struct {
	start   graph.UID
	bundles []search.Bundle
}

// top searches from every start node. Its results are still in dense ids.
func (q *query) top(ctx context.Context, b *plan.Block, n *neighbourhood, starts []graph.UID) ([]graph.Result, error) {
	topics := make([]string, 0, len(starts))
	for _, u := range starts {
		topics = append(topics, n.names[n.ids[u]])
	}
	s := q.newScorer(b, n, topics)
	var results []graph.Result
	for _, u := range starts {
		r, err := search.Top(ctx, n, s, search.Query{
			Start: n.ids[u], Hops: b.Hops, Paths: b.Paths, Instances: b.Instances, Single: !b.Bundle,
			Rule: search.Maximal, Budget: search.Budget{Edges: q.Budget.Steps},
		})
		if err != nil {
			return nil, err
		}
		if r.Partial {
			q.reason = r.Reason
		}
		for _, found := range r.Bundles {
			results = append(results, q.bundle(b, n, s, u, found))
		}
	}
	slices.SortStableFunc(results, func(x, y graph.Result) int { return cmp.Compare(y.Z, x.Z) })
	return results, nil
}

// bundle turns a search result from dense ids into what is shown.
func (q *query) bundle(b *plan.Block, n *neighbourhood, s *scorer, start graph.UID, found search.Bundle) graph.Result {
	r := graph.Result{
		Block: b.Key, Start: graph.Node{UID: start, Name: n.names[n.ids[start]]},
		Total: found.Total, AtLeast: found.AtLeast, Z: math.Inf(-1),
	}
	for _, rel := range found.Metapath {
		r.Metapath = append(r.Metapath, n.relations[rel].String())
	}
	for _, p := range found.Paths {
		in := instance{explain: b.Explain, alpha: b.Alpha, z: p.Z, start: r.Start}
		from := n.ids[start]
		for _, st := range p.Steps {
			sr := s.sr.Sr(uint32(from), uint32(st.Rel), uint32(st.To), st.Edge)
			step := n.step(st)
			in.add(step, q.view.label(step.Predicate), graph.Node{UID: n.uids[st.To], Name: n.names[st.To]}, sr)
			from = st.To
		}
		r.Instances = append(r.Instances, in.done())
		r.Z = max(r.Z, p.Z)
	}
	return r
}

// show re-reads the kept nodes with the block's own fields and hangs the kept paths up in a
// tree.
func (q *query) show(ctx context.Context, b *plan.Block, n *neighbourhood, starts []graph.UID, results []graph.Result) (*render.Value, error) {
	q.results = append(q.results, results...)
	kept := slices.Clone(starts)
	for _, r := range results {
		for _, in := range r.Instances {
			for _, node := range in.Nodes {
				kept = append(kept, node.UID)
			}
		}
	}
	slices.Sort(kept)
	kept = slices.Compact(kept)
	values := make(map[graph.UID]*render.Value, len(kept))
	if len(kept) > 0 && b.Values != "" {
		q.trips++
		rows, err := q.rows(ctx, graph.Call{Query: q.plan.ReRead(b, kept), Vars: q.call.Vars})
		if err != nil {
			return nil, err
		}
		for _, row := range rows.Items {
			if u, ok := uidOf(row); ok {
				values[u] = row
			}
		}
	}
	tree := render.NewTree(inRankOrder(starts, results), values, q.view.single)
	if b.Explain {
		tree.ShowScores()
	}
	for _, r := range results {
		for _, in := range r.Instances {
			tree.Add(pathOf(in))
		}
	}
	q.stages.mark("engine", q.Now())
	return tree.Value(), nil
}

// inRankOrder puts the start nodes of the best results first; those without any stay behind
// in the order that the user's block gave them.
func inRankOrder(starts []graph.UID, results []graph.Result) []graph.UID {
	var order []graph.UID
	for _, r := range results {
		if !slices.Contains(order, r.Start.UID) {
			order = append(order, r.Start.UID)
		}
	}
	for _, u := range starts {
		if !slices.Contains(order, u) {
			order = append(order, u)
		}
	}
	return order
}
