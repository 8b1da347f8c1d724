package lease_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/lease"
)

// memory is a store of one lease; a transaction that fails leaves no trace.
type memory struct{ fields map[string]string }

func (m *memory) RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error {
	tx := &memoryTx{m: m}
	if err := fn(ctx, tx); err != nil {
		return err
	}
	if tx.set != nil {
		m.fields = tx.set
	}
	return nil
}

type memoryTx struct {
	m   *memory
	set map[string]string
}

func (t *memoryTx) Commit(ctx context.Context, _, sets, _ []byte) (map[string]graph.UID, error) {
	return t.Set(ctx, sets)
}

func (t *memoryTx) Query(context.Context, string, map[string]string) ([]byte, error) {
	if t.m.fields == nil {
		return []byte(`{"lease":[]}`), nil
	}
	f := t.m.fields
	return json.Marshal(map[string]any{"lease": []any{map[string]any{
		"uid": "0x1", "holder": f["holder"], "fence": json.Number(f["fence"]), "expires": f["expires"],
	}}})
}

var quad = regexp.MustCompile(`<evorag\.lease\.(\w+)> "(.*)" \.`)

func (t *memoryTx) Set(_ context.Context, nquads []byte) (map[string]graph.UID, error) {
	t.set = map[string]string{}
	for line := range strings.Lines(string(nquads)) {
		if m := quad.FindStringSubmatch(line); m != nil {
			t.set[m[1]] = m[2]
		}
	}
	return map[string]graph.UID{"lease": 1}, nil
}

func (*memoryTx) Delete(context.Context, []byte) error { return errors.New("a lease deletes nothing") }

func TestLease(t *testing.T) {
	now := time.Unix(1000, 0)
	store := &memory{}
	take := func(holder string) (*lease.Lease, error) {
		return lease.Acquire(t.Context(), store, lease.Options{Name: "work", Holder: holder, TTL: time.Minute, Now: func() time.Time { return now }})
	}
	a, err := take("a")
	require.NoError(t, err)
	_, err = take("b")
	require.ErrorIs(t, err, lease.ErrHeld)
	require.ErrorContains(t, err, `a has the lease "work" until`)

	now = now.Add(50 * time.Second)
	require.NoError(t, a.Renew(t.Context()), "renewed before it expired")
	now = now.Add(50 * time.Second)
	_, err = take("b")
	require.ErrorIs(t, err, lease.ErrHeld)

	now = now.Add(time.Minute)
	require.NoError(t, a.Renew(t.Context()), "expired, but nobody took it")
	now = now.Add(2 * time.Minute)
	b, err := take("a") // of the same name, yet another
	require.NoError(t, err)
	require.ErrorIs(t, a.Renew(t.Context()), lease.ErrLost)
	require.NoError(t, a.Release(t.Context()), "what was lost is not released")
	_, err = take("c")
	require.ErrorIs(t, err, lease.ErrHeld)

	require.NoError(t, b.Release(t.Context()))
	_, err = take("c")
	require.NoError(t, err)
}

func TestWriteTxFailsTheTransactionOfALostLease(t *testing.T) {
	now := time.Unix(1000, 0)
	store := &memory{}
	opts := lease.Options{Name: "work", Holder: "a", TTL: time.Minute, Now: func() time.Time { return now }}
	a, err := lease.Acquire(t.Context(), store, opts)
	require.NoError(t, err)
	require.NoError(t, store.RunTx(t.Context(), a.WriteTx))
	now = now.Add(time.Hour)
	_, err = lease.Acquire(t.Context(), store, opts)
	require.NoError(t, err)
	require.ErrorIs(t, store.RunTx(t.Context(), a.WriteTx), lease.ErrLost)
}
