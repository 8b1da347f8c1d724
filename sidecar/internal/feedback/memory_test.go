package feedback_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
)

// slow is a store that counts the transactions in which retrievals are written, and holds them
// up while its gate is shut.
type slow struct {
	feedback.Store
	gate sync.RWMutex

	mu     sync.Mutex
	writes int
}

func (s *slow) RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error {
	return s.Store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error { return fn(ctx, slowTx{tx, s}) })
}

func (s *slow) written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

type slowTx struct {
	graph.Tx
	store *slow
}

func (t slowTx) Commit(ctx context.Context, deletes, sets, last []byte) (map[string]graph.UID, error) {
	if bytes.Contains(sets, []byte("<evorag.retrieval.body>")) {
		t.store.gate.RLock()
		defer t.store.gate.RUnlock()
		t.store.mu.Lock()
		t.store.writes++
		t.store.mu.Unlock()
	}
	return t.Tx.Commit(ctx, deletes, sets, last)
}

func TestRetrievalsOfManyQueriesShareTransactions(t *testing.T) {
	c := newCluster(t)
	store := &slow{Store: c.Client}
	s := c.start(t, func(o *feedback.Options) { o.Store = store })
	const queries = 100
	var wait sync.WaitGroup
	shown := make([]*graph.Retrieval, queries)
	for i := range shown {
		shown[i] = c.shown(time.Now())
		wait.Go(func() { s.Remember(shown[i]) })
	}
	wait.Wait()
	require.Eventually(t, func() bool { return s.count("retrievals stored") == queries }, 30*time.Second, 10*time.Millisecond)
	require.Zero(t, s.count("retrievals dropped"))
	require.Positive(t, store.written())
	require.Less(t, store.written(), queries)
	t.Logf("%d retrievals in %d transactions", queries, store.written())

	other := c.start(t, nil) // it remembers none of them
	for _, r := range shown {
		w := httptest.NewRecorder()
		other.ShowRetrieval(w, httptest.NewRequest(http.MethodGet, "/evorag/v1/retrievals/"+r.ID, nil))
		require.Equal(t, 200, w.Code, w.Body.String())
		require.Contains(t, w.Body.String(), r.ID)
	}
}

func TestARatingMayComeBeforeItsRetrievalIsWritten(t *testing.T) {
	c := newCluster(t)
	store := &slow{Store: c.Client}
	s := c.start(t, func(o *feedback.Options) { o.Store = store })
	store.gate.Lock()
	var ids []string
	for range 5 {
		r := c.shown(time.Now())
		s.Remember(r)
		ids = append(ids, s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "21st Century Fox"}))
	}
	require.Equal(t, `{"q":[{"count":0}]}`, string(c.Query(t, `{ q(func: has(evorag.retrieval.body)) { count(uid) } }`, nil)))
	for _, id := range ids {
		require.NotEqual(t, "applied", s.status(t, id).Status)
	}
	store.gate.Unlock()
	for _, id := range ids {
		s.becomes(t, id, "applied")
	}
	fox, _ := c.score(t, c.edge("owned_by", "fox"))
	require.Equal(t, len(ids), fox.Updates, "each rating counts once")
}
