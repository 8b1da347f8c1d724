// Package lease lets one process at a time work alone on a cluster. In Dgraph a read
// protects nothing: what must hold at commit is written by the same transaction. So every
// transaction done under a lease calls WriteTx, which writes the lease's fence.
package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
)

// Errors of a lease.
var (
	// ErrHeld is returned by Acquire while somebody else has the lease; the text names who and until when.
	ErrHeld = errors.New("somebody else is at work")
	// ErrLost is returned by WriteTx when the lease expired and somebody else took it.
	ErrLost = errors.New("the lease was lost to somebody else")
)

// Store is what a lease needs of the cluster.
type Store interface {
	RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error
}

// Options of Acquire; all are needed.
type Options struct {
	Name   string        // what the lease is for, one node in the cluster each
	Holder string        // who asks, told to those who are refused
	TTL    time.Duration // a holder that is silent for longer has lost it
	Now    func() time.Time
}

// Lease is held until Release, or until TTL after the last WriteTx or Renew.
type Lease struct {
	store Store
	opts  Options
	uid   graph.UID
	fence int
}

// record is the lease's node as the cluster has it.
type record struct {
	UID     graph.UID `json:"uid"`
	Holder  string    `json:"holder"`
	Fence   int       `json:"fence"`
	Expires time.Time `json:"expires"`
}

// Acquire takes the lease if it is free or expired. The fence counts the holders, so that
// an old holder is told from a new one of the same name.
func Acquire(ctx context.Context, store Store, opts Options) (*Lease, error) {
	l := &Lease{store: store, opts: opts}
	err := store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		now, found, err := l.read(ctx, tx)
		if err != nil {
			return err
		}
		if found && opts.Now().Before(now.Expires) {
			return fmt.Errorf("%w: %s has the lease %q until %s", ErrHeld, now.Holder, opts.Name, now.Expires.Format(time.RFC3339))
		}
		l.fence = now.Fence + 1
		subject := "_:lease"
		if found {
			subject = "<" + now.UID.String() + ">"
		}
		uids, err := tx.Set(ctx, l.nquads(subject, opts.Now().Add(opts.TTL)))
		l.uid = now.UID
		if !found {
			l.uid = uids["lease"]
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Fence counts the holders of the lease so far: work under a greater one came later, whatever
// the clocks say.
func (l *Lease) Fence() int { return l.fence }

// WriteTx writes the lease within the caller's transaction and renews it: if somebody else
// took it, now or before the commit, the transaction fails.
func (l *Lease) WriteTx(ctx context.Context, tx graph.Tx) error {
	return l.writeTx(ctx, tx, l.opts.Now().Add(l.opts.TTL))
}

// Renew is WriteTx in a transaction of its own.
func (l *Lease) Renew(ctx context.Context) error { return l.store.RunTx(ctx, l.WriteTx) }

// Hold runs work and renews the lease meanwhile. When the lease is lost, work's ctx ends, and
// the error is ErrLost, joined with work's own.
func (l *Lease) Hold(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(l.opts.TTL / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// Any other failure may pass; if not, the work's own writes of the lease find out.
				if err := l.Renew(ctx); errors.Is(err, ErrLost) {
					cancel(err)
					return
				}
			}
		}
	}()
	err := work(ctx)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, ErrLost) {
			err = errors.Join(err, cause)
		}
	}
	cancel(nil)
	<-stopped
	return err
}

// Release gives the lease back. One that was lost is not an error.
func (l *Lease) Release(ctx context.Context) error {
	err := l.store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		return l.writeTx(ctx, tx, time.Unix(0, 0)) // the past by everybody's clock
	})
	if errors.Is(err, ErrLost) {
		return nil
	}
	return err
}

func (l *Lease) writeTx(ctx context.Context, tx graph.Tx, until time.Time) error {
	now, found, err := l.read(ctx, tx)
	if err != nil {
		return err
	}
	if !found || now.UID != l.uid || now.Fence != l.fence {
		return fmt.Errorf("%w: %q", ErrLost, l.opts.Name)
	}
	_, err = tx.Set(ctx, l.nquads("<"+l.uid.String()+">", until))
	return err
}

func (l *Lease) read(ctx context.Context, tx graph.Tx) (r record, found bool, err error) {
	data, err := tx.Query(ctx, queries.Text("lease"), map[string]string{"$name": l.opts.Name})
	if err != nil {
		return record{}, false, err
	}
	var answer struct {
		Lease []record `json:"lease"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return record{}, false, fmt.Errorf("reading the lease %q: %w", l.opts.Name, err)
	}
	if len(answer.Lease) == 0 {
		return record{}, false, nil
	}
	return answer.Lease[0], true, nil
}

func (l *Lease) nquads(subject string, until time.Time) []byte {
	return fmt.Appendf(nil, `%[1]s <dgraph.type> "evorag.Lease" .
%[1]s <evorag.lease.name> %[2]s .
%[1]s <evorag.lease.holder> %[3]s .
%[1]s <evorag.lease.fence> "%[4]d" .
%[1]s <evorag.lease.expires> "%[5]s" .
`, subject, graph.Quote(l.opts.Name), graph.Quote(l.opts.Holder), l.fence, until.UTC().Format(time.RFC3339Nano))
}
