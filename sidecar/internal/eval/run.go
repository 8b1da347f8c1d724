package eval

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Run carries the plan out on every set. What a set is too small for is noted and left out; any
// other failure ends it, with the report so far.
func Run(ctx context.Context, lab Lab, sets []*Set, plan Plan, o Options) (*Report, error) {
	r := &Report{Began: time.Now().UTC(), Plan: plan, Budget: Budget}
	defer func() {
		r.Seconds = time.Since(r.Began).Seconds()
		r.Gains, r.Curves = gains(r.Trials, against), curves(r.Trials, evolving)
		r.Bars = bars(r)
	}()
	if err := plan.Verify(); err != nil {
		return r, err
	}
	for _, s := range sets {
		if err := r.set(ctx, lab, s, o); err != nil {
			return r, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return r, nil
}

// set runs the trials on one set's graph as it is.
func (r *Report) set(ctx context.Context, lab Lab, s *Set, o Options) (err error) {
	triples, err := s.Triples()
	if err != nil {
		return err
	}
	began := time.Now()
	o.Progress("%-16s loading %d triplets", s.Name, len(triples))
	cluster, err := lab.Open(ctx, s.Name, s.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	info := SetInfo{Name: s.Name, Triples: len(triples), Questions: len(s.Questions), Hops: s.Hops, LoadS: time.Since(began).Seconds()}
	r.Sets = append(r.Sets, info)
	o.Progress("%-16s loaded in %.0f s, asked with %d hops", s.Name, info.LoadS, s.Hops)
	runner, err := newRunner(o, cluster, s)
	if err != nil {
		return err
	}
	for _, kind := range r.Plan.Kinds {
		for seed := 1; seed <= r.Plan.Seeds; seed++ {
			split, err := NewSplit(kind, s, triples, r.Plan.Iterations, r.Plan.Sizes, uint64(seed)) //nolint:gosec // small
			if errors.Is(err, ErrNoSplit) {
				r.note(err.Error())
				o.Progress("%v", err)
				break
			}
			if err != nil {
				return err
			}
			for _, arm := range r.Plan.arms(s.Name, kind, seed, o.Model) {
				arm.Settings = settings(arm.Settings)
				t, err := runner.trial(ctx, split, arm, uint64(seed)) //nolint:gosec // small
				if err != nil {
					return err
				}
				r.Trials = append(r.Trials, t)
			}
		}
	}
	return nil
}
