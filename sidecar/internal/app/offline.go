package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evorag/dgraph-evorag/schema"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
	"github.com/evorag/dgraph-evorag/sidecar/internal/load"
)

// LoadOffline turns files of triplets into the data of a private engine that Up then starts on
// e.DataDir. It fails with engine.ErrNotEmpty where there is data already. progress may be nil.
func LoadOffline(ctx context.Context, e EngineOptions, o load.Options, progress func(load.Progress)) (report load.Report, err error) {
	if err := os.MkdirAll(e.DataDir, 0o700); err != nil {
		return report, err
	}
	if _, err := os.Stat(filepath.Join(e.DataDir, "p")); err == nil {
		return report, fmt.Errorf("data folder %s %w", e.DataDir, engine.ErrNotEmpty)
	}
	dir, err := os.MkdirTemp(e.DataDir, "load-")
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	rdf, err := os.Create(filepath.Join(dir, "graph.rdf"))
	if err != nil {
		return report, err
	}
	defer rdf.Close()
	text, err := os.Create(filepath.Join(dir, "graph.schema"))
	if err != nil {
		return report, err
	}
	defer text.Close()
	files, err := load.NewOffline(rdf, text, schema.Text)
	if err != nil {
		return report, err
	}
	if report, err = load.Run(ctx, files, o, progress); err != nil {
		return report, err
	}
	if err := errors.Join(files.Flush(), rdf.Close(), text.Close()); err != nil {
		return report, err
	}
	began := o.Now()
	err = engine.Bulk(ctx, e, rdf.Name(), text.Name())
	report.Elapsed += o.Now().Sub(began)
	return report, err
}
