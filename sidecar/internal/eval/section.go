package eval

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// barSection compares what was measured with what is asked for.
func (r *Report) barSection() section {
	t := table{Head: []string{"", "measured", "bar", ""}}
	for _, b := range r.Bars {
		sign, met := "≥", "met"
		if b.Most {
			sign = "≤"
		}
		if !b.Met {
			met = "missed"
		}
		t.Rows = append(t.Rows, []string{b.Name, fmt.Sprintf("%.3f", b.Measured), fmt.Sprintf("%s %g", sign, b.Bar), met})
	}
	s := section{ID: "bars", Title: "Bars"}
	if len(t.Rows) > 0 {
		s.Tables = []table{t}
	}
	return s
}

// headline is static against the product as it comes, set by set.
func (r *Report) headline() section {
	s := section{ID: "headline", Title: "Held-out questions, before and after"}
	if t := r.headlineTable(); len(t.Rows) > 0 {
		s.Tables = []table{t}
		s.Text = fmt.Sprintf("MRR: 1/rank of the first result that ends at a reference answer. Answer: a reference answer is in the first %d tokens of the context. Intervals are of the difference.", Budget)
	}
	return s
}

func (r *Report) headlineTable() table {
	t := table{Head: []string{"set", "held out", "MRR before", "after", "difference", "answer before", "after", "difference", "questions", "seeds"}}
	for _, g := range r.Gains {
		if g.Arm == evolving && g.Baseline == static {
			t.Rows = append(t.Rows, []string{
				g.Set, string(g.Split), share(g.Before.MRR), share(g.After.MRR), interval(g.MRR),
				share(g.Before.Within), share(g.After.Within), interval(g.Within), fmt.Sprint(g.MRR.N), fmt.Sprint(g.Seeds),
			})
		}
	}
	return t
}

func share(x float64) string { return fmt.Sprintf("%.3f", x) }

func interval(i Interval) string { return fmt.Sprintf("%+.3f [%+.3f, %+.3f]", i.Mean, i.Low, i.High) }

// iterations draws MRR and answers after each iteration (Figure 7).
func (r *Report) iterations() section {
	s := section{ID: "iterations", Title: "Accuracy by iteration (Figure 7)", Text: "Bands are 95% bootstrap intervals of the mean."}
	keys, by := grouped(r.Trials)
	type place struct {
		set   string
		split Kind
	}
	var places []place
	for _, k := range keys {
		if (k.arm == evolving || k.arm == feedbackOnly) && !slices.Contains(places, place{k.set, k.split}) {
			places = append(places, place{k.set, k.split})
		}
	}
	for _, value := range []struct {
		name string
		of   func(Outcome) float64
	}{
		{"MRR", func(o Outcome) float64 { return o.MRR }},
		{fmt.Sprintf("answer within %d tokens", Budget), func(o Outcome) float64 { return o.Within }},
	} {
		for _, p := range places {
			var all []series
			for _, arm := range []string{evolving, feedbackOnly} {
				trials := by[key{p.set, p.split, arm}]
				if len(trials) == 0 {
					continue
				}
				line := series{Name: arm}
				for i := range trials[0].Points {
					var groups [][]float64
					for _, t := range trials {
						groups = append(groups, values(t.Points[i].Outcomes, value.of))
					}
					at := bootstrap(groups, 1)
					line.X, line.Y = append(line.X, float64(i)), append(line.Y, at.Mean)
					line.Low, line.High = append(line.Low, at.Low), append(line.High, at.High)
				}
				all = append(all, line)
			}
			title := fmt.Sprintf("%s, %s: %s", p.set, p.split, value.name)
			s.Charts = append(s.Charts, chart{title, lines(title, "iteration", value.name, all)})
		}
	}
	return s
}

func values(outcomes []Outcome, of func(Outcome) float64) []float64 {
	out := make([]float64, len(outcomes))
	for i, o := range outcomes {
		out[i] = of(o)
	}
	return out
}

// compared is Figure 10 and Table 2: similarity only, static, feedback, feedback and evolution.
func (r *Report) compared() section {
	s := section{ID: "compared", Title: "Similarity only, static, feedback, evolution (Figure 10, Table 2)",
		Text: "Similarity only ranks single paths by relevance alone: the paper's KRAG setting. Static is the product before any feedback. The response is the best result's ends, or what the chat model wrote."}
	t := table{Head: []string{"set", "held out", "", "MRR", fmt.Sprintf("answer within %d", Budget), "answer anywhere", "best result right", "ACC", "EM", "F1", "context tokens"}}
	var places []string
	columnsOf := map[string]*series{}
	order := []string{similarityOnly, static, feedbackOnly, evolving}
	for _, name := range order {
		columnsOf[name] = &series{Name: name}
	}
	keys, by := grouped(r.Trials)
	for _, k := range keys {
		if k.arm != evolving || !r.Plan.has(Compare) {
			continue
		}
		found := map[string][]Outcome{}
		for _, trial := range by[k] {
			found[static] = append(found[static], trial.first().Outcomes...)
			found[evolving] = append(found[evolving], trial.last().Outcomes...)
			if p, ok := trial.probe(similarityOnly, 0); ok {
				found[similarityOnly] = append(found[similarityOnly], p.Outcomes...)
			}
		}
		for _, trial := range by[key{k.set, k.split, feedbackOnly}] {
			found[feedbackOnly] = append(found[feedbackOnly], trial.last().Outcomes...)
		}
		places = append(places, k.set+", "+string(k.split))
		for _, name := range order {
			y := math.NaN()
			if outcomes := found[name]; len(outcomes) > 0 {
				m := mean(outcomes)
				y = m.MRR
				t.Rows = append(t.Rows, []string{k.set, string(k.split), name, share(m.MRR), share(m.Within), share(m.Found), share(m.Hit), share(m.ACC), share(m.EM), share(m.F1), fmt.Sprintf("%.0f", m.Tokens)})
			}
			columnsOf[name].Y = append(columnsOf[name].Y, y)
		}
	}
	if len(places) == 0 {
		return s
	}
	const perChart = 4
	for from := 0; from < len(places); from += perChart {
		to := min(len(places), from+perChart)
		var all []series
		for _, name := range order {
			all = append(all, series{Name: name, Y: columnsOf[name].Y[from:to]})
		}
		s.Charts = append(s.Charts, chart{"MRR", columns("MRR", "MRR", places[from:to], all)})
	}
	s.Tables = []table{t}
	return s
}

// ablation holds arms against one another on the same held-out questions.
func (r *Report) ablation(id, title, text string, arms ...string) section {
	s := section{ID: id, Title: title, Text: text}
	t := table{Head: []string{"set", "held out", "", "MRR", "against static", fmt.Sprintf("answer within %d", Budget), "against static", "against " + arms[0], "F1", "seeds"}}
	found := false
	for _, arm := range arms {
		for _, g := range r.Gains {
			if g.Arm != arm || g.Baseline != static || !slices.ContainsFunc(r.Gains, func(o Gain) bool { return o.Set == g.Set && o.Split == g.Split && o.Arm == arms[1] }) {
				continue
			}
			lost := ""
			for _, o := range r.Gains {
				if o.Set == g.Set && o.Split == g.Split && o.Arm == arm && o.Baseline == arms[0] {
					lost = interval(o.Within)
				}
			}
			found = found || arm != arms[0]
			t.Rows = append(t.Rows, []string{g.Set, string(g.Split), arm, share(g.After.MRR), interval(g.MRR), share(g.After.Within), interval(g.Within), lost, share(g.After.F1), fmt.Sprint(g.Seeds)})
		}
	}
	if !found {
		return s
	}
	s.Tables = []table{t}
	keys, by := grouped(r.Trials)
	type place struct {
		set   string
		split Kind
	}
	var places []place
	for _, k := range keys {
		if k.arm == arms[1] {
			places = append(places, place{k.set, k.split})
		}
	}
	for _, p := range places {
		var all []series
		for _, arm := range arms {
			trials := by[key{p.set, p.split, arm}]
			if len(trials) == 0 {
				continue
			}
			line := series{Name: arm}
			for i := range trials[0].Points {
				var outcomes []Outcome
				for _, t := range trials {
					outcomes = append(outcomes, t.Points[i].Outcomes...)
				}
				line.X, line.Y = append(line.X, float64(i)), append(line.Y, mean(outcomes).MRR)
			}
			all = append(all, line)
		}
		name := fmt.Sprintf("%s, %s: MRR", p.set, p.split)
		s.Charts = append(s.Charts, chart{name, lines(name, "iteration", "MRR", all)})
	}
	return s
}

// widths is Figure 14: numbers of start nodes and of results.
func (r *Report) widths() section {
	s := section{ID: "widths", Title: "Start nodes N and results M (Figure 14)", Text: "With N the question's entities are found in its words; with M they are those of the set."}
	keys, by := grouped(r.Trials)
	for _, k := range keys {
		if k.arm != evolving {
			continue
		}
		for _, width := range []struct {
			letter string
			of     []int
		}{{"N", manyEntities}, {"M", manyPaths}} {
			var all []series
			for _, iteration := range []int{0, r.Plan.Iterations} {
				for _, value := range []struct {
					name string
					of   func(Score) float64
				}{{"MRR", func(s Score) float64 { return s.MRR }}, {fmt.Sprintf("answer within %d", Budget), func(s Score) float64 { return s.Within }}} {
					line := series{Name: value.name + ", static"}
					if iteration > 0 {
						line.Name = value.name + ", learned"
					}
					for _, n := range width.of {
						var outcomes []Outcome
						for _, t := range by[k] {
							if p, ok := t.probe(fmt.Sprintf("%s=%d", width.letter, n), iteration); ok {
								outcomes = append(outcomes, p.Outcomes...)
							}
						}
						if len(outcomes) > 0 {
							line.X, line.Y = append(line.X, float64(n)), append(line.Y, value.of(mean(outcomes)))
						}
					}
					if len(line.X) > 0 {
						all = append(all, line)
					}
				}
			}
			if len(all) > 0 {
				name := fmt.Sprintf("%s, %s: %s", k.set, k.split, width.letter)
				s.Charts = append(s.Charts, chart{name, lines(name, width.letter, "share", all)})
			}
		}
	}
	return s
}

// tokens is Figure 12: how much context an answer needs.
func (r *Report) tokens() section {
	s := section{ID: "tokens", Title: "Context tokens and recall (Figure 12)", Text: fmt.Sprintf("The share of questions whose answer is within a number of tokens of the context; the table has the tokens at which an arm finds what the static system finds in %d.", Budget)}
	t := table{Head: []string{"set", "held out", "", "tokens at equal recall"}}
	for i := 0; i < len(r.Curves); {
		j := i
		var all []series
		for ; j < len(r.Curves) && r.Curves[j].Set == r.Curves[i].Set && r.Curves[j].Split == r.Curves[i].Split; j++ {
			c := r.Curves[j]
			line := series{Name: c.Arm}
			for k, n := range c.Tokens {
				if n <= 2*Budget {
					line.X, line.Y = append(line.X, float64(n)), append(line.Y, c.Recall[k])
				}
			}
			all = append(all, line)
			needed := "never"
			if c.Equal > 0 {
				needed = fmt.Sprint(c.Equal)
			}
			t.Rows = append(t.Rows, []string{c.Set, string(c.Split), c.Arm, needed})
		}
		name := fmt.Sprintf("%s, %s", r.Curves[i].Set, r.Curves[i].Split)
		s.Charts = append(s.Charts, chart{name, lines(name, "tokens of context", "recall", all)})
		i = j
	}
	if len(t.Rows) > 0 {
		s.Tables = []table{t}
	}
	return s
}

// changes is Table 4: what evolution adds and takes away.
func (r *Report) changes() section {
	s := section{ID: "changes", Title: "Triplets added and removed (Table 4)", Text: "Shares are of the triplets on the results of the held-out questions, after the last iteration against before the first."}
	t := table{Head: []string{"set", "held out", "", "retrieved triplets that are new", "that are gone", "shortcuts", "hidden", "shown again", "seeds"}}
	keys, by := grouped(r.Trials)
	for _, k := range keys {
		if k.arm != evolving && k.arm != feedbackOnly {
			continue
		}
		var fresh, gone float64
		var counts Counts
		for _, trial := range by[k] {
			fresh += trial.New
			gone += trial.Gone
			for _, p := range trial.Points {
				counts.add(p.Counts)
			}
		}
		n := float64(len(by[k]))
		per := func(x int) string { return fmt.Sprintf("%.0f", float64(x)/n) }
		t.Rows = append(t.Rows, []string{k.set, string(k.split), k.arm, percent(fresh / n), percent(gone / n), per(counts.Shortcuts - counts.Removed), per(counts.Hidden), per(counts.Shown), fmt.Sprint(len(by[k]))})
	}
	if len(t.Rows) > 0 {
		s.Tables = []table{t}
	}
	return s
}

// answers is the time that a chat model takes, and where it comes to nothing.
func (r *Report) answers() section {
	s := section{ID: "answers", Title: "The chat model", Text: "First token: from the question to the first piece of the model's answer, the retrieval included. A question without a whole answer counts as wrong. Rating: mean of the iteration's, 1 to 5; a response that a model was to rate and did not teaches nothing."}
	t := table{Head: []string{"set", "held out", "", "iteration", "first token, ms", "tokens of the prompt", "unanswered", "rating", "unrated"}}
	for _, trial := range r.Trials {
		for _, p := range []Point{trial.first(), trial.last()} {
			if p.FirstToken > 0 || p.Unanswered > 0 {
				rating := ""
				if p.Rating > 0 {
					rating = fmt.Sprintf("%.2f", p.Rating)
				}
				t.Rows = append(t.Rows, []string{trial.Set, string(trial.Split), trial.Arm, fmt.Sprint(p.Iteration), fmt.Sprintf("%.0f", p.FirstToken), fmt.Sprintf("%.0f", p.Prompt), fmt.Sprint(p.Unanswered), rating, fmt.Sprint(p.Unrated)})
			}
		}
	}
	if len(t.Rows) > 0 {
		s.Tables = []table{t}
	}
	return s
}

func percent(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }

// sizes tells what the graphs are and how long they took to load (with Figure 15).
func (r *Report) sizes() section {
	s := section{ID: "sets", Title: "Sets"}
	t := table{Head: []string{"set", "triplets", "questions", "asked with hops", "engine started and graph loaded in"}}
	for _, i := range r.Sets {
		t.Rows = append(t.Rows, []string{i.Name, fmt.Sprint(i.Triples), fmt.Sprint(i.Questions), fmt.Sprint(i.Hops), duration(i.LoadS)})
	}
	if len(t.Rows) > 0 {
		s.Tables = []table{t}
	}
	return s
}

// markdown is a table as a README takes it.
func (t table) markdown() string {
	var b strings.Builder
	row := func(cells []string) {
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	row(t.Head)
	b.WriteString(strings.Repeat("|---", len(t.Head)) + "|\n")
	for _, cells := range t.Rows {
		row(cells)
	}
	return b.String()
}
