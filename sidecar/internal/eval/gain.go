package eval

import (
	"cmp"
	"slices"
)

// Gain is an arm's difference to a baseline on the same held-out questions, question by
// question, over all seeds.
type Gain struct {
	Set      string   `json:"set"`
	Split    Kind     `json:"split"`
	Arm      string   `json:"arm"`
	Baseline string   `json:"baseline"`
	Seeds    int      `json:"seeds"`
	Before   Score    `json:"before"` // the baseline
	After    Score    `json:"after"`
	MRR      Interval `json:"mrr"`
	Within   Interval `json:"within_budget"`
	F1       Interval `json:"f1"`
}

// static names the baseline: the same system before any feedback.
const static = "static"

// key names trials that differ in their seed only.
type key struct {
	set   string
	split Kind
	arm   string
}

// grouped are the trials by what they share, in order of first appearance.
func grouped(trials []*Trial) (keys []key, by map[key][]*Trial) {
	by = map[key][]*Trial{}
	for _, t := range trials {
		k := key{t.Set, t.Split, t.Arm}
		if by[k] == nil {
			keys = append(keys, k)
		}
		by[k] = append(by[k], t)
	}
	return keys, by
}

// gains compares every arm with its own first point, which is the static system, and the
// arms in against with another arm of the same seeds.
func gains(trials []*Trial, against map[string]string) []Gain {
	var out []Gain
	keys, by := grouped(trials)
	for _, k := range keys {
		var before, after [][]Outcome
		for _, t := range by[k] {
			before, after = append(before, t.first().Outcomes), append(after, t.last().Outcomes)
		}
		out = append(out, gain(k, static, before, after))
		for _, probe := range []string{similarityOnly} {
			var other [][]Outcome
			for _, t := range by[k] {
				if p, ok := t.probe(probe, 0); ok {
					other = append(other, p.Outcomes)
				}
			}
			if len(other) == len(after) {
				out = append(out, gain(k, probe, other, after))
			}
		}
		if base, ok := against[k.arm]; ok {
			before, after = nil, nil
			for _, t := range by[k] {
				for _, b := range by[key{k.set, k.split, base}] {
					if b.Seed == t.Seed {
						before, after = append(before, b.last().Outcomes), append(after, t.last().Outcomes)
					}
				}
			}
			if len(before) > 0 {
				out = append(out, gain(k, base, before, after))
			}
		}
	}
	return out
}

func gain(k key, baseline string, before, after [][]Outcome) Gain {
	g := Gain{
		Set: k.set, Split: k.split, Arm: k.arm, Baseline: baseline, Seeds: len(after),
		Before: mean(slices.Concat(before...)), After: mean(slices.Concat(after...)),
	}
	difference := func(value func(Outcome) float64) Interval { return differences(before, after, value) }
	g.MRR = difference(func(o Outcome) float64 { return o.MRR })
	g.Within = difference(func(o Outcome) float64 { return o.Within })
	g.F1 = difference(func(o Outcome) float64 { return o.F1 })
	return g
}

// differences are after minus before, question by question, in groups of one seed.
func differences(before, after [][]Outcome, value func(Outcome) float64) Interval {
	groups := make([][]float64, len(after))
	for i := range after {
		for j := range after[i] {
			groups[i] = append(groups[i], value(after[i][j])-value(before[i][j]))
		}
	}
	return bootstrap(groups, 1)
}

// Curve is the share of held-out questions whose answer is within a number of tokens.
type Curve struct {
	Set    string    `json:"set"`
	Split  Kind      `json:"split"`
	Arm    string    `json:"arm"`
	Tokens []int     `json:"tokens"`
	Recall []float64 `json:"recall"`
	// Equal is the smallest number of tokens at which the arm finds as many answers as the
	// static system does within the budget; 0: it never does.
	Equal int `json:"tokens_at_equal_recall"`
}

// curveAt are the numbers of tokens at which curves are drawn.
var curveAt = []int{10, 20, 30, 40, 60, 80, 100, 150, 200, 250, 300, 400, 500, 600, 800, 1000}

// curves of the static system, of the arm, and of similarity alone.
func curves(trials []*Trial, arm string) []Curve {
	var out []Curve
	keys, by := grouped(trials)
	for _, k := range keys {
		if k.arm != arm {
			continue
		}
		var before, after, similar []Outcome
		for _, t := range by[k] {
			before, after = append(before, t.first().Outcomes...), append(after, t.last().Outcomes...)
			if p, ok := t.probe(similarityOnly, 0); ok {
				similar = append(similar, p.Outcomes...)
			}
		}
		goal := within(before, Budget)
		for _, c := range []struct {
			name     string
			outcomes []Outcome
		}{{static, before}, {arm, after}, {similarityOnly, similar}} {
			if len(c.outcomes) == 0 {
				continue
			}
			curve := Curve{Set: k.set, Split: k.split, Arm: c.name, Tokens: curveAt, Equal: enough(c.outcomes, goal)}
			for _, n := range curveAt {
				curve.Recall = append(curve.Recall, within(c.outcomes, n))
			}
			out = append(out, curve)
		}
	}
	return out
}

// within is the share of answers within n tokens.
func within(outcomes []Outcome, n int) float64 {
	found := 0
	for _, o := range outcomes {
		if o.First <= n {
			found++
		}
	}
	return float64(found) / float64(max(1, len(outcomes)))
}

// enough is the smallest number of tokens within which the share is goal or more; 0: none is.
func enough(outcomes []Outcome, goal float64) int {
	sorted := slices.SortedFunc(slices.Values(outcomes), func(a, b Outcome) int { return cmp.Compare(a.First, b.First) })
	for i, o := range sorted {
		if o.First == never {
			break
		}
		if float64(i+1)/float64(len(sorted)) >= goal-1e-12 {
			return o.First
		}
	}
	return 0
}
