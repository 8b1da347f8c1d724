package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
	"github.com/evorag/dgraph-evorag/sidecar/internal/eval"
	"github.com/evorag/dgraph-evorag/sidecar/internal/evolution"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
	"github.com/evorag/dgraph-evorag/sidecar/internal/load"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

// Lab gives package eval its clusters: private ones in a folder of its own, or one that is
// there.
type Lab struct {
	Sources config.Sources // settings of all sidecars; a trial's own come on top
	Engine  EngineOptions  // of private engines; DataDir is the folder for all of them
	Given   bool           // measure on the cluster that Sources names, start none
	Version string
	Log     *slog.Logger
}

// Fresh tells whether each Open gives a cluster of its own.
func (l *Lab) Fresh() bool { return !l.Given }

// Open starts a private engine, or takes the given cluster, brings it to today's schema, loads
// the file, and lets every relation be walked backwards.
func (l *Lab) Open(ctx context.Context, name, file string) (eval.Cluster, error) {
	c := &labCluster{lab: l, settings: maps.Clone(l.Sources.Flags)}
	if c.settings == nil {
		c.settings = map[string]string{}
	}
	if !l.Given {
		o := l.Engine
		o.DataDir = filepath.Join(l.Engine.DataDir, name)
		if err := os.RemoveAll(o.DataDir); err != nil { // of a run that was cut off
			return nil, err
		}
		if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
			return nil, err
		}
		eng, err := engine.Start(ctx, o)
		if err != nil {
			return nil, err
		}
		c.engine = eng
		c.settings["dgraph"], c.settings["dgraph_http"] = eng.GRPCAddr(), "http://"+eng.HTTPAddr()
	}
	if err := c.fill(ctx, file); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// labCluster is one cluster of a Lab.
type labCluster struct {
	lab      *Lab
	engine   *engine.Engine // nil: not ours
	settings map[string]string
}

func (c *labCluster) config(settings map[string]string) (config.Config, error) {
	s := c.lab.Sources
	s.Flags = maps.Clone(c.settings)
	s.Flags["http_addr"], s.Flags["grpc_addr"] = "127.0.0.1:0", "127.0.0.1:0"
	s.Flags["evolution.schedule"] = "off" // trials say when
	maps.Copy(s.Flags, settings)
	return config.Load(s)
}

func (c *labCluster) dial(ctx context.Context) (config.Config, *dgraph.Client, error) {
	cfg, err := c.config(nil)
	if err != nil {
		return cfg, nil, err
	}
	client, err := Dial(ctx, cfg)
	return cfg, client, err
}

func (c *labCluster) fill(ctx context.Context, file string) error {
	_, client, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	migrator, err := bringUp(ctx, client, c.lab.Log)
	if err != nil {
		return err
	}
	if _, err := load.Run(ctx, client, load.Options{Files: []string{file}, Now: time.Now}, nil); err != nil {
		return fmt.Errorf("loading %s: %w", file, err)
	}
	schema, err := client.OwnSchema(ctx)
	if err != nil {
		return err
	}
	_, err = migrator.AddReverse(ctx, schema.UIDPredicates())
	return err
}

// Serve starts a sidecar with the lab's settings and these.
func (c *labCluster) Serve(ctx context.Context, settings map[string]string) (url string, stop func() error, err error) {
	cfg, err := c.config(settings)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	at, done := make(chan Addresses, 1), make(chan error, 1)
	go func() {
		o := Options{Version: c.lab.Version, Log: c.lab.Log, Ready: func(a Addresses) { at <- a }}
		if c.engine != nil {
			o.CDCDir = c.engine.CDCDir()
		}
		done <- Serve(ctx, cfg, o)
	}()
	stop = func() error { cancel(); return <-done }
	select {
	case a := <-at:
		return "http://" + a.HTTP, stop, nil
	case err := <-done:
		cancel()
		return "", nil, errors.Join(err, ctx.Err())
	}
}

// Reset undoes all runs, the newest first, and forgets all that was learned.
func (c *labCluster) Reset(ctx context.Context) error {
	cfg, client, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	metrics := telemetry.New(c.lab.Version)
	runner, err := newEvolution(cfg, evolving{Client: client}, nil, metrics, c.lab.Log)
	if err != nil {
		return err
	}
	const most = 1000
	runs, err := runner.List(ctx, most)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.State == evolution.Done {
			if _, err := runner.Undo(ctx, r.ID, true); err != nil {
				return err
			}
		}
	}
	schema, err := client.OwnSchema(ctx)
	if err != nil {
		return err
	}
	if err := removeShortcuts(ctx, client); err != nil {
		return err
	}
	_, err = feedback.Reset(ctx, client, schema.UIDPredicates())
	return err
}

// removeShortcuts deletes as a user would what undoing has left: a shortcut that was rated
// stays, since ratings are kept.
func removeShortcuts(ctx context.Context, client *dgraph.Client) error {
	return client.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		data, err := tx.Query(ctx, "{ heads(func: has(evorag.shortcut)) { uid } }", nil)
		if err != nil {
			return err
		}
		var found struct {
			Heads []graph.Node `json:"heads"`
		}
		if err := json.Unmarshal(data, &found); err != nil || len(found.Heads) == 0 {
			return err
		}
		var nquads []byte
		for _, h := range found.Heads {
			nquads = fmt.Appendf(nquads, "<%s> <evorag.shortcut> * .\n", h.UID)
		}
		return tx.Delete(ctx, nquads)
	})
}

// engineStop bounds the end of a private engine.
const engineStop = 30 * time.Second

// Close stops a private engine and removes its folder. One that had to be killed is no failure:
// nothing of it is kept.
func (c *labCluster) Close() error {
	if c.engine == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), engineStop)
	defer cancel()
	err := c.engine.Stop(ctx)
	if errors.Is(err, engine.ErrKilled) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(c.engine.DataDir()))
}
