package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// dropped are the shares of triplets that are taken out of the graph, the least plausible first.
var dropped = []float64{.05, .1, .2}

// Refined is the static system on a graph without its least plausible triplets: what a
// refinement of the graph that hears of no feedback does to answers.
type Refined struct {
	Set     string  `json:"set"`
	Split   Kind    `json:"split"`
	Dropped float64 `json:"dropped"` // share of the triplets; 0: the graph as it is
	Score   Score   `json:"score"`
}

// refine drops triplets by their TransE score and asks the held-out questions.
func (r *Report) refine(ctx context.Context, lab Lab, s *Set, triples []Triple, o Options) error {
	if !lab.Fresh() {
		r.note(s.Name + ": refined graphs need clusters of their own; leave --dgraph out")
		return nil
	}
	order := slices.Clone(triples)
	model := newTransE(triples, 1)
	slices.SortStableFunc(order, func(a, b Triple) int { return cmp.Compare(model.score(b), model.score(a)) })
	for _, share := range dropped {
		kept := order[:len(order)-int(share*float64(len(order)))]
		runner, done, err := onChanged(ctx, lab, s, fmt.Sprintf("refined-%.0f", 100*share), kept, o)
		if err != nil {
			return err
		}
		err = runner.static(ctx, func(c *client) error {
			for _, kind := range r.Plan.Kinds {
				split, err := NewSplit(kind, s, triples, r.Plan.Iterations, r.Plan.Sizes, 1)
				if errors.Is(err, ErrNoSplit) {
					continue
				}
				if err != nil {
					return err
				}
				p, err := runner.evaluate(ctx, c, split.Test, Arm{}, nil)
				if err != nil {
					return err
				}
				r.Refined = append(r.Refined, Refined{s.Name, kind, share, p.Score})
				o.Progress("%-16s %-13s without the least plausible %.0f%%: MRR %.3f, found %.3f", s.Name, kind, 100*share, p.Score.MRR, p.Score.Found)
			}
			return nil
		})
		if err := errors.Join(err, done()); err != nil {
			return err
		}
	}
	return nil
}

// static runs work against a sidecar that has learned nothing.
func (r *runner) static(ctx context.Context, work func(c *client) error) (err error) {
	base, stop, err := r.cluster.Serve(ctx, settings(nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	c := newClient(base)
	defer c.http.CloseIdleConnections()
	if err := ready(ctx, c); err != nil {
		return err
	}
	return work(c)
}

// refined is the part of the report about it (Table 2).
func (r *Report) refined() section {
	s := section{ID: "refined", Title: "Refining the graph instead (Table 2)", Text: "The graph without its least plausible triplets by TransE, asked by the static system; the last line of each is the product after feedback and evolution on the whole graph."}
	t := table{Head: []string{"set", "held out", "", "MRR", fmt.Sprintf("answer within %d", Budget), "answer anywhere"}}
	row := func(set string, kind Kind, name string, score Score) {
		t.Rows = append(t.Rows, []string{set, string(kind), name, share(score.MRR), share(score.Within), share(score.Found)})
	}
	_, by := grouped(r.Trials)
	seen := map[key]bool{}
	for _, first := range r.Refined {
		k := key{first.Set, first.Split, evolving}
		if seen[k] {
			continue
		}
		seen[k] = true
		for _, trial := range by[k] {
			if trial.Seed == 1 {
				row(k.set, k.split, "whole graph, static", trial.first().Score)
			}
		}
		for _, x := range r.Refined {
			if x.Set == k.set && x.Split == k.split {
				row(k.set, k.split, fmt.Sprintf("without %.0f%%", 100*x.Dropped), x.Score)
			}
		}
		for _, trial := range by[k] {
			if trial.Seed == 1 {
				row(k.set, k.split, evolving, trial.last().Score)
			}
		}
	}
	if len(t.Rows) > 0 {
		s.Tables = []table{t}
	}
	return s
}
