package httpfront_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/httpfront"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

const adminToken = "a token of administrators"

// learning says which of its services was called.
type learning struct{}

func (learning) Receive(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "receive") }
func (learning) ReceiveTrusted(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "rate")
}
func (learning) List(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "list") }
func (learning) ShowRating(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "rating")
}
func (learning) Explain(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "explain") }
func (learning) ShowRetrieval(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "retrieval "+r.URL.Path)
}

func TestAnybodyMayRateButOnlyAdministratorsSeeWhatOthersAsked(t *testing.T) {
	a := newAlpha(t)
	u, err := url.Parse(a.URL)
	require.NoError(t, err)
	front := func(admins string) *httptest.Server {
		s := httptest.NewServer(httpfront.New(httpfront.Options{
			Alpha: u, Ranker: &ranker{}, Feedback: learning{}, Metrics: telemetry.New("test"), QueryBytes: 4096,
			AdminNetworks: []netip.Prefix{netip.MustParsePrefix(admins)}, AdminToken: adminToken,
		}))
		t.Cleanup(s.Close)
		return s
	}
	ours, others := front("127.0.0.0/8"), front("10.0.0.0/8")
	for _, c := range []struct {
		method, path, want string
		open               bool
	}{
		{http.MethodPost, "/evorag/v1/feedback", "receive", true},
		{http.MethodGet, "/evorag/v1/feedback/status?id=x", "rating", false},
		{http.MethodGet, "/evorag/v1/feedback/inbox?first=3", "list", false},
		{http.MethodGet, "/evorag/v1/edges/explain?head=0x1", "explain", false},
		{http.MethodGet, "/evorag/v1/retrievals/AQ", "retrieval /evorag/v1/retrievals/AQ", false},
	} {
		t.Run(c.path, func(t *testing.T) {
			resp, body := send(t, c.method, ours.URL+c.path, "application/json", "")
			require.Equal(t, c.want, body)
			require.Equal(t, []string{"*"}, resp.Header.Values("Access-Control-Allow-Origin"), "a page of elsewhere may read it")
			require.Contains(t, resp.Header.Get("Access-Control-Allow-Headers"), "Content-Type")
			resp, body = send(t, c.method, others.URL+c.path, "application/json", "")
			if c.open {
				require.Equal(t, c.want, body)
				return
			}
			require.Equal(t, http.StatusForbidden, resp.StatusCode, body)
			_, body = send(t, c.method, others.URL+c.path, "application/json", "", "Authorization", "Bearer "+adminToken)
			require.Equal(t, c.want, body)
		})
	}
	for _, wrong := range []string{"Bearer " + adminToken[1:], "Bearer", "Basic " + adminToken, adminToken, ""} {
		resp, body := send(t, http.MethodGet, others.URL+"/evorag/v1/feedback/inbox", "application/json", "", "Authorization", wrong)
		require.Equal(t, http.StatusForbidden, resp.StatusCode, wrong)
		require.Contains(t, body, "access.token_file")
		_, body = send(t, http.MethodPost, others.URL+"/evorag/v1/feedback", "application/json", "", "Authorization", wrong)
		require.Equal(t, "receive", body, "a signature is asked for")
	}
	for _, path := range []string{"/alter", "/admin", "/login"} {
		resp, body := send(t, http.MethodPost, others.URL+path, "application/json", "", "Authorization", "Bearer "+adminToken)
		require.Equal(t, http.StatusForbidden, resp.StatusCode, "the token does not open what is Dgraph's")
		require.NotContains(t, body, "access.token_file")
	}
	_, body := send(t, http.MethodPost, others.URL+"/evorag/v1/feedback", "application/json", "", "Authorization", "bearer "+adminToken)
	require.Equal(t, "rate", body, "an administrator signs nothing")
	resp, _ := send(t, http.MethodGet, ours.URL+"/evorag/v1/feedback", "application/json", "")
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
	require.Empty(t, a.got, "nothing of it reaches the alpha")
}
