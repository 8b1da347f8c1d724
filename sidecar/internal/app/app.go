// Package app is the composition root: it alone knows all rooms, starts them in order and
// stops them in reverse.
package app

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/console"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/embed"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
	"github.com/evorag/dgraph-evorag/sidecar/internal/graphcache"
	"github.com/evorag/dgraph-evorag/sidecar/internal/grpcfront"
	"github.com/evorag/dgraph-evorag/sidecar/internal/httpfront"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/migrate"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
	"github.com/evorag/dgraph-evorag/sidecar/internal/token"
)

// Timing of start and stop.
const (
	dialTime    = 10 * time.Second // for the engine's first answer
	migrateTime = 5 * time.Minute  // another replica may be migrating
	drainTime   = 10 * time.Second // for calls under way when we stop
	engineTime  = 90 * time.Second // for a private engine to end by itself
)

// Options of Serve and Up.
type Options struct {
	Version string
	Log     *slog.Logger
	Traces  trace.TracerProvider // nil: nothing is traced
	Ready   func(Addresses)      // called once everything answers; may be nil
	Force   <-chan struct{}      // closed by a caller who doesn't want to wait for an orderly stop
	CDCDir  string               // of Serve: the alpha's change feed, where this process can read it; empty: none
}

// EngineOptions say how Up starts its private engine.
type EngineOptions = engine.Options

// Addresses are where a running sidecar answers, as host:port, and what stands behind it.
type Addresses struct {
	HTTP, GRPC           string
	TLS                  bool // whether both are encrypted
	AlphaHTTP, AlphaGRPC string
	EngineVersion        string // as the alpha tells it
	DataDir              string // of a private engine; empty where there is none
	Tokenizer            bool   // whether a private engine has loaded it
}

// Serve brings the cluster that cfg names to today's schema, then answers in front of it until
// ctx ends or something fails. Calls under way are let to end. The error says in one line
// what to do.
func Serve(ctx context.Context, cfg config.Config, o Options) error {
	return run(ctx, cfg, nil, o)
}

// Up is Serve in front of a private engine, which it starts before and stops after.
func Up(ctx context.Context, cfg config.Config, e EngineOptions, o Options) error {
	return run(ctx, cfg, &e, o)
}

// run starts everything in order and stops what it has started in reverse.
func run(ctx context.Context, cfg config.Config, private *EngineOptions, o Options) (err error) {
	s := stack{log: o.Log, force: o.Force}
	defer func() { err = errors.Join(err, s.unwind()) }()

	encryption, err := cfg.TLS.Config()
	if err != nil {
		return err
	}
	// The ports first: one that is taken must fail before anything is started or written.
	httpL, err := s.listen("http_addr", cfg.HTTPAddr)
	if err != nil {
		return err
	}
	grpcL, err := s.listen("grpc_addr", cfg.GRPCAddr)
	if err != nil {
		return err
	}
	at := Addresses{HTTP: httpL.Addr().String(), GRPC: grpcL.Addr().String(), TLS: encryption != nil}

	var crashed <-chan struct{} // never, without an engine of ours
	var eng *engine.Engine
	cdcDir := o.CDCDir
	if private != nil {
		if eng, err = engine.Start(ctx, *private); err != nil {
			return err
		}
		s.push("engine", engineTime, eng.Stop)
		crashed = eng.Done()
		cfg.Dgraph, cfg.DgraphHTTP = eng.GRPCAddr(), "http://"+eng.HTTPAddr()
		cfg.DgraphTLS = config.ClientTLS{}
		if cfg.RetrievalKey == nil {
			if cfg.RetrievalKey, err = keyIn(eng.DataDir()); err != nil {
				return err
			}
		}
		at.DataDir, at.Tokenizer, cdcDir = eng.DataDir(), eng.HasTokenizer(), eng.CDCDir()
	}

	metrics := telemetry.New(o.Version)
	client, err := dial(ctx, cfg, metrics.Aborted, o.Traces)
	if err != nil {
		return err
	}
	s.push("connection to the engine", drainTime, func(context.Context) error { return client.Close() })
	if at.EngineVersion, err = client.Version(ctx); err != nil {
		return err
	}
	migrator, err := bringUp(ctx, client, o.Log)
	if err != nil {
		return err
	}
	guard := migrate.NewGuard(migrator, o.Log)
	s.push("guard of the schema", drainTime, background(guard.Run))
	vectors, err := newVectors(cfg.Embedding, at.DataDir, metrics, o.Log)
	if err != nil {
		return err
	}
	if vectors != nil {
		s.push("embedding", drainTime, background(vectors.Run))
	}
	var cache *graphcache.Cache
	if cfg.Cache.Mode == "on" {
		if cache, err = newCache(cfg, client, cdcDir, vectors, o.Log); err != nil {
			return err
		}
		s.push("graph cache", drainTime, background(cache.Run))
	}
	failed := make(chan error, 2)
	if err := s.fronts(ctx, cfg, client, migrator, guard, cache, vectors, metrics, &at, httpL, grpcL, encryption, failed, o); err != nil {
		return err
	}
	o.Log.Info("ready", "http", at.HTTP, "grpc", at.GRPC, "alpha_http", at.AlphaHTTP, "alpha_grpc", at.AlphaGRPC, "engine", at.EngineVersion)
	if o.Ready != nil {
		o.Ready(at)
	}
	select {
	case <-ctx.Done():
		o.Log.Info("stopping")
		return nil
	case err := <-failed:
		return err
	case <-crashed:
		return eng.Err()
	}
}

// fronts starts both fronts on one proxy. cache and vectors may be nil.
func (s *stack) fronts(ctx context.Context, cfg config.Config, client *dgraph.Client, migrator *migrate.Migrator, guard *migrate.Guard, cache *graphcache.Cache, vectors *embed.Vectors, metrics *telemetry.Metrics, at *Addresses, httpL, grpcL net.Listener, encryption *tls.Config, failed chan<- error, o Options) error {
	alpha, err := cfg.AlphaURL()
	if err != nil {
		return err
	}
	target, err := dgraph.ParseTarget(cfg.Dgraph)
	if err != nil {
		return err
	}
	alphaTLS, err := towardsCluster(cfg, target)
	if err != nil {
		return err
	}
	at.AlphaHTTP, at.AlphaGRPC = alpha.Host, client.Conn().Target()
	networks, err := cfg.Access.Networks()
	if err != nil {
		return err
	}
	ids, err := signer(cfg)
	if err != nil {
		return err
	}
	var model *llm.Client
	if cfg.LLM.BaseURL != "" {
		model = newModel(cfg.LLM, metrics)
	}
	learning, err := newFeedback(cfg, client, ids, cache, model, metrics, tracer(o.Traces), o.Log)
	if err != nil {
		return err
	}
	p, err := newProxy(cfg, client, ids, guard, cache, vectors, learning, metrics, tracer(o.Traces), o.Log)
	if err != nil {
		return err
	}
	learning.Resolve = p.Named
	s.push("feedback", drainTime, background(learning.Run))
	own := evolving{Client: client, cache: cache}
	if cfg.Evolution.Gate == "on" {
		if own.praised, err = praised(learning, p, client); err != nil {
			return err
		}
	}
	runners, err := s.evolution(ctx, cfg, own, model, metrics, o.Log)
	if err != nil {
		return err
	}
	ticks, err := schedule(cfg.Evolution)
	if err != nil {
		return err
	}
	report := &reporter{
		version: o.Version, started: time.Now(), cfg: cfg, alpha: alpha, http: alphaClient(alphaTLS), client: client, migrator: migrator,
		cache: cache, learning: learning, evolving: runners[0], schedule: ticks, model: model,
	}
	watchLearning(metrics, cfg, client, learning, ticks)
	altered := func() {
		for _, g := range append(s.guards[:len(s.guards):len(s.guards)], guard) { // a drop may be of all namespaces
			g.Check(context.Background()) // bounded; the caller's going away must not cut it off
		}
		p.SchemaChanged()
		learning.Altered()
	}
	var wrote func()
	var keeps httpfront.Keeper = p
	if cache != nil {
		keeps = keeper{p, cache}
		watch(metrics, cache)
		wrote = cache.Wrote
		schema := altered
		altered = func() { schema(); cache.Altered() }
	}
	ranker := counted{p, metrics}
	s.push("HTTP front", drainTime, serveHTTP(httpL, encryption, httpfront.New(httpfront.Options{
		Alpha: alpha, AlphaTLS: alphaTLS, Ranker: ranker, Asker: s.asker(cfg, model, ranker, learning, o.Log), Keeper: keeps, Feedback: learning, Evolution: runners, Console: console.New(httpfront.ConsoleAt), Metrics: metrics, AdminNetworks: networks, AdminToken: cfg.Access.Token, QueryBytes: cfg.Limit.QueryBytes,
		Status: report.Report, Tracer: tracer(o.Traces), Altered: altered, Wrote: wrote, Log: o.Log,
	}), o.Log, failed))
	s.push("gRPC front", drainTime, serveGRPC(grpcL, grpcfront.New(grpcfront.Options{
		Alpha: client.Conn(), Server: append(encrypted(encryption), tracedServer(o.Traces)...), Ranker: ranker, Keeper: keeps, Metrics: metrics, AdminNetworks: networks,
		Altered: altered, Wrote: wrote, Log: o.Log,
	}), failed))
	return nil
}

// Dial connects to the cluster as the sidecar and asks for a sign of life.
func Dial(ctx context.Context, cfg config.Config) (*dgraph.Client, error) {
	return dial(ctx, cfg, nil, nil)
}

// dial is Dial that tells of transactions that are tried again and traces calls; both may be nil.
func dial(ctx context.Context, cfg config.Config, aborted func(), traces trace.TracerProvider) (*dgraph.Client, error) {
	target, err := dgraph.ParseTarget(cfg.Dgraph)
	if err != nil {
		return nil, err
	}
	if cfg.Login.User != "" {
		target.User, target.Password, target.Namespace = cfg.Login.User, cfg.Login.Password, cfg.Login.Namespace
	}
	conf, err := towardsCluster(cfg, target)
	if err != nil {
		return nil, err
	}
	client, err := dgraph.Dial(dgraph.Options{Target: target, TLS: conf, Aborted: aborted, Dial: tracedCalls(traces)})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if _, err := client.Version(ctx); err != nil {
		return nil, errors.Join(noEngine(target.Addr, err), client.Close())
	}
	return client, nil
}

// RefuseSecrets gives an error for an address, as written on a command line, that holds a
// password, key or token.
func RefuseSecrets(address string) error {
	target, err := dgraph.ParseTarget(address)
	if err != nil {
		return err
	}
	return target.RefuseSecrets()
}

// Migrator of the cluster behind client, as this process.
func Migrator(client *dgraph.Client) (*migrate.Migrator, error) {
	return migrate.New(client, holder(), time.Now)
}

func bringUp(ctx context.Context, client *dgraph.Client, log *slog.Logger) (*migrate.Migrator, error) {
	m, err := Migrator(client)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, migrateTime)
	defer cancel()
	done, err := m.Ensure(ctx)
	for _, state := range done {
		log.Info("migrated", "version", state.Version, "name", state.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("migrating the cluster: %w", err)
	}
	return m, nil
}

// signer makes and checks retrieval ids.
func signer(cfg config.Config) (*token.Signer, error) {
	key := cfg.RetrievalKey
	if key == nil {
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails (crypto/rand)
	}
	ids, err := token.NewSigner(key)
	if err != nil {
		return nil, fmt.Errorf("retrieval_key_file: %w", err)
	}
	return ids, nil
}

func newProxy(cfg config.Config, client *dgraph.Client, ids *token.Signer, guard *migrate.Guard, cache *graphcache.Cache, vectors *embed.Vectors, learning *feedback.Service, m *telemetry.Metrics, t trace.Tracer, log *slog.Logger) (*proxy.Proxy, error) {
	o := proxy.Options{
		Engine: client, Own: client, Namespace: client.Namespace(),
		IDs:     ids,
		Dropped: guard.Notice,
		Defaults: plan.Defaults{
			Hops: cfg.Ranking.Hops, Paths: cfg.Ranking.Paths, Instances: cfg.Ranking.Instances,
			Entities: cfg.Ranking.Entities, Alpha: cfg.Ranking.Alpha, Names: cfg.Names,
		},
		Budget:   proxy.Budget{Edges: cfg.Budget.Edges, Steps: cfg.Budget.Steps, Time: cfg.Budget.Time},
		Now:      time.Now,
		Observe:  m.Stage,
		Tracer:   t,
		Alpha:    learning.LearnedAlpha,
		Weights:  learning.LearnedWeights,
		Rule:     search.All,
		Margin:   margin(cfg),
		Remember: learning.Remember,
	}
	if cfg.Ranking.PathRule == "maximal" {
		o.Rule = search.Maximal
	}
	if cache != nil {
		o.Resident = resident{cache}
	}
	if vectors != nil {
		o.Model, o.Way, o.Near = &discreet{Model: vectors, now: time.Now, log: log}, relevance.Way(cfg.Embedding.Way), proxy.Near{Most: cfg.Embedding.Near, Cosine: cfg.Embedding.NearCosine, Predicate: cfg.Embedding.Predicate}
	}
	return proxy.New(o)
}

// margin is ranking.margin, but for the paper's rule, which knows nothing of it.
func margin(cfg config.Config) rank.Margin {
	if cfg.Feedback.Learner.Rule == "paper" {
		return 0
	}
	return rank.Margin(cfg.Ranking.Margin)
}

// keyIn is the key of a private engine's retrieval ids, kept in its folder.
func keyIn(dir string) ([]byte, error) {
	path := filepath.Join(dir, "retrieval.key")
	key, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails (crypto/rand)
		err = os.WriteFile(path, key, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("the key of retrieval ids: %w", err)
	}
	return key, nil
}

func noEngine(addr string, err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		why := status.Convert(err).Message()
		if i := strings.LastIndex(why, "dial tcp"); i >= 0 {
			why = strings.Trim(why[i:], `"`)
		}
		return fmt.Errorf("no Dgraph answers at %s (%s); start one there, or give another address with --dgraph host:port", addr, why)
	}
	return fmt.Errorf("Dgraph at %s: %w", addr, err)
}
