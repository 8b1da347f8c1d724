package eval

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/render"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// small is a whole graph in memory. Relation 2p walks predicate p from head to object, 2p+1
// back; a node's uid is its id plus one.
type small struct {
	steps      [][]search.Step
	edges      []graph.Triplet
	names      []string
	predicates []string
	entities   *relevance.Table
	relations  *relevance.Table
	nodes      map[string]search.Node
}

func (g *small) CompareNodes(a, b search.Node) int { return cmp.Compare(a, b) }
func (g *small) CompareRels(a, b search.Rel) int   { return cmp.Compare(a, b) }
func (g *small) relation(r search.Rel) graph.Relation {
	return graph.Relation{Predicate: g.predicates[r/2], Inverse: r%2 == 1}
}
func (g *small) uid(n search.Node) graph.UID    { return graph.UID(n) + 1 }
func (g *small) named(n search.Node) graph.Node { return graph.Node{UID: g.uid(n), Name: g.names[n]} }
func (g *small) relationCount() int             { return 2 * len(g.predicates) }

// newSmall loads triplets; each counts once.
func newSmall(triples []Triple, hash *relevance.Hash) *small {
	g := &small{entities: &relevance.Table{}, relations: &relevance.Table{}, nodes: map[string]search.Node{}}
	node := func(name string) search.Node {
		n, known := g.nodes[name]
		if !known {
			n = search.Node(len(g.names))
			g.nodes[name], g.names, g.steps = n, append(g.names, name), append(g.steps, nil)
			g.entities.Set(uint32(n), hash.Embed(name))
		}
		return n
	}
	rels, seen := map[string]search.Rel{}, map[Triple]bool{}
	for _, t := range triples {
		if seen[t] {
			continue
		}
		seen[t] = true
		r, known := rels[t[1]]
		if !known {
			r = search.Rel(g.relationCount())
			rels[t[1]], g.predicates = r, append(g.predicates, t[1])
			g.relations.Set(uint32(r), hash.Embed(t[1]))
			g.relations.Set(uint32(r+1), hash.Embed(t[1]))
		}
		head, object, edge := node(t[0]), node(t[2]), uint32(len(g.edges))
		g.edges = append(g.edges, graph.Triplet{Head: g.uid(head), Predicate: t[1], Object: g.uid(object)})
		g.steps[head] = append(g.steps[head], search.Step{Rel: r, To: object, Edge: edge})
		g.steps[object] = append(g.steps[object], search.Step{Rel: r + 1, To: head, Edge: edge})
	}
	for _, steps := range g.steps {
		slices.SortStableFunc(steps, func(a, b search.Step) int { return cmp.Compare(a.Rel, b.Rel) })
	}
	g.entities.Pack()
	g.relations.Pack()
	return g
}

// offline is the product without a cluster: its search, reader, evaluator and learner over a
// graph in memory. What it leaves out doesn't change what is learned.
type offline struct {
	*small
	rule    search.Rule
	margin  rank.Margin
	blind   bool // what the margin leaves out takes no part in learning
	batch   int  // questions that are asked before the first of them is rated
	hops    int
	learner credit.Learner
	hash    *relevance.Hash
	judge   *credit.Embedding
	state   []graph.Contribution // by edge
	most    []float64            // by relation: at least every raw
	edge    map[graph.Triplet]uint32
	rules   evolve.Rules
	shown   map[search.Node][]search.Step // of nodes with hidden edges
	alpha   float64
	weights *rank.Weights
	asked   map[string]*relevance.Question
}

func newOffline(g *small, hops int, rule search.Rule, learner credit.Learner, hash *relevance.Hash) (*offline, error) {
	judge, err := credit.NewEmbedding()
	o := &offline{small: g, rule: rule, margin: rank.DefaultMargin, batch: 40, hops: hops, learner: learner, hash: hash, judge: judge, rules: evolve.DefaultRules(), alpha: rank.DefaultAlpha, edge: map[graph.Triplet]uint32{}, asked: map[string]*relevance.Question{}}
	o.state = slices.Repeat([]graph.Contribution{graph.Neutral()}, len(g.edges))
	o.most = slices.Repeat([]float64{graph.NeutralScore}, g.relationCount())
	for e, t := range g.edges {
		o.edge[t] = uint32(e)
	}
	return o, err
}

func (o *offline) Steps(n search.Node) []search.Step {
	if shown, changed := o.shown[n]; changed {
		return shown
	}
	return o.steps[n]
}

// evolve is a run's suppression and recovery; shortcuts are left out.
func (o *offline) evolve(seed string) error {
	var s evolve.Snapshot
	for e, c := range o.state {
		if c != graph.Neutral() {
			s.Edges = append(s.Edges, evolve.Edge{Triplet: o.edges[e], Contribution: c})
		}
	}
	s.Total = len(o.state)
	p, err := evolve.Propose(s, o.rules, seed)
	if err != nil {
		return err
	}
	for _, c := range p.Changes {
		o.state[o.edge[c.Triplet]] = c.After
	}
	o.shown = map[search.Node][]search.Step{}
	for e, c := range o.state {
		if c.Hidden {
			for _, n := range []graph.UID{o.edges[e].Head, o.edges[e].Object} {
				at := search.Node(n - 1)
				o.shown[at] = slices.DeleteFunc(slices.Clone(o.steps[at]), func(s search.Step) bool { return o.state[s.Edge].Hidden })
			}
		}
	}
	return nil
}

func (o *offline) Sc(edge uint32) float64     { return o.state[edge].Score / graph.MaxScore }
func (o *offline) MaxSc(r search.Rel) float64 { return o.most[r] / graph.MaxScore }

func (o *offline) Scs(dst []float64, edges []uint32) {
	for i, e := range edges {
		dst[i] = o.Sc(e)
	}
}

// retrieve is a search with the product's defaults, the topic entities given.
func (o *offline) retrieve(q Question) (*graph.Retrieval, error) {
	x, known := o.asked[q.ID]
	if !known {
		x = o.hash.Ask(q.Text, q.Topics...)
		o.asked[q.ID] = x
	}
	composed := relevance.NewComposed(relevance.DefaultTemplate, o.entities, o.relations)
	composed.Ask(x)
	r := &graph.Retrieval{Question: q.Text, Alpha: o.alpha, Features: graph.Features(x.Features)}
	asked := make([]float64, o.relationCount())
	for i := range asked {
		asked[i] = o.weights.Term(rank.WeightOf{Relation: o.relation(search.Rel(i)).String()}, r.Features)
	}
	bias := o.weights.Bias(r.Features, o.hops)
	scorer := search.NewHybrid(o.alpha, composed, o, len(asked), asked)
	for _, topic := range q.Topics {
		start, known := o.nodes[topic]
		if !known {
			continue
		}
		r.Entities = append(r.Entities, graph.Entity{Node: o.named(start)})
		top, err := search.Top(context.Background(), o, scorer, search.Query{
			Start: start, Hops: o.hops, Paths: 10, Instances: 20, Rule: o.rule, HopBias: bias,
			Hubs: &search.Hubs{}, Budget: search.Budget{Edges: 300_000, Expansions: 3000},
		})
		if err != nil {
			return nil, err
		}
		for _, b := range top.Bundles {
			result := graph.Result{Start: o.named(start), Total: b.Total, AtLeast: b.AtLeast, Z: b.Paths[0].Z}
			if bias != nil {
				result.Bias = bias[len(b.Metapath)]
			}
			for _, p := range b.Paths {
				in := graph.Instance{Nodes: []graph.Node{o.named(start)}, Z: p.Z}
				from := start
				for _, s := range p.Steps {
					sr, sc := composed.Sr(uint32(from), uint32(s.Rel), uint32(s.To), s.Edge), o.Sc(s.Edge)
					in.Triplets = append(in.Triplets, graph.ScoredTriplet{
						Triplet: o.edges[s.Edge], Label: o.predicates[s.Rel/2], Inverse: s.Rel%2 == 1,
						Sr: sr, Sc: sc, Asked: asked[s.Rel],
					})
					in.Nodes = append(in.Nodes, o.named(s.To))
					from = s.To
				}
				result.Instances = append(result.Instances, in)
			}
			r.Results = append(r.Results, result)
		}
	}
	slices.SortStableFunc(r.Results, func(a, b graph.Result) int { return cmp.Compare(b.Z, a.Z) })
	r.Results, r.Beyond = o.margin.Within(r.Alpha, r.Results)
	if o.blind {
		r.Beyond = nil
	}
	for i := range r.Results {
		r.Results[i].N = i + 1
	}
	r.Context = render.Context(r.Results)
	return r, nil
}

// learn applies one rating as the product does.
func (o *offline) learn(e example) error {
	value, err := credit.Value(e.score)
	if err != nil || value == 0 {
		return err
	}
	evaluations, err := o.judge.Evaluate(context.Background(), credit.Answer{Question: e.question.Text, Response: e.text}, *e.found)
	if err != nil {
		return err
	}
	utilities, err := credit.Utilities(value, credit.DefaultGate(), *e.found, evaluations)
	if err != nil {
		return err
	}
	step, err := o.learner.Learn(credit.Lesson{Retrieval: *e.found, Utilities: utilities, Mentions: credit.Mentions(*e.found, e.text), Rate: 1})
	if err != nil {
		return err
	}
	for _, s := range step.Scores {
		at := o.edge[s.Triplet]
		e := &o.state[at]
		e.Score, e.Updates = max(0, min(graph.MaxScore, e.Score+s.Delta)), e.Updates+1
		for r, p := range o.predicates {
			if p == s.Predicate {
				o.most[2*r], o.most[2*r+1] = max(o.most[2*r], e.Score), max(o.most[2*r+1], e.Score)
			}
		}
	}
	var changes []rank.Change
	for _, w := range step.Weights {
		changes = append(changes, rank.Change{Of: w.Of, Delta: w.Delta, X: e.found.Features})
	}
	o.weights = o.weights.With("", changes)
	o.alpha = max(rank.MinAlpha, min(rank.MaxAlpha, o.alpha+step.Alpha))
	return nil
}

// trial runs iterations over a split and gives the held-out outcomes before and after.
func (o *offline) trial(split *Split, arm Arm, iterations int, seed uint64, planted map[string][]planted) (before, after []Outcome, err error) {
	evaluate := func() (out []Outcome, err error) {
		for _, q := range split.Test {
			r, err := o.retrieve(q)
			if err != nil {
				return nil, err
			}
			reading := read(q, r)
			o := outcome(q, reading, strings.Join(reading.Top, ", "))
			o.planted = shows(r, planted[q.ID])
			out = append(out, o)
		}
		return out, nil
	}
	if before, err = evaluate(); err != nil {
		return nil, nil, err
	}
	chance := rand.New(rand.NewPCG(seed, 0xa12)) //nolint:gosec // reproducible on purpose
	for i := 1; i <= iterations; i++ {
		for part := range slices.Chunk(sample(split.Round(i, iterations), len(split.Train), chance), o.batch) {
			var examples []example
			for _, q := range part {
				r, err := o.retrieve(q)
				if err != nil {
					return nil, nil, err
				}
				if len(r.Results) == 0 {
					continue
				}
				response := respond(read(q, r))
				examples = append(examples, example{question: q, found: r, response: response, text: strings.Join(response, ", ")})
			}
			arm.rated(examples, o.hash, chance)
			for _, e := range examples {
				if err := o.learn(e); err != nil {
					return nil, nil, err
				}
			}
		}
		if arm.Evolve {
			if err := o.evolve(fmt.Sprint(seed, " ", i)); err != nil {
				return nil, nil, err
			}
		}
	}
	after, err = evaluate()
	return before, after, err
}
