package httpfront_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/httpfront"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
	"github.com/evorag/dgraph-evorag/sidecar/internal/status"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

// seen is a request as the alpha received it.
type seen struct {
	method, uri string
	header      http.Header
	body        []byte
	length      int64
}

// alpha records what reaches it and answers with fixed bytes.
type alpha struct {
	*httptest.Server
	got    []seen
	answer http.HandlerFunc
}

func newAlpha(t *testing.T) *alpha {
	a := &alpha{}
	a.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Dgraph-Toucheduids", "7")
		_, _ = w.Write([]byte(`{"data": {"q":[]} }`))
	}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		a.got = append(a.got, seen{r.Method, r.RequestURI, r.Header, b, r.ContentLength})
		a.answer(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

// ranker records the calls and gives what the test says.
type ranker struct {
	calls     []proxy.Request
	deadline  time.Duration
	retrieves []proxy.RetrieveRequest
	err       error
	answer    proxy.Response
}

func (k *ranker) Query(ctx context.Context, r proxy.Request) (*proxy.Response, error) {
	if d, ok := ctx.Deadline(); ok {
		k.deadline = time.Until(d)
	}
	k.calls = append(k.calls, r)
	return &k.answer, k.err
}

func (k *ranker) Retrieve(_ context.Context, r proxy.RetrieveRequest) (*graph.Retrieval, error) {
	k.retrieves = append(k.retrieves, r)
	return &graph.Retrieval{ID: "r1", Alpha: 0.5}, k.err
}

// report is the status of a sidecar that is well.
func report(context.Context) status.Report {
	r := status.Report{Version: "test"}
	r.Judge(time.Now())
	return r
}

func newFront(t *testing.T, alphaURL string, k *ranker) *httptest.Server {
	t.Helper()
	u, err := url.Parse(alphaURL)
	require.NoError(t, err)
	s := httptest.NewServer(httpfront.New(httpfront.Options{
		Alpha: u, Ranker: k, Metrics: telemetry.New("test"), QueryBytes: 4096, Status: report,
		AdminNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}))
	t.Cleanup(s.Close)
	return s
}

// send makes a request whose body and headers go out exactly as given.
func send(t *testing.T, method, url, contentType, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(t, err)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableCompression: true}}).Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(b)
}

func zip(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(s))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

const (
	asDQL  = "application/dql"
	asJSON = "application/json"
	ranked = `{ q(func: uid(1)) @evorag(query: "x") { uid } }`
)

func TestWhatCarriesNoDirectiveReachesTheAlphaAsItCame(t *testing.T) {
	big := `{"query":"{ q(func: uid(1)) { uid } }","variables":{"$a":"` + strings.Repeat("x", 10_000) + `"}}`
	for _, c := range []struct {
		name, method, path, contentType, body string
		headers                               []string
	}{
		{name: "a raw query", path: "/query?timeout=5s&debug=true", contentType: asDQL, body: `{ q(func: uid(1)) { uid } }`},
		{name: "a JSON query", path: "/query", contentType: asJSON, body: `{"query":"{q(func: uid(1)) {uid}}"}`},
		{name: "the old content type", path: "/query", contentType: "application/graphql+-", body: `{q(func: uid(1)){uid}}`},
		{name: "the word in a string", path: "/query", contentType: asDQL, body: `{ q(func: eq(name, "evorag")) { uid } }`},
		{name: "a body beyond the limit", path: "/query", contentType: asJSON, body: big},
		{name: "gzip that is none", path: "/query", contentType: asDQL, body: ranked, headers: []string{"Content-Encoding", "gzip"}},
		{name: "an encoding that the alpha refuses", path: "/query", contentType: asDQL, body: ranked, headers: []string{"Content-Encoding", "br"}},
		{name: "a content type that the alpha refuses", path: "/query", contentType: "text/plain", body: ranked},
		{name: "a charset that the alpha refuses", path: "/query", contentType: asDQL + "; charset=latin1", body: ranked},
		{name: "JSON that the alpha refuses", path: "/query", contentType: asJSON, body: `{"query":"` + "@evorag" + `","variables":{"$a":1}}`},
		{name: "a parameter that the alpha refuses", path: "/query?timeout=soon", contentType: asDQL, body: ranked},
		{name: "a parameter string that doesn't parse", path: "/query?a;b=%zz&timeout=1s", contentType: asDQL, body: `{q(func: uid(1)){uid}}`},
		{name: "an escape in JSON", path: "/query", contentType: asJSON, body: `{"query":"{q(func: eq(name, \"\u00e9\")){uid}}"}`},
		{name: "an empty body", path: "/query", contentType: asDQL},
		{name: "a mutation", path: "/mutate?commitNow=true", contentType: "application/rdf", body: `{ set { _:a <name> "@evorag" . } }`},
		{name: "a commit", path: "/commit?startTs=4", contentType: asJSON, body: `{"keys":[]}`},
		{name: "an alteration from an admin's address", path: "/alter", body: "name: string ."},
		{name: "GraphQL", path: "/graphql", contentType: asJSON, body: `{"query":"{ a }"}`},
		{name: "health", method: "GET", path: "/health?all"},
		{name: "state", method: "GET", path: "/state"},
		{name: "a preflight", method: "OPTIONS", path: "/query", headers: []string{"Origin", "http://ratel", "Access-Control-Request-Method", "POST"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, k := newAlpha(t), &ranker{}
			f := newFront(t, a.URL, k)
			method := c.method
			if method == "" {
				method = "POST"
			}
			headers := append(c.headers, "X-Dgraph-AccessToken", "jwt", "Accept-Encoding", "gzip, x", "X-Forwarded-For", "10.1.1.1", "User-Agent", "mine")
			resp, got := send(t, method, f.URL+c.path, c.contentType, c.body, headers...)
			require.Empty(t, k.calls)
			require.Len(t, a.got, 1)
			require.Equal(t, method, a.got[0].method)
			require.Equal(t, c.path, a.got[0].uri)
			require.Equal(t, c.body, string(a.got[0].body))
			require.Equal(t, int64(len(c.body)), a.got[0].length)
			require.Equal(t, c.contentType, a.got[0].header.Get("Content-Type"))
			require.Equal(t, "10.1.1.1, 127.0.0.1", a.got[0].header.Get("X-Forwarded-For"))
			for i := 0; i+1 < len(headers); i += 2 {
				if headers[i] != "X-Forwarded-For" {
					require.Equal(t, headers[i+1], a.got[0].header.Get(headers[i]))
				}
			}
			require.Equal(t, `{"data": {"q":[]} }`, got)
			require.Equal(t, "7", resp.Header.Get("Dgraph-Toucheduids"))
			require.Equal(t, []string{"*"}, resp.Header.Values("Access-Control-Allow-Origin"))
		})
	}
}

func TestAGzippedAnswerComesBackGzipped(t *testing.T) {
	a := newAlpha(t)
	f := newFront(t, a.URL, &ranker{})
	packed := zip(t, `{"data":1}`)
	a.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write([]byte(packed))
	}
	resp, got := send(t, "POST", f.URL+"/query", asDQL, zip(t, "{q(func: uid(1)){uid}}"), "Content-Encoding", "gzip")
	require.Equal(t, "gzip", resp.Header.Get("Content-Encoding"))
	require.Equal(t, packed, got)
	require.Equal(t, zip(t, "{q(func: uid(1)){uid}}"), string(a.got[0].body))
}

func TestAQueryWithTheDirectiveIsReadAsTheAlphaReadsQueries(t *testing.T) {
	for _, c := range []struct {
		name, contentType, params, body string
		headers                         []string
		want                            proxy.Request
	}{
		{name: "raw", contentType: asDQL, body: ranked, want: proxy.Request{Call: graph.Call{Query: ranked}}},
		{name: "raw with a charset", contentType: asDQL + "; charset=UTF-8", body: ranked, want: proxy.Request{Call: graph.Call{Query: ranked}}},
		{name: "JSON with variables", contentType: asJSON, body: `{"query":"{q(func: uid(1)) @evorag(query: $q)}","variables":{"$q":"why"}}`, want: proxy.Request{Call: graph.Call{Query: "{q(func: uid(1)) @evorag(query: $q)}", Vars: map[string]string{"$q": "why"}}}},
		{name: "JSON that escapes the word", contentType: asJSON, body: `{"query":"{q(func: uid(1)) @\u0065vorag}"}`, want: proxy.Request{Call: graph.Call{Query: "{q(func: uid(1)) @evorag}"}}},
		{name: "gzip", contentType: asDQL, body: "zip", headers: []string{"Content-Encoding", "gzip"}, want: proxy.Request{Call: graph.Call{Query: ranked}}},
		{name: "an open transaction", contentType: asDQL, params: "?startTs=0x10&hash=abc&ro=true", body: ranked, want: proxy.Request{Call: graph.Call{Query: ranked, StartTS: 16, Hash: "abc"}}},
		{name: "best effort is read-only", contentType: asDQL, params: "?be=true", body: ranked, want: proxy.Request{Call: graph.Call{Query: ranked, BestEffort: true, ReadOnly: true}}},
		{name: "read-only and debug", contentType: asDQL, params: "?ro=1&debug=t", body: ranked, want: proxy.Request{Call: graph.Call{Query: ranked, ReadOnly: true, Debug: true}}},
		{name: "RDF is the proxy's to refuse", contentType: asDQL, params: "?respFormat=rdf", body: ranked, want: proxy.Request{RDF: true, Call: graph.Call{Query: ranked}}},
		{name: "the caller's tokens", contentType: asDQL, body: ranked, headers: []string{"X-Dgraph-AccessToken", "jwt", "X-Dgraph-AuthToken", "poor"}, want: proxy.Request{Call: graph.Call{Query: ranked, Credentials: graph.Credentials{"accessjwt": {"jwt"}, "auth-token": {"poor"}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, k := newAlpha(t), &ranker{answer: proxy.Response{Answer: graph.Answer{JSON: []byte(`{}`)}}}
			f := newFront(t, a.URL, k)
			if c.body == "zip" {
				c.body = zip(t, ranked)
			}
			send(t, "POST", f.URL+"/query"+c.params, c.contentType, c.body, c.headers...)
			require.Empty(t, a.got)
			require.Len(t, k.calls, 1)
			if c.want.Credentials == nil {
				c.want.Credentials = graph.Credentials{}
			}
			require.Equal(t, c.want, k.calls[0])
		})
	}
}

func TestARankedAnswerHasDgraphsShapeAndItsDataUntouched(t *testing.T) {
	data := `{"q":[{"b":1.0,"a":12345678901234567890,"a":"<&>"}]}`
	k := &ranker{answer: proxy.Response{
		Answer: graph.Answer{
			JSON:    []byte(data),
			Txn:     graph.Txn{StartTS: 5, Hash: "h"},
			Latency: graph.Latency{Parsing: 1, Total: 9},
			NumUIDs: map[string]uint64{"_total": 3, "uid": 3},
		},
		Retrieval: &graph.Retrieval{ID: "r1"},
	}}
	f := newFront(t, newAlpha(t).URL, k)
	resp, got := send(t, "POST", f.URL+"/query?timeout=90s", asDQL, ranked)
	want := `{"data":` + data + `,"extensions":{"server_latency":{"parsing_ns":1,"total_ns":9},"txn":{"start_ts":5,"hash":"h"},"metrics":{"num_uids":{"_total":3,"uid":3}},"evorag":{"retrieval":"r1",`
	require.True(t, strings.HasPrefix(got, want), got)
	require.Equal(t, "3", resp.Header.Get("Dgraph-TouchedUids"))
	require.Equal(t, []string{"*"}, resp.Header.Values("Access-Control-Allow-Origin"))
	require.InDelta(t, 90, k.deadline.Seconds(), 5)

	resp, zipped := send(t, "POST", f.URL+"/query", asDQL, ranked, "Accept-Encoding", "gzip")
	require.Equal(t, "gzip", resp.Header.Get("Content-Encoding"))
	z, err := gzip.NewReader(strings.NewReader(zipped))
	require.NoError(t, err)
	plain, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, got, string(plain))
}

func TestErrorsOfARankedQueryHaveDgraphsShape(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		code int
		want string
	}{
		{name: "a fault in the directive has its place", err: &dql.Error{Line: 3, Column: 7, Msg: "hops is 9; write 1 to 6"}, code: 200,
			want: `{"errors":[{"message":"line 3 column 7: hops is 9; write 1 to 6","locations":[{"line":3,"column":7}],"extensions":{"code":"ErrorInvalidRequest"}}],"data":null}`},
		{name: "a plain error of the engine loses gRPC's words", err: grpcstatus.Error(codes.Unknown, "line 1 column 2: no"), code: 200,
			want: `{"errors":[{"message":"line 1 column 2: no","extensions":{"code":"ErrorInvalidRequest"}}],"data":null}`},
		{name: "a status of the engine keeps them, as over the alpha's HTTP", err: grpcstatus.Error(codes.PermissionDenied, "no"), code: 200,
			want: `{"errors":[{"message":"rpc error: code = PermissionDenied desc = no","extensions":{"code":"ErrorInvalidRequest"}}],"data":null}`},
		{name: "an engine that is away", err: grpcstatus.Error(codes.Unavailable, "refused"), code: 502,
			want: `{"errors":[{"message":"the engine doesn't answer: refused","extensions":{"code":"Error"}}],"data":null}`},
		{name: "any other error", err: errors.New("nothing links"), code: 200,
			want: `{"errors":[{"message":"nothing links","extensions":{"code":"ErrorInvalidRequest"}}],"data":null}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFront(t, newAlpha(t).URL, &ranker{err: c.err})
			resp, got := send(t, "POST", f.URL+"/query", asDQL, ranked)
			require.Equal(t, c.code, resp.StatusCode)
			require.Equal(t, c.want, got)
			require.Equal(t, []string{"*"}, resp.Header.Values("Access-Control-Allow-Origin"))
		})
	}
}

func TestATooLongTextWithTheDirectiveIsRefused(t *testing.T) {
	a := newAlpha(t)
	f := newFront(t, a.URL, &ranker{})
	long := ranked + strings.Repeat(" ", 5000)
	for name, c := range map[string][2]string{"plain": {long, ""}, "gzip": {zip(t, long), "gzip"}} {
		t.Run(name, func(t *testing.T) {
			resp, got := send(t, "POST", f.URL+"/query", asDQL, c[0], "Content-Encoding", c[1])
			require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
			require.Contains(t, got, "may have 4096 bytes (limit.query_bytes)")
			require.Empty(t, a.got)
		})
	}
}

func TestWhatIsNotOnTheListIsNotForwarded(t *testing.T) {
	a := newAlpha(t)
	f := newFront(t, a.URL, &ranker{})
	for _, path := range []string{"/", "/debug/vars", "/debug/pprof/", "/mcp", "/admin/../debug/vars", "/admin%2F..%2Fdebug%2Fvars", "//query", "/query/x", "/admin/backup", "/evorag/v2"} {
		t.Run(path, func(t *testing.T) {
			resp, got := send(t, "GET", f.URL+path, "", "")
			require.Equal(t, http.StatusNotFound, resp.StatusCode)
			require.Contains(t, got, "is not served here")
			require.Equal(t, []string{"*"}, resp.Header.Values("Access-Control-Allow-Origin"))
			require.Empty(t, a.got)
		})
	}
}

func TestAdminPathsAreForAdminNetworksOnly(t *testing.T) {
	a := newAlpha(t)
	u, err := url.Parse(a.URL)
	require.NoError(t, err)
	f := httpfront.New(httpfront.Options{
		Alpha: u, Ranker: &ranker{}, Metrics: telemetry.New("test"), QueryBytes: 1024,
		AdminNetworks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")},
	})
	for _, c := range []struct {
		name, path, peer, method string
		code                     int
	}{
		{"a peer inside", "/alter", "10.2.3.4:5", "POST", 200},
		{"a peer inside, as IPv6 writes IPv4", "/alter", "[::ffff:10.2.3.4]:5", "POST", 200},
		{"IPv6 loopback", "/login", "[::1]:5", "POST", 200},
		{"a peer outside, /alter", "/alter", "11.2.3.4:5", "POST", 403},
		{"a peer outside, /admin", "/admin", "11.2.3.4:5", "POST", 403},
		{"a peer outside, below /admin", "/admin/shutdown", "11.2.3.4:5", "GET", 403},
		{"a peer outside, /login", "/login", "11.2.3.4:5", "POST", 403},
		{"a peer outside, preflight", "/alter", "11.2.3.4:5", "OPTIONS", 200},
		{"a peer outside, reading", "/query", "11.2.3.4:5", "POST", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.path, strings.NewReader("x"))
			r.RemoteAddr = c.peer
			r.Header.Set("X-Forwarded-For", "10.0.0.1") // anybody can write this
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			require.Equal(t, c.code, w.Code, w.Body)
			require.Equal(t, []string{"*"}, w.Header().Values("Access-Control-Allow-Origin"))
			if c.code == 403 {
				require.Contains(t, w.Body.String(), `"code":"ErrorUnauthorized"`)
			}
		})
	}
}

func TestAForwardedAlterationIsTold(t *testing.T) {
	a := newAlpha(t)
	u, err := url.Parse(a.URL)
	require.NoError(t, err)
	told := 0
	f := httpfront.New(httpfront.Options{
		Alpha: u, Ranker: &ranker{}, Metrics: telemetry.New("test"), QueryBytes: 1024, Altered: func() { told++ },
		AdminNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	s := httptest.NewServer(f)
	defer s.Close()
	send(t, "POST", s.URL+"/query", asDQL, "{q(func: uid(1)){uid}}")
	send(t, "OPTIONS", s.URL+"/alter", "", "")
	require.Zero(t, told)
	send(t, "POST", s.URL+"/alter", "", "name: string .")
	require.Equal(t, 1, told)
}

func TestAnAlphaThatIsAwayGivesA502WithCORS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	f := newFront(t, "http://"+l.Addr().String(), &ranker{})
	resp, got := send(t, "POST", f.URL+"/query", asDQL, "{q(func: uid(1)){uid}}")
	require.Equal(t, http.StatusBadGateway, resp.StatusCode)
	require.Contains(t, got, `{"errors":[{"message":"the alpha at `+l.Addr().String()+` doesn't answer: `)
	require.Equal(t, []string{"*"}, resp.Header.Values("Access-Control-Allow-Origin"))

	resp, _ = send(t, "OPTIONS", f.URL+"/query", "", "")
	require.Equal(t, http.StatusOK, resp.StatusCode, "so that the browser shows the error behind the preflight")
	require.Contains(t, resp.Header.Get("Access-Control-Allow-Headers"), "X-Dgraph-AccessToken")
}

func TestOurWordsJoinTheAlphasKeywords(t *testing.T) {
	a := newAlpha(t)
	f := newFront(t, a.URL, &ranker{})
	a.answer = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"keywords":[{"type":"","name":"alpha"},{"type":"","name":"eq"}]}`))
	}
	resp, got := send(t, "GET", f.URL+"/ui/keywords", "", "")
	require.True(t, strings.HasPrefix(got, `{"keywords":[{"type":"","name":"alpha"},{"type":"","name":"eq"},{"type":"","name":"@evorag"},`), got)
	require.Equal(t, 1, strings.Count(got, `"alpha"`))
	require.Equal(t, int64(len(got)), resp.ContentLength)
}

func TestRetrieve(t *testing.T) {
	for _, c := range []struct {
		name, body string
		err        error
		code       int
		want       string
	}{
		{name: "a question", body: `{"question":"who?","hops":3,"via":["~a"],"bundle":false}`, code: 200, want: `{"retrieval":"r1",`},
		{name: "no body", code: 400, want: `{"error":{"code":"invalid_request","message":"the body is empty; write a JSON object"}}`},
		{name: "an unknown field is named", body: `{"question":"q","hop":3}`, code: 400, want: `unknown field \"hop\"`},
		{name: "a value of another type is named", body: `{"question":"q","hops":"3"}`, code: 400, want: `hops is a JSON string; write a value of type int`},
		{name: "no question", body: `{"question":" "}`, err: fmt.Errorf("%w: question is empty", proxy.ErrBadRequest), code: 400, want: `question is empty`},
		{name: "nothing that the question names", body: `{"question":"q"}`, err: fmt.Errorf("%w (q)", proxy.ErrNothingLinked), code: 404, want: `{"error":{"code":"nothing_linked","message":"nothing to start from: `},
		{name: "two objects", body: `{"question":"q"}{}`, code: 400, want: `there is more behind the JSON object`},
		{name: "broken JSON", body: `{"question":`, code: 400, want: `unexpected EOF`},
		{name: "too much", body: `{"question":"` + strings.Repeat("x", 1<<20) + `"}`, code: 413, want: `more than 1 MiB`},
		{name: "a fault with a place", body: `{"question":"q"}`, err: &dql.Error{Line: 1, Column: 2, Msg: "no"}, code: 400, want: `line 1 column 2: no`},
		{name: "no permission", body: `{"question":"q"}`, err: grpcstatus.Error(codes.PermissionDenied, "no"), code: 403, want: `{"error":{"code":"permission_denied","message":"no"}}`},
		{name: "an engine that is away", body: `{"question":"q"}`, err: grpcstatus.Error(codes.Unavailable, "gone"), code: 502, want: `{"error":{"code":"engine_unavailable","message":"gone"}}`},
		{name: "an error of the engine", body: `{"question":"q"}`, err: grpcstatus.Error(codes.Unknown, "odd"), code: 502, want: `{"error":{"code":"engine_error","message":"odd"}}`},
		{name: "out of time", body: `{"question":"q"}`, err: context.DeadlineExceeded, code: 504, want: `"timeout"`},
		{name: "our own fault", body: `{"question":"q"}`, err: errors.New("bug"), code: 500, want: `{"error":{"code":"internal","message":"bug"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &ranker{err: c.err}
			f := newFront(t, newAlpha(t).URL, k)
			resp, got := send(t, "POST", f.URL+"/evorag/v1/retrieve", asJSON, c.body, "X-Dgraph-AccessToken", "jwt")
			require.Equal(t, c.code, resp.StatusCode)
			require.Contains(t, got, c.want)
			require.Equal(t, []string{"*"}, resp.Header.Values("Access-Control-Allow-Origin"))
			if c.code == 200 {
				no := false
				require.Equal(t, []proxy.RetrieveRequest{{
					Question: "who?", Hops: 3, Via: []string{"~a"}, Bundle: &no, Credentials: graph.Credentials{"accessjwt": {"jwt"}},
				}}, k.retrieves)
			}
		})
	}
}

func TestOurOwnPathsTakeTheirMethodOnly(t *testing.T) {
	f := newFront(t, newAlpha(t).URL, &ranker{})
	resp, got := send(t, "GET", f.URL+"/evorag/v1/retrieve", "", "")
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
	require.Equal(t, "POST, OPTIONS", resp.Header.Get("Allow"))
	require.Contains(t, got, "/evorag/v1/retrieve takes POST")

	resp, _ = send(t, "OPTIONS", f.URL+"/evorag/v1/retrieve", "", "")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"))

	_, got = send(t, "GET", f.URL+"/evorag/v1/status", "", "")
	require.Contains(t, got, `"version":"test"`)
	_, got = send(t, "GET", f.URL+"/evorag/metrics", "", "")
	require.Contains(t, got, `dgraph_evorag_requests_total{code="405",front="http",route="/evorag/v1/retrieve"} 1`)
}

func TestALongAnswerIsNeverBrokenOff(t *testing.T) {
	a := newAlpha(t)
	long := strings.Repeat("x", 1<<18)
	a.answer = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, long) }
	f := newFront(t, a.URL, &ranker{})
	for _, path := range []string{"/query", "/mutate", "/graphql"} {
		for _, body := range []string{"{}", strings.Repeat(" ", 8192)} { // newFront looks into 4096 bytes
			for range 100 {
				_, got := send(t, "POST", f.URL+path, "application/dql", body) // fails on a short answer
				require.Len(t, got, len(long))
			}
		}
	}
}
