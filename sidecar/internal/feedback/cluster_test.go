package feedback_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
	"github.com/evorag/dgraph-evorag/sidecar/internal/migrate"
	"github.com/evorag/dgraph-evorag/sidecar/internal/token"
)

func TestMain(m *testing.M) {
	enginetest.Main(m, func() error { return goleak.Find() })
}

// cluster is an engine with today's schema and a studio with its owners.
type cluster struct {
	*enginetest.Engine
	Client *dgraph.Client
	signer *token.Signer
	uids   map[string]graph.UID
}

func newCluster(t testing.TB) *cluster {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	client, err := dgraph.Dial(dgraph.Options{Target: dgraph.Target{Addr: eng.GRPCAddr()}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	m, err := migrate.New(client, "test", time.Now)
	require.NoError(t, err)
	_, err = m.Up(t.Context())
	require.NoError(t, err)
	eng.Alter(t, "owned_by: [uid] @reverse .\nseat: uid .\nname: string @index(exact) .")
	c := &cluster{eng, client, nil, map[string]graph.UID{}}
	c.signer, err = token.NewSigner([]byte("0123456789abcdef"))
	require.NoError(t, err)
	for name, text := range eng.Mutate(t, `
		_:studio <name> "20th Century Studios" .
		_:fox <name> "21st Century Fox" .
		_:news <name> "News Corporation" .
		_:disney <name> "The Walt Disney Company" .
		_:la <name> "Los Angeles" .
		_:studio <owned_by> _:fox (since=2013, note="2013-06-28T00:00:00Z") .
		_:studio <owned_by> _:news .
		_:studio <owned_by> _:disney (share=1.0) .
		_:studio <seat> _:la .`) {
		uid, err := graph.ParseUID(text)
		require.NoError(t, err)
		c.uids[name] = uid
	}
	return c
}

func (c *cluster) edge(predicate, object string) graph.Triplet {
	return graph.Triplet{Head: c.uids["studio"], Predicate: predicate, Object: c.uids[object]}
}

// score reads an edge; there is false where it isn't.
func (c *cluster) score(t testing.TB, e graph.Triplet) (got facet.Edge, there bool) {
	edges, err := facet.Read(t.Context(), c.Client.Read, []graph.Triplet{e})
	require.NoError(t, err)
	got, there = edges[e]
	return got, there
}

// shown is a retrieval of the studio's owners and seat.
func (c *cluster) shown(at time.Time) *graph.Retrieval {
	names := map[string]string{"fox": "21st Century Fox", "news": "News Corporation", "disney": "The Walt Disney Company", "la": "Los Angeles"}
	r := &graph.Retrieval{
		ID: c.signer.New(0, at), Question: "Who owns 20th Century Studios?", Alpha: .5,
		Features: graph.Features{Index: []uint16{4, 700}, Weight: []float32{.6, -.8}}, Template: credit.Template,
	}
	for i, p := range [][2]string{{"owned_by", "fox"}, {"owned_by", "news"}, {"owned_by", "disney"}, {"seat", "la"}} {
		start := graph.Node{UID: c.uids["studio"], Name: "20th Century Studios"}
		r.Results = append(r.Results, graph.Result{N: i + 1, Start: start, Metapath: []string{p[0]}, Total: 1, Instances: []graph.Instance{{
			Nodes:    []graph.Node{start, {UID: c.uids[p[1]], Name: names[p[1]]}},
			Triplets: []graph.ScoredTriplet{{Triplet: c.edge(p[0], p[1]), Label: p[0], Score: 100, Sr: .7 - .05*float64(i), Sc: .5}},
		}}})
	}
	return r
}

type ids struct{ *token.Signer }

func (i ids) Parse(id string) (uint64, time.Time, error) {
	p, err := i.Signer.Parse(id)
	return p.Namespace, p.Time, err
}

// meter counts.
type meter struct {
	mu sync.Mutex
	n  map[string]int
}

func (m *meter) Feedback(outcome string, n int)   { m.add(outcome, n) }
func (m *meter) Retrievals(outcome string, n int) { m.add("retrievals "+outcome, n) }
func (m *meter) Edges(outcome string, n int)      { m.add("edges "+outcome, n) }
func (m *meter) Backlog(int, time.Duration)       {}
func (m *meter) Lag(time.Duration)                { m.add("lags", 1) }
func (m *meter) Batch(took time.Duration)         { m.add("batch ms", int(took.Milliseconds())) }
func (m *meter) add(outcome string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n[outcome] += n
}

func (m *meter) count(outcome string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n[outcome]
}

// sidecar is a running Service.
type sidecar struct {
	*feedback.Service
	*meter
	stop func()
}

// start runs a Service on the cluster until the test's end or stop.
func (c *cluster) start(t testing.TB, change func(*feedback.Options)) *sidecar {
	s := &sidecar{meter: &meter{n: map[string]int{}}}
	o := feedback.Options{
		Store: c.Client, IDs: ids{c.signer}, Meter: s.meter, Now: time.Now,
		Learner: func() credit.Learner { return credit.DefaultBundleRule().NewLearner("default") }, Gate: credit.DefaultGate(),
		Evaluator: feedback.EmbeddingName, Alpha: .5, Keep: time.Hour, Queue: 1000, Batch: 20, Most: 1000, Wait: 20 * time.Millisecond, Retry: 50 * time.Millisecond,
		Log:  slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
		Rate: 1e6, Backlog: 1e6, Tolerance: time.Minute,
		Resolve: func(_ context.Context, name string) ([]graph.Node, error) {
			return map[string][]graph.Node{"studio": {{UID: c.uids["studio"], Name: "20th Century Studios"}}, "fox": {{UID: c.uids["fox"]}}}[name], nil
		},
	}
	if change != nil {
		change(&o)
	}
	var err error
	s.Service, err = feedback.New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	s.stop = func() { cancel(); <-done }
	t.Cleanup(s.stop)
	return s
}

// request is a post of JSON from an address.
func request(body any, from string) *http.Request {
	raw, ok := body.([]byte)
	if !ok {
		raw, _ = json.Marshal(body)
	}
	r := httptest.NewRequest(http.MethodPost, "/evorag/v1/feedback", bytes.NewReader(raw))
	r.RemoteAddr = from
	r.Header.Set("Content-Type", "application/json")
	return r
}

// send posts JSON from this machine.
func (s *sidecar) send(body any, header ...string) *httptest.ResponseRecorder {
	r := request(body, "127.0.0.1:1234")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Receive(w, r)
	return w
}

// rate posts a rating that must be taken and gives its id.
func (s *sidecar) rate(t testing.TB, body map[string]any) string {
	w := s.send(body)
	require.Equal(t, http.StatusAccepted, w.Code, w.Body.String())
	var answer struct{ ID string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	return answer.ID
}

// status tells what became of a delivery.
func (s *sidecar) status(t testing.TB, id string) feedback.Outcome {
	r := httptest.NewRequest(http.MethodGet, "/evorag/v1/feedback/status", nil)
	q := r.URL.Query()
	q.Set("id", id)
	r.URL.RawQuery = q.Encode()
	w := httptest.NewRecorder()
	s.ShowRating(w, r)
	var out feedback.Outcome
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out), w.Body.String())
	return out
}

// becomes waits until a delivery has the status.
func (s *sidecar) becomes(t testing.TB, id, status string) feedback.Outcome {
	var got feedback.Outcome
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if got = s.status(t, id); got.Status == status {
			return got
		}
	}
	require.Fail(t, "a rating has not become what it should", "%+v should become %s", got, status)
	return got
}

func (s *sidecar) explain(t testing.TB, query string) (int, feedback.Explanation) {
	w := httptest.NewRecorder()
	s.Explain(w, httptest.NewRequest(http.MethodGet, "/evorag/v1/edges/explain?"+query, nil))
	var out feedback.Explanation
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out), w.Body.String())
	return w.Code, out
}

func text(v any) string { return fmt.Sprint(v) }
