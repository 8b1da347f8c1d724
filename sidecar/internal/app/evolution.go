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
	"github.com/evorag/dgraph-evorag/sidecar/internal/graphcache"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

// newEvolution is what evolves the graph behind client, as this process. cache may be nil.
func newEvolution(cfg config.Config, client *dgraph.Client, cache *graphcache.Cache, m *telemetry.Metrics, log *slog.Logger) (*evolution.Runner, error) {
	e := cfg.Evolution
	rules := evolve.DefaultRules()
	rules.All, rules.MinTouched = e.Statistics == "all", e.MinTouched
	rules.Hops, rules.Average, rules.Nested = e.Hops, e.Path == "average", e.Nested == "on"
	rules.MaxShortcuts, rules.MaxHidden = e.MaxShortcuts, e.MaxHidden
	rules.Runs, rules.Decay, rules.Hysteresis, rules.Explore = e.Runs, e.Decay, e.Hysteresis, e.Explore
	o := evolution.Options{
		Cluster: client, Namespace: client.Namespace(), Rules: rules, Names: cfg.Names, Holder: holder(), Now: time.Now, NewID: runID,
		Batch: evolution.DefaultBatch, Log: log,
		Observe: func(outcome string, c evolution.Counts, took time.Duration) {
			m.Evolution(outcome, map[string]int{
				"shortcuts": c.Shortcuts, "removed": c.Removed, "hidden": c.Hidden, "shown": c.Shown, "counted": c.Counted, "dropped": c.Dropped,
			}, took)
		},
	}
	if cache != nil {
		o.Changed = cache.Changed
	}
	if cfg.LLM.BaseURL != "" {
		o.Labeler = llm.NewLabeler(newModel(cfg.LLM, m))
	}
	return evolution.New(o)
}

// evolution starts the schedule. cache may be nil.
func (s *stack) evolution(cfg config.Config, client *dgraph.Client, cache *graphcache.Cache, m *telemetry.Metrics, log *slog.Logger) (*evolution.Runner, error) {
	r, err := newEvolution(cfg, client, cache, m, log)
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
