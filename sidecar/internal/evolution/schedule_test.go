package evolution_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	_ "time/tzdata" // the test must not depend on the machine's

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/evolution"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return out
}

func TestATickIsDueOnce(t *testing.T) {
	for name, c := range map[string]struct{ spec, zone, last, now, due string }{
		"before the tick":               {"0 3 * * *", "UTC", "2026-03-01T03:00:00Z", "2026-03-02T02:59:59Z", ""},
		"at the tick":                   {"0 3 * * *", "UTC", "2026-03-01T03:00:00Z", "2026-03-02T03:00:00Z", "2026-03-02T03:00:00Z"},
		"when it was served":            {"0 3 * * *", "UTC", "2026-03-02T03:00:00Z", "2026-03-02T03:00:01Z", ""},
		"by a clock that is behind":     {"0 3 * * *", "UTC", "2026-03-02T03:00:00Z", "2026-03-02T02:58:00Z", ""},
		"after many were missed":        {"0 3 * * *", "UTC", "2026-03-01T03:00:00Z", "2026-03-09T12:00:00Z", "2026-03-09T03:00:00Z"},
		"in a zone east of Greenwich":   {"0 3 * * *", "Europe/Berlin", "2026-01-01T02:00:00Z", "2026-01-02T02:00:00Z", "2026-01-02T02:00:00Z"},
		"in the same zone in summer":    {"0 3 * * *", "Europe/Berlin", "2026-07-01T01:00:00Z", "2026-07-02T01:30:00Z", "2026-07-02T01:00:00Z"},
		"in the hour that doesn't come": {"30 2 * * *", "Europe/Berlin", "2026-03-28T01:30:00Z", "2026-03-29T12:00:00Z", ""},
		"after years, every minute":     {"* * * * *", "UTC", "2016-01-01T00:00:00Z", "2026-01-01T00:00:30Z", "2026-01-01T00:00:30Z"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := evolution.ParseSchedule(c.spec, c.zone)
			require.NoError(t, err)
			due, ok := s.Due(at(t, c.last), at(t, c.now))
			require.Equal(t, c.due != "", ok)
			if ok {
				require.True(t, at(t, c.due).Equal(due), due)
			}
		})
	}
}

func TestWhatIsNoScheduleIsRefused(t *testing.T) {
	_, err := evolution.ParseSchedule("at three", "UTC")
	require.ErrorContains(t, err, `write five fields, like "0 3 * * *"`)
	_, err = evolution.ParseSchedule("0 3 * * *", "Mars/Olympus")
	require.ErrorContains(t, err, "Europe/Berlin")
}

func TestMissedTicksRunOnceAndOneReplicaServesATick(t *testing.T) {
	c := start(t)
	s, err := evolution.ParseSchedule("0 3 * * *", "UTC")
	require.NoError(t, err)
	var mu sync.Mutex
	clock := at(t, "2026-03-01T12:00:00Z")
	now := func(skew time.Duration) func() time.Time {
		return func() time.Time { mu.Lock(); defer mu.Unlock(); return clock.Add(skew) }
	}
	tick := at(t, "2026-03-01T03:00:00Z")
	first := c.runner(t, func(o *evolution.Options) { o.Now = now(0) })
	_, err = first.Run(t.Context(), &tick)
	require.NoError(t, err)

	mu.Lock()
	clock = at(t, "2026-03-05T12:00:00Z") // four ticks were missed
	mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	var replicas sync.WaitGroup
	for _, skew := range []time.Duration{-time.Minute, 0, time.Minute} {
		r := c.runner(t, func(o *evolution.Options) { o.Now = now(skew) })
		replicas.Go(func() { r.Serve(ctx, &s) })
	}
	require.Eventually(t, func() bool {
		runs, err := first.List(t.Context(), 10)
		return err == nil && len(runs) == 2 && runs[0].State == evolution.Done
	}, time.Minute, 50*time.Millisecond)
	cancel()
	replicas.Wait()
	runs, err := first.List(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, runs, 2)
	require.True(t, runs[0].Tick.Equal(at(t, "2026-03-05T03:00:00Z")))
}

func TestAServedTickIsNotServedAgain(t *testing.T) {
	c := start(t)
	r := c.runner(t)
	tick := time.Now().Truncate(time.Second)
	run, err := r.Run(t.Context(), &tick)
	require.NoError(t, err)
	require.NotEmpty(t, run.ID)
	again, err := r.Run(t.Context(), &tick)
	require.NoError(t, err)
	require.Empty(t, again.ID)
}

func TestATickThatComesWhileARunIsUnderWayIsSkipped(t *testing.T) {
	c := start(t)
	before, tick, after := at(t, "2026-03-02T02:59:00Z"), at(t, "2026-03-02T03:00:00Z"), at(t, "2026-03-02T03:01:00Z")
	var clock atomic.Pointer[time.Time]
	clock.Store(&before)
	slow := c.runner(t, func(o *evolution.Options) {
		o.Now = func() time.Time { return *clock.Load() }
		o.Step = func(step string) {
			if step == "end" {
				clock.Store(&after)
			}
		}
	})
	_, err := slow.Run(t.Context(), nil)
	require.NoError(t, err)
	other := c.runner(t, func(o *evolution.Options) { o.Now = func() time.Time { return after } })
	run, err := other.Run(t.Context(), &tick)
	require.NoError(t, err)
	require.Empty(t, run.ID, "the run on request was under way")
	next := tick.Add(time.Hour)
	run, err = other.Run(t.Context(), &next)
	require.NoError(t, err)
	require.NotEmpty(t, run.ID)
}

func TestATickIsServedThatCameWhileARunWasCutOff(t *testing.T) {
	c := start(t)
	c.ahead = -24 * time.Hour
	require.True(t, c.killed(t, 4, true, func(ctx context.Context, r *evolution.Runner) error {
		_, err := r.Run(ctx, nil)
		return err
	}))
	tick := time.Now().Add(-time.Hour) // nobody was there
	c.ahead = 0
	r := c.runner(t)
	require.NoError(t, r.Resume(t.Context()))
	run, err := r.Run(t.Context(), &tick)
	require.NoError(t, err)
	require.NotEmpty(t, run.ID)
}

func TestTheCacheIsToldOfWhatWasWritten(t *testing.T) {
	c := start(t)
	told := map[graph.Triplet]bool{}
	r := c.runner(t, func(o *evolution.Options) {
		o.Changed = func(edges []graph.Triplet) {
			for _, e := range edges {
				told[e] = true
			}
		}
	})
	_, err := r.Run(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, told[graph.Triplet{Head: c.uids["alien"], Predicate: graph.ShortcutPredicate, Object: c.uids["beach"]}])
	require.True(t, told[graph.Triplet{Head: c.uids["studio"], Predicate: "owned_by", Object: c.uids["fox"]}])
}
