package feedback_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
)

type timed struct {
	feedback.Store
	mu sync.Mutex
	n  map[string]int
	d  map[string]time.Duration
}

func (t *timed) add(k string, b time.Time) {
	t.mu.Lock()
	t.n[k]++
	t.d[k] += time.Since(b)
	t.mu.Unlock()
}
func (t *timed) RunTxAt(ctx context.Context, fn func(context.Context, graph.Tx) error) (graph.Txn, error) {
	b := time.Now()
	a, err := t.Store.RunTxAt(ctx, func(ctx context.Context, tx graph.Tx) error {
		e := fn(ctx, timedTx{tx, t})
		b = time.Now()
		return e
	})
	t.add("commit", b)
	return a, err
}
func (t *timed) OwnQuery(ctx context.Context, c graph.Call) (graph.Answer, error) {
	defer t.add(fmt.Sprintf("q %v %.6q", c.StartTS > 0, c.Query), time.Now())
	return t.Store.OwnQuery(ctx, c)
}

type timedTx struct {
	graph.Tx
	t *timed
}

func (x timedTx) Query(ctx context.Context, q string, v map[string]string) ([]byte, error) {
	defer x.t.add(fmt.Sprintf("tx %.12q", q), time.Now())
	return x.Tx.Query(ctx, q, v)
}
func (x timedTx) Set(ctx context.Context, q []byte) (map[string]graph.UID, error) {
	k := "set inbox"
	if len(q) > 0 && q[0] == '<' {
		k = "set batch"
	}
	defer x.t.add(k, time.Now())
	return x.Tx.Set(ctx, q)
}
