package feedback

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Store is what feedback needs of the cluster, as the sidecar itself.
type Store interface {
	// RunTx runs fn in a transaction until it commits; aborts are retried with jitter, fn
	// runs again then.
	RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error
	OwnQuery(ctx context.Context, call graph.Call) (graph.Answer, error)
	// Upsert runs a query and the mutations whose conditions hold, as one committed request,
	// and gives the uids of the blank nodes of those that were carried out.
	Upsert(ctx context.Context, query string, mutations []graph.Conditional) (map[string]graph.UID, error)
}

// IDs checks retrieval ids. The error is about a forged one.
type IDs interface {
	Parse(id string) (namespace uint64, at time.Time, err error)
}

// Evaluator judges what each result of a retrieval had to do with the response. An error
// means: not now; the rating waits. After a few with credit.ErrUnusable in their chain it is void.
type Evaluator interface {
	Evaluate(ctx context.Context, a credit.Answer, r graph.Retrieval) ([]credit.Evaluation, error)
}

// Meter counts what happens.
type Meter interface {
	Feedback(outcome string, n int)      // received, duplicate, refused, expired, applied, reversed, superseded, held, void, waiting
	Retrievals(outcome string, n int)    // stored, dropped, pruned
	Edges(outcome string, n int)         // moved, void, repaired
	Backlog(n int, oldest time.Duration) // ratings to be applied, and the age of the oldest
	Lag(took time.Duration)              // from a rating's arrival to its effect
	Batch(took time.Duration)            // one applied batch, with its evaluation
}

// Options of New. All but Evaluators, Secrets, Hold, Changed, Resolve, Log
// and Tracer are needed.
type Options struct {
	Store     Store
	IDs       IDs
	Namespace uint64 // the one that this sidecar learns in
	Meter     Meter
	Now       func() time.Time
	Log       *slog.Logger
	Tracer    trace.Tracer

	Learner    func() credit.Learner // makes the learner of a worker
	Gate       credit.Gate
	Rates      map[Source]float64
	Evaluator  string               // the default one's name
	Evaluators map[string]Evaluator // besides embedding and gold
	Alpha      float64              // before any feedback

	Forget  bool          // retrievals are not stored; what was stored before can still be rated
	Keep    time.Duration // how long retrievals are remembered
	Queue   int           // retrievals that wait to be written; more are dropped
	Batch   int           // ratings that make a batch
	Most    int           // most ratings of one transaction, where more than a batch wait; at least Batch
	Wait    time.Duration // longest wait for a batch to fill
	Retry   time.Duration // between looks at what waits
	Rate    float64       // deliveries a second
	Backlog int           // ratings to be applied before deliveries are refused

	Secrets   []Secret // of the webhook; none: it takes deliveries of this machine only
	Tolerance time.Duration

	Hold    func(retrieval string) bool                                  // whose ratings are held out of learning; nil: none
	Changed func([]graph.Triplet)                                        // edges were written
	Resolve func(ctx context.Context, name string) ([]graph.Node, error) // nodes of one name
}

// Service is the whole room. Make one with New, keep Run running, hand the HTTP requests on.
type Service struct {
	Options
	memory    *memory
	inbox     *inbox
	fresh     *arrivals
	embedding *credit.Embedding
	bucket    bucket
	backlog   atomic.Int64
	learned   atomic.Pointer[model] // the newest that is known, for its alpha; nil: none yet
	weights   atomic.Pointer[learnedWeights]
	weighing  sync.Mutex     // changes weights
	failures  map[string]int // of ratings by uid, the worker's own
	unusable  tally          // evaluations of ratings, by uid
	altered   atomic.Bool    // data may have been dropped
	dropped   atomic.Int64   // when data were dropped, in Unix nanoseconds; 0: not seen
}

// tally counts by uid. The zero tally is ready to use, and safe for concurrent use.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

// up counts one more and tells how many that makes.
func (t *tally) up(uid string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil {
		t.n = map[string]int{}
	}
	t.n[uid]++
	return t.n[uid]
}

func (t *tally) forget(uid string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.n, uid)
}

// New makes a Service. It reads nothing yet.
func New(o Options) (*Service, error) {
	embedding, err := credit.NewEmbedding()
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Tracer == nil {
		o.Tracer = noop.NewTracerProvider().Tracer("")
	}
	if o.Changed == nil {
		o.Changed = func([]graph.Triplet) {}
	}
	s := &Service{Options: o, embedding: embedding, failures: map[string]int{}, fresh: newArrivals(), bucket: bucket{rate: o.Rate, now: o.Now}}
	if _, err := s.evaluator(o.Evaluator); err != nil {
		return nil, fmt.Errorf("feedback.evaluator: %w", err)
	}
	s.memory = newMemory(s)
	s.inbox = newInbox(s)
	return s, nil
}

// evaluator is the one of that name, "" the default.
func (s *Service) evaluator(name string) (Evaluator, error) {
	if name == "" {
		name = s.Evaluator
	}
	switch name {
	case EmbeddingName:
		return s.embedding, nil
	case GoldName:
		return credit.Gold{}, nil
	}
	if e, ok := s.Evaluators[name]; ok {
		return e, nil
	}
	return nil, fmt.Errorf("the evaluator %q is not set up here; write embedding or gold, or configure a model for llm", name)
}

// Run stores retrievals and deliveries and applies ratings until ctx ends. What was accepted
// by then is still written, within a few seconds.
func (s *Service) Run(ctx context.Context) {
	var group sync.WaitGroup
	for _, work := range []func(context.Context){s.memory.run, s.inbox.run, s.work, s.tend, s.keepRepaired} {
		group.Go(func() { work(ctx) })
	}
	group.Wait()
}

// Remember takes a retrieval to be stored. It never waits: where too many are under way this
// one is dropped and counted.
func (s *Service) Remember(r *graph.Retrieval) {
	if !s.Forget && r.Namespace == s.Namespace && len(r.Results) > 0 {
		s.memory.remember(r)
	}
}

// Answered adds what was answered to a retrieval that was handed to Remember. It doesn't wait until
// that is stored.
func (s *Service) Answered(id, response string) {
	if namespace, _, err := s.IDs.Parse(id); s.Forget || response == "" || err != nil || namespace != s.Namespace {
		return
	}
	s.memory.answered(id, response)
	s.memory.storeSoon(id, response)
}

// LearnedAlpha is the learned trade-off of the namespace; false where none was learned, or the
// namespace is not this sidecar's.
func (s *Service) LearnedAlpha(namespace uint64) (float64, bool) {
	if m := s.learned.Load(); m != nil && m.Alpha != nil && namespace == s.Namespace {
		return *m.Alpha, true
	}
	return 0, false
}

// longestCall is after how long an engine that doesn't answer is asked anew.
const longestCall = time.Minute

// read runs a read-only query as the sidecar, at a fresh timestamp. It is a facet.Query.
func (s *Service) read(ctx context.Context, text string, vars map[string]string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, longestCall)
	defer cancel()
	a, err := s.Store.OwnQuery(ctx, graph.Call{Query: text, Vars: vars, ReadOnly: true})
	return a.JSON, err
}

// lastWrites is how long writing may go on after the end of Run's ctx.
const lastWrites = 5 * time.Second

// afterwards is a context for the last writes of a loop whose ctx has ended.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), lastWrites)
}
