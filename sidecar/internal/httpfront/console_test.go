package httpfront_test

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/console"
	"github.com/evorag/dgraph-evorag/sidecar/internal/httpfront"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

// evolving answers every call of its services.
type evolving struct{}

func (evolving) ServeRuns(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "runs") }
func (evolving) ServeScores(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "scores")
}
func (evolving) ServeRun(string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "run") }
}

func TestTheConsoleCallsOnlyWhatIsServed(t *testing.T) {
	a := newAlpha(t)
	u, err := url.Parse(a.URL)
	require.NoError(t, err)
	s := httptest.NewServer(httpfront.New(httpfront.Options{
		Alpha: u, Ranker: &ranker{}, Feedback: learning{}, Evolution: evolving{}, Console: console.New(httpfront.ConsoleAt),
		Metrics: telemetry.New("test"), Status: report, QueryBytes: 4096, AdminNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}))
	t.Cleanup(s.Close)
	script, err := fs.ReadFile(console.Files(), "js/api.js")
	require.NoError(t, err)
	calls := regexp.MustCompile(`(get|call)\((?:"(GET|POST)", )?"(/[^"]+)"`).FindAllStringSubmatch(string(script), -1)
	require.GreaterOrEqual(t, len(calls), 10)
	for _, c := range calls {
		method, path := c[2], c[3]
		if method == "" {
			method = http.MethodGet
		}
		if strings.HasSuffix(path, "/") {
			path += "an-id"
		}
		resp, body := send(t, method, s.URL+path, "application/json", "{}")
		require.NotContains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed}, resp.StatusCode, method+path+body)
	}
	resp, body := send(t, http.MethodGet, s.URL+"/evorag/ui/js/api.js", "", "")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, string(script), body)
	require.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'")
	resp, _ = send(t, http.MethodPost, s.URL+"/evorag/ui/", "", "")
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
}
