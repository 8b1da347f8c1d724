package evolution

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/evorag/dgraph-evorag/sidecar/internal/lease"
)

// Schedule says when the graph evolves by itself.
type Schedule struct {
	cron     cron.Schedule
	location *time.Location
}

// ParseSchedule reads five cron fields ("0 3 * * *") or a word like "@daily", in a time zone
// of the IANA database.
func ParseSchedule(spec, zone string) (Schedule, error) {
	location, err := time.LoadLocation(zone)
	if err != nil {
		return Schedule{}, fmt.Errorf("the time zone %q is not known; write one like Europe/Berlin or UTC", zone)
	}
	c, err := cron.ParseStandard(spec)
	if err != nil {
		return Schedule{}, fmt.Errorf("%q is not a schedule (%w); write five fields, like \"0 3 * * *\" for three every night", spec, err)
	}
	return Schedule{c, location}, nil
}

// Due is the tick to be served now: the latest that has come since the last one that was
// served, however many were missed. It is false where none has.
func (s Schedule) Due(last, now time.Time) (time.Time, bool) {
	var due time.Time
	tick := s.Next(last)
	for n := 0; !tick.IsZero() && !tick.After(now); n++ {
		due = tick
		if n == manyMissed { // after a long time away the exact tick doesn't matter
			due = now
			break
		}
		tick = s.Next(tick)
	}
	return due, !due.IsZero()
}

const manyMissed = 10_000

// Next is the first tick after a time; zero where none comes within years.
func (s Schedule) Next(after time.Time) time.Time { return s.cron.Next(after.In(s.location)) }

// lookEvery is how often it is looked for ticks, and for runs that others left unfinished.
const lookEvery = 15 * time.Second

// Serve runs evolution at the schedule's ticks until ctx ends: each tick once in the whole
// cluster, one that comes while a run is under way, whoever's, not at all, those that were missed while
// nobody was there as one. It also finishes runs that were cut off. A schedule of nil
// does only that.
func (r *Runner) Serve(ctx context.Context, s *Schedule) {
	began := r.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := r.serve(ctx, s, began); err != nil && ctx.Err() == nil {
			r.Log.Warn("evolution can't run now", "error", err)
		}
		wait := lookEvery
		if s != nil {
			if next := s.Next(r.Now()); !next.IsZero() {
				wait = min(wait, max(next.Sub(r.Now()), time.Millisecond))
			}
		}
		timer.Reset(wait)
	}
}

// serve does what there is to do now. Where no tick was ever served they count from began.
func (r *Runner) serve(ctx context.Context, s *Schedule, began time.Time) error {
	if err := r.Resume(ctx); err != nil || s == nil {
		return err
	}
	k, err := readKnown(ctx, r.now)
	if err != nil {
		return err
	}
	last := k.last
	if last.IsZero() {
		last = began
	}
	tick, due := s.Due(last, r.Now())
	if !due || k.served(tick) {
		return nil
	}
	run, err := r.Run(ctx, &tick)
	if errors.Is(err, lease.ErrHeld) { // whoever has it serves the tick, or we do when he is done
		return nil
	}
	if err == nil && run.ID != "" {
		c := run.Counts
		r.Log.Info("the graph has evolved", "run", run.ID, "shortcuts", c.Shortcuts, "removed", c.Removed, "hidden", c.Hidden, "shown", c.Shown, "note", run.Note)
	}
	return err
}
