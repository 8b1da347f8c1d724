// Package httpfront is Dgraph's HTTP surface in front of an alpha. A query that carries
// @evorag is answered by the proxy; everything else on the route list is forwarded as it
// came and comes back as the alpha gave it; what is not on the list is not forwarded.
package httpfront

import (
	"context"
	"crypto/tls"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
	"github.com/evorag/dgraph-evorag/sidecar/internal/status"
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

// Feedback takes ratings, and shows what was rated and learned.
type Feedback interface {
	Receive(w http.ResponseWriter, r *http.Request)        // the webhook
	ReceiveTrusted(w http.ResponseWriter, r *http.Request) // the same for an administrator, who signs nothing
	List(w http.ResponseWriter, r *http.Request)           // what came, the newest first
	ShowRating(w http.ResponseWriter, r *http.Request)     // what became of a delivery
	ShowRetrieval(w http.ResponseWriter, r *http.Request)  // by the last part of the path
	Explain(w http.ResponseWriter, r *http.Request)        // the history of one edge
}

// Evolution evolves the graph on request, and shows and undoes runs.
type Evolution interface {
	ServeRuns(w http.ResponseWriter, r *http.Request)
	ServeRun(prefix string) http.HandlerFunc // by what follows the prefix in the path
	ServeScores(w http.ResponseWriter, r *http.Request)
}

// What the paths of one retrieval, of one run and of the console's files begin with.
const (
	retrievals = "/evorag/v1/retrievals/"
	runs       = "/evorag/v1/runs/"
	ConsoleAt  = "/evorag/ui/"
)

// Options are what a Front needs; all but Asker, Keeper, Feedback, Evolution, Console, Altered,
// Wrote and Log are required.
type Options struct {
	Alpha         *url.URL    // the alpha's HTTP address
	AlphaTLS      *tls.Config // for an https address; nil: the system's authorities
	Ranker        Ranker
	Asker         Asker     // nil: /evorag/v1/ask and the chat say that no model is set
	Keeper        Keeper    // nil: mutations are forwarded as they come
	Feedback      Feedback  // nil: ratings are not taken
	Evolution     Evolution // nil: there is nothing to run
	Metrics       *telemetry.Metrics
	AdminNetworks []netip.Prefix                      // may call /alter, /admin, /login and the administrative services
	AdminToken    string                              // who sends it may call the administrative services from anywhere; empty: there is none
	QueryBytes    int64                               // largest body, decompressed, that is looked into
	Status        func(context.Context) status.Report // for /evorag/v1/status
	Console       http.Handler                        // of the paths under ConsoleAt; nil: there is no console
	Altered       func()                              // called after each call that may have changed the schema
	Wrote         func()                              // called after each call that may have written, before the caller hears of it
	Tracer        trace.Tracer                        // nil: requests are not traced
	Log           *slog.Logger                        // nil: nothing is logged
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
	admin   bool // for administrators only
}

// New makes the front of one alpha. It opens no connection yet.
func New(o Options) *Front {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Altered == nil {
		o.Altered = func() {}
	}
	if o.Wrote == nil {
		o.Wrote = func() {}
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
	routes := map[string]route{
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

		"/evorag/v1/retrieve":         {handle: f.retrieve, methods: []string{http.MethodPost}},
		"/evorag/v1/ask":              {handle: f.ask, methods: []string{http.MethodPost}},
		"/evorag/v1/chat/completions": {handle: f.chat, methods: []string{http.MethodPost, http.MethodOptions}},
		"/evorag/v1/models":           {handle: f.models, methods: []string{http.MethodGet, http.MethodOptions}},

		"/evorag/v1/status":    {handle: f.status, methods: []string{http.MethodGet}, admin: true},
		"/evorag/metrics":      {handle: f.metrics, methods: []string{http.MethodGet}},
		"/evorag/health":       {handle: f.alive, methods: []string{http.MethodGet}},
		"/evorag/openapi.json": {handle: openAPI, methods: []string{http.MethodGet}},
	}
	if f.Feedback != nil {
		routes["/evorag/v1/feedback"] = route{handle: withCORS(f.rate), methods: []string{http.MethodPost}}
		routes["/evorag/v1/feedback/inbox"] = route{handle: withCORS(f.Feedback.List), methods: []string{http.MethodGet}, admin: true}
		routes["/evorag/v1/feedback/status"] = route{handle: withCORS(f.Feedback.ShowRating), methods: []string{http.MethodGet}, admin: true}
		routes["/evorag/v1/edges/explain"] = route{handle: withCORS(f.Feedback.Explain), methods: []string{http.MethodGet}, admin: true}
		routes[retrievals] = route{handle: withCORS(f.Feedback.ShowRetrieval), methods: []string{http.MethodGet}, admin: true}
	}
	if f.Console != nil {
		routes[ConsoleAt] = route{handle: f.Console.ServeHTTP, methods: []string{http.MethodGet, http.MethodHead}}
		routes[strings.TrimSuffix(ConsoleAt, "/")] = route{handle: http.RedirectHandler(ConsoleAt, http.StatusPermanentRedirect).ServeHTTP, methods: []string{http.MethodGet, http.MethodHead}}
	}
	if f.Evolution != nil {
		routes["/evorag/v1/runs"] = route{handle: withCORS(f.Evolution.ServeRuns), methods: []string{http.MethodGet, http.MethodPost}, admin: true}
		routes["/evorag/v1/scores"] = route{handle: withCORS(f.Evolution.ServeScores), methods: []string{http.MethodGet}, admin: true}
		routes[runs] = route{handle: withCORS(f.Evolution.ServeRun(runs)), methods: []string{http.MethodGet, http.MethodPost}, admin: true}
	}
	return routes
}

// rate takes a rating. Who shows the administrators' token signs nothing.
func (f *Front) rate(w http.ResponseWriter, r *http.Request) {
	if f.hasToken(r) {
		f.Feedback.ReceiveTrusted(w, r)
		return
	}
	f.Feedback.Receive(w, r)
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
	for _, prefix := range []string{retrievals, runs, ConsoleAt} {
		if strings.HasPrefix(path, prefix) {
			path = prefix
		}
	}
	if r.ContentLength != 0 {
		r.Body = body{judged{r.Body}, r.Body}
	}
	if r.ContentLength > 0 {
		r.Body = bounded(r.Body, r.ContentLength)
	}
	seen := &recorder{ResponseWriter: w, code: http.StatusOK}
	r, end := f.traced(r, path, seen)
	defer end()
	rt, ok := f.routes[path]
	switch {
	case !ok:
		path = "other" // one label for all: paths come from outside
		notFound(seen, r)
	case rt.admin && r.Method != http.MethodOptions && !f.isAdmin(r):
		f.refuseAdmin(seen, r)
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

// Paths are all that is answered, in order; one that ends in "/" is the beginning of many.
func (f *Front) Paths() []string { return slices.Sorted(maps.Keys(f.routes)) }
