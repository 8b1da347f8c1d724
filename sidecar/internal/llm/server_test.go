package llm_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The scripted server's words, for short.
type (
	server = llmtest.Server
	turn   = llmtest.Turn
)

var (
	script      = llmtest.New
	says        = llmtest.Says
	chooses     = llmtest.Chooses
	fails       = llmtest.Fails
	streams     = llmtest.Streams
	answersJSON = llmtest.AnswersJSON
	answersText = llmtest.AnswersText
	drops       = llmtest.Drops
	hangs       = llmtest.Hangs
)

const (
	stops = llmtest.Stops
	usage = llmtest.Usage
	done  = llmtest.Done
)

// waits records the pauses that a client would have made.
type waits struct {
	mu  sync.Mutex
	all []time.Duration
}

func (w *waits) pause(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, d)
	return ctx.Err()
}

// client talks to s with a short patience and without pauses.
func client(t *testing.T, s *server, change func(*llm.Options)) (*llm.Client, *waits) {
	t.Helper()
	w := &waits{}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	o := llm.Options{
		BaseURL: s.URL + "/v1/", Model: "m", APIKey: "k", Timeout: 2 * time.Second, Retries: 2, MaxTokens: 50,
		Transport: transport, Pause: w.pause, Jitter: func() float64 { return 0.5 },
	}
	if change != nil {
		change(&o)
	}
	return llm.New(o), w
}

// films is a retrieval of two results, a bundle and a path.
func films() graph.Retrieval {
	node := func(uid graph.UID, name string) graph.Node { return graph.Node{UID: uid, Name: name} }
	step := func(h graph.UID, p, label string, o graph.UID, inverse bool) graph.ScoredTriplet {
		return graph.ScoredTriplet{Triplet: graph.Triplet{Head: h, Predicate: p, Object: o}, Label: label, Inverse: inverse, Score: 100, Sr: 0.7, Sc: 0.5, P: 0.6}
	}
	alien, scott, runner := node(1, "Alien"), node(2, "Ridley Scott"), node(3, "Blade Runner")
	return graph.Retrieval{ID: "r1", Question: "Who directed Alien?", Results: []graph.Result{
		{N: 1, Start: alien, Metapath: []string{"directed_by"}, Total: 1, Instances: []graph.Instance{
			{Nodes: []graph.Node{alien, scott}, Triplets: []graph.ScoredTriplet{step(1, "directed_by", "directed by", 2, false)}},
		}},
		{N: 2, Start: alien, Metapath: []string{"directed_by", "~directed_by"}, Total: 3, Instances: []graph.Instance{
			{Nodes: []graph.Node{alien, scott, runner}, Triplets: []graph.ScoredTriplet{step(1, "directed_by", "directed by", 2, false), step(3, "directed_by", "directed by", 2, true)}},
			{Nodes: []graph.Node{alien, scott, node(4, "Gladiator")}, Triplets: []graph.ScoredTriplet{step(1, "directed_by", "directed by", 2, false), step(4, "directed_by", "directed by", 2, true)}},
		}},
	}}
}
