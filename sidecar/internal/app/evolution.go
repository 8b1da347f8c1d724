package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/evolution"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
	"github.com/evorag/dgraph-evorag/sidecar/internal/graphcache"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/migrate"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

// evolving is a namespace that evolves, with what hears of it: both may be nil.
type evolving struct {
	*dgraph.Client
	cache   *graphcache.Cache
	praised func(context.Context, int) ([]evolution.Praised, error)
}

// newEvolution is what evolves the graph of n, as this process. model may be nil.
func newEvolution(cfg config.Config, n evolving, model *llm.Client, m *telemetry.Metrics, log *slog.Logger) (*evolution.Runner, error) {
	e := cfg.Evolution
	rules := evolve.DefaultRules()
	rules.All, rules.MinTouched = e.Statistics == "all", e.MinTouched
	rules.Hops, rules.Average, rules.Nested = e.Hops, e.Path == "average", e.Nested == "on"
	rules.MaxShortcuts, rules.MaxHidden = e.MaxShortcuts, e.MaxHidden
	rules.Runs, rules.Decay, rules.Hysteresis, rules.Explore = e.Runs, e.Decay, e.Hysteresis, e.Explore
	o := evolution.Options{
		Cluster: n.Client, Namespace: n.Namespace(), Rules: rules, Names: cfg.Names, Holder: holder(), Now: time.Now, NewID: runID,
		Praised: n.praised, Batch: evolution.DefaultBatch, KeepUndo: e.KeepUndo, KeepRuns: e.KeepRuns, Log: log,
		Observe: func(outcome string, c evolution.Counts, took time.Duration) {
			m.Evolution(outcome, map[string]int{
				"shortcuts": c.Shortcuts, "removed": c.Removed, "hidden": c.Hidden, "shown": c.Shown, "counted": c.Counted, "dropped": c.Dropped,
			}, took)
		},
	}
	if n.cache != nil {
		o.Changed = n.cache.Written
	}
	if model != nil {
		o.Labeler = llm.NewLabeler(model)
	}
	return evolution.New(o)
}

// evolution starts the schedules of all namespaces that evolve, the sidecar's own first. model
// may be nil.
func (s *stack) evolution(ctx context.Context, cfg config.Config, own evolving, model *llm.Client, m *telemetry.Metrics, log *slog.Logger) (evolution.Runners, error) {
	first, err := s.scheduled(cfg, own, model, m, log)
	if err != nil {
		return nil, err
	}
	all := evolution.Runners{first}
	for i, n := range cfg.Evolution.Namespaces {
		if n.Namespace == own.Namespace() {
			return nil, fmt.Errorf("evolution.namespaces[%d]: namespace %d is the sidecar's own, which evolves anyway; leave it out", i, n.Namespace)
		}
		r, err := s.elsewhere(ctx, cfg, n, model, m, log.With("namespace", n.Namespace))
		if err != nil {
			return nil, fmt.Errorf("evolution.namespaces[%d]: %w", i, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// elsewhere starts the schedule of another namespace, as its own user.
func (s *stack) elsewhere(ctx context.Context, cfg config.Config, n config.EvolvingNamespace, model *llm.Client, m *telemetry.Metrics, log *slog.Logger) (*evolution.Runner, error) {
	cfg.Login = config.Login{User: n.User, Password: n.Password, Namespace: n.Namespace}
	cfg.Evolution = cfg.Evolution.In(n)
	client, err := Dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s.push(fmt.Sprintf("connection to namespace %d", n.Namespace), drainTime, func(context.Context) error { return client.Close() })
	migrator, err := bringUp(ctx, client, log)
	if err != nil {
		return nil, err
	}
	guard := migrate.NewGuard(migrator, log)
	s.guards = append(s.guards, guard)
	s.push(fmt.Sprintf("guard of namespace %d", n.Namespace), drainTime, background(guard.Run))
	return s.scheduled(cfg, evolving{Client: client}, model, m, log)
}

// scheduled starts one namespace's schedule.
func (s *stack) scheduled(cfg config.Config, n evolving, model *llm.Client, m *telemetry.Metrics, log *slog.Logger) (*evolution.Runner, error) {
	r, err := newEvolution(cfg, n, model, m, log)
	if err != nil {
		return nil, err
	}
	at, err := schedule(cfg.Evolution)
	if err != nil {
		return nil, fmt.Errorf("evolution.schedule: %w", err)
	}
	s.push("evolution", drainTime, background(func(ctx context.Context) { r.Serve(ctx, at) }))
	return r, nil
}

// schedule is nil where the graph does not evolve by itself.
func schedule(e config.Evolution) (*evolution.Schedule, error) {
	if e.Schedule == "off" {
		return nil, nil //nolint:nilnil // no schedule is a schedule too
	}
	s, err := evolution.ParseSchedule(e.Schedule, e.TimeZone)
	return &s, err
}

// watchLearning shows what is learned besides scores, and when the graph evolves next.
func watchLearning(m *telemetry.Metrics, cfg config.Config, client *dgraph.Client, learning *feedback.Service, ticks *evolution.Schedule) {
	m.Watch("dgraph_evorag_alpha", "Weight of the contribution score against relevance, as queries use it now.", func() float64 {
		if alpha, learned := learning.LearnedAlpha(client.Namespace()); learned {
			return alpha
		}
		return cfg.Ranking.Alpha
	})
	m.Watch("dgraph_evorag_evolution_next_timestamp_seconds", "When the schedule's next tick is; 0: the graph does not evolve by itself.", func() float64 {
		if next := nextTick(ticks, time.Now()); !next.IsZero() {
			return float64(next.Unix())
		}
		return 0
	})
}

// runID is a new run's id: its time, to be read and sorted by, and a random part.
func runID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return time.Now().UTC().Format("20060102-150405") + "-" + hex.EncodeToString(b[:])
}

// holder names this process to others.
func holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}
