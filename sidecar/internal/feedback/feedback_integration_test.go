package feedback_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
)

func TestARatingMovesTheEdgesThatEarnedItOnce(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, func(o *feedback.Options) { // the paper's rule moves alpha too
		o.Learner = func() credit.Learner { return credit.PaperRule().NewLearner("paper") }
	})
	r := c.shown(time.Now())
	s.Remember(r)
	before := string(c.Query(t, `{ q(func: has(owned_by)) { owned_by (orderasc: name) @facets(since, note, share) { uid } } }`, nil))

	id := s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "21st Century Fox", "id": "d1"})
	require.Equal(t, "d1", id)
	require.Equal(t, 1, s.becomes(t, id, "applied").Batch)
	fox, _ := c.score(t, c.edge("owned_by", "fox"))
	disney, _ := c.score(t, c.edge("owned_by", "disney"))
	require.Less(t, fox.Score, 100.0)
	require.Equal(t, 1, fox.Updates)
	require.Greater(t, disney.Score, 100.0)

	require.Equal(t, http.StatusAccepted, s.send(map[string]any{"retrieval": r.ID, "score": 5, "response": "21st Century Fox", "id": "d1"}).Code, "the same delivery gets the same answer")
	last := s.rate(t, map[string]any{"retrieval": r.ID, "score": 3, "response": "x", "rater": "bob"})
	s.becomes(t, last, "applied")
	again, _ := c.score(t, c.edge("owned_by", "fox"))
	require.Equal(t, fox, again, "and has no second effect; 3 teaches nothing")
	require.Equal(t, 1, s.count("duplicate"))
	require.Eventually(t, func() bool { return s.count("lags") == 2 }, 10*time.Second, 10*time.Millisecond, "each rating's lag is told once")
	require.Eventually(t, func() bool { return s.count("edges moved") > 0 }, 10*time.Second, 10*time.Millisecond)
	summary, err := s.Summary(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{0, 0, 2, 0, 0}, []int{summary.Pending, summary.Waiting, summary.Applied, summary.Superseded, summary.Void})
	require.Zero(t, summary.Oldest)
	require.NotNil(t, summary.Alpha)

	after := string(c.Query(t, `{ q(func: has(owned_by)) { owned_by (orderasc: name) @facets(since, note, share) { uid } } }`, nil))
	require.JSONEq(t, before, after, "the users' facets are as they were")

	alpha, learned := s.LearnedAlpha(0)
	require.True(t, learned)
	require.NotEqual(t, .5, alpha)
	_, learned = s.LearnedAlpha(7)
	require.False(t, learned, "another namespace has its own")

	code, why := s.explain(t, "head=studio&predicate=owned_by&object=fox")
	require.Equal(t, http.StatusOK, code)
	require.Len(t, why.History, 1)
	require.Equal(t, r.Question, why.History[0].Question)
	require.Equal(t, "21st Century Fox", why.History[0].Response)
	require.Equal(t, fox.Score, *why.History[0].After)
	require.Equal(t, fox.Score, why.Now.Score)
}

func TestANewerRatingOfTheSameRaterReplacesTheOlderExactly(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, nil)
	r := c.shown(time.Now())
	s.Remember(r)
	rate := func(score int, rater string) {
		s.becomes(t, s.rate(t, map[string]any{"retrieval": r.ID, "score": score, "response": "21st Century Fox", "rater": rater}), "applied")
	}
	scores := func() (out []float64) {
		for _, o := range []string{"fox", "news", "disney"} {
			e, _ := c.score(t, c.edge("owned_by", o))
			out = append(out, e.Score)
		}
		return out
	}
	rate(5, "bob")
	onlyBob := scores()
	rate(1, "ann")
	rate(3, "ann")
	require.InDeltaSlice(t, onlyBob, scores(), exactness)
	rate(1, "ann")
	rate(5, "ann") // without a response of its own the retrieval's is meant
	twice := scores()
	require.InDelta(t, 2*(onlyBob[0]-100), twice[0]-100, exactness)
	s.becomes(t, s.rate(t, map[string]any{"retrieval": r.ID, "score": 3, "rater": "ann"}), "applied")
	require.InDeltaSlice(t, onlyBob, scores(), exactness)
}

func TestARatingWaitsForItsRetrieval(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, nil)
	r := c.shown(time.Now())
	id := s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "21st Century Fox"})
	require.Contains(t, s.becomes(t, id, "waiting").Reason, "not stored yet")
	other := c.start(t, nil) // another replica writes it
	other.Remember(r)
	s.becomes(t, id, "applied")
	summary, err := s.Summary(t.Context())
	require.NoError(t, err)
	require.Zero(t, summary.Waiting+summary.Pending, "nothing waits any more")
}

func TestWhatCannotBeLearnedFromIsVoidWithTheReason(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, nil)
	r := c.shown(time.Now())
	s.Remember(r)
	id := s.rate(t, map[string]any{"retrieval": r.ID, "score": 1})
	require.Contains(t, s.becomes(t, id, "void").Reason, "no response")
	id = s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "x", "evaluator": "gold"})
	require.Contains(t, s.becomes(t, id, "void").Reason, "no reference answer")
	gold := s.rate(t, map[string]any{"retrieval": r.ID, "answer": "The Walt Disney Company", "evaluator": "gold", "source": "ground_truth"})
	s.becomes(t, gold, "applied")
	disney, _ := c.score(t, c.edge("owned_by", "disney"))
	fox, _ := c.score(t, c.edge("owned_by", "fox"))
	require.Greater(t, disney.Score, fox.Score)
}

// moody fails until it is told not to.
type moody struct{ err chan error }

func (m moody) Evaluate(_ context.Context, _ credit.Answer, r graph.Retrieval) ([]credit.Evaluation, error) {
	return make([]credit.Evaluation, len(r.Results)), <-m.err
}

func TestARatingWaitsForItsEvaluator(t *testing.T) {
	c := newCluster(t)
	m := moody{make(chan error, 100)}
	m.err <- errors.New("the model is away")
	s := c.start(t, func(o *feedback.Options) { o.Evaluators = map[string]feedback.Evaluator{"llm": m} })
	r := c.shown(time.Now())
	s.Remember(r)
	id := s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "x", "evaluator": "llm"})
	require.Contains(t, s.becomes(t, id, "waiting").Reason, "the model is away")
	close(m.err)
	s.becomes(t, id, "applied")
}

// babbler is a model whose output is never what was asked for.
type babbler struct{ calls atomic.Int64 }

func (b *babbler) Evaluate(context.Context, credit.Answer, graph.Retrieval) ([]credit.Evaluation, error) {
	b.calls.Add(1)
	return nil, fmt.Errorf("%w: it holds no JSON object", credit.ErrUnusable)
}

func TestARatingIsGivenUpWhoseEvaluatorBabbles(t *testing.T) {
	c := newCluster(t)
	b := new(babbler)
	s := c.start(t, func(o *feedback.Options) { o.Evaluators = map[string]feedback.Evaluator{"llm": b} })
	r := c.shown(time.Now())
	s.Remember(r)
	id := s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "x", "evaluator": "llm"})
	reason := s.becomes(t, id, "void").Reason
	require.Contains(t, reason, "it holds no JSON object")
	require.Contains(t, reason, "3 times")
	other := s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "x", "rater": "ann"})
	s.becomes(t, other, "applied")
	require.EqualValues(t, 3, b.calls.Load(), "a model costs something each time it is asked")
}

func TestWhatIsRefusedAtTheDoor(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, func(o *feedback.Options) { o.Rate, o.Backlog = 1e6, 1e6 })
	now := time.Now()
	good := c.shown(now).ID
	for _, x := range []struct {
		name string
		body any
		code int
		want string
	}{
		{"a forged id", map[string]any{"retrieval": strings.Repeat("A", 64), "score": 1}, 400, "not a retrieval id"},
		{"an expired one", map[string]any{"retrieval": c.shown(time.Now().Add(-2 * time.Hour)).ID, "score": 1}, 410, "kept for 1h0m0s"},
		{"another namespace's", map[string]any{"retrieval": c.signer.New(9, time.Now()), "score": 1}, 403, "namespace 9"},
		{"a score out of range", map[string]any{"retrieval": good, "score": 7}, 400, "from 1 to 5"},
		{"an evaluator that is not set up", map[string]any{"retrieval": good, "score": 1, "evaluator": "llm"}, 400, `llm\" is not set up`},
		{"what is no JSON", []byte("score=1"), 400, "not a JSON object"},
		{"a delivery beyond 1 MiB", []byte(`{"retrieval":"` + strings.Repeat("x", 1<<20) + `"}`), 413, "1 MiB"},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := s.send(x.body)
			require.Equal(t, x.code, w.Code, w.Body.String())
			require.Contains(t, w.Body.String(), x.want)
		})
	}
	require.Equal(t, 1, s.count("expired"))
	require.Equal(t, 7, s.count("refused"))

	t.Run("another media type", func(t *testing.T) {
		require.Equal(t, 415, s.send([]byte("a=b"), "Content-Type", "application/x-www-form-urlencoded").Code)
	})
	t.Run("one wrong event refuses the whole batch", func(t *testing.T) {
		event := func(id, retrieval string) string {
			return `{"specversion":"1.0","id":"` + id + `","source":"s","type":"t","data":{"retrieval":"` + retrieval + `","score":1}}`
		}
		w := s.send([]byte("["+event("1", good)+","+event("2", "forged")+"]"), "Content-Type", "application/cloudevents-batch+json")
		require.Equal(t, 400, w.Code)
		require.Contains(t, w.Body.String(), "event 1")
	})
	t.Run("without a secret, another machine", func(t *testing.T) {
		r := httptest.NewRequest(http.MethodPost, "/evorag/v1/feedback", strings.NewReader("{}"))
		r.RemoteAddr = "10.0.0.1:80"
		w := httptest.NewRecorder()
		s.Receive(w, r)
		require.Equal(t, 403, w.Code)
	})
	require.Zero(t, s.count("received"))

	t.Run("too many", func(t *testing.T) {
		slow := c.start(t, func(o *feedback.Options) { o.Rate, o.Now = .5, func() time.Time { return now } })
		slow.send(map[string]any{"retrieval": good, "score": 1, "response": "x"})
		w := slow.send(map[string]any{"retrieval": good, "score": 1, "response": "x"})
		require.Equal(t, 429, w.Code)
		require.NotEmpty(t, w.Header().Get("Retry-After"))
	})
	t.Run("too much to do", func(t *testing.T) {
		full := c.start(t, func(o *feedback.Options) { o.Backlog = 0 })
		w := full.send(map[string]any{"retrieval": good, "score": 1, "response": "x"})
		require.Equal(t, 429, w.Code)
		require.Contains(t, w.Body.String(), "feedback.backlog")
	})
	t.Run("with a secret, only who knows it, from anywhere", func(t *testing.T) {
		secret, err := feedback.ParseSecret("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
		require.NoError(t, err)
		signed := c.start(t, func(o *feedback.Options) { o.Secrets = []feedback.Secret{secret} })
		body, err := json.Marshal(map[string]any{"retrieval": good, "score": 1, "response": "x"})
		require.NoError(t, err)
		require.Equal(t, 401, signed.send(body).Code)
		r := httptest.NewRequest(http.MethodPost, "/evorag/v1/feedback", bytes.NewReader(body))
		r.RemoteAddr = "10.0.0.1:80"
		r.Header = secret.Sign("m1", time.Now(), body)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		signed.Receive(w, r)
		require.Equal(t, 202, w.Code, w.Body.String())
		require.Contains(t, w.Body.String(), "webhook:m1")
	})
	t.Run("what is not signed doesn't use up the rate of what is", func(t *testing.T) {
		secret, err := feedback.ParseSecret("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
		require.NoError(t, err)
		signed := c.start(t, func(o *feedback.Options) {
			o.Secrets, o.Rate, o.Now = []feedback.Secret{secret}, .5, func() time.Time { return now }
		})
		body := map[string]any{"retrieval": good, "score": 1, "response": "x"}
		for range 3 {
			require.Equal(t, 401, signed.send(body).Code)
		}
		bearer := []string{"Authorization", "Bearer whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}
		require.Equal(t, 202, signed.send(body, bearer...).Code)
		require.Equal(t, 429, signed.send(body, bearer...).Code)
	})
}

func TestRetrievalsAreShownAndForgotten(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, nil)
	r, old := c.shown(time.Now()), c.shown(time.Now().Add(-2*time.Hour))
	s.Remember(r)
	s.Answered(r.ID, "Disney")
	s.Remember(old)
	require.Eventually(t, func() bool { return s.count("retrievals stored") == 2 }, 10*time.Second, 10*time.Millisecond)
	show := func(id string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.ShowRetrieval(w, httptest.NewRequest(http.MethodGet, "/evorag/v1/retrievals/"+id, nil))
		return w
	}
	w := show(r.ID)
	require.Equal(t, 200, w.Code)
	require.Contains(t, w.Body.String(), "The Walt Disney Company")
	require.Equal(t, 410, show(old.ID).Code)
	require.Equal(t, 400, show("forged").Code)
	require.Equal(t, 404, show(c.shown(time.Now()).ID).Code)

	later := c.start(t, nil) // prunes at its start, as the first did
	require.Eventually(t, func() bool { return s.count("retrievals pruned")+later.count("retrievals pruned") >= 1 }, 10*time.Second, 10*time.Millisecond, "both may have")
	require.Equal(t, `{"q":[{"count":1}]}`, string(c.Query(t, `{ q(func: has(evorag.retrieval.body)) { count(uid) } }`, nil)))
}

func TestAQueueThatIsFullDropsAndNeverBlocks(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, func(o *feedback.Options) { o.Queue = 1 })
	for range 2000 {
		s.Remember(c.shown(time.Now()))
	}
	require.Positive(t, s.count("retrievals dropped"), "none would be, had Remember waited")
}

func TestAMissingEdgeIsNotMade(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, nil)
	r := c.shown(time.Now())
	s.Remember(r)
	gone := c.edge("owned_by", "fox")
	require.NoError(t, c.Client.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
		return tx.Delete(ctx, []byte("<"+gone.Head.String()+"> <owned_by> <"+gone.Object.String()+"> ."))
	}))
	s.becomes(t, s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "21st Century Fox"}), "applied")
	_, there := c.score(t, gone)
	require.False(t, there)
	require.Eventually(t, func() bool { return s.count("edges void") == 1 }, 10*time.Second, 10*time.Millisecond)
	_, why := s.explain(t, "head=studio&predicate=owned_by&object=fox")
	require.False(t, why.There)
	require.Len(t, why.History, 1)
	require.Nil(t, why.History[0].After)
}

// racing commits a wildcard delete between a batch's reads and its commit.
type racing struct {
	feedback.Store
	once func(ctx context.Context)
}

func (r *racing) RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error {
	return r.Store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		return fn(ctx, racingTx{tx, r})
	})
}

type racingTx struct {
	graph.Tx
	r *racing
}

func (t racingTx) Commit(ctx context.Context, deletes, sets, last []byte) (map[string]graph.UID, error) {
	if once := t.r.once; once != nil && bytes.Contains(sets, []byte("evorag.batch.number")) {
		t.r.once = nil
		once(ctx)
	}
	return t.Tx.Commit(ctx, deletes, sets, last)
}

// deaf hears no answer to its first commit of a batch.
type deaf struct {
	feedback.Store
	lost bool
}

func (d *deaf) RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error {
	committed := false
	err := d.Store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		return fn(ctx, listening{tx, &committed})
	})
	if err == nil && committed && !d.lost {
		d.lost = true
		return status.Error(codes.Unavailable, "connection reset by peer")
	}
	return err
}

type listening struct {
	graph.Tx
	committed *bool
}

func (t listening) Commit(ctx context.Context, deletes, sets, last []byte) (map[string]graph.UID, error) {
	*t.committed = bytes.Contains(sets, []byte("evorag.batch.number"))
	return t.Tx.Commit(ctx, deletes, sets, last)
}

func TestAnEdgeThatIsDeletedBesideABatchStaysDeleted(t *testing.T) {
	for _, schema := range []string{"[uid]", "[uid] @reverse", "[uid] @count @reverse"} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, the commit's answer lost: %t", schema, lost), func(t *testing.T) {
				c := newCluster(t)
				c.Alter(t, "owned_by: "+schema+" .")
				race := &racing{Store: c.Client}
				race.once = func(ctx context.Context) {
					require.NoError(t, c.Client.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
						return tx.Delete(ctx, []byte("<"+c.uids["studio"].String()+"> <owned_by> * ."))
					}))
				}
				s := c.start(t, func(o *feedback.Options) { o.Store = &deaf{race, !lost} })
				r := c.shown(time.Now())
				s.Remember(r)
				require.Eventually(t, func() bool { return s.count("retrievals stored") == 1 }, 10*time.Second, 10*time.Millisecond)
				id := s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "21st Century Fox"})
				s.becomes(t, id, "applied")
				_, there := c.score(t, c.edge("owned_by", "fox"))
				require.False(t, there)
				seat, there := c.score(t, c.edge("seat", "la"))
				require.True(t, there, "what was not deleted stays")
				require.NotEqual(t, 100.0, seat.Score)
				require.Equal(t, 1, seat.Updates)
				_, why := s.explain(t, "head=studio&predicate=owned_by&object=fox")
				require.Len(t, why.History, 1)
				require.Nil(t, why.History[0].After, "journaled void")
				requireReference(t, c.Client)
			})
		}
	}
}

func TestScoresAreExportedImportedAndReset(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, nil)
	r := c.shown(time.Now())
	s.Remember(r)
	s.becomes(t, s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "21st Century Fox", "rater": "ann"}), "applied")
	s.stop()
	predicates := []string{"owned_by", "seat"}
	export := func() string {
		var b bytes.Buffer
		require.NoError(t, feedback.Export(t.Context(), c.Client, predicates, func(l feedback.Line) error { return json.NewEncoder(&b).Encode(l) }))
		return b.String()
	}
	saved := export()
	require.Equal(t, 7, strings.Count(saved, "\n"), "alpha, the weights of two relations and four edges: %s", saved)
	facets := string(c.Query(t, `{ q(func: has(owned_by)) { owned_by @facets(since, note, share) { uid } } }`, nil))

	n, err := feedback.Reset(t.Context(), c.Client, predicates)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	require.Empty(t, export())
	fox, _ := c.score(t, c.edge("owned_by", "fox"))
	require.False(t, fox.Learned)
	require.JSONEq(t, facets, string(c.Query(t, `{ q(func: has(owned_by)) { owned_by @facets(since, note, share) { uid } } }`, nil)))

	again := c.start(t, nil)
	again.becomes(t, again.rate(t, map[string]any{"retrieval": r.ID, "score": 3, "rater": "ann"}), "applied")
	fox, _ = c.score(t, c.edge("owned_by", "fox"))
	require.Equal(t, 100.0, fox.Score, "what was forgotten is not taken back")
	again.stop()

	done, err := feedback.Import(t.Context(), c.Client, strings.NewReader(saved+`{"head":"0x1","predicate":"owned_by","object":"0x2","score":1}`))
	require.NoError(t, err)
	require.Equal(t, feedback.Imported{Edges: 4, Missing: 1}, done)
	require.Equal(t, saved, export())
	for _, bad := range []string{`{"weight":{"relation":"p"},"template":"other","vector":[1]}`, `{"weight":{},"template":"` + credit.Template + `","vector":[1]}`, `{"weight":{"hops":1},"template":"` + credit.Template + `"}`,
		`{"head":"0x1"}`, `{"head":"0x1","predicate":"p","object":"0x2","score":201}`, `{"alpha":2}`, `{"x":1}`, `[`} {
		_, err := feedback.Import(t.Context(), c.Client, strings.NewReader(bad))
		require.ErrorContains(t, err, "line 1")
	}
}

func TestTwoReplicasShareTheWorkWithoutDoubling(t *testing.T) {
	c := newCluster(t)
	replicas := []*sidecar{c.start(t, nil), c.start(t, nil)}
	var ids []string
	const n = 60
	for i := range n {
		r := c.shown(time.Now())
		replicas[i%2].Remember(r)
		ids = append(ids, replicas[(i+1)%2].rate(t, map[string]any{"retrieval": r.ID, "score": 1 + i%5, "response": "21st Century Fox"}))
	}
	for _, id := range ids {
		replicas[0].becomes(t, id, "applied")
	}
	require.Eventually(t, func() bool { return replicas[0].count("applied")+replicas[1].count("applied") == n }, 10*time.Second, 10*time.Millisecond)
	requireReference(t, c.Client)
	fox, _ := c.score(t, c.edge("owned_by", "fox"))
	require.Equal(t, 48, fox.Updates, "every rating but those of 3, once")
}

func TestAScoreThatWasLostIsGivenBack(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, nil)
	r := c.shown(time.Now())
	s.Remember(r)
	rate := func(rater string) {
		s.becomes(t, s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "21st Century Fox", "rater": rater}), "applied")
	}
	rate("ann")
	fox, disney := c.edge("owned_by", "fox"), c.edge("owned_by", "disney")
	foxWas, _ := c.score(t, fox)
	disneyWas, _ := c.score(t, disney)
	again := func() { // an ordinary import, around the sidecar
		c.Mutate(t, "<"+fox.Head.String()+"> <owned_by> <"+fox.Object.String()+"> (since=2013, note=\"2013-06-28T00:00:00Z\") .\n<"+
			disney.Head.String()+"> <owned_by> <"+disney.Object.String()+"> (share=1.0) .")
		now, _ := c.score(t, fox)
		require.False(t, now.Learned)
	}

	again()
	require.NoError(t, s.RepairNow(t.Context()))
	require.Equal(t, 2, s.count("edges repaired"))
	require.Zero(t, s.count("repaired"), "edges are no ratings")
	now, _ := c.score(t, fox)
	require.Equal(t, foxWas, now)
	now, _ = c.score(t, disney)
	require.Equal(t, disneyWas, now)
	_, why := s.explain(t, "head=studio&predicate=owned_by&object=fox")
	require.Equal(t, "repaired", why.History[1].Kind)

	again()
	rate("bob") // a batch repairs what it meets
	now, _ = c.score(t, fox)
	require.InDelta(t, 2*(foxWas.Score-100), now.Score-100, exactness)
	require.Equal(t, 2, now.Updates)

	// An edge that was gone for good begins anew.
	require.NoError(t, c.Client.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
		return tx.Delete(ctx, []byte("<"+fox.Head.String()+"> <owned_by> <"+fox.Object.String()+"> ."))
	}))
	rate("cleo")
	c.Mutate(t, "<"+fox.Head.String()+"> <owned_by> <"+fox.Object.String()+"> .")
	require.NoError(t, s.RepairNow(t.Context()))
	now, _ = c.score(t, fox)
	require.False(t, now.Learned)
}
