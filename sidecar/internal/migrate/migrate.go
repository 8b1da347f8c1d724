// Package migrate brings a cluster to today's schema and back. What to run is decided by
// pure functions; each step is idempotent, since altering a schema is not transactional,
// and is recorded in the cluster under a lease, so that two replicas can start at once.
package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/migrations"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
	"github.com/evorag/dgraph-evorag/sidecar/internal/lease"
)

const (
	leaseName  = "migrate"
	leaseTTL   = 30 * time.Second
	leasePause = 500 * time.Millisecond // between looks at a lease that another holds
)

// Cluster is what migrating needs of the cluster, with rights to alter it.
type Cluster interface {
	lease.Store
	Read(ctx context.Context, text string, vars map[string]string) ([]byte, error)
	OwnSchema(ctx context.Context) (graph.Schema, error)
	Alter(ctx context.Context, schema string) error
	DropPredicate(ctx context.Context, name string) error
	DropType(ctx context.Context, name string) error
}

// Record is one migration as the cluster remembers it.
type Record struct {
	UID      graph.UID `json:"uid"`
	Version  int       `json:"version"`
	Name     string    `json:"name"`
	Checksum string    `json:"checksum"`
	Applied  time.Time `json:"applied"`
}

// State is one line of Status. Applied is zero for a migration that is still to run.
type State struct {
	Version int
	Name    string
	Applied time.Time
}

// Migrator runs the migrations of one cluster.
type Migrator struct {
	cluster Cluster
	all     []migrations.Migration
	holder  string
	now     func() time.Time
}

// New takes this program's migrations. holder names the process to others that wait for
// it, such as "host:pid"; now is the clock.
func New(cluster Cluster, holder string, now func() time.Time) (*Migrator, error) {
	all, err := migrations.All()
	if err != nil {
		return nil, err
	}
	return &Migrator{cluster: cluster, all: all, holder: holder, now: now}, nil
}

// Status lists every migration in order. It writes nothing.
func (m *Migrator) Status(ctx context.Context) ([]State, error) {
	applied, err := m.applied(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := check(m.all, applied); err != nil {
		return nil, err
	}
	out := make([]State, len(m.all))
	for i, step := range m.all {
		out[i] = State{Version: step.Version, Name: step.Name}
	}
	for _, r := range applied {
		out[r.Version-1].Applied = r.Applied
	}
	return out, nil
}

// Up runs what the cluster has not had and returns it. While another process migrates, Up
// waits for it until ctx ends. The user's predicates are not touched.
func (m *Migrator) Up(ctx context.Context) ([]State, error) {
	applied, err := m.applied(ctx)
	if err != nil {
		return nil, err
	}
	if steps, err := pending(m.all, applied); err != nil || len(steps) == 0 {
		return nil, err
	}
	// The lease lives in what the first migration defines; giving it twice changes nothing.
	if err := m.cluster.Alter(ctx, m.all[0].Up); err != nil {
		return nil, fmt.Errorf("preparing the migrations: %w", err)
	}
	var done []State
	err = m.alone(ctx, func(ctx context.Context, l *lease.Lease) error {
		applied, err := m.applied(ctx)
		if err != nil {
			return err
		}
		steps, err := pending(m.all, applied)
		if err != nil {
			return err
		}
		for _, step := range steps {
			if err := m.cluster.Alter(ctx, step.Up); err != nil {
				return fmt.Errorf("migration %d (%s): %w", step.Version, step.Name, err)
			}
			s := State{step.Version, step.Name, m.now().UTC()}
			if err := m.record(ctx, l, step, s.Applied); err != nil {
				return fmt.Errorf("recording migration %d (%s): %w", step.Version, step.Name, err)
			}
			done = append(done, s)
		}
		return nil
	})
	return done, err
}

// Down takes back every migration above version, the newest first, and returns what it took
// back. Version 0 removes all of evorag's own predicates, types and state; facets on the
// user's edges stay. There is no way to get the state back: ask before.
func (m *Migrator) Down(ctx context.Context, version int) ([]State, error) {
	applied, err := m.applied(ctx)
	if err != nil {
		return nil, err
	}
	if steps, err := undoing(m.all, applied, version); err != nil || len(steps) == 0 {
		return nil, err
	}
	var done []State
	err = m.alone(ctx, func(ctx context.Context, l *lease.Lease) error {
		applied, err := m.applied(ctx)
		if err != nil {
			return err
		}
		steps, err := undoing(m.all, applied, version)
		if err != nil {
			return err
		}
		for _, step := range steps {
			if err := m.undo(ctx, l, step, applied); err != nil {
				return fmt.Errorf("taking back migration %d (%s): %w", step.Version, step.Name, err)
			}
			done = append(done, State{Version: step.Version, Name: step.Name})
		}
		return nil
	})
	return done, err
}

// AddReverse gives @reverse to the user's uid predicates that lack it, keeps every other
// attribute of theirs, and returns the changed ones. All names are checked before any is changed.
func (m *Migrator) AddReverse(ctx context.Context, predicates []string) ([]string, error) {
	schema, err := m.cluster.OwnSchema(ctx)
	if err != nil {
		return nil, err
	}
	lines, changed, err := reverseLines(schema, predicates)
	if err != nil || len(changed) == 0 {
		return nil, err
	}
	if err := m.cluster.Alter(ctx, strings.Join(lines, "\n")); err != nil {
		return nil, fmt.Errorf("adding @reverse to %s: %w", strings.Join(changed, ", "), err)
	}
	return changed, nil
}

func reverseLines(schema graph.Schema, predicates []string) (lines, changed []string, err error) {
	for _, name := range predicates {
		p, ok := schema.Predicates[name]
		switch {
		case graph.Internal(name):
			return nil, nil, fmt.Errorf("%s is not the user's; name predicates of your own", name)
		case !ok:
			return nil, nil, fmt.Errorf("the schema has no predicate %s; it has the uid predicates %s", name, strings.Join(schema.UIDPredicates(), ", "))
		case p.Type != "uid":
			return nil, nil, fmt.Errorf("%s holds values (%s), @reverse is for edges; the uid predicates are %s", name, p.Type, strings.Join(schema.UIDPredicates(), ", "))
		case !p.Reverse && !slices.Contains(changed, name):
			p.Reverse = true
			lines, changed = append(lines, p.String()), append(changed, name)
		}
	}
	return lines, changed, nil
}

// applied is empty for a cluster that never had a migration, or lost them to a drop_all.
func (m *Migrator) applied(ctx context.Context) ([]Record, error) {
	data, err := m.cluster.Read(ctx, queries.Text("migrations"), nil)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Migrations []Record `json:"migrations"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("reading the migrations that the cluster has had: %w", err)
	}
	return answer.Migrations, nil
}

// alone runs work while holding the lease and keeps renewing it; when it is lost, work's ctx ends.
func (m *Migrator) alone(ctx context.Context, work func(context.Context, *lease.Lease) error) error {
	l, err := m.acquire(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(leaseTTL / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// Any other failure may pass; if not, the work's own writes of the lease find out.
				if err := l.Renew(ctx); errors.Is(err, lease.ErrLost) {
					cancel(err)
					return
				}
			}
		}
	}()
	err = work(ctx, l)
	cause := context.Cause(ctx)
	cancel(nil)
	<-stopped
	if err != nil {
		return errors.Join(err, cause)
	}
	return m.release(context.WithoutCancel(ctx), l)
}

func (m *Migrator) acquire(ctx context.Context) (*lease.Lease, error) {
	for {
		l, err := lease.Acquire(ctx, m.cluster, lease.Options{Name: leaseName, Holder: m.holder, TTL: leaseTTL, Now: m.now})
		if !errors.Is(err, lease.ErrHeld) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		case <-time.After(leasePause):
		}
	}
}

// release leaves nothing to do when the lease itself was taken back.
func (m *Migrator) release(ctx context.Context, l *lease.Lease) error {
	schema, err := m.cluster.OwnSchema(ctx)
	if err != nil {
		return err
	}
	if _, ok := schema.Types["evorag.Lease"]; !ok {
		return nil
	}
	return l.Release(ctx)
}

func (m *Migrator) record(ctx context.Context, l *lease.Lease, step migrations.Migration, at time.Time) error {
	return m.cluster.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		if err := l.WriteTx(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Set(ctx, fmt.Appendf(nil, `_:m <dgraph.type> "evorag.Migration" .
_:m <evorag.migration.version> "%d" .
_:m <evorag.migration.name> %s .
_:m <evorag.migration.checksum> "%s" .
_:m <evorag.migration.applied> "%s" .
`, step.Version, graph.Quote(step.Name), step.Checksum, at.Format(time.RFC3339Nano)))
		return err
	})
}

// undo forgets the record before it drops: a crash between the two is mended by Up.
func (m *Migrator) undo(ctx context.Context, l *lease.Lease, step migrations.Migration, applied []Record) error {
	err := m.cluster.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		if err := l.WriteTx(ctx, tx); err != nil {
			return err
		}
		for _, r := range applied {
			if r.Version == step.Version {
				if err := tx.Delete(ctx, fmt.Appendf(nil, "<%s> * * .\n", r.UID)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, d := range step.Down {
		drop := m.cluster.DropPredicate
		if d.Type {
			drop = m.cluster.DropType
		}
		if err := drop(ctx, d.Name); err != nil {
			return fmt.Errorf("dropping %s: %w", d.Name, err)
		}
	}
	return nil
}
