package feedback_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
)

// pile stores ratings of a retrieval by as many raters, which nobody applies.
func (c *cluster) pile(t *testing.T, n int) {
	s := c.start(t, func(o *feedback.Options) { o.Batch, o.Most, o.Wait = 1000, 1000, time.Hour })
	r := c.shown(time.Now())
	s.Remember(r)
	for i := range n {
		s.rate(t, map[string]any{"retrieval": r.ID, "rater": text(i), "score": 1 + 4*(i%2), "response": "21st Century Fox"})
	}
	require.Eventually(t, func() bool { return s.count("retrievals stored") == 1 }, 10*time.Second, 10*time.Millisecond)
	s.stop()
}

// batches are the numbers of ratings that each batch of the journal holds.
func (c *cluster) batches(t *testing.T) (sizes []int) {
	var journal struct{ Batches []struct{ Body string } }
	read(t, c.Client, `{ batches(func: has(evorag.batch.number), orderasc: evorag.batch.number) { body: evorag.batch.body } }`, &journal)
	for _, b := range journal.Batches {
		var batch feedback.Batch
		require.NoError(t, json.Unmarshal([]byte(b.Body), &batch))
		sizes = append(sizes, len(batch.Entries))
	}
	return sizes
}

// counting tells how many ratings were evaluated.
type counting struct {
	feedback.Evaluator
	n atomic.Int64
}

func (c *counting) Evaluate(ctx context.Context, a credit.Answer, r graph.Retrieval) ([]credit.Evaluation, error) {
	defer c.n.Add(1)
	return c.Evaluator.Evaluate(ctx, a, r)
}

func TestBatchesGrowWhereRatingsPileUp(t *testing.T) {
	c := newCluster(t)
	const n = 120
	c.pile(t, n)
	embedding, err := credit.NewEmbedding()
	require.NoError(t, err)
	evaluator := &counting{Evaluator: embedding}
	s := c.start(t, func(o *feedback.Options) {
		o.Batch, o.Most, o.Evaluator, o.Evaluators = 5, 50, "counting", map[string]feedback.Evaluator{"counting": evaluator}
		o.Store = failing{Store: c.Client, tx: func() bool { // the first is applied once more than two are evaluated
			for range 10_000 {
				if evaluator.n.Load() > 10 {
					break
				}
				time.Sleep(time.Millisecond)
			}
			return false
		}}
	})
	require.Eventually(t, func() bool { return s.count("applied") == n }, 20*time.Second, 10*time.Millisecond)
	largest, all := 0, 0
	for _, size := range c.batches(t) {
		largest, all = max(largest, size), all+size
	}
	require.Equal(t, n, all)
	require.Greater(t, largest, 5, "more than a batch at once")
	require.LessOrEqual(t, largest, 50, "and never more than feedback.most")
	requireReference(t, c.Client)
}

// crowd writes an edge of every batch that holds more ratings than most, just before it commits.
type crowd struct {
	feedback.Store
	most  int
	write func(ctx context.Context)
}

func (c *crowd) RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error {
	return c.Store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error { return fn(ctx, crowdedTx{tx, c}) })
}

type crowdedTx struct {
	graph.Tx
	*crowd
}

func (t crowdedTx) Commit(ctx context.Context, deletes, sets, last []byte) (map[string]graph.UID, error) {
	if bytes.Count(sets, []byte("<evorag.feedback.status>")) > t.most {
		t.write(ctx)
	}
	return t.Tx.Commit(ctx, deletes, sets, last)
}

func TestABatchThatIsAbortedAgainAndAgainIsTriedInSmallerOnes(t *testing.T) {
	c := newCluster(t)
	const n = 40
	c.pile(t, n)
	fox := c.edge("owned_by", "fox")
	others := &crowd{Store: c.Client, most: 5, write: func(ctx context.Context) {
		require.NoError(t, c.Client.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
			_, err := tx.Set(ctx, []byte("<"+fox.Head.String()+"> <owned_by> <"+fox.Object.String()+"> (since=2013) ."))
			return err
		}))
	}}
	s := c.start(t, func(o *feedback.Options) { o.Batch, o.Most, o.Store = 5, 50, others })
	require.Eventually(t, func() bool { return s.count("applied") == n }, 20*time.Second, 10*time.Millisecond)
	for _, size := range c.batches(t) {
		require.LessOrEqual(t, size, 5)
	}
	requireReference(t, c.Client)
}

func TestDeliveriesThatAreKnownAreNotStoredWithThoseThatAreNew(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, nil)
	r := c.shown(time.Now())
	s.Remember(r)
	event := func(id string) map[string]any {
		return map[string]any{"specversion": "1.0", "id": id, "source": "t", "type": "rating", "data": map[string]any{"retrieval": r.ID, "rater": id, "score": 1, "response": "21st Century Fox"}}
	}
	deliver := func(ids ...string) {
		var events []map[string]any
		for _, id := range ids {
			events = append(events, event(id))
		}
		w := s.send(events, "Content-Type", "application/cloudevents-batch+json")
		require.Equal(t, http.StatusAccepted, w.Code, w.Body.String())
	}
	deliver("old")
	deliver("new", "old", "new", "newer")
	for _, id := range []string{"old", "new", "newer"} {
		s.becomes(t, "cloudevent:t "+id, "applied")
	}
	require.Equal(t, []int{3, 2}, []int{s.count("received"), s.count("duplicate")})
	requireReference(t, c.Client)
}

func TestTheLastOfARatersRatingsInOneDeliveryCounts(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, nil)
	r := c.shown(time.Now())
	s.Remember(r)
	const n = 12
	var all []map[string]any
	for i := range n {
		all = append(all, map[string]any{"id": text(i), "retrieval": r.ID, "rater": "ann", "score": 1 + i%5, "response": "21st Century Fox"})
	}
	w := s.send(all)
	require.Equal(t, http.StatusAccepted, w.Code, w.Body.String())
	for i := range n - 1 {
		s.becomes(t, text(i), "superseded")
	}
	s.becomes(t, text(n-1), "applied")
	requireReference(t, c.Client)
}

// failing is a store that fails now and then.
type failing struct {
	feedback.Store
	query  func(text string) bool
	tx     func() bool
	upsert func() bool
	with   error // nil: errAway
}

var errAway = status.Error(codes.Unavailable, "the engine is away")

func (f failing) OwnQuery(ctx context.Context, call graph.Call) (graph.Answer, error) {
	if f.query != nil && f.query(call.Query) {
		return graph.Answer{}, errAway
	}
	return f.Store.OwnQuery(ctx, call)
}

func (f failing) RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error {
	if f.tx != nil && f.tx() {
		return cmp.Or(f.with, errAway)
	}
	return f.Store.RunTx(ctx, fn)
}

func (f failing) Upsert(ctx context.Context, query string, mutations []graph.Conditional) (map[string]graph.UID, error) {
	if f.upsert != nil && f.upsert() {
		return nil, errAway
	}
	return f.Store.Upsert(ctx, query, mutations)
}

func TestADeliveryIsStoredBeforeItIsAccepted(t *testing.T) {
	c := newCluster(t)
	var broken atomic.Bool
	s := c.start(t, func(o *feedback.Options) {
		o.Wait = time.Hour // nothing is applied
		o.Store = failing{Store: c.Client, upsert: broken.Load}
	})
	stored := func() int {
		var answer struct{ Q []struct{ Count int } }
		read(t, c.Client, `{ q(func: has(evorag.feedback.id)) { count: count(uid) } }`, &answer)
		return answer.Q[0].Count
	}
	body := map[string]any{"id": "d", "retrieval": c.shown(time.Now()).ID, "score": 1, "response": "x"}
	broken.Store(true)
	w := s.send(body)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, w.Body.String(), "not_stored")
	require.NotEmpty(t, w.Header().Get("Retry-After"))
	require.Zero(t, stored())
	broken.Store(false)
	for range 2 { // the sender has heard nothing of the first, and sends again
		require.Equal(t, http.StatusAccepted, s.send(body).Code)
		require.Equal(t, 1, stored())
	}
}

func TestEachSourceCountsAtItsRate(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, func(o *feedback.Options) {
		o.Rates = map[feedback.Source]float64{feedback.Human: .2, feedback.LLM: .1, feedback.GroundTruth: 0}
	})
	moved := map[string]float64{}
	var before float64 = 100
	for _, source := range []string{"human", "llm", "ground_truth"} {
		r := c.shown(time.Now()) // recorded with the same scores each time
		s.Remember(r)
		s.becomes(t, s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "source": source, "response": "21st Century Fox"}), "applied")
		fox, _ := c.score(t, c.edge("owned_by", "fox"))
		moved[source], before = before-fox.Score, fox.Score
	}
	require.Greater(t, moved["human"], .1)
	require.InDelta(t, moved["human"]/2, moved["llm"], 2e-6, "scores are rounded; these steps are below the cap")
	require.Zero(t, moved["ground_truth"])
}

func TestRatingsNeedNotBeReadBackToBeApplied(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, func(o *feedback.Options) {
		o.Store = failing{Store: c.Client, query: func(text string) bool { return text == queries.Text("feedback_events") }}
	})
	r := c.shown(time.Now())
	s.Remember(r)
	require.Eventually(t, func() bool { return s.count("retrievals stored") == 1 }, 10*time.Second, 10*time.Millisecond)
	for i := range 30 {
		s.rate(t, map[string]any{"retrieval": r.ID, "rater": text(i), "score": 1 + 4*(i%2), "response": "21st Century Fox"})
	}
	require.Eventually(t, func() bool { return s.count("applied") == 30 }, 20*time.Second, 10*time.Millisecond)
	requireReference(t, c.Client)
}

func TestWhatCouldNotBeAppliedIsFoundAgain(t *testing.T) {
	c := newCluster(t)
	var broken, fails atomic.Bool
	s := c.start(t, func(o *feedback.Options) {
		o.Retry = time.Hour // nothing but the failure has it look
		o.Store = failing{Store: c.Client, tx: func() bool {
			if broken.Load() {
				fails.Store(true)
			}
			return broken.Load()
		}}
	})
	r := c.shown(time.Now())
	s.Remember(r)
	require.Eventually(t, func() bool { return s.count("retrievals stored") == 1 }, 10*time.Second, 10*time.Millisecond)
	s.becomes(t, s.rate(t, map[string]any{"retrieval": r.ID, "rater": "first", "score": 5, "response": "21st Century Fox"}), "applied")
	broken.Store(true)
	id := s.rate(t, map[string]any{"retrieval": r.ID, "rater": "second", "score": 1, "response": "21st Century Fox"})
	require.Eventually(t, fails.Load, 20*time.Second, time.Millisecond)
	broken.Store(false)
	s.becomes(t, id, "applied")
	requireReference(t, c.Client)
}

func TestARatingThatFailedAndIsAppliedThenIsForgotten(t *testing.T) {
	c := newCluster(t)
	var failures atomic.Int64
	s := c.start(t, func(o *feedback.Options) {
		o.Store = failing{Store: c.Client, tx: func() bool { return failures.Add(-1) >= 0 }, with: errors.New("it makes no sense")}
	})
	r := c.shown(time.Now())
	s.Remember(r)
	require.Eventually(t, func() bool { return s.count("retrievals stored") == 1 }, 10*time.Second, 10*time.Millisecond)
	failures.Store(3)
	s.becomes(t, s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "21st Century Fox"}), "applied")
	s.stop()
	require.Negative(t, failures.Load(), "it failed before")
	require.Zero(t, s.Failing())
}

// slowly takes its time to evaluate.
type slowly time.Duration

func (d slowly) Evaluate(_ context.Context, _ credit.Answer, r graph.Retrieval) ([]credit.Evaluation, error) {
	time.Sleep(time.Duration(d))
	return make([]credit.Evaluation, len(r.Results)), nil
}

func TestTheTimeOfABatchHoldsThatOfItsEvaluation(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, func(o *feedback.Options) {
		o.Evaluators = map[string]feedback.Evaluator{"llm": slowly(500 * time.Millisecond)}
	})
	r := c.shown(time.Now())
	s.Remember(r)
	s.becomes(t, s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "x", "evaluator": "llm"}), "applied")
	require.Eventually(t, func() bool { return s.count("batch ms") >= 500 }, 5*time.Second, 10*time.Millisecond)
}

func TestRatingsThatAnotherReplicaLeavesPendingAreApplied(t *testing.T) {
	c := newCluster(t)
	slow := c.start(t, func(o *feedback.Options) { o.Batch, o.Most, o.Wait = 1000, 1000, time.Hour })
	s := c.start(t, nil)
	r := c.shown(time.Now())
	slow.Remember(r)
	id := slow.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "21st Century Fox"})
	s.becomes(t, id, "applied")
	require.Eventually(t, func() bool { return s.count("applied") == 1 }, 10*time.Second, 10*time.Millisecond, "what is applied is counted a moment after")
	require.Zero(t, slow.count("applied"))
	requireReference(t, c.Client)
}
