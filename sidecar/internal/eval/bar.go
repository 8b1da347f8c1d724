package eval

import "fmt"

// Bar is one figure that the product is to reach.
type Bar struct {
	Name     string  `json:"name"`
	Measured float64 `json:"measured"`
	Bar      float64 `json:"bar"`
	Most     bool    `json:"at_most,omitempty"` // the bar is an upper bound
	Met      bool    `json:"met"`
	Detail   string  `json:"detail,omitempty"`
}

// Check gives ErrBars where any bar is missed.
func (r *Report) Check() error {
	missed := 0
	for _, b := range r.Bars {
		if !b.Met {
			missed++
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d %w", missed, len(r.Bars), ErrBars)
	}
	return nil
}

// bars of what was measured; what was not has none.
func bars(r *Report) []Bar {
	var out []Bar
	add := func(name string, measured, bar float64, most bool, detail string) {
		met := measured >= bar
		if most {
			met = measured <= bar
		}
		out = append(out, Bar{name, measured, bar, most, met, detail})
	}
	average := func(kind Kind, baseline, arm string, value func(Gain) float64) (float64, string, bool) {
		sum, n, detail := 0.0, 0, ""
		for _, g := range r.Gains {
			if (kind == "" || g.Split == kind) && g.Arm == arm && g.Baseline == baseline {
				sum += value(g)
				n++
				detail += fmt.Sprintf("%s %s %+.3f; ", g.Set, g.Split, value(g))
			}
		}
		return sum / float64(max(1, n)), detail, n > 0
	}
	mrr := func(g Gain) float64 { return g.MRR.Mean }
	inContext := func(g Gain) float64 { return 100 * g.Within.Mean }
	if x, d, ok := average(Paraphrase, static, evolving, mrr); ok {
		add("MRR gained on paraphrases of rated facts, mean over sets", x, .15, false, d)
	}
	if x, d, ok := average(Unseen, static, evolving, mrr); ok {
		add("MRR gained on unseen topic entities, mean over sets", x, .10, false, d)
	}
	if x, d, ok := average("", static, evolving, inContext); ok {
		add(fmt.Sprintf("points of answer within %d tokens gained, mean over sets and splits", Budget), x, 5, false, d)
	}
	for _, g := range r.Gains {
		if g.Arm == evolving && g.Baseline == static {
			add(fmt.Sprintf("%s, %s: lower end of the difference in MRR, points", g.Set, g.Split), 100*g.MRR.Low, -1, false, "")
			add(fmt.Sprintf("%s, %s: lower end of the difference in answers within %d tokens, points", g.Set, g.Split, Budget), 100*g.Within.Low, -1, false, "")
		}
	}
	if x, d, ok := average("", static, shuffled, func(g Gain) float64 { return 100 * g.MRR.Mean }); ok {
		add("MRR points gained from shuffled ratings", x, 1, true, d)
	}
	for _, noise := range []struct {
		arm  string
		most float64
	}{{"10% inverted", 1.2}, {"20% inverted", 2.5}} {
		if x, d, ok := average("", evolving, noise.arm, func(g Gain) float64 { return -inContext(g) }); ok {
			add(fmt.Sprintf("points of answer within %d tokens lost by %s ratings", Budget, noise.arm), x, noise.most, true, d)
		}
	}
	before, left, recall := 0, 0, 0.0
	for _, p := range r.Planted {
		if p.Fault != LongPath {
			before, left = before+p.Before, left+p.Left
			recall = min(recall, p.After-p.Recall)
		}
	}
	if before > 0 {
		add("planted triplets on the static results that are gone, share", 1-float64(left)/float64(before), .83, false, fmt.Sprintf("%d of %d left", left, before))
		add("points of recall lost on the graph with them", -100*recall, 0, true, "")
	}
	ratio, n := 0.0, 0
	for i := 1; i < len(r.Curves); i++ {
		if a, b := r.Curves[i-1], r.Curves[i]; a.Arm == static && b.Arm == evolving && a.Equal > 0 {
			ratio += float64(b.Equal) / float64(a.Equal)
			n++
		}
	}
	if n > 0 {
		add("context tokens at static's recall, against static's", ratio/float64(n), .5, true, "")
	}
	return out
}
