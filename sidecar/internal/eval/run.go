package eval

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	large = 500_000 // triplets; such a graph is measured as Figure 15 is, whatever the plan's detail
	rated = 200     // questions rated with each batch size
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
		if err := r.experiments(ctx, lab, s, o); err != nil {
			return r, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return r, nil
}

// experiments are all that the plan has for a set. A set that comes with texts is asked for texts:
// its answers need not be names of nodes.
func (r *Report) experiments(ctx context.Context, lab Lab, s *Set, o Options) error {
	if s.hasChunks() {
		if !r.Plan.has(Chunk) {
			return nil
		}
		return r.chunkTrials(ctx, lab, s, o)
	}
	triples, err := s.Triples()
	if err != nil {
		return err
	}
	if err := r.set(ctx, lab, s, triples, o); err != nil {
		return err
	}
	if r.Plan.has(Plant) {
		if err := r.plantFaults(ctx, lab, s, triples, o); err != nil {
			return err
		}
	}
	if r.Plan.has(Refine) && r.Plan.detailed(s.Name) {
		return r.refine(ctx, lab, s, triples, o)
	}
	return nil
}

// set runs the trials on one set's graph as it is.
func (r *Report) set(ctx context.Context, lab Lab, s *Set, triples []Triple, o Options) (err error) {
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
			for _, arm := range r.Plan.arms(s.Name, kind, seed, o.Judge != nil) {
				arm.Settings = settings(arm.Settings)
				t, err := runner.trial(ctx, split, arm, uint64(seed)) //nolint:gosec // small
				if err != nil {
					return err
				}
				r.Trials = append(r.Trials, t)
			}
		}
	}
	if r.Plan.has(Batch) && (r.Plan.detailed(s.Name) || len(triples) > large) {
		chance := rand.New(rand.NewPCG(1, 0xba7)) //nolint:gosec // reproducible on purpose
		times, err := runner.batches(ctx, sample(s.Questions, rated, chance), len(triples))
		r.Batches = append(r.Batches, times...)
		return err
	}
	return nil
}
