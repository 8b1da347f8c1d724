// Package proxy runs ranked queries: it is the one place that sees every stage of a query's
// life, from the text with @evorag to the bytes of the answer.
package proxy

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/mutation"
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/render"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// Engine answers reads. Its errors go to the caller as they came.
type Engine interface {
	Query(ctx context.Context, c graph.Call) (graph.Answer, error)
}

// Own answers reads as the sidecar itself, in its own namespace. Nothing that it answers may
// go to a caller who could not have read it.
type Own interface {
	OwnQuery(ctx context.Context, c graph.Call) (graph.Answer, error)
}

// IDs makes retrieval ids.
type IDs interface {
	New(namespace uint64, at time.Time) string
}

// Budget bounds one ranked query. What it cuts is reported as partial, never as an error.
type Budget struct {
	Edges int           // edges read from the engine
	Steps int           // edges looked at by the search from each start node
	Time  time.Duration // of a block's search, from all its start nodes
}

// Options configure a Proxy; all but Resident, Own, Model, Way, Near, Namespace, Dropped, Observe, Tracer, Remember,
// Alpha, Weights, Rule and Margin are needed.
type Options struct {
	Engine    Engine
	Resident  Resident // nil: every search reads the engine level by level
	Own       Own      // nil: labels are read with the caller's credentials
	Namespace uint64   // of Own
	Dropped   func()   // called when the extension's own schema seems to be gone; must not block
	IDs       IDs
	Defaults  plan.Defaults
	Alpha     func(namespace uint64) (alpha float64, learned bool) // in place of Defaults.Alpha once learned
	Weights   func(namespace uint64) *rank.Weights                 // question-dependent ones, as learned; nil: none yet
	Rule      search.Rule                                          // which paths are candidates of a search
	Margin    rank.Margin                                          // how far behind the best a search's results may lie
	Remember  func(*graph.Retrieval)                               // takes what is shown, for feedback on it; must not block
	Budget    Budget
	Model     Model         // of embeddings; nil: there is none
	Way       relevance.Way // how Sr comes about; empty: by hash
	Near      Near          // with a Model: start nodes by their vectors
	Now       func() time.Time
	Observe   func(stage string, took time.Duration) // per stage of a query: plan, link, engine, search, render
	Tracer    trace.Tracer                           // nil: queries are not traced
}

// Proxy runs ranked queries. It is safe for concurrent use.
type Proxy struct {
	Options
	hash    *relevance.Hash
	texts   texts
	schemas schemaCache
}

// New makes a Proxy.
func New(o Options) (*Proxy, error) {
	hash, err := relevance.NewHash(relevance.DefaultDim)
	if err != nil {
		return nil, err
	}
	if o.Dropped == nil {
		o.Dropped = func() {}
	}
	if o.Remember == nil {
		o.Remember = func(*graph.Retrieval) {}
	}
	if o.Alpha == nil {
		o.Alpha = func(uint64) (float64, bool) { return 0, false }
	}
	if o.Weights == nil {
		o.Weights = func(uint64) *rank.Weights { return nil }
	}
	if o.Observe == nil {
		o.Observe = func(string, time.Duration) {}
	}
	if o.Tracer == nil {
		o.Tracer = noop.NewTracerProvider().Tracer("")
	}
	return &Proxy{Options: o, hash: hash, texts: texts{hash: hash}, schemas: schemaCache{now: o.Now}}, nil
}

// Request is one query text that carries the directive.
type Request struct {
	graph.Call
	Upsert bool // there are mutations, beside Query or in it (an upsert block); they are not run
	RDF    bool // the caller asked for RDF output

	given []graph.Entity // start nodes that the caller named, and that stand in Query
}

// Response is the finished answer: JSON holds the bytes of "data", Retrieval goes to
// extensions.evorag.
type Response struct {
	graph.Answer
	Retrieval *graph.Retrieval
	Text      string // the request's text as the engine takes it; an upsert is still to be run
}

// ErrRDF is returned for RDF output, which has no place for a ranking.
var ErrRDF = errors.New("@evorag answers in JSON only; leave respFormat out, or take the directive out")

// Query runs a text that carries the directive. Errors: *dql.Error with a position for
// what is wrong in the text, ErrRDF, and the engine's own.
func (p *Proxy) Query(ctx context.Context, r Request) (answer *Response, err error) {
	ctx, span := p.Tracer.Start(ctx, "evorag.query")
	defer func() {
		if err != nil {
			span.SetStatus(codes.Error, "the query failed") // the words may hold the question
		} else {
			span.SetAttributes(told(answer.Retrieval)...)
		}
		span.End()
	}()
	return p.query(ctx, r)
}

// told is what a span tells of a retrieval: no word of the question or the graph.
func told(r *graph.Retrieval) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("evorag.retrieval", r.ID), attribute.Int("evorag.results", len(r.Results)), attribute.Bool("evorag.partial", r.Partial),
		attribute.String("evorag.cache", r.Cache.Mode), attribute.Int("evorag.engine_round_trips", r.Timings.RoundTrips),
	}
}

// query is the life of a ranked query.
func (p *Proxy) query(ctx context.Context, r Request) (*Response, error) {
	if r.RDF {
		return nil, ErrRDF
	}
	q := &query{Proxy: p, call: r.Call, began: p.Now(), fixed: r.StartTS != 0, linked: r.given}
	q.cache.Mode = graph.CacheOff
	q.stages.last = q.began
	defer q.stages.report(p.Observe)
	defer q.stages.trace(ctx, p.Tracer, q.began)

	parse := dql.Parse
	inBlock := r.Upsert && dql.FormOf(r.Query) == dql.FormUpsert
	if inBlock {
		parse = dql.ParseUpsert
	}
	parsed, err := parse(r.Query)
	if err != nil {
		return nil, err
	}
	if q.view, err = p.schema(ctx, r.Call); err != nil {
		return nil, err
	}
	if q.plan, err = plan.Build(parsed, r.Vars, q.view.schema, p.defaults(r.Credentials)); err != nil {
		return nil, err
	}
	q.stages.mark("plan", p.Now())

	starts, err := q.link(ctx)
	if err != nil {
		return nil, err
	}
	q.stages.mark("link", p.Now())

	text, err := q.plan.Text(starts)
	if err != nil {
		return nil, err
	}
	read := text
	if r.Upsert {
		if read, err = q.plan.UpsertRead(starts); err != nil {
			return nil, err
		}
		if inBlock {
			read = mutation.ReadRDF(read).Query
		}
	}
	id := make(chan string, 1)
	go func() { id <- p.IDs.New(namespace(r.Credentials), q.began) }() // while the engine works
	q.ahead = q.ready(starts)
	answer, err := q.engine(ctx, graph.Call{Query: read, Vars: r.Vars, Debug: r.Debug})
	if err != nil {
		return nil, err
	}
	q.open(answer)
	q.stages.mark("engine", p.Now())

	data, err := q.parse(answer.JSON)
	if err != nil {
		return nil, err
	}
	for _, b := range q.plan.Blocks {
		for i, m := range data.Members {
			if m.Key != b.Key {
				continue
			}
			if data.Members[i].Value, err = q.rank(ctx, b, m.Value); err != nil {
				return nil, err
			}
		}
	}
	answer.JSON = data.AppendTo(make([]byte, 0, len(answer.JSON)+q.brought))
	q.release(data)
	retrieval := q.retrieval()
	retrieval.ID = <-id
	if !q.plan.OneQuestion() {
		retrieval.ID, retrieval.Question = "", ""
		retrieval.Reason = strings.TrimPrefix(retrieval.Reason+"; "+manyQuestions, "; ")
	}
	q.stages.mark("render", p.Now())
	retrieval.Timings = q.stages.timings(q.began, q.trips)
	if retrieval.ID != "" {
		p.Remember(retrieval)
	}
	return &Response{Answer: answer, Retrieval: retrieval, Text: text}, nil
}

// defaults are those of the caller's namespace: alpha as feedback has learned it.
func (p *Proxy) defaults(c graph.Credentials) plan.Defaults {
	d := p.Defaults
	if alpha, learned := p.Alpha(namespace(c)); learned {
		d.Alpha = alpha
	}
	if p.Model != nil && cmp.Or(p.Way, relevance.ByHash) != relevance.ByHash {
		d.Vectors = plan.Vectors{Of: p.Model.Name(), Dim: p.Model.Dim()}
	}
	return d
}

// query is one query under way.
type query struct {
	*Proxy
	fixed   bool // the caller gave a timestamp, and may have written at it
	cache   graph.Cache
	call    graph.Call // as the caller sent it; StartTS and Hash are set once the engine has answered
	view    view
	plan    *plan.Plan
	began   time.Time
	stages  stages
	trips   int
	edges   int
	brought int    // bytes of what was read after the first answer
	reason  string // why the search is partial
	note    string // why there may be nothing to show
	linked  []graph.Entity
	chains  []*chains // whose room is to be given back
	ahead   func(*plan.Block) readied
	results []graph.Result
	drawn   []string       // results
	beyond  []graph.Result // left out

	features graph.Features // of the question asked last
	embedded embedded
}

// engine asks for the caller: with the caller's credentials, in the caller's transaction.
func (q *query) engine(ctx context.Context, c graph.Call) (graph.Answer, error) {
	q.trips++
	return q.Engine.Query(ctx, q.asCaller(c))
}

// asCaller puts a read into the caller's transaction, under the caller's credentials.
func (q *query) asCaller(c graph.Call) graph.Call {
	c.StartTS, c.Hash = q.call.StartTS, q.call.Hash
	c.ReadOnly, c.BestEffort = q.call.ReadOnly, q.call.BestEffort
	c.Credentials = q.call.Credentials
	return c
}

// open makes every later read see what the first one saw: its start timestamp and, with
// ACL, the hash that goes with it.
func (q *query) open(first graph.Answer) {
	if q.call.StartTS == 0 {
		q.call.StartTS, q.call.Hash = first.Txn.StartTS, first.Txn.Hash
		q.call.BestEffort = false // a timestamp is now given
	}
}

func (q *query) rank(ctx context.Context, b *plan.Block, data *render.Value) (*render.Value, error) {
	if w := data.Written(); w != nil {
		return data, q.written(ctx, b, w)
	}
	return q.searched(ctx, b, data.Raw)
}

// release gives the room of the written blocks back, once their JSON is made.
func (q *query) release(data *render.Value) {
	for _, c := range q.chains {
		c.release()
	}
	for _, m := range data.Members {
		if w := m.Value.Written(); w != nil {
			w.Release()
		}
	}
}

// manyQuestions tells why a retrieval has no id: what a rating teaches, it teaches about one question.
const manyQuestions = "the @evorag blocks differ in question or alpha, so this answer can't be rated; ask each in a query of its own to rate it"

// retrieval numbers the results of all blocks and gives each its share p, equation (4).
func (q *query) retrieval() *graph.Retrieval {
	r := &graph.Retrieval{
		Namespace: namespace(q.call.Credentials),
		Embedder:  q.embedder(),
		Features:  q.features,
		Template:  q.hash.Template(),
		Entities:  q.linked,
		Results:   q.results,
		Cache:     q.cache,
		Partial:   q.reason != "",
		Reason:    cmp.Or(q.reason, q.note),
		LeftOut:   len(q.beyond),
		Beyond:    q.beyond,
	}
	if r.Results == nil {
		r.Results = []graph.Result{}
	}
	for _, b := range q.plan.Blocks {
		r.Question, r.Alpha = b.Question, b.Alpha
	}
	z := make([]float64, len(r.Results))
	for i := range r.Results {
		r.Results[i].N = i + 1
		z[i] = r.Results[i].Z
	}
	for i, share := range rank.Softmax(nil, z) {
		r.Results[i].P = share
	}
	r.Context = render.Numbered(r.Results, q.drawn)
	r.Relevance = q.relevance(r.Results)
	return r
}
