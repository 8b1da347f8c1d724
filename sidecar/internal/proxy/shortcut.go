package proxy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/render"
)

// shortcuts makes results with shortcuts whole. To the search all shortcuts are one relation,
// each as relevant as its own label; here they are called by it, as the caller reads it, and
// those of one bundle with several labels get results of their own. With explain each shows the
// path that it stands for. It costs a read only where there are shortcuts.
func (q *query) shortcuts(ctx context.Context, b *plan.Block, asked *relevance.Question, results []graph.Result) ([]graph.Result, error) {
	shown := map[graph.Triplet]bool{}
	for _, r := range results {
		for _, in := range r.Instances {
			for _, t := range in.Triplets {
				if t.Predicate == graph.ShortcutPredicate {
					shown[t.Triplet] = true
				}
			}
		}
	}
	if len(shown) == 0 {
		return results, nil
	}
	facets, err := q.readShortcuts(ctx, b, shown)
	if err != nil {
		return nil, err
	}
	sr := q.shortcutRelevance(asked, results, facets)
	var out []graph.Result
	for _, r := range results {
		if !slices.ContainsFunc(r.Metapath, func(m string) bool { return graph.ParseRelation(m).Predicate == graph.ShortcutPredicate }) {
			out = append(out, r)
			continue
		}
		instances := make([]graph.Instance, len(r.Instances))
		for i, in := range r.Instances {
			instances[i] = q.withLabels(b, in, r.Bias, facets, sr)
		}
		out = append(out, apart(r, instances)...)
	}
	slices.SortStableFunc(out, func(x, y graph.Result) int { return cmp.Compare(y.Z, x.Z) })
	return mostOfEach(out, b.Paths), nil
}

// withLabels is an instance with its shortcuts as they are called, ranked accordingly.
func (q *query) withLabels(b *plan.Block, in graph.Instance, bias float64, facets map[graph.Triplet]shortcutFacets, sr func(in graph.Instance, i int) float64) graph.Instance {
	again := instance{explain: b.Explain, alpha: b.Alpha, bias: bias, nodes: []graph.Node{in.Nodes[0]}}
	p := make([]float64, len(in.Triplets))
	for i, t := range in.Triplets {
		step := stepOfShown(t)
		if t.Predicate == graph.ShortcutPredicate {
			t.Label = facets[t.Triplet].label
			t.Sr = sr(in, i)
		}
		p[i] = rank.P(b.Alpha, t.Sr, rank.Shifted(t.Sc, t.Asked))
		again.add(step, t.Label, in.Nodes[i+1], t.Sr, t.Asked)
	}
	again.z = rank.Z(p, bias)
	done := again.done()
	for i := range done.Triplets {
		done.Triplets[i].Via = facets[done.Triplets[i].Triplet].drawn
	}
	return done
}

// apart divides the instances of a result by what their relations are called.
func apart(r graph.Result, instances []graph.Instance) []graph.Result {
	var order []string
	groups := map[string][]graph.Instance{}
	for _, in := range instances {
		var key strings.Builder
		for _, t := range in.Triplets {
			key.WriteString(t.Label + "\x00")
		}
		if groups[key.String()] == nil {
			order = append(order, key.String())
		}
		groups[key.String()] = append(groups[key.String()], in)
	}
	out := make([]graph.Result, len(order))
	for i, key := range order {
		part := r
		part.Instances = groups[key]
		slices.SortStableFunc(part.Instances, func(x, y graph.Instance) int { return cmp.Compare(y.Z, x.Z) })
		part.Z = part.Instances[0].Z
		if len(order) > 1 { // how the rest of them divides isn't known
			part.AtLeast = r.AtLeast || r.Total > len(instances)
			part.Total = len(part.Instances)
		}
		out[i] = part
	}
	return out
}

// mostOfEach keeps the first n results of each start node.
func mostOfEach(results []graph.Result, n int) []graph.Result {
	kept := map[graph.UID]int{}
	return slices.DeleteFunc(results, func(r graph.Result) bool {
		kept[r.Start.UID]++
		return kept[r.Start.UID] > n
	})
}

// shortcutRelevance gives Sr of a shortcut, the i-th step of an instance, by its own label, as the
// search had it.
func (q *query) shortcutRelevance(asked *relevance.Question, results []graph.Result, facets map[graph.Triplet]shortcutFacets) func(in graph.Instance, i int) float64 {
	var names, triplets []string
	var read texted
	entities, relations, edges := map[string]uint32{}, map[string]uint32{}, map[graph.Triplet]uint32{}
	for _, f := range facets {
		if _, known := relations[f.label]; !known {
			relations[f.label] = uint32(len(relations))
			read.labels, read.relations = append(read.labels, f.label), append(read.relations, q.texts.vector(f.label))
		}
	}
	for _, r := range results {
		for _, in := range r.Instances {
			for _, n := range in.Nodes {
				if _, known := entities[n.Name]; !known {
					entities[n.Name] = uint32(len(entities))
					names, read.entities = append(names, n.Name), append(read.entities, q.texts.vector(n.Name))
				}
			}
			for i, t := range in.Triplets {
				if _, known := edges[t.Triplet]; known || t.Predicate != graph.ShortcutPredicate {
					continue
				}
				edges[t.Triplet] = uint32(len(edges))
				head, object := in.Nodes[i], in.Nodes[i+1]
				if t.Inverse {
					head, object = object, head
				}
				triplets = append(triplets, relevance.TripletText(head.Name, facets[t.Triplet].label, object.Name))
			}
		}
	}
	read.names, read.triplets = func() []string { return names }, func() []string { return triplets }
	sr := q.relevanceOf(asked, read)
	return func(in graph.Instance, i int) float64 {
		t := in.Triplets[i].Triplet
		return sr.Sr(entities[in.Nodes[i].Name], relations[facets[t].label], entities[in.Nodes[i+1].Name], edges[t])
	}
}

// shortcutFacets are what a shortcut is called and, drawn, the path that it stands for.
type shortcutFacets struct{ label, drawn string }

// readShortcuts reads, as the caller, what shortcuts are called and, with explain, stand for.
func (q *query) readShortcuts(ctx context.Context, b *plan.Block, shown map[graph.Triplet]bool) (map[graph.Triplet]shortcutFacets, error) {
	var heads, objects, through []graph.UID
	out := map[graph.Triplet]shortcutFacets{}
	for t := range shown {
		heads, objects = append(heads, t.Head), append(objects, t.Object)
		out[t] = shortcutFacets{label: graph.ShortcutLabel}
	}
	slices.Sort(heads)
	slices.Sort(objects)
	q.trips++
	rows, err := q.rows(ctx, graph.Call{Query: fmt.Sprintf("{ nodes(func: %s) { %s: uid e: <%s> @filter(%s) @facets(l: %s, v: %s) { %s: uid } } }",
		plan.UIDFunc(slices.Compact(heads)), plan.UIDKey, graph.ShortcutPredicate, plan.UIDFunc(slices.Compact(objects)), graph.LabelFacet, graph.ViaFacet, plan.UIDKey)})
	if err != nil {
		return nil, err
	}
	paths := map[graph.Triplet]graph.Path{}
	for _, row := range rows.Items {
		head, _ := uidOf(row)
		for _, e := range items(row.Get("e")) {
			object, _ := uidOf(e)
			t := graph.Triplet{Head: head, Predicate: graph.ShortcutPredicate, Object: object}
			if label, ok := e.Get("l").Text(); ok && label != "" {
				out[t] = shortcutFacets{label: label}
			}
			via, _ := e.Get("v").Text()
			if p, err := graph.ParsePath(via); err == nil && b.Explain && shown[t] && q.maySee(p) {
				paths[t] = p
				for _, s := range p.Steps {
					through = append(through, s.Head, s.Object)
				}
			}
		}
	}
	if len(paths) == 0 {
		return out, nil
	}
	slices.Sort(through)
	names, err := q.namesOf(ctx, b.Names, slices.Compact(through))
	for t, p := range paths {
		out[t] = shortcutFacets{out[t].label, q.drawPath(p, names)}
	}
	return out, err
}

// maySee tells whether the caller may read every predicate of a path.
func (q *query) maySee(p graph.Path) bool {
	return !slices.ContainsFunc(p.Steps, func(s graph.Step) bool {
		_, ok := q.view.schema.Predicates[s.Predicate]
		return !ok
	})
}

// drawPath draws a path with the names and labels that the caller may see.
func (q *query) drawPath(p graph.Path, names map[graph.UID]string) string {
	var b strings.Builder
	b.WriteString(render.Display(graph.Node{UID: p.Start, Name: names[p.Start]}))
	for _, s := range p.Steps {
		b.WriteString(render.Arrow(graph.ScoredTriplet{Label: q.view.label(s.Predicate), Inverse: s.Inverse}))
		b.WriteString(render.Display(graph.Node{UID: s.To(), Name: names[s.To()]}))
	}
	return b.String()
}
