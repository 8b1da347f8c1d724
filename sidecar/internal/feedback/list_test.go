package feedback_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
)

func TestTheInboxShowsWhatCameTheNewestFirst(t *testing.T) {
	c := newCluster(t)
	kept := c.shown(time.Now())
	s := c.start(t, func(o *feedback.Options) {
		o.Hold = func(retrieval string) bool { return retrieval == kept.ID }
	})
	list := func(query string) (int, feedback.Inbox, string) {
		w := httptest.NewRecorder()
		s.List(w, httptest.NewRequest(http.MethodGet, "/evorag/v1/feedback/inbox?"+query, nil))
		var out feedback.Inbox
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out), w.Body.String())
		return w.Code, out, w.Body.String()
	}
	code, none, body := list("")
	require.Equal(t, http.StatusOK, code, body)
	require.Empty(t, none.Ratings)
	require.Contains(t, body, `"ratings":[]`)

	known, unknown := c.shown(time.Now()), c.shown(time.Now().Add(-time.Minute))
	s.Remember(known)
	s.becomes(t, s.rate(t, map[string]any{"retrieval": known.ID, "score": 1, "response": "21st Century Fox", "rater": "ann", "comment": "of the past"}), "applied")
	s.becomes(t, s.rate(t, map[string]any{"retrieval": known.ID, "score": 5, "response": "The Walt Disney Company", "rater": "ann"}), "applied")
	s.becomes(t, s.rate(t, map[string]any{"retrieval": unknown.ID, "thumb": "up", "response": "x"}), "waiting")

	_, all, _ := list("")
	require.Len(t, all.Ratings, 3)
	require.Equal(t, map[string]int{"pending": 0, "waiting": 1, "applied": 1, "superseded": 1, "held": 0, "void": 0}, all.Counts)
	newest, second, oldest := all.Ratings[0], all.Ratings[1], all.Ratings[2]
	require.Equal(t, "waiting", newest.Status)
	require.Equal(t, "the retrieval is not stored yet", newest.Reason)
	require.Empty(t, newest.Question)
	require.Equal(t, "applied", second.Status)
	require.Equal(t, 2, second.Batch)
	require.Equal(t, "superseded", oldest.Status)
	require.Equal(t, "of the past", oldest.Comment)
	require.Equal(t, "ann", oldest.Rater)
	require.Equal(t, 1., oldest.Rating)
	require.Equal(t, "21st Century Fox", oldest.Response)
	require.Equal(t, known.Question, oldest.Question)
	require.True(t, oldest.Received.Before(second.Received))

	_, some, _ := list("first=1&offset=1")
	require.Equal(t, []feedback.Received{second}, some.Ratings)
	_, one, _ := list("status=superseded")
	require.Equal(t, []feedback.Received{oldest}, one.Ratings)
	for query, want := range map[string]string{
		"status=done": "pending, waiting, applied, superseded, held, void", "first=0": "a number from 1 to 200",
		"first=x": "a number from 1 to 200", "offset=-1": "a number from 0",
	} {
		code, _, body := list(query)
		require.Equal(t, http.StatusBadRequest, code)
		require.Contains(t, body, want)
	}

	s.Remember(kept)
	s.becomes(t, s.rate(t, map[string]any{"retrieval": kept.ID, "score": 5, "response": "The Walt Disney Company"}), "held")
	_, heldBack, _ := list("status=held")
	require.Len(t, heldBack.Ratings, 1)
	require.Equal(t, kept.ID, heldBack.Ratings[0].Retrieval)
	require.Equal(t, 1, heldBack.Counts["held"])
	_, all, _ = list("")
	require.Len(t, all.Ratings, 4)
}

func TestAnAdministratorRatesWithoutASignature(t *testing.T) {
	c := newCluster(t)
	secret, err := feedback.ParseSecret("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	require.NoError(t, err)
	s := c.start(t, func(o *feedback.Options) { o.Secrets = []feedback.Secret{secret} })
	r := c.shown(time.Now())
	s.Remember(r)
	rating := map[string]any{"retrieval": r.ID, "score": 5, "response": "The Walt Disney Company", "id": "console:1"}
	require.Equal(t, http.StatusUnauthorized, s.send(rating).Code)
	w := httptest.NewRecorder()
	s.ReceiveTrusted(w, request(rating, "192.0.2.7:1234"))
	require.Equal(t, http.StatusAccepted, w.Code, w.Body.String())
	s.becomes(t, "console:1", "applied")
	w = httptest.NewRecorder()
	s.ReceiveTrusted(w, request(map[string]any{"retrieval": "forged", "score": 5}, "192.0.2.7:1234"))
	require.Equal(t, http.StatusBadRequest, w.Code, "all else is checked")
}
