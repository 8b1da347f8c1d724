package proxy

import (
	"cmp"
	"context"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

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
	met := map[graph.UID]bool{}
	for _, row := range rows.Items {
		if u, ok := uidOf(row); ok && !met[u] { // the engine gives a node as often as uid() names it
			met[u] = true
			starts = append(starts, u)
		}
	}
	limited, cancel := context.WithTimeout(ctx, q.Budget.Time)
	defer cancel()
	if g, via, ok := q.resident(limited, b, starts); ok {
		return q.proposed(ctx, limited, b, g, via, starts)
	}
	n, err := q.explore(limited, b, starts)
	if err != nil {
		return nil, err
	}
	q.stages.mark("engine", q.Now())
	topics := make([]string, 0, len(starts))
	for _, u := range starts {
		topics = append(topics, n.names[n.ids[u]])
	}
	s := q.newScorer(limited, b, n, topics)
	found, err := q.top(limited, b, n, s, s.terms, nil, starts, nil)
	if err != nil {
		return nil, err
	}
	results := q.ranked(b, n, s.sr, s.terms, found)
	q.stages.mark("search", q.Now())
	if err := ctx.Err(); err != nil { // the caller's own deadline, not the budget's
		return nil, err
	}
	if results, err = q.shortcuts(ctx, b, s.question, results); err != nil {
		return nil, err
	}
	return q.show(ctx, b, starts, results)
}

// scorer scores the edges of a neighbourhood for one question.
type scorer struct {
	n        *neighbourhood
	question *relevance.Question
	sr       search.Relevance
	terms    *terms
	asked    []float64 // by relation
	alpha    float64
}

// newScorer embeds the neighbourhood's names and labels and asks it the block's question.
func (q *query) newScorer(ctx context.Context, b *plan.Block, n *neighbourhood, topics []string) *scorer {
	var read texted
	for _, name := range n.names {
		read.entities = append(read.entities, q.texts.vector(name))
	}
	for _, r := range n.relations {
		read.labels = append(read.labels, q.view.label(r.Predicate))
		read.relations = append(read.relations, q.texts.vector(q.view.label(r.Predicate)))
	}
	read.edges = q.shortcutsOf(n)
	read.names = func() []string { return n.names }
	read.triplets = func() []string {
		out := make([]string, len(n.edges))
		for i, e := range n.edges {
			label, ok := n.shortcuts[uint32(i)]
			if !ok {
				label = q.view.label(e.Predicate)
			}
			out[i] = relevance.TripletText(n.names[n.ids[e.Head]], label, n.names[n.ids[e.Object]])
		}
		return out
	}
	asked, terms := q.ask(ctx, b, topics)
	sr := q.relevanceOf(asked, read)
	s := &scorer{n: n, question: asked, sr: sr, terms: terms, asked: make([]float64, len(n.relations)), alpha: b.Alpha}
	for i, r := range n.relations {
		s.asked[i] = terms.asked(r)
	}
	return s
}

// shortcutsOf are the shortcuts that count by labels of their own.
func (q *query) shortcutsOf(n *neighbourhood) edgeLabels {
	l := edgeLabels{
		forward: slices.Index(n.relations, graph.Relation{Predicate: graph.ShortcutPredicate}),
		inverse: slices.Index(n.relations, graph.Relation{Predicate: graph.ShortcutPredicate, Inverse: true}),
		row:     map[uint32]uint32{},
	}
	for id, label := range n.shortcuts {
		l.row[id] = uint32(len(l.labels))
		l.labels, l.hashed = append(l.labels, label), append(l.hashed, q.texts.vector(label))
	}
	return l
}

func (s *scorer) Score(from search.Node, st search.Step) (p, sc float64) {
	sc = s.n.edges[st.Edge].Sc()
	return rank.P(s.alpha, s.sr.Sr(uint32(from), uint32(st.Rel), uint32(st.To), st.Edge), rank.Shifted(sc, s.asked[st.Rel])), sc
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

// stepsPerNode is what a node may cost on average before the budget counts it: most of what a
// search spends at a node of few edges is not spent on them.
const stepsPerNode = 100

// top searches from every start node, along the relations that via holds (nil: all), from
// several at once, and gives what was found from the i-th to each (nil: to none), likewise.
func (q *query) top(ctx context.Context, b *plan.Block, g Graph, s search.Scorer, t *terms, via []bool, starts []graph.UID, each func(i int, f found)) ([]found, error) {
	all := make([]found, len(starts))
	reasons := make([]string, len(starts))
	hubs := &search.Hubs{}
	defer hubs.Release()
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, u := range starts {
		group.Go(func() error {
			var adjacency search.Adjacency = g
			if b.Fanout > 0 {
				adjacency = search.Fanout(g, s, b.Fanout)
			}
			start, _ := g.Node(u)
			r, err := search.Top(ctx, adjacency, s, search.Query{
				Start: start, Hops: b.Hops, Paths: b.Paths, Instances: b.Instances, Single: !b.Bundle,
				Rule: q.Rule, HopBias: t.bias, Via: via, Hubs: hubs, Budget: search.Budget{Edges: q.Budget.Steps, Expansions: max(1, q.Budget.Steps/stepsPerNode)},
			})
			all[i], reasons[i] = found{u, r.Bundles}, r.Reason
			if each != nil {
				each(i, all[i])
			}
			return err
		})
	}
	err := group.Wait()
	for _, reason := range reasons {
		q.reason = cmp.Or(reason, q.reason)
	}
	return all, err
}

// ranked turns what was found from every start node into results, best first.
func (q *query) ranked(b *plan.Block, g Graph, sr search.Relevance, t *terms, all []found) []graph.Result {
	s := q.newShower(b, g, sr, t, all)
	var results []graph.Result
	for _, f := range all {
		for _, bundle := range f.bundles {
			results = append(results, s.bundle(f.start, bundle))
		}
	}
	slices.SortStableFunc(results, func(x, y graph.Result) int { return cmp.Compare(y.Z, x.Z) })
	return results
}

// within leaves out what feedback has put too far behind; a block that is to show hidden edges
// shows that too.
func (q *query) within(b *plan.Block, results []graph.Result) (kept, beyond []graph.Result) {
	if b.Hidden {
		return results, nil
	}
	return q.Margin.Within(b.Alpha, results)
}

// stepOf is the edge behind a search step from a node.
func stepOf(g Graph, from search.Node, st search.Step) graph.Step {
	return stepAs(g.Relation(st.Rel), g.UID(from), g.UID(st.To), g.Score(st.Edge))
}

func stepAs(r graph.Relation, from, to graph.UID, score float64) graph.Step {
	s := graph.Step{Inverse: r.Inverse, Contribution: graph.Contribution{Score: score}}
	s.Triplet = graph.Triplet{Head: from, Predicate: r.Predicate, Object: to}
	if s.Inverse {
		s.Head, s.Object = s.Object, s.Head
	}
	return s
}

// show re-reads the kept nodes with the block's own fields.
func (q *query) show(ctx context.Context, b *plan.Block, starts []graph.UID, results []graph.Result) (*render.Value, error) {
	values := map[graph.UID][]byte{}
	h := q.hang(b, starts, results, func(u graph.UID) []byte { return values[u] })
	kept := slices.Clone(starts)
	for _, r := range h.kept {
		for _, in := range r.Instances {
			for _, node := range in.Nodes {
				kept = append(kept, node.UID)
			}
		}
	}
	slices.Sort(kept)
	kept = slices.Compact(kept)
	if len(kept) > 0 && b.Values != "" {
		q.trips++
		answer, err := q.Engine.Query(ctx, q.asCaller(graph.Call{Query: q.plan.ReRead(b, kept), Vars: q.call.Vars, Debug: q.call.Debug}))
		if err != nil {
			return nil, err
		}
		if err := (render.Reread{Node: func(r render.Row) { values[r.UID] = r.Members }}).Read(answer.JSON); err != nil {
			return nil, err
		}
		q.brought += len(answer.JSON)
	}
	v := q.shown(h)
	q.stages.mark("engine", q.Now())
	return v, nil
}

// hung is the results of a block, and the kept ones in a tree that wants nothing but the nodes' values.
type hung struct {
	kept, beyond []graph.Result
	drawn        []string // kept
	tree         *render.Value
}

// hang leaves out what is too far behind and hangs the other paths up in a tree. values is asked when
// that is written.
func (q *query) hang(b *plan.Block, starts []graph.UID, results []graph.Result, values func(graph.UID) []byte) hung {
	var h hung
	h.kept, h.beyond = q.within(b, results)
	h.drawn = render.Draw(h.kept)
	tree := render.NewTree(inRankOrder(starts, h.kept), values, q.view.single)
	if b.Explain {
		tree.ShowScores()
	}
	for _, r := range h.kept {
		for _, in := range r.Instances {
			for _, t := range in.Triplets {
				tree.Add(stepOfShown(t))
			}
		}
	}
	h.tree = tree.Value()
	return h
}

// shown puts results into the answer, and gives what the block shows.
func (q *query) shown(h hung) *render.Value {
	q.results, q.drawn, q.beyond = append(q.results, h.kept...), append(q.drawn, h.drawn...), append(q.beyond, h.beyond...)
	return h.tree
}

// inRankOrder puts the start nodes of the best results first; those without any stay behind
// in the order that the user's block gave them.
func inRankOrder(starts []graph.UID, results []graph.Result) []graph.UID {
	order := make([]graph.UID, 0, len(starts))
	placed := make(map[graph.UID]bool, len(starts))
	place := func(u graph.UID) {
		if !placed[u] {
			placed[u] = true
			order = append(order, u)
		}
	}
	for _, r := range results {
		place(r.Start.UID)
	}
	for _, u := range starts {
		place(u)
	}
	return order
}
