// Package httpfront is Dgraph's HTTP surface in front of an alpha. A query that carries
// @evorag is answered by the proxy; everything else on the route list is forwarded as it
// came and comes back as the alpha gave it; what is not on the list is not forwarded.
package httpfront

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

// Ranker answers what the alpha can't.
type Ranker interface {
	// Query answers a text that carries the directive. Errors: *dql.Error with its place,
	// gRPC statuses of the engine as they came, or others.
	Query(ctx context.Context, r proxy.Request) (*proxy.Response, error)
	// Retrieve ranks the paths for a question without any DQL.
	Retrieve(ctx context.Context, r proxy.RetrieveRequest) (*graph.Retrieval, error)
}

// Options are what a Front needs; all but Keeper, Altered and Log are required.
type Options struct {
	Alpha         *url.URL // the alpha's HTTP address
	Ranker        Ranker
	Keeper        Keeper // nil: mutations are forwarded as they come
	Metrics       *telemetry.Metrics
	AdminNetworks []netip.Prefix // may call /alter, /admin and /login
	QueryBytes    int64          // largest body, decompressed, that is looked into
	Version       string         // shown by /evorag/v1/status
	Altered       func()         // called after each call that may have changed the schema
	Log           *slog.Logger   // nil: nothing is logged
}

// Front is an http.Handler. Make one with New.
type Front struct {
	Options
	routes   map[string]route
	forward  *httputil.ReverseProxy
	keywords *httputil.ReverseProxy
	started  time.Time
}

// route is one exact path, its handler and the methods that it takes (nil: any, the alpha
// judges).
type route struct {
	handle  http.HandlerFunc
	methods []string
	admin   bool // for AdminNetworks only
}

// New makes the front of one alpha. It opens no connection yet.
func New(o Options) *Front {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Altered == nil {
		o.Altered = func() {}
	}
	f := &Front{Options: o, started: time.Now()}
	f.forward = f.reverseProxy(nil)
	f.keywords = f.reverseProxy(addKeywords)
	f.routes = f.table()
	return f
}

// table is every path that is answered. Forwarded are those of Dgraph's own that clients and
// Ratel use; /debug, /mcp and what comes with later versions are not.
func (f *Front) table() map[string]route {
	forward := route{handle: f.forward.ServeHTTP}
	admin := route{handle: f.forward.ServeHTTP, admin: true}
	alter := route{handle: f.alter, admin: true}
	return map[string]route{
		"/query":         {handle: f.query},
		"/query/":        {handle: f.query},
		"/mutate":        {handle: f.mutate},
		"/mutate/":       {handle: f.mutate},
		"/commit":        forward,
		"/graphql":       forward,
		"/probe/graphql": forward,
		"/health":        forward,
		"/state":         forward,
		"/ui/keywords":   {handle: f.keywords.ServeHTTP},

		"/login":                 admin,
		"/alter":                 alter,
		"/admin":                 alter,
		"/admin/schema":          alter,
		"/admin/schema/validate": admin,
		"/admin/draining":        admin,
		"/admin/shutdown":        admin,
		"/admin/config/cache_mb": admin,

		"/evorag/v1/retrieve": {handle: f.retrieve, methods: []string{http.MethodPost}},
		"/evorag/v1/status":   {handle: f.status, methods: []string{http.MethodGet}},
		"/evorag/metrics":     {handle: f.metrics, methods: []string{http.MethodGet}},
	}
}

// alter forwards what may change the schema. Altered runs before the caller hears that it
// is done: what comes next from him finds everything in place.
func (f *Front) alter(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		f.forward.ServeHTTP(w, r)
		return
	}
	f.forward.ServeHTTP(w, onAnswer(r, func(*http.Response) error {
		f.Altered()
		return nil
	}))
}

// ServeHTTP answers by the route table and counts the answer.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	path := r.URL.Path
	seen := &recorder{ResponseWriter: w, code: http.StatusOK}
	rt, ok := f.routes[path]
	switch {
	case !ok:
		path = "other" // one label for all: paths come from outside
		notFound(seen, r)
	case rt.admin && r.Method != http.MethodOptions && !f.isAdmin(r):
		refuseAdmin(seen, r)
	case !rt.takes(r.Method):
		wrongMethod(seen, r, rt.methods)
	default:
		rt.handle(seen, r)
	}
	f.Metrics.Request("http", path, strconv.Itoa(seen.code), time.Since(began))
}

func (rt route) takes(method string) bool {
	for _, m := range rt.methods {
		if m == method {
			return true
		}
	}
	return rt.methods == nil
}

// recorder remembers the status code for the metrics.
type recorder struct {
	http.ResponseWriter
	code int
}

func (r *recorder) WriteHeader(code int) {
	r.code = code
	r.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController reach Flush and Hijack of the writer underneath.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
