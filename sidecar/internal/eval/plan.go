package eval

import (
	"fmt"
	"maps"
	"slices"
)

// Plan says what is run.
type Plan struct {
	Kinds       []Kind       `json:"splits"`
	Seeds       int          `json:"seeds"`
	Iterations  int          `json:"iterations"`
	Sizes       Sizes        `json:"sizes"`
	Experiments []Experiment `json:"experiments"`
	Detail      []string     `json:"detail_sets"` // sets on which the experiments besides Compare, Control and Plant are run
	DetailKinds []Kind       `json:"detail_splits"`
	DetailSeeds int          `json:"detail_seeds"`
}

// Experiment is one of the paper's.
type Experiment string

// Experiments, with the figure or table of the paper.
const (
	Compare Experiment = "compare" // Figures 7 and 10, Tables 2 and 4, Figure 12: feedback, feedback and evolution, static, similarity only
	Gate    Experiment = "gate"    // Figure 11
	Noise   Experiment = "noise"   // Figure 9
	Control Experiment = "control" // shuffled ratings, on every set
	Sources Experiment = "sources" // Figure 8
	Widths  Experiment = "widths"  // Figure 14: N and M
	Paper   Experiment = "paper"   // the paper's own rule, single paths
	Plant   Experiment = "planted" // Figures 3 and 7, on every set with wordings: wrong, outdated, irrelevant triplets; long paths
	Refine  Experiment = "refined" // Table 2: triplets dropped by TransE
	Batch   Experiment = "batches" // Figure 13, and Figure 15 on a large graph
	Chunk   Experiment = "chunks"  // section 6.12, on sets that come with texts
)

// Experiments are all of them.
var Experiments = []Experiment{Compare, Gate, Noise, Control, Sources, Widths, Paper, Plant, Refine, Batch, Chunk}

// Verify checks a plan. The error says what to write.
func (p Plan) Verify() error {
	for _, k := range slices.Concat(p.Kinds, p.DetailKinds) {
		if !slices.Contains(Kinds, k) {
			return fmt.Errorf("the split %q is none; write one of %v", k, Kinds)
		}
	}
	for _, e := range p.Experiments {
		if !slices.Contains(Experiments, e) {
			return fmt.Errorf("the experiment %q is none; write one of %v", e, Experiments)
		}
	}
	if p.Seeds < 1 || p.Iterations < 1 || p.Sizes.Train < fewest || p.Sizes.Test < fewest {
		return fmt.Errorf("seeds %d, iterations %d, train %d, test %d; write at least 1, 1, %d and %d", p.Seeds, p.Iterations, p.Sizes.Train, p.Sizes.Test, fewest, fewest)
	}
	return nil
}

func (p Plan) has(e Experiment) bool { return slices.Contains(p.Experiments, e) }

// detailed tells whether the experiments besides Compare are run on a set.
func (p Plan) detailed(set string) bool { return slices.Contains(p.Detail, set) }

// detail tells whether the experiments besides Compare are run here.
func (p Plan) detail(set string, kind Kind, seed int) bool {
	return p.detailed(set) && slices.Contains(p.DetailKinds, kind) && seed <= p.DetailSeeds
}

// controlled is the split on which every set is taught nonsense.
func (p Plan) controlled() Kind {
	if slices.Contains(p.Kinds, Unseen) {
		return Unseen
	}
	return p.Kinds[0]
}

// Names of arms and probes that others refer to.
const (
	feedbackOnly   = "feedback"
	evolving       = "feedback + evolution" // the product as it comes
	similarityOnly = "similarity only"      // relevance alone over single paths: the paper's KRAG setting
	shuffled       = "shuffled ratings"
	goldJudge      = "gold attribution"
	llmJudge       = "llm ratings"
	paperRule      = "paper's rule, single paths"
)

// against names the arm that each other is held against, besides the static system.
var against = map[string]string{
	feedbackOnly: evolving, "gate off": evolving, "10% inverted": evolving, "20% inverted": evolving, "30% inverted": evolving,
	"embedding ratings": evolving, goldJudge: evolving, llmJudge: evolving,
}

// arms of one split of one set.
func (p Plan) arms(set string, kind Kind, seed int, model bool) []Arm {
	main := Arm{Name: evolving, Evolve: true, Probes: []Probe{similarity()}}
	detail := p.detail(set, kind, seed)
	if p.has(Widths) && detail {
		main.Probes = slices.Concat(main.Probes, widths())
	}
	var out []Arm
	if p.has(Compare) || detail {
		out = append(out, main)
	}
	if p.has(Compare) && p.detailed(set) && seed <= p.DetailSeeds {
		out = append(out, Arm{Name: feedbackOnly})
	}
	if p.has(Control) && seed <= p.DetailSeeds && kind == p.controlled() {
		out = append(out, Arm{Name: shuffled, Evolve: true, Shuffled: true})
	}
	if !detail {
		return out
	}
	vary := func(name string, change func(*Arm)) {
		a := Arm{Name: name, Evolve: true}
		change(&a)
		out = append(out, a)
	}
	if p.has(Gate) {
		vary("gate off", func(a *Arm) {
			a.Settings = map[string]string{"feedback.min_fidelity": "-1", "feedback.max_conflict": "1"}
		})
	}
	if p.has(Noise) {
		for _, share := range []float64{.1, .2, .3} {
			vary(fmt.Sprintf("%.0f%% inverted", 100*share), func(a *Arm) { a.Inverted = share })
		}
	}
	if p.has(Sources) {
		vary("embedding ratings", func(a *Arm) { a.Source = Embedding })
		vary(goldJudge, func(a *Arm) { a.Judge = "gold" })
		if model {
			vary(llmJudge, func(a *Arm) {
				a.Source, a.Settings = LLM, map[string]string{"feedback.evaluator": "llm"}
			})
		}
	}
	if p.has(Paper) {
		vary(paperRule, func(a *Arm) {
			a.Single, a.Settings = true, map[string]string{"feedback.learner.rule": "paper"}
		})
	}
	return out
}

func similarity() Probe {
	return Probe{similarityOnly, func(a *ask) {
		no, none := false, 0.0
		a.Bundle, a.Alpha = &no, &none
	}}
}

// Numbers of start nodes and of results that are tried.
var (
	manyEntities = []int{1, 3, 5, 10, 20}
	manyPaths    = []int{1, 3, 5, 10, 20}
)

func widths() []Probe {
	var out []Probe
	for _, n := range manyEntities {
		out = append(out, Probe{fmt.Sprintf("N=%d", n), func(a *ask) { a.Entities, a.EntityCount = nil, n }})
	}
	for _, m := range manyPaths {
		out = append(out, Probe{fmt.Sprintf("M=%d", m), func(a *ask) { a.Paths = m }})
	}
	return out
}

// settings of all sidecars of the harness: batches are waited for, so that none needs to wait for
// another rating.
func settings(own map[string]string) map[string]string {
	all := map[string]string{"feedback.wait": "100ms"}
	maps.Copy(all, own)
	return all
}
