// Package load writes triplets from files into the cluster, each once: what the cluster
// has already is looked up and left alone, since writing an edge again would erase its
// facets. So a load that was cut off is completed by running it again.
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/load/triplefile"
)

// Errors of Run.
var (
	// ErrNotMigrated: the cluster has no place for the relations' labels.
	ErrNotMigrated = errors.New("the cluster has no evorag schema; run dgraph-evorag migrate up first")
	// ErrNothing: not one triplet could be read; the text holds the first bad line.
	ErrNothing = errors.New("there is no triplet in what was given")
)

// Cluster is what loading needs of the cluster, with rights to alter it.
type Cluster interface {
	RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error
	Read(ctx context.Context, text string, vars map[string]string) ([]byte, error)
	OwnSchema(ctx context.Context) (graph.Schema, error)
	Alter(ctx context.Context, schema string) error
}

// Options of Run. Only Files and Now are needed.
type Options struct {
	Files         []string          // "-" is Stdin
	Stdin         io.Reader         // read where Files says "-"
	Format        triplefile.Format // Auto: by extension, else by the first line
	DryRun        bool              // report what would be written, write nothing
	Batch         int               // edges a transaction, default 2000
	Workers       int               // transactions at once, default 4
	EntityType    string            // dgraph.type of new nodes, default "Entity"
	NamePredicate string            // default "name"
	Now           func() time.Time
}

func (o *Options) defaults() {
	o.Batch = cmp.Or(o.Batch, 2000)
	o.Workers = cmp.Or(o.Workers, 4)
	o.EntityType = cmp.Or(o.EntityType, "Entity")
	o.NamePredicate = cmp.Or(o.NamePredicate, "name")
}

func (o *Options) check() error {
	switch {
	case len(o.Files) == 0:
		return errors.New("no file is given; name one, or - for standard input")
	case o.Batch < 1 || o.Workers < 1:
		return fmt.Errorf("batch is %d and workers %d; both are at least 1", o.Batch, o.Workers)
	case slug(o.NamePredicate) != o.NamePredicate || o.NamePredicate == iriPredicate:
		return fmt.Errorf("the name predicate cannot be %q; write one like name", o.NamePredicate)
	case slug(o.EntityType) != o.EntityType:
		return fmt.Errorf("the entity type cannot be %q; write one like Entity", o.EntityType)
	}
	return nil
}

// loader is one load under way.
type loader struct {
	cluster Cluster
	opts    Options
	table   *table
	schema  graph.Schema // before the load
	report  Report
	meter   *meter
}

// Run loads the files and reports. Bad lines are counted and passed over; everything else
// that goes wrong ends the load with an error, and running it again completes it. progress
// may be nil; it is called from one goroutine at a time.
func Run(ctx context.Context, cluster Cluster, opts Options, progress func(Progress)) (Report, error) {
	opts.defaults()
	if err := opts.check(); err != nil {
		return Report{}, err
	}
	start := opts.Now()
	l := &loader{cluster: cluster, opts: opts, table: newTable(opts.NamePredicate), meter: &meter{tell: progress, now: opts.Now}}
	for _, stage := range []func(context.Context) error{l.read, l.prepare, l.resolve, l.write} {
		if err := stage(ctx); err != nil {
			return l.report, err
		}
	}
	l.report.Elapsed = opts.Now().Sub(start)
	return l.report, nil
}

// read fills the table.
func (l *loader) read(ctx context.Context) error {
	files, total, err := l.open()
	if err != nil {
		return err
	}
	defer func() {
		for _, f := range files {
			_ = f.Close() // only read from
		}
	}()
	l.meter.begin(PhaseRead, total)
	var bytes atomic.Int64
	for i, f := range files {
		if err := l.readFile(ctx, f, l.opts.Files[i], &bytes); err != nil {
			return err
		}
	}
	l.meter.end()
	if l.report.Triplets == 0 {
		err := fmt.Errorf("%w (%s)", ErrNothing, strings.Join(l.opts.Files, ", "))
		if l.report.Bad > 0 {
			err = fmt.Errorf("%w; the first of %d bad lines: %w", err, l.report.Bad, l.report.FirstBad[0])
		}
		return err
	}
	l.table.finish()
	l.report.Doubles = l.table.doubles
	return nil
}

// open opens every file before any is read; total is 0 where a size is not known.
func (l *loader) open() (files []io.ReadCloser, total int64, err error) {
	defer func() {
		if err != nil {
			for _, f := range files {
				_ = f.Close()
			}
		}
	}()
	known := true
	for _, name := range l.opts.Files {
		if name == "-" {
			if l.opts.Stdin == nil || !known {
				return files, 0, errors.New("- (standard input) can be given once, and only where there is one")
			}
			files, known = append(files, io.NopCloser(l.opts.Stdin)), false
			continue
		}
		f, err := os.Open(name) //nolint:gosec // the file that the user named
		if err != nil {
			return files, 0, err
		}
		files = append(files, f)
		info, err := f.Stat()
		if err != nil {
			return files, 0, err
		}
		if info.IsDir() {
			return files, 0, fmt.Errorf("%s is a folder; name the files in it", name)
		}
		total += info.Size()
	}
	if !known {
		total = 0
	}
	return files, total, nil
}

func (l *loader) readFile(ctx context.Context, f io.Reader, name string, bytes *atomic.Int64) error {
	r, err := triplefile.NewReader(counting{f, bytes}, name, l.opts.Format)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		if n%1000 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			l.meter.set(bytes.Load())
		}
		s, err := r.Next()
		if errors.Is(err, io.EOF) {
			l.meter.set(bytes.Load())
			return nil
		}
		if bad := (*triplefile.LineError)(nil); errors.As(err, &bad) {
			l.report.bad(bad)
			continue
		}
		if err != nil {
			return err
		}
		if err := l.table.add(name, s); err != nil {
			l.report.bad(r.Bad(err))
			continue
		}
		l.report.Triplets++
	}
}

// counting counts the bytes read.
type counting struct {
	io.Reader
	bytes *atomic.Int64
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

// batches cuts n things into pieces of at most size.
func batches(n, size int) [][2]int {
	var out [][2]int
	for from := 0; from < n; from += size {
		out = append(out, [2]int{from, min(from+size, n)})
	}
	return out
}

// relationsByPredicate is what the report shows.
func relationsByPredicate(relations []Relation) []Relation {
	return slices.SortedFunc(slices.Values(relations), func(a, b Relation) int { return cmp.Compare(a.Predicate, b.Predicate) })
}
