package feedback_test

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/queries"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
	"github.com/evorag/dgraph-evorag/sidecar/internal/migrate"
)

func (c *cluster) migrate(t *testing.T) {
	m, err := migrate.New(c.Client, "test", time.Now)
	require.NoError(t, err)
	_, err = m.Ensure(t.Context())
	require.NoError(t, err)
}

// drop is a call of the alpha's /alter.
func (c *cluster) drop(t *testing.T, body map[string]any) {
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	c.Alter(t, string(raw))
}

func TestRatingsOfRetrievalsThatWereDroppedAreVoid(t *testing.T) {
	for name, drop := range map[string]map[string]any{
		"drop_all":  {"drop_all": true},
		"drop_data": {"drop_op": "DATA"},
	} {
		for _, learned := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", around the front", false: ", through the front"}[learned], func(t *testing.T) {
				c := newCluster(t)
				var looks atomic.Int64 // at the model, once a second
				s := c.start(t, func(o *feedback.Options) {
					o.Store = failing{Store: c.Client, query: func(text string) bool {
						if text == queries.Text("model") {
							looks.Add(1)
						}
						return false
					}}
				})
				r := c.shown(time.Now())
				s.Remember(r)
				require.Eventually(t, func() bool { return s.count("retrievals stored") == 1 }, 10*time.Second, 10*time.Millisecond)
				if learned { // the journal that begins anew tells
					s.becomes(t, s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "21st Century Fox"}), "applied")
					before := looks.Load()
					require.Eventually(t, func() bool { return looks.Load() >= before+2 }, 10*time.Second, 10*time.Millisecond, "the first that began since has ended")
				}
				c.drop(t, drop)
				c.migrate(t)
				if learned {
					require.Eventually(t, func() bool { _, ok := s.LearnedAlpha(0); return !ok }, 10*time.Second, 10*time.Millisecond)
				} else {
					s.Altered()
				}
				id := s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "21st Century Fox", "rater": "late"})
				require.Contains(t, s.becomes(t, id, "void").Reason, "dropped")
				var journal struct{ Q []struct{ Body string } }
				read(t, c.Client, `{ q(func: has(evorag.batch.number)) { body: evorag.batch.body } }`, &journal)
				require.Len(t, journal.Q, 1)
				var b feedback.Batch
				require.NoError(t, json.Unmarshal([]byte(journal.Q[0].Body), &b))
				require.Equal(t, "void", b.Entries[0].Kind)
				require.Contains(t, b.Entries[0].Reason, "dropped")

				again := c.shown(time.Now())
				s.Remember(again)
				s.becomes(t, s.rate(t, map[string]any{"retrieval": again.ID, "score": 1, "response": "21st Century Fox"}), "applied")
			})
		}
	}
}

func TestADroppedPredicateMakesItsPartOfARatingVoid(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, nil)
	r := c.shown(time.Now())
	s.Remember(r)
	require.Eventually(t, func() bool { return s.count("retrievals stored") == 1 }, 10*time.Second, 10*time.Millisecond)
	c.drop(t, map[string]any{"drop_attr": "owned_by"})
	s.Altered()
	s.becomes(t, s.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "21st Century Fox"}), "applied")
	_, there := c.score(t, c.edge("owned_by", "fox"))
	require.False(t, there)
	seat, there := c.score(t, c.edge("seat", "la"))
	require.True(t, there)
	require.NotEqual(t, 100.0, seat.Score)
	_, why := s.explain(t, "head=studio&predicate=owned_by&object=fox")
	require.Nil(t, why.History[0].After)
}

func TestWhatCannotBeReadIsVoidAndHoldsNobodyUp(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, nil)
	r := c.shown(time.Now())
	s.Remember(r)
	require.Eventually(t, func() bool { return s.count("retrievals stored") == 1 }, 10*time.Second, 10*time.Millisecond)
	s.stop()
	c.drop(t, map[string]any{"drop_attr": "evorag.retrieval.body"})
	c.migrate(t)
	c.Mutate(t, `_:x <evorag.feedback.id> "broken" .
		_:x <evorag.feedback.status> "pending" .`)
	again := c.start(t, nil)
	good := c.shown(time.Now())
	again.Remember(good)
	bad := again.rate(t, map[string]any{"retrieval": r.ID, "score": 1, "response": "21st Century Fox"})
	fine := again.rate(t, map[string]any{"retrieval": good.ID, "score": 1, "response": "21st Century Fox"})
	again.becomes(t, fine, "applied")
	require.Contains(t, again.becomes(t, bad, "void").Reason, "not readable")
	require.Contains(t, again.becomes(t, "broken", "void").Reason, "not readable")
}

func TestRetrievalsNeedNotBeStored(t *testing.T) {
	c := newCluster(t)
	s := c.start(t, nil)
	before := c.shown(time.Now())
	s.Remember(before)
	require.Eventually(t, func() bool { return s.count("retrievals stored") == 1 }, 10*time.Second, 10*time.Millisecond)
	s.stop()
	off := c.start(t, func(o *feedback.Options) { o.Forget = true })
	r := c.shown(time.Now())
	off.Remember(r)
	w := off.send(map[string]any{"retrieval": r.ID, "score": 1, "response": "x"})
	require.Equal(t, http.StatusNotFound, w.Code)
	require.Contains(t, w.Body.String(), "switch feedback.store on")
	require.Error(t, off.Submit(t.Context(), feedback.Event{ID: "1", Retrieval: r.ID, Rating: 1, Source: feedback.LLM, Response: "x"}))
	off.becomes(t, off.rate(t, map[string]any{"retrieval": before.ID, "score": 1, "response": "21st Century Fox"}), "applied")
	var stored struct{ Q []struct{ N int } }
	read(t, c.Client, `{ q(func: has(evorag.retrieval.id)) { n: count(uid) } }`, &stored)
	require.Equal(t, 1, stored.Q[0].N)
}
