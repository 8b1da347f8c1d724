package app

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/evolution"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
	"github.com/evorag/dgraph-evorag/sidecar/internal/graphcache"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/migrate"
	"github.com/evorag/dgraph-evorag/sidecar/internal/status"
)

// reportTime bounds a status report: somebody waits for it.
const reportTime = 3 * time.Second

// reporter gathers what GET /evorag/v1/status tells. cache and model may be nil.
type reporter struct {
	version  string
	started  time.Time
	cfg      config.Config
	alpha    *url.URL
	http     *http.Client
	client   *dgraph.Client
	migrator *migrate.Migrator
	cache    *graphcache.Cache
	learning *feedback.Service
	evolving *evolution.Runner
	schedule *evolution.Schedule
	model    *llm.Client
}

// Report asks everything at once and judges what it has heard within reportTime.
func (r *reporter) Report(ctx context.Context) status.Report {
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	now := time.Now()
	out := status.Report{
		Version: r.version, Started: r.started.UTC(), UptimeSec: int64(now.Sub(r.started).Seconds()), Namespace: r.client.Namespace(),
		Cluster: status.Cluster{HTTP: r.alpha.String(), GRPC: r.client.Conn().Target()},
		Cache:   r.cacheNow(now), Models: []status.Model{},
	}
	var group sync.WaitGroup
	for _, part := range []func(context.Context, *status.Report){r.cluster, r.migrations, r.feedback, r.evolution, r.models} {
		group.Go(func() { part(ctx, &out) }) // each writes fields of its own
	}
	group.Wait()
	out.Judge(now)
	return out
}

func (r *reporter) cluster(ctx context.Context, out *status.Report) {
	version, err := r.client.Version(ctx)
	if err != nil {
		out.Cluster.Error = err.Error()
	}
	out.Cluster.Version = version
	token, err := r.client.AccessToken(ctx)
	if err == nil {
		out.Cluster.Nodes, _, err = status.AlphaHTTP{URL: r.alpha, Client: r.http, Token: token}.Health(ctx)
	}
	if err != nil && out.Cluster.Error == "" {
		out.Cluster.Error = err.Error()
	}
	if out.Cluster.Nodes == nil {
		out.Cluster.Nodes = []status.Node{}
	}
}

func (r *reporter) migrations(ctx context.Context, out *status.Report) {
	all, err := r.migrator.Status(ctx)
	if err != nil {
		out.Migrations.Error = err.Error()
	}
	for _, m := range all {
		if m.Applied.IsZero() {
			out.Migrations.Pending++
		} else {
			out.Migrations.Applied++
		}
	}
}

func (r *reporter) cacheNow(now time.Time) status.Cache {
	out := status.Cache{Mode: r.cfg.Cache.Mode}
	if r.cache == nil {
		return out
	}
	s := r.cache.Status()
	out.State, out.Nodes, out.Edges, out.Hidden, out.Bytes = string(s.State), s.Nodes, s.Edges, s.Hidden, s.Bytes
	out.Hits, out.Misses, out.Evictions = s.Hits, s.Misses, s.Evictions
	if !s.AsOf.IsZero() {
		at := s.AsOf.UTC()
		out.AsOf, out.BehindSec = &at, max(0, now.Sub(at).Seconds())
	}
	return out
}

func (r *reporter) feedback(ctx context.Context, out *status.Report) {
	out.Alpha.Now = r.cfg.Ranking.Alpha
	s, err := r.learning.Summary(ctx)
	if err != nil {
		out.Feedback.Error = err.Error()
		return
	}
	out.Feedback = status.Feedback{
		Pending: s.Pending, Waiting: s.Waiting, Applied: s.Applied, Superseded: s.Superseded, Held: s.Held, Void: s.Void,
		LagSec: s.Oldest.Seconds(), Batches: s.Batches,
	}
	if s.Alpha != nil {
		out.Alpha = status.Alpha{Now: *s.Alpha, Learned: true}
	}
}

func (r *reporter) evolution(ctx context.Context, out *status.Report) {
	e := status.Evolution{Schedule: r.cfg.Evolution.Schedule}
	defer func() { out.Evolution = e }()
	if next := nextTick(r.schedule, time.Now()); !next.IsZero() {
		e.Next = &next
	}
	runs, err := r.evolving.List(ctx, 1)
	if err != nil {
		e.Error = err.Error()
		return
	}
	for _, run := range runs {
		e.Last = &status.Run{
			ID: run.ID, State: string(run.State), Began: run.Began, Ended: run.Ended,
			Shortcuts: run.Counts.Shortcuts, Hidden: run.Counts.Hidden, Note: run.Note,
		}
	}
}

// nextTick is zero where the graph does not evolve by itself.
func nextTick(s *evolution.Schedule, now time.Time) time.Time {
	if s == nil {
		return time.Time{}
	}
	return s.Next(now).UTC()
}

func (r *reporter) models(ctx context.Context, out *status.Report) {
	if r.model == nil {
		return
	}
	m := status.Model{Purpose: "chat", Name: r.cfg.LLM.Model, URL: r.cfg.LLM.BaseURL, OK: true}
	if err := r.model.Check(ctx); err != nil {
		m.OK, m.Error = false, err.Error()
	}
	out.Models = append(out.Models, m)
}
