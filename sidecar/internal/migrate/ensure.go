package migrate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Ensure is Up for a cluster from which something of today's schema may have been dropped: it
// puts back what is missing and returns the migrations that it ran. Values that were dropped
// stay dropped. A cluster that lacks nothing is only read.
func (m *Migrator) Ensure(ctx context.Context) ([]State, error) {
	applied, err := m.applied(ctx)
	if err != nil {
		return nil, err
	}
	had, err := check(m.all, applied)
	if err != nil {
		return nil, err
	}
	schema, err := m.cluster.OwnSchema(ctx)
	if err != nil {
		return nil, err
	}
	for _, step := range m.all {
		if !had[step.Version] || whole(schema, step.Up) {
			continue
		}
		if err := m.cluster.Alter(ctx, step.Up); err != nil {
			return nil, fmt.Errorf("putting migration %d (%s) back: %w", step.Version, step.Name, err)
		}
	}
	return m.Up(ctx) // a drop of all data takes the records too
}

// definition finds what a schema text defines: "evorag.x: string ." and "type evorag.X {".
var definition = regexp.MustCompile(`(?m)^(?:type\s+(evorag\.[\w.]+)|(evorag\.[\w.]+)\s*:)`)

// whole tells whether the schema has all that the text defines.
func whole(s graph.Schema, text string) bool {
	for _, d := range definition.FindAllStringSubmatch(text, -1) {
		if _, ok := s.Types[d[1]]; d[1] != "" && !ok {
			return false
		}
		if _, ok := s.Predicates[d[2]]; d[2] != "" && !ok {
			return false
		}
	}
	return true
}

// Timing of a Guard.
const (
	guardEvery  = 30 * time.Second // between looks without a reason
	guardPause  = 5 * time.Second  // between looks that have one
	guardWithin = 2 * time.Minute  // for one look and what it mends
)

// Guard keeps a cluster at today's schema while the program runs: whoever drops everything,
// through the program or around it, finds it working afterwards.
type Guard struct {
	ensure func(context.Context) ([]State, error)
	log    *slog.Logger
	notice chan struct{}
	alone  sync.Mutex
}

// NewGuard makes the guard of m's cluster; it does nothing until it is asked to or Run.
func NewGuard(m *Migrator, log *slog.Logger) *Guard {
	return &Guard{ensure: m.Ensure, log: log, notice: make(chan struct{}, 1)}
}

// Check looks now, mends what is missing, and logs both; one look at a time. It returns when
// everything is in place, or can't be put there now: then the next look tries again.
func (g *Guard) Check(ctx context.Context) {
	g.alone.Lock()
	defer g.alone.Unlock()
	ctx, cancel := context.WithTimeout(ctx, guardWithin)
	defer cancel()
	done, err := g.ensure(ctx)
	for _, s := range done {
		g.log.Info("migrated again", "version", s.Version, "name", s.Name)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		g.log.Warn("the cluster's schema can't be looked at or mended now", "error", err)
	}
}

// Notice tells the guard that something seems to be missing. It doesn't wait.
func (g *Guard) Notice() {
	select {
	case g.notice <- struct{}{}:
	default: // told already
	}
}

// Run looks now and then, and soon after each Notice, until ctx ends.
func (g *Guard) Run(ctx context.Context) {
	every := time.NewTicker(guardEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		case <-g.notice:
		}
		g.Check(ctx)
		select { // a cluster that can't be mended is not asked all the time
		case <-ctx.Done():
			return
		case <-time.After(guardPause):
		}
	}
}
