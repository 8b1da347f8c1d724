package httpfront_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/mutation"
	"github.com/evorag/dgraph-evorag/sidecar/internal/httpfront"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

// keeper knows that 0x1 follows 0x2 has a score.
type keeper struct {
	calls []graph.Call
	err   error
}

func (k *keeper) Learned(_ context.Context, c graph.Call, edges []mutation.Edge) (mutation.Learned, graph.Txn, error) {
	k.calls = append(k.calls, c)
	if k.err != nil {
		return mutation.Learned{}, graph.Txn{}, k.err
	}
	l, err := mutation.NewLookup(c.Query, edges)
	if err != nil {
		return mutation.Learned{}, graph.Txn{}, err
	}
	learned, err := l.Read([]byte(`{"evorag.b0":[{"evorag.u":"0x1","evorag.e":[{"evorag.u":"0x2","evorag.e|evorag.score":90}]}]}`))
	return learned, graph.Txn{StartTS: 70, Hash: "h&1"}, err
}

func newKeepingFront(t *testing.T, alphaURL string, k *keeper) *httptest.Server {
	t.Helper()
	u, err := url.Parse(alphaURL)
	require.NoError(t, err)
	s := httptest.NewServer(httpfront.New(httpfront.Options{
		Alpha: u, Ranker: &ranker{}, Keeper: k, Metrics: telemetry.New("test"), QueryBytes: 4096,
		AdminNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}))
	t.Cleanup(s.Close)
	return s
}

func TestAMutationRunsInTheTransactionOfItsLookUp(t *testing.T) {
	const (
		asRDF = "application/rdf"
		known = `{ set { <0x1> <follows> <0x2> . } }`
		kept  = `{ set { <0x1> <follows> <0x2> (evorag.score=90.0) . } }`
		fresh = `{ set { _:a <follows> <0x2> . } }`
		other = `{ set { <0x1> <follows> <0x9> . } }`
	)
	for _, c := range []struct {
		name, path, contentType, body string
		headers                       []string
		fails                         bool
		looks                         bool
		wantURI, wantBody             string
	}{
		{name: "a scored edge", path: "/mutate?commitNow=true", contentType: asRDF, body: known, looks: true, wantURI: "/mutate?commitNow=true&hash=h%261&startTs=70", wantBody: kept},
		{name: "compressed", path: "/mutate", contentType: asRDF, body: zip(t, known), headers: []string{"Content-Encoding", "gzip"}, looks: true, wantURI: "/mutate?hash=h%261&startTs=70", wantBody: kept},
		{name: "in an open transaction", path: "/mutate?startTs=5&hash=x", contentType: asRDF, body: known, looks: true, wantURI: "/mutate?startTs=5&hash=x", wantBody: kept},
		{name: "JSON with a charset", path: "/mutate?startTs=", contentType: "application/json; charset=utf-8", body: `{"set":{"uid":"0x1","follows":{"uid":"0x2"}}}`, looks: true, wantURI: "/mutate?hash=h%261&startTs=70", wantBody: `{"set":{"uid":"0x1","follows":{"uid":"0x2","follows|evorag.score":90.0}}}`},
		{name: "an edge without a score", path: "/mutate", contentType: asRDF, body: other, looks: true, wantURI: "/mutate?hash=h%261&startTs=70", wantBody: other},
		{name: "new nodes", path: "/mutate?commitNow=true", contentType: asRDF, body: fresh, wantURI: "/mutate?commitNow=true", wantBody: fresh},
		{name: "new nodes, compressed", path: "/mutate", contentType: asRDF, body: zip(t, fresh), headers: []string{"Content-Encoding", "gzip"}, wantURI: "/mutate", wantBody: zip(t, fresh)},
		{name: "a look-up that fails", path: "/mutate?commitNow=true", contentType: asRDF, body: known, fails: true, looks: true, wantURI: "/mutate?commitNow=true", wantBody: known},
		{name: "a parameter that the alpha refuses", path: "/mutate?startTs=x", contentType: asRDF, body: known, wantURI: "/mutate?startTs=x", wantBody: known},
		{name: "another content type", path: "/mutate", contentType: "text/plain", body: known, wantURI: "/mutate", wantBody: known},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, k := newAlpha(t), &keeper{}
			if c.fails {
				k.err = errors.New("no")
			}
			f := newKeepingFront(t, a.URL, k)
			resp, _ := send(t, http.MethodPost, f.URL+c.path, c.contentType, c.body, append(c.headers, "X-Dgraph-AccessToken", "token")...)
			require.Equal(t, http.StatusOK, resp.StatusCode)
			require.Len(t, a.got, 1)
			require.Equal(t, c.wantURI, a.got[0].uri)
			require.Equal(t, c.wantBody, string(a.got[0].body))
			require.Equal(t, int64(len(c.wantBody)), a.got[0].length)
			require.Equal(t, c.looks, len(k.calls) == 1)
			if c.looks {
				require.Equal(t, graph.Credentials{"accessjwt": {"token"}}, k.calls[0].Credentials)
			}
		})
	}
}

func TestAnswersThatCouldShowInternalStateAreStripped(t *testing.T) {
	const (
		answer = `{"data":{"q":[{"f":[{"uid":"0x2","f|evorag.n":3}]}]},"extensions":{}}`
		left   = `{"data":{"q":[{"f":[{"uid":"0x2"}]}]},"extensions":{}}`
	)
	for _, c := range []struct{ name, query, want string }{
		{"all facets", `{ q(func: uid(1)) { f @facets { uid } } }`, left},
		{"a facet by name", `{ q(func: uid(1)) { f @facets(evorag.n) { uid } } }`, answer},
		{"the word in a string", `{ q(func: eq(name, "expand facets")) { uid } }`, answer},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAlpha(t)
			a.answer = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
					w.Header().Set("Content-Encoding", "gzip")
					_, _ = w.Write([]byte(zip(t, answer)))
					return
				}
				_, _ = w.Write([]byte(answer))
			}
			f := newKeepingFront(t, a.URL, &keeper{})
			_, got := send(t, http.MethodPost, f.URL+"/query", asDQL, c.query)
			require.Equal(t, c.want, got)
			resp, got := send(t, http.MethodPost, f.URL+"/query", asDQL, c.query, "Accept-Encoding", "gzip")
			require.Equal(t, "gzip", resp.Header.Get("Content-Encoding"))
			require.Equal(t, zip(t, c.want), got)
		})
	}
}

func TestAMutationIsNotForwardedWhileTheEngineCannotBeAsked(t *testing.T) {
	for name, err := range map[string]error{
		"the engine is away":      status.Error(codes.Unavailable, "connection refused"),
		"the engine is too slow":  context.DeadlineExceeded,
		"the engine is not ready": errors.New("Please retry again, server is not ready to accept requests"),
	} {
		t.Run(name, func(t *testing.T) {
			a := newAlpha(t)
			f := newKeepingFront(t, a.URL, &keeper{err: err})
			_, body := send(t, http.MethodPost, f.URL+"/mutate?commitNow=true", "application/rdf", `{ set { <0x1> <follows> <0x2> . } }`)
			require.Contains(t, body, `"errors"`)
			require.Empty(t, a.got, "it would drop what was learned")
		})
	}
}
