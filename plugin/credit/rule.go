package credit

import (
	"math"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/rank"
)

// ScoreDelta is the step of one triplet's raw score, in raw points.
type ScoreDelta struct {
	graph.Triplet
	Delta float64
}

// Lesson is one rated retrieval: Sr, Sc and alpha as recorded with it, and what each of its
// results was worth.
type Lesson struct {
	Retrieval graph.Retrieval
	Utilities []float64   // by result, in [-1,1]
	Mentions  [][]Mention // by result and instance: what of it the response names; nil: not known
	Rate      float64     // of the rating's source, scales the step; 1 is the whole of it
}

// WeightDelta is the step of one weight vector along the question's features x, in raw points:
// the vector moves by Delta*x, its product with x by Delta, since x has unit length.
type WeightDelta struct {
	Of    rank.WeightOf `json:"of"`
	Delta float64       `json:"delta"`
}

// Step is what a lesson teaches: how far each score and alpha move, before any clamp, and each
// weight vector. Deltas of 0 are left out; the order is that of the first places in the results.
type Step struct {
	Scores     []ScoreDelta
	Weights    []WeightDelta
	Alpha      float64
	Degenerate bool // the loss has no gradient here, nothing is learned
}

// Learner turns a lesson into a step: a pure function of the lesson, so that the journal can
// be replayed. Implementations are not safe for concurrent use.
type Learner interface {
	// Name tells learners and their settings apart.
	Name() string
	// Learn gives the step, good until the next call. The error is about numbers that no
	// lesson may have.
	Learn(Lesson) (Step, error)
}

// Rule holds the settings of the update of equations (8) and (9).
type Rule struct {
	Eta      float64 // rate of scores
	EtaAlpha float64 // rate of alpha
	Cap      float64 // most raw points that one lesson moves a triplet
	Delta    float64 // smoothing of the loss
	Gain     bool    // multiply by max(1, m/10), m paths: p_i is about 1/m
	Negative float64 // weight of utilities below 0, in [0,1]
	Best     bool    // of each result only the best instance is a path; else each of them is
}

// PaperRule is the paper's: no smoothing, no cap below the scores' span, single paths.
func PaperRule() Rule {
	return Rule{Eta: 0.5, EtaAlpha: 0.05, Cap: graph.MaxScore, Negative: 1}
}

// NewLearner makes the learner of scores and alpha by this rule.
func (r Rule) NewLearner(name string) Learner {
	return &scores{rule: r, name: name, index: map[graph.Triplet]int32{}}
}

// scores learns one number a triplet, and alpha.
type scores struct {
	rule     Rule
	name     string
	calculus Calculus
	problem  Problem
	index    map[graph.Triplet]int32
	triplets []graph.Triplet
	path     []int32
	out      []ScoreDelta
}

// Name is the name that the learner was made with.
func (s *scores) Name() string { return s.name }

// Learn is one step down the exact gradient.
func (s *scores) Learn(l Lesson) (Step, error) {
	s.load(l)
	g, err := s.calculus.Gradient(&s.problem)
	if err != nil {
		return Step{}, err
	}
	if l.Rate-l.Rate != 0 || l.Rate < 0 {
		return Step{}, ErrNotFinite
	}
	gain := 1.0
	if s.rule.Gain {
		gain = max(1, float64(s.problem.Paths())/10)
	}
	s.out = s.out[:0]
	for t, d := range g.Sc {
		step := min(s.rule.Cap, l.Rate*s.rule.Eta*graph.MaxScore*gain*math.Abs(d)) // equation (8)
		if step > 0 {
			s.out = append(s.out, ScoreDelta{s.triplets[t], math.Copysign(step, -d)})
		}
	}
	return Step{Scores: s.out, Alpha: -l.Rate * s.rule.EtaAlpha * g.Alpha, Degenerate: g.Degenerate}, nil // equation (9)
}

// load writes the lesson as a Problem.
func (s *scores) load(l Lesson) {
	s.problem.Reset(l.Retrieval.Alpha, s.rule.Delta)
	clear(s.index)
	s.triplets = s.triplets[:0]
	for i, result := range l.Retrieval.Results {
		u := l.Utilities[i]
		if u < 0 {
			u *= s.rule.Negative
		}
		var mentions []Mention
		if l.Mentions != nil {
			mentions = l.Mentions[i]
		}
		for j, in := range result.Instances {
			if s.rule.Best && j > 0 {
				break
			}
			if len(in.Triplets) == 0 {
				continue
			}
			s.path = s.path[:0]
			for _, t := range in.Triplets {
				at, known := s.index[t.Triplet]
				if !known {
					at = s.problem.AddTriplet(t.Sr, t.Sc)
					s.index[t.Triplet] = at
					s.triplets = append(s.triplets, t.Triplet)
				}
				s.path = append(s.path, at)
			}
			s.problem.AddPath(inherited(u, mentions, j, s.rule.Best), s.path...)
		}
	}
}

// inherited is the utility of an instance: its result's, where its own objects are in the
// response or none of the result's instances' are; else the neutral one.
func inherited(u float64, mentions []Mention, instance int, best bool) float64 {
	if best || mentions == nil || mentions[instance].Own {
		return u
	}
	for _, m := range mentions {
		if m.Own {
			return 0
		}
	}
	return u
}
