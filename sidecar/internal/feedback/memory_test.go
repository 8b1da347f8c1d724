package feedback_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
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

// answered waits until the response to a retrieval is in the cluster.
func (c *cluster) answered(t *testing.T, id, response string) {
	require.Eventually(t, func() bool {
		return string(c.Query(t, `{ q(func: eq(evorag.retrieval.id, "`+id+`")) { evorag.retrieval.response } }`, nil)) == `{"q":[{"evorag.retrieval.response":"`+response+`"}]}`
	}, 10*time.Second, 10*time.Millisecond)
}

func TestAnAnswerIsStoredForRatingsThatBringNone(t *testing.T) {
	c := newCluster(t)
	var broken, fails atomic.Bool
	s := c.start(t, func(o *feedback.Options) {
		o.Store = failing{Store: c.Client, upsert: func() bool {
			if broken.Load() {
				fails.Store(true)
			}
			return broken.Load()
		}}
	})
	early, late, gone := c.shown(time.Now()), c.shown(time.Now()), c.shown(time.Now())
	s.Remember(early)
	s.Answered(early.ID, "21st Century Fox")
	s.Remember(late)
	require.Eventually(t, func() bool { return s.count("retrievals stored") == 2 }, 10*time.Second, 10*time.Millisecond)
	broken.Store(true)
	s.Answered(late.ID, "News Corporation")
	s.Answered(gone.ID, "Disney") // was dropped
	require.Eventually(t, fails.Load, 10*time.Second, 10*time.Millisecond)
	broken.Store(false)
	c.answered(t, early.ID, "21st Century Fox")
	c.answered(t, late.ID, "News Corporation")
	require.Equal(t, `{"q":[{"count":2}]}`, string(c.Query(t, `{ q(func: has(evorag.retrieval.response)) { count(uid) } }`, nil)))

	other := c.start(t, nil) // another replica, or the same after a restart
	other.becomes(t, other.rate(t, map[string]any{"retrieval": early.ID, "thumb": "down"}), "applied")
	other.becomes(t, other.rate(t, map[string]any{"retrieval": late.ID, "thumb": "up"}), "applied")
}
