package credit

import (
	"slices"
	"strconv"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/rank"
)

// BundleRule holds the settings of the learner of bundles. It looks at a lesson twice, each time
// with the exact gradient: between bundles, each standing for its best instance, to learn which
// relations and how many hops a question like this one wants; and between the instances of one
// bundle, to learn which of its edges to believe.
type BundleRule struct {
	Weights     float64 // rate of the weights w_r
	Hops        float64 // rate of the weights c_h. They are moved by ratings of all questions, of which many come at once, and late
	WeightCap   float64 // most raw points that one lesson moves w_r.x or c_h.x
	Between     float64 // rate of scores, between bundles
	Within      float64 // rate of scores, between the instances of a bundle
	Cap         float64 // most raw points that one lesson moves a triplet's score
	Delta       float64 // smoothing of the loss
	Negative    float64 // weight of utilities below 0, in [0,1]
	Inside      float64 // of an instance's utility that is left where the response doesn't name its end, in [0,1]
	Temperature float64 // of the softmax: lower ones end learning sooner, once the right bundle is first
}

// DefaultBundleRule is what docs/LEARNING.md has chosen.
func DefaultBundleRule() BundleRule {
	return BundleRule{
		Weights: 1, Hops: 0.05, WeightCap: 8, Between: 0.2, Within: 1, Cap: 6,
		Delta: 0.2, Negative: 0.5, Inside: 0.3, Temperature: 0.05,
	}
}

// NewLearner makes the learner of scores and weights by this rule; alpha stays.
func (r BundleRule) NewLearner(name string) Learner {
	return &bundles{rule: r, name: name, index: map[walked]int32{}, at: map[graph.Triplet]int{}, of: map[rank.WeightOf]int{}}
}

// walked is a triplet in one direction: the question moves its Sc by the relation walked.
type walked struct {
	graph.Triplet
	inverse bool
}

type bundles struct {
	rule     BundleRule
	name     string
	calculus Calculus
	problem  Problem
	index    map[walked]int32 // in problem
	walks    []walked
	path     []int32

	at      map[graph.Triplet]int
	scores  []ScoreDelta
	of      map[rank.WeightOf]int
	weights []WeightDelta
}

// Name is the name that the learner was made with.
func (b *bundles) Name() string { return b.name }

// Learn is one step down both exact gradients. The loss counts times the temperature, so that
// a step has the same size at any.
func (b *bundles) Learn(l Lesson) (Step, error) {
	if l.Rate-l.Rate != 0 || l.Rate < 0 {
		return Step{}, ErrNotFinite
	}
	clear(b.at)
	clear(b.of)
	b.scores, b.weights = b.scores[:0], b.weights[:0]
	utilities, shares := b.utilities(l)
	degenerate, err := b.between(l, shares)
	if err != nil {
		return Step{}, err
	}
	for i := range l.Retrieval.Results {
		if err := b.within(l, i, utilities[i]); err != nil {
			return Step{}, err
		}
	}
	b.spare(l)
	scale := l.Rate * graph.MaxScore * b.rule.Temperature
	for i := range b.scores {
		b.scores[i].Delta = bounded(scale*b.scores[i].Delta, b.rule.Cap)
	}
	for i, w := range b.weights {
		rate := b.rule.Weights
		if w.Of.Hops > 0 {
			rate = b.rule.Hops
		}
		b.weights[i].Delta = bounded(scale*rate*w.Delta, b.rule.WeightCap)
	}
	return Step{
		Scores:     slices.DeleteFunc(b.scores, func(s ScoreDelta) bool { return s.Delta == 0 }),
		Weights:    slices.DeleteFunc(b.weights, func(w WeightDelta) bool { return w.Delta == 0 }),
		Degenerate: degenerate,
	}, nil
}

// spare takes back what a good rating takes from the triplets of a path to a name of the response,
// and what a bad one gives them: in another bundle they may be one of many, or lead nowhere.
func (b *bundles) spare(l Lesson) {
	if l.Mentions == nil {
		return
	}
	for i, r := range l.Retrieval.Results {
		for j, in := range r.Instances {
			if !l.Mentions[i][j].End {
				continue
			}
			for _, t := range in.Triplets {
				if at, known := b.at[t.Triplet]; known && b.scores[at].Delta*l.Utilities[i] < 0 {
					b.scores[at].Delta = 0
				}
			}
		}
	}
}

func bounded(x, most float64) float64 { return max(-most, min(most, x)) }

// utilities gives each instance its utility and each bundle its own: what the result is worth,
// by how far its ends are what the response names, as F1.
func (b *bundles) utilities(l Lesson) (instances [][]float64, bundle []float64) {
	named := map[string]bool{} // ends that the response names
	for i, result := range l.Retrieval.Results {
		for j, in := range result.Instances {
			if l.Mentions != nil && l.Mentions[i][j].End {
				named[nameOf(in.Nodes[len(in.Nodes)-1])] = true
			}
		}
	}
	instances, bundle = make([][]float64, len(l.Retrieval.Results)), make([]float64, len(l.Retrieval.Results))
	for i, result := range l.Retrieval.Results {
		u := l.Utilities[i]
		if u < 0 {
			u *= b.rule.Negative
		}
		instances[i] = make([]float64, len(result.Instances))
		var sum float64
		for j := range result.Instances {
			share := 1.0
			if l.Mentions != nil {
				share = b.share(l.Mentions[i][j])
			}
			instances[i][j] = u * share
			sum += share
		}
		switch {
		case l.Mentions == nil:
			bundle[i] = u
		case sum == 0: // the evaluator has other reasons
			bundle[i] = u * b.rule.Inside
		default:
			all := max(result.Total, len(result.Instances))
			bundle[i] = u * min(1, 2*sum/float64(all+len(named)))
		}
	}
	return instances, bundle
}

func (b *bundles) share(m Mention) float64 {
	switch {
	case m.End:
		return 1
	case m.Some:
		return b.rule.Inside
	}
	return 0
}

// nameOf is a node's name, else its uid.
func nameOf(n graph.Node) string {
	if n.Name != "" {
		return n.Name
	}
	return strconv.FormatUint(uint64(n.UID), 16)
}

// between learns what tells bundles apart. Where what was shown was bad, what was left out may be
// better: it counts as worth nothing, which is more. Its triplets' own scores don't move.
func (b *bundles) between(l Lesson, utilities []float64) (degenerate bool, err error) {
	b.begin(l)
	var hops []int // by path of the problem
	add := func(r graph.Result, u float64) {
		if len(r.Instances) > 0 && len(r.Instances[0].Triplets) > 0 {
			b.add(r.Instances[0], u, r.Bias)
			hops = append(hops, hopsOf(r.Instances[0]))
		}
	}
	for i, r := range l.Retrieval.Results {
		add(r, utilities[i])
	}
	shown := len(b.walks)
	if slices.ContainsFunc(utilities, func(u float64) bool { return u < 0 }) {
		for _, r := range l.Retrieval.Beyond {
			add(r, 0)
		}
	}
	g, err := b.calculus.Gradient(&b.problem)
	if err != nil {
		return false, err
	}
	for t, d := range g.Sc {
		w := b.walks[t]
		if t < shown {
			b.score(w.Triplet, -b.rule.Between*d)
		}
		b.weight(rank.WeightOf{Relation: graph.Relation{Predicate: w.Predicate, Inverse: w.inverse}.String()}, -d)
	}
	for path, n := range hops {
		if n > 0 {
			b.weight(rank.WeightOf{Hops: n}, -g.Bias[path])
		}
	}
	return g.Degenerate, nil
}

// hopsOf is the hop count of an instance; 0 where it has a shortcut, which stands for several hops and
// says nothing of how long an answer to a question like this one is elsewhere.
func hopsOf(in graph.Instance) int {
	if slices.ContainsFunc(in.Triplets, func(t graph.ScoredTriplet) bool { return t.Predicate == graph.ShortcutPredicate }) {
		return 0
	}
	return len(in.Triplets)
}

// within learns what tells the instances of one bundle apart.
func (b *bundles) within(l Lesson, result int, utilities []float64) error {
	r := l.Retrieval.Results[result]
	if len(r.Instances) < 2 {
		return nil
	}
	b.begin(l)
	for j, in := range r.Instances {
		if len(in.Triplets) > 0 {
			b.add(in, utilities[j], 0)
		}
	}
	g, err := b.calculus.Gradient(&b.problem)
	if err != nil {
		return err
	}
	for t, d := range g.Sc {
		b.score(b.walks[t].Triplet, -b.rule.Within*d)
	}
	return nil
}

// begin makes the problem empty.
func (b *bundles) begin(l Lesson) {
	b.problem.Reset(l.Retrieval.Alpha, b.rule.Delta)
	b.problem.Temperature = b.rule.Temperature
	clear(b.index)
	b.walks = b.walks[:0]
}

func (b *bundles) add(in graph.Instance, u, bias float64) {
	b.path = b.path[:0]
	for _, t := range in.Triplets {
		w := walked{t.Triplet, t.Inverse}
		at, known := b.index[w]
		if !known {
			at = b.problem.AddAsked(t.Sr, t.Sc, t.Asked)
			b.index[w] = at
			b.walks = append(b.walks, w)
		}
		b.path = append(b.path, at)
	}
	b.problem.AddBiased(u, bias, b.path...)
}

func (b *bundles) score(t graph.Triplet, by float64) {
	at, known := b.at[t]
	if !known {
		at = len(b.scores)
		b.at[t] = at
		b.scores = append(b.scores, ScoreDelta{Triplet: t})
	}
	b.scores[at].Delta += by
}

func (b *bundles) weight(of rank.WeightOf, by float64) {
	at, known := b.of[of]
	if !known {
		at = len(b.weights)
		b.of[of] = at
		b.weights = append(b.weights, WeightDelta{Of: of})
	}
	b.weights[at].Delta += by
}
