// Package extract turns text into triplets with a chat model: chunks of some hundred tokens,
// the entities and facts that each states, and where they were found. The triplets are for
// the loader; what the model said is kept, so that a run that was cut off goes on.
package extract

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
)

// MaxFile bounds one file of text, in bytes.
const MaxFile = 64 << 20

// Relations of the nodes that stand for chunks.
const (
	Mentions = "mentions" // chunk to entity, an edge that learns like any other
	Text     = "text"     // of the chunk, a value
)

// Extractor reads one chunk. A fault that lies in the chunk, not in the model's server, has
// llm.ErrOutput or a *llm.Refusal in its chain.
type Extractor interface {
	Model() string
	Extract(ctx context.Context, text string) (llm.Extract, error)
}

// Options of Run. Files, Output and Extractor are needed.
type Options struct {
	Files     []string // texts in UTF-8; "-" is Stdin
	Stdin     io.Reader
	Output    string // JSON lines for the loader; what the model said stands beside it, in Output + ".said"
	Tokens    int    // longest chunk, default 512 (the paper's)
	Workers   int    // calls at once, default 4
	Extractor Extractor
	Progress  func(Progress) // nil: nobody is told
}

// Progress is how far a run is.
type Progress struct{ Done, Total int } // chunks

// Report tells what a run found.
type Report struct {
	Files, Chunks int
	Known         int   // chunks that an earlier run had read
	Failed        []Bad // chunks that the model could not read; the next run tries them again
	Facts         int
	Mentions      int
	Dropped       int // entities and facts that the text does not hold, left out
}

// Bad is a chunk without triplets, and why.
type Bad struct {
	Chunk string
	Err   error
}

// chunk is one piece of one file.
type chunk struct {
	name, text, key string
	extract         llm.Extract
	read            bool
}

// Run reads the files and writes Output, whole or not at all. Where the model's server can't
// be used it stops with the error; what was read until then is kept beside Output.
func Run(ctx context.Context, o Options) (report Report, err error) {
	o.Tokens, o.Workers = cmp.Or(o.Tokens, 512), cmp.Or(o.Workers, 4)
	if o.Tokens < 32 || o.Workers < 1 {
		return Report{}, fmt.Errorf("chunks of %d tokens and %d workers; write at least 32 and 1", o.Tokens, o.Workers)
	}
	chunks, err := o.chunks()
	if err != nil {
		return Report{}, err
	}
	if len(chunks) == 0 {
		return Report{}, errors.New("there is no text in what was given")
	}
	report = Report{Files: len(o.Files), Chunks: len(chunks)}
	said, err := openJournal(o.Output + ".said")
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, said.close()) }()
	if err := o.read(ctx, chunks, said, &report); err != nil {
		return report, err
	}
	return report, o.write(chunks, &report)
}

// chunks cuts the files. A chunk's key is what its reading depends on.
func (o *Options) chunks() ([]*chunk, error) {
	s := newSplitter()
	var chunks []*chunk
	seen := map[string]bool{}
	for _, name := range o.Files {
		if seen[name] {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		seen[name] = true
		text, err := o.open(name)
		if err != nil {
			return nil, err
		}
		parts, err := s.split(text, o.Tokens)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if name == "-" {
			name = fmt.Sprintf("stdin %.8x", sha256.Sum256([]byte(text))) // no two texts share chunks
		}
		for i, p := range parts {
			h := sha256.New()
			fmt.Fprintf(h, "%s\n%s\n%s", llm.ExtractVersion, o.Extractor.Model(), p)
			chunks = append(chunks, &chunk{name: fmt.Sprintf("%s #%d", name, i+1), text: p, key: hex.EncodeToString(h.Sum(nil))})
		}
	}
	return chunks, nil
}

func (o *Options) open(name string) (string, error) {
	in := o.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer file.Close()
		in = file
	}
	raw, err := io.ReadAll(io.LimitReader(in, MaxFile+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", name, err)
	case len(raw) > MaxFile:
		return "", fmt.Errorf("%s is longer than %d MiB; split it", name, MaxFile>>20)
	case !utf8.Valid(raw):
		return "", fmt.Errorf("%s is not text in UTF-8; convert it first (pdftotext, iconv)", name)
	}
	return string(raw), nil
}

// read asks the model for every chunk that said does not hold yet.
func (o *Options) read(ctx context.Context, chunks []*chunk, said *journal, report *Report) error {
	var mu sync.Mutex
	done := 0
	tell := func() {
		done++
		if o.Progress != nil {
			o.Progress(Progress{done, len(chunks)})
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(o.Workers)
	asked := map[string]bool{}
	for _, c := range chunks {
		if _, known := said.get(c.key); known || asked[c.key] { // the same text twice is asked once
			if !asked[c.key] {
				report.Known++
			}
			mu.Lock()
			tell()
			mu.Unlock()
			continue
		}
		asked[c.key] = true
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			e, err := o.Extractor.Extract(ctx, c.text)
			if err != nil && !faulty(err) {
				return err
			}
			if err == nil {
				if err := said.put(c.key, e); err != nil {
					return err
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				report.Failed = append(report.Failed, Bad{c.name, err})
			}
			tell()
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, c := range chunks {
		c.extract, c.read = said.get(c.key)
	}
	return nil
}

// faulty reports whether the fault is the chunk's: others may still be read.
func faulty(err error) bool {
	var refusal *llm.Refusal
	return errors.Is(err, llm.ErrOutput) || errors.As(err, &refusal)
}

// write puts the triplets into Output by way of a file beside it.
func (o *Options) write(chunks []*chunk, report *Report) error {
	file, err := os.CreateTemp(filepath.Dir(o.Output), filepath.Base(o.Output)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // of no effect once it is renamed
	lines := json.NewEncoder(file)
	lines.SetEscapeHTML(false)
	for _, c := range chunks {
		if !c.read {
			continue
		}
		if err := c.write(lines, report); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), o.Output)
}

// write gives a chunk's triplets: the facts, the mentions, the text. What the text does not
// hold, word by word, the model made up: it is left out and counted.
func (c *chunk) write(lines *json.Encoder, report *Report) error {
	type line struct {
		Head     string `json:"head"`
		Relation string `json:"relation"`
		Object   string `json:"object,omitempty"`
		Value    string `json:"value,omitempty"`
	}
	if err := lines.Encode(line{Head: c.name, Relation: Text, Value: c.text}); err != nil {
		return err
	}
	held := newHolding(c.text)
	for _, e := range c.extract.Entities {
		if !held.has(e) {
			report.Dropped++
			continue
		}
		report.Mentions++
		if err := lines.Encode(line{Head: c.name, Relation: Mentions, Object: e}); err != nil {
			return err
		}
	}
	for _, f := range c.extract.Facts {
		if !held.has(f.Head) || !held.has(f.Object) {
			report.Dropped++
			continue
		}
		report.Facts++
		if err := lines.Encode(line{Head: f.Head, Relation: f.Relation, Object: f.Object}); err != nil {
			return err
		}
	}
	return nil
}
