package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ErrNotEmpty is returned by Bulk for a folder that holds an engine's data already.
var ErrNotEmpty = errors.New("holds data already; dgraph bulk fills an empty folder only: name another, or load into the running engine")

// bulkGrace is how long the zero of a bulk load may take to end.
const bulkGrace = 5 * time.Second

// Bulk fills a folder without data by "dgraph bulk", for a Start on it later. rdf and schema are
// files, rdf may be gzipped; blank nodes get uids, uids that are written are kept. A million
// edges take about a minute. Of the options Bin, DataDir and Progress count.
func Bulk(ctx context.Context, o Options, rdf, schema string) (err error) {
	bin, err := Locate(o.Bin)
	if err != nil {
		return err
	}
	version, err := versionOf(ctx, bin)
	if err != nil {
		return err
	}
	if rdf, err = filepath.Abs(rdf); err != nil {
		return err
	}
	if schema, err = filepath.Abs(schema); err != nil {
		return err
	}
	folder, err := openFolder(o.DataDir)
	if err != nil {
		return err
	}
	defer folder.close()
	if _, err := os.Stat(filepath.Join(folder.dir, "p")); err == nil {
		return fmt.Errorf("data folder %s %w", folder.dir, ErrNotEmpty)
	}
	progress := o.Progress
	if progress == nil {
		progress = func(string) {}
	}
	ports, err := choosePorts(Ports{}, Ports{})
	if err != nil {
		return err
	}
	if err := folder.remember(state{Ports: ports, Version: version}); err != nil {
		return err
	}
	progress(fmt.Sprintf("loading with Dgraph %s", version))
	zero, err := startProcess(folder, "zero", bin, "zero", "--bindall=false", "--my", ports.local(ports.ZeroGRPC),
		"--port_offset", fmt.Sprint(ports.zeroOffset()), "--wal", "zero", "--telemetry", "reports=false")
	if err != nil {
		return err
	}
	defer func() {
		if stopped := zero.stop(context.WithoutCancel(ctx), bulkGrace); !errors.Is(stopped, ErrKilled) { // v25.0.0's zero never ends by itself
			err = errors.Join(err, stopped)
		}
	}()
	if err := waitHealthy(ctx, zero, ports.ZeroHTTP, progress); err != nil {
		return err
	}
	out, scratch := filepath.Join(folder.dir, "bulk-out"), filepath.Join(folder.dir, "bulk-tmp")
	defer func() { err = errors.Join(err, os.RemoveAll(out), os.RemoveAll(scratch)) }()
	loader, err := startProcess(folder, "bulk", bin, "bulk", "-f", rdf, "-s", schema, "--zero", ports.local(ports.ZeroGRPC),
		"--out", out, "--tmp", scratch, "--reduce_shards=1", "--map_shards=1", "--http", "localhost:0")
	if err != nil {
		return err
	}
	news := time.NewTicker(progressEvery)
	defer news.Stop()
	for began := time.Now(); ; {
		select {
		case <-loader.done:
			if loader.err != nil {
				return loader.ended()
			}
			return os.Rename(filepath.Join(out, "0", "p"), filepath.Join(folder.dir, "p"))
		case <-ctx.Done():
			_ = loader.stop(context.WithoutCancel(ctx), bulkGrace) // ctx is the news
			return context.Cause(ctx)
		case now := <-news.C:
			progress(fmt.Sprintf("dgraph bulk is at work, %.0f s", now.Sub(began).Seconds()))
		}
	}
}
