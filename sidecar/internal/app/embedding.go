package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/embed"
	"github.com/evorag/dgraph-evorag/sidecar/internal/graphcache"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

// errNoEmbeddings is returned where something needs an embeddings model and none is set.
var errNoEmbeddings = errors.New("no embeddings model is set; give --embedding-url and --embedding-model, or set embedding.base_url and embedding.model")

// newVectors opens the vectors of the configured model; nil where none is set. dataDir is a private
// engine's folder, empty where there is none; metrics may be nil.
func newVectors(c config.Embedding, dataDir string, metrics *telemetry.Metrics, log *slog.Logger) (*embed.Vectors, error) {
	if c.BaseURL == "" {
		return nil, nil
	}
	o := llm.Options{BaseURL: c.BaseURL, Model: c.Model, APIKey: c.APIKey, Timeout: c.Timeout, Retries: c.Retries, CallsPerMinute: c.CallsPerMinute}
	if metrics != nil {
		o.Observe = func(call llm.Call) {
			metrics.Model(call.Purpose, call.Outcome(), call.Took, call.Usage.PromptTokens, 0, float64(call.Usage.PromptTokens)*c.Price/1e6)
		}
	}
	model := llm.NewEmbedder(o, c.Dimensions)
	dir, err := vectorsDir(c, dataDir)
	if err != nil {
		return nil, err
	}
	store, err := embed.OpenStore(dir, model.Name())
	if err != nil {
		return nil, err
	}
	v := embed.New(embed.Options{
		Model: model, Store: store, Memory: int64(c.MemoryMB) << 20, Batch: c.Batch, Question: c.QuestionTime, Lazy: c.Lazy == "on",
		Now: time.Now, Log: log,
	})
	if metrics != nil {
		watchVectors(metrics, v)
	}
	return v, nil
}

// discreet is a model whose errors may be shown to every caller: they say which kind it is. What the
// server or the disk said is logged.
type discreet struct {
	proxy.Model
	now func() time.Time
	log *slog.Logger

	mu     sync.Mutex
	logged time.Time
}

// Embed is the Model's.
func (d *discreet) Embed(ctx context.Context, question string) (relevance.Dense, error) {
	x, err := d.Model.Embed(ctx, question)
	return x, d.said(err)
}

// Rows is the Model's.
func (d *discreet) Rows(texts []string) (relevance.Rows, []uint32, error) {
	rows, of, err := d.Model.Rows(texts)
	return rows, of, d.said(err)
}

// modelFaults are the kinds of errors of a model that every caller may know.
var modelFaults = []error{
	llm.ErrEmbedSetup, llm.ErrBusy, llm.ErrBudget, llm.ErrTimeout, llm.ErrUnavailable, llm.ErrOutput, llm.ErrDimension,
}

// What stands for the others: those of embed.ErrStore, and the rest.
var (
	errVectors = errors.New("the file of vectors (embedding.dir) can't be read")
	errModel   = errors.New("the embeddings model can't be asked now")
)

// said is the kind of an error. What it says is logged, once a minute at most.
func (d *discreet) said(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, embed.ErrLate), errors.Is(err, embed.ErrDimension), errors.Is(err, relevance.ErrVector):
		return err // they quote nobody
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.now(); now.Sub(d.logged) >= time.Minute {
		d.logged = now
		d.log.Warn("the embeddings model fails; questions count by their hashed words", "error", err)
	}
	if errors.Is(err, embed.ErrStore) {
		return errVectors
	}
	for _, fault := range modelFaults {
		if errors.Is(err, fault) {
			return fault
		}
	}
	return errModel
}

// watchVectors shows the vectors in the metrics.
func watchVectors(m *telemetry.Metrics, v *embed.Vectors) {
	m.Watch("dgraph_evorag_embedding_vectors", "Vectors of texts held in memory.", func() float64 { n, _ := v.Status(); return float64(n) })
	m.Watch("dgraph_evorag_embedding_bytes", "Memory of the vectors of texts, about.", func() float64 { _, b := v.Status(); return float64(b) })
}

func vectorsDir(c config.Embedding, dataDir string) (string, error) {
	if c.Dir != "" {
		return c.Dir, nil
	}
	if dataDir != "" {
		return filepath.Join(dataDir, "embeddings"), nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no place for vectors (%w); set embedding.dir", err)
	}
	return filepath.Join(cache, "dgraph-evorag", "embeddings"), nil
}

// Index embeds all texts of the cluster that cfg names: labels and names, and where
// embedding.way is triplet those too. reading is told how many edges have been read; dataDir is
// that of "up", where its vectors are, or empty.
func Index(ctx context.Context, cfg config.Config, dataDir string, o embed.IndexOptions, reading func(edges int), log *slog.Logger) (embed.Report, error) {
	o.Estimate = llm.EstimateTokens
	vectors, err := newVectors(cfg.Embedding, dataDir, nil, log)
	if err != nil {
		return embed.Report{}, err
	}
	if vectors == nil {
		return embed.Report{}, errNoEmbeddings
	}
	client, err := Dial(ctx, cfg)
	if err != nil {
		return embed.Report{}, err
	}
	defer client.Close()
	texts, err := graphcache.Texts(ctx, client, cfg.Names, relevance.Way(cfg.Embedding.Way) == relevance.ByTriplet, reading)
	if err != nil {
		return embed.Report{}, err
	}
	return vectors.Index(ctx, texts, o)
}
