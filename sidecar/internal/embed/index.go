package embed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// IndexOptions of Index.
type IndexOptions struct {
	Workers  int                // calls of the model at once
	DryRun   bool               // look only
	Estimate func([]string) int // tokens of texts, about
	Progress func(Progress)     // told after every batch; nil: nobody
}

// Progress is how far Index is.
type Progress struct {
	Done, Total int     // texts that had no vector
	Rate        float64 // texts a second
	Remaining   time.Duration
	Tokens      int
}

// Report is what Index did.
type Report struct {
	Texts    int // different ones
	Known    int // that had a vector
	Embedded int
	Bad      int // whose vector was none to go by
	Tokens   int // spent; of a dry run what the rest will take, about
	Took     time.Duration
}

// lookups is how many texts are looked up in the file at once.
const lookups = 10_000

// Index has every text embedded that has no vector yet. What a batch brought is on disk before the
// next, so a run that was cut off goes on where it was. An error ends it; the report says how far
// it came.
func (v *Vectors) Index(ctx context.Context, texts []string, o IndexOptions) (Report, error) {
	began := v.Now()
	todo, report, err := v.missing(texts)
	if err != nil {
		return report, err
	}
	if o.DryRun {
		report.Tokens = o.Estimate(todo)
		report.Took = v.Now().Sub(began)
		return report, nil
	}
	var mu sync.Mutex
	started := v.Now()
	done := 0
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, o.Workers))
	for from := 0; from < len(todo) && gctx.Err() == nil; from += v.Batch {
		batch := todo[from:min(from+v.Batch, len(todo))]
		g.Go(func() error {
			bad, tokens, err := v.ask(gctx, batch)
			mu.Lock()
			defer mu.Unlock()
			report.Tokens += tokens
			if err != nil {
				return err
			}
			done += len(batch)
			report.Bad += len(bad)
			report.Embedded += len(batch) - len(bad)
			if o.Progress != nil {
				p := Progress{Done: done, Total: len(todo), Tokens: report.Tokens}
				if took := v.Now().Sub(started).Seconds(); took > 0 {
					p.Rate = float64(done) / took
					p.Remaining = time.Duration(float64(len(todo)-done) / p.Rate * float64(time.Second))
				}
				o.Progress(p)
			}
			return nil
		})
	}
	err = g.Wait()
	report.Took = v.Now().Sub(began)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%w (%d of %d texts are done and kept: the same command goes on)", err, done, len(todo))
	}
	return report, err
}

// missing are the different texts that have no vector on disk.
func (v *Vectors) missing(texts []string) (todo []string, r Report, err error) {
	seen := make(map[Key]bool, len(texts))
	var unknown []string
	var keys []Key
	look := func() error {
		found, err := v.Store.Get(keys)
		for i, d := range found {
			if d.None() {
				todo = append(todo, unknown[i])
			} else {
				r.Known++
			}
		}
		unknown, keys = unknown[:0], keys[:0]
		return err
	}
	for _, t := range texts {
		k := KeyOf(t)
		if t == "" || seen[k] {
			continue
		}
		seen[k] = true
		r.Texts++
		if unknown, keys = append(unknown, t), append(keys, k); len(keys) == lookups {
			if err := look(); err != nil {
				return nil, r, err
			}
		}
	}
	return todo, r, look()
}
