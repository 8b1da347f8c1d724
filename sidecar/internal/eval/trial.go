package eval

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

// Trial is one arm on one split of one set, with one seed.
type Trial struct {
	Set    string  `json:"set"`
	Split  Kind    `json:"split"`
	Seed   uint64  `json:"seed"`
	Arm    string  `json:"arm"`
	Train  int     `json:"train"` // questions rated in one iteration
	Points []Point `json:"points"`
	Probes []Point `json:"probes,omitempty"`
	Took   float64 `json:"seconds"`

	New  float64 `json:"new_triplets"`  // share of the triplets retrieved at the end that were not before
	Gone float64 `json:"gone_triplets"` // share of those retrieved at first that are not at the end
}

// Point is the held-out part after an iteration; iteration 0 is before any rating.
type Point struct {
	Iteration int     `json:"iteration"`
	Probe     string  `json:"probe,omitempty"`
	Score     Score   `json:"score"`
	Rating    float64 `json:"mean_rating,omitempty"` // of the iteration's ratings, 1 to 5
	Counts    Counts  `json:"evolution"`
	RetrieveS float64 `json:"retrieve_seconds,omitempty"` // to ask all questions to be rated
	LearnS    float64 `json:"learn_seconds,omitempty"`    // from the first rating sent to the last applied

	FirstToken float64 `json:"first_token_ms,omitempty"` // of a chat model's answers, mean, retrieval included
	Prompt     float64 `json:"prompt_tokens,omitempty"`  // by the model's own count, mean
	Unanswered int     `json:"unanswered,omitempty"`     // held-out questions to which the model gave no whole answer: they count as wrong
	Unrated    int     `json:"unrated,omitempty"`        // responses of the iteration that a model was to rate and did not

	Outcomes []Outcome `json:"-"` // by held-out question, in the split's order
	edges    map[string]bool
}

// first and last iteration of a trial.
func (t *Trial) first() Point { return t.Points[0] }
func (t *Trial) last() Point  { return t.Points[len(t.Points)-1] }

// probe finds a point of Probes.
func (t *Trial) probe(name string, iteration int) (Point, bool) {
	for _, p := range t.Probes {
		if p.Probe == name && p.Iteration == iteration {
			return p, true
		}
	}
	return Point{}, false
}

// Options of trials.
type Options struct {
	Iterations  int
	Concurrency int  // calls at once
	Batch       int  // questions asked, then rated, before the next are asked; the sidecar learns in its own batches
	Model       bool // a chat model is configured and answers
	// Judge lets that model rate a response to a question, 1 to 5, by what was retrieved for it; 0: it
	// has not come to a rating. Without it there are no ratings by a model.
	Judge    func(ctx context.Context, question, response string, found *graph.Retrieval) (float64, error)
	Linked   bool // let the sidecar find the topic entities in the question
	Progress func(format string, args ...any)
}

// runner runs trials on one cluster.
type runner struct {
	Options
	cluster Cluster
	set     *Set
	hash    *relevance.Hash
	id      string               // of this run of the program: ids of ratings differ from an earlier one's
	planted map[string][]planted // by question, where the graph has some
}

func newRunner(o Options, cluster Cluster, s *Set) (*runner, error) {
	hash, err := relevance.NewHash(relevance.DefaultDim)
	return &runner{Options: o, cluster: cluster, set: s, hash: hash, id: rand.Text()[:8]}, err
}

// trial runs one arm from a state in which nothing is learned.
func (r *runner) trial(ctx context.Context, split *Split, arm Arm, seed uint64) (t *Trial, err error) {
	began := time.Now()
	if err := r.cluster.Reset(ctx); err != nil {
		return nil, fmt.Errorf("resetting what was learned: %w", err)
	}
	base, stop, err := r.cluster.Serve(ctx, arm.Settings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	c := newClient(base)
	defer c.http.CloseIdleConnections()
	if err := ready(ctx, c); err != nil {
		return nil, err
	}
	t = &Trial{Set: r.set.Name, Split: split.Kind, Seed: seed, Arm: arm.Name, Train: len(split.Round(1, r.Iterations))}
	begin, err := r.evaluate(ctx, c, split.Test, arm, nil)
	if err != nil {
		return nil, err
	}
	t.Points = []Point{begin}
	if err := r.probe(ctx, c, split.Test, arm, t, 0); err != nil {
		return nil, err
	}
	chance := mathrand.New(mathrand.NewPCG(seed, 0xa12)) //nolint:gosec // reproducible on purpose
	sent := 0
	for i := 1; i <= r.Iterations; i++ {
		p, n, err := r.iteration(ctx, c, split.Round(i, r.Iterations), arm, chance, fmt.Sprintf("%s:%s:%s:%d:%s:%d", r.id, r.set.Name, split.Kind, seed, arm.Name, i), sent)
		if err != nil {
			return nil, fmt.Errorf("%s, %s, %s, iteration %d: %w", r.set.Name, split.Kind, arm.Name, i, err)
		}
		sent += n
		after, err := r.evaluate(ctx, c, split.Test, arm, nil)
		if err != nil {
			return nil, err
		}
		after.Iteration, after.Rating, after.Counts, after.RetrieveS, after.LearnS, after.Unrated = i, p.Rating, p.Counts, p.RetrieveS, p.LearnS, p.Unrated
		t.Points = append(t.Points, after)
	}
	if err := r.probe(ctx, c, split.Test, arm, t, r.Iterations); err != nil {
		return nil, err
	}
	t.New, t.Gone = missing(t.last().edges, begin.edges), missing(begin.edges, t.last().edges)
	t.Took = time.Since(began).Seconds()
	a, b := begin.Score, t.last().Score
	r.Progress("%-16s %-13s seed %d  %-22s MRR %.3f -> %.3f  within %d tokens %.3f -> %.3f  %.0f s", r.set.Name, split.Kind, seed, arm.Name, a.MRR, b.MRR, Budget, a.Within, b.Within, t.Took)
	return t, nil
}

// missing is the share of a that is not in b.
func missing(a, b map[string]bool) float64 {
	n := 0
	for e := range a {
		if !b[e] {
			n++
		}
	}
	return float64(n) / float64(max(1, len(a)))
}

// probe asks in the arm's other ways.
func (r *runner) probe(ctx context.Context, c *client, test []Question, arm Arm, t *Trial, iteration int) error {
	for _, probe := range arm.Probes {
		p, err := r.evaluate(ctx, c, test, arm, probe.Change)
		if err != nil {
			return fmt.Errorf("%s: %w", probe.Name, err)
		}
		p.Iteration, p.Probe, p.edges = iteration, probe.Name, nil
		t.Probes = append(t.Probes, p)
	}
	return nil
}

// request asks a question as every arm does.
func (r *runner) request(q Question, arm Arm) ask {
	a := ask{Question: q.Text, Entities: q.Topics, Hops: r.set.Hops}
	if r.Linked {
		a.Entities = nil
	}
	if arm.Single {
		no := false
		a.Bundle = &no
	}
	return a
}

// evaluate asks the held-out questions and compares. Nothing is rated.
func (r *runner) evaluate(ctx context.Context, c *client, test []Question, arm Arm, change func(*ask)) (Point, error) {
	p := Point{Outcomes: make([]Outcome, len(test)), edges: map[string]bool{}}
	readings, answers := make([]Reading, len(test)), make([]*answered, len(test))
	err := r.each(ctx, len(test), func(ctx context.Context, i int) error {
		a := r.request(test[i], arm)
		if change != nil {
			change(&a)
		}
		found, err := c.retrieve(ctx, a)
		if errors.Is(err, errNothing) {
			found, err = new(graph.Retrieval), nil
		}
		if err != nil {
			return fmt.Errorf("question %s: %w", test[i].ID, err)
		}
		readings[i] = read(test[i], found)
		response := strings.Join(readings[i].Top, ", ")
		if r.Model && change == nil {
			got, err := c.answer(ctx, a)
			if err != nil && !errors.Is(err, errUnanswered) {
				return fmt.Errorf("question %s: %w", test[i].ID, err)
			}
			answers[i], response = &got, got.Text
		}
		p.Outcomes[i] = outcome(test[i], readings[i], response)
		p.Outcomes[i].planted = shows(found, r.planted[test[i].ID])
		return nil
	})
	for _, read := range readings {
		for e := range read.Edges {
			p.edges[e] = true
		}
	}
	whole := 0
	for _, a := range answers {
		switch {
		case a == nil:
		case a.Text == "":
			p.Unanswered++
		default:
			whole++
			p.FirstToken += 1000 * a.firstToken.Seconds()
			p.Prompt += float64(a.Usage.PromptTokens)
		}
	}
	p.FirstToken /= float64(max(1, whole))
	p.Prompt /= float64(max(1, whole))
	p.Score = mean(p.Outcomes)
	return p, err
}

// each calls work for 0 to n-1, some at once.
func (r *runner) each(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.Concurrency)
	for i := range n {
		group.Go(func() error { return work(ctx, i) })
	}
	return group.Wait()
}

// iteration asks the questions to be rated, rates the responses, waits until all is learned, and
// lets the graph evolve. before is how many ratings were sent earlier; it gives how many now.
func (r *runner) iteration(ctx context.Context, c *client, questions []Question, arm Arm, chance *mathrand.Rand, id string, before int) (p Point, sent int, err error) {
	questions = sample(questions, len(questions), chance)
	for from := 0; from < len(questions); from += r.Batch {
		part := questions[from:min(len(questions), from+r.Batch)]
		began := time.Now()
		examples, err := r.examples(ctx, c, part, arm)
		if err != nil {
			return p, sent, err
		}
		p.RetrieveS += time.Since(began).Seconds()
		arm.rated(examples, r.hash, chance)
		if arm.Source == LLM {
			all := len(examples)
			if examples, err = r.judged(ctx, examples); err != nil {
				return p, sent, err
			}
			p.Unrated += all - len(examples)
		}
		began = time.Now()
		ratings := make([]rating, len(examples))
		for i, e := range examples {
			ratings[i] = arm.rating(e, fmt.Sprintf("%s:%d", id, from+i))
			p.Rating += e.score
		}
		if err := c.rate(ctx, ratings...); err != nil {
			return p, sent, err
		}
		sent += len(examples)
		if err := applied(ctx, c, before+sent); err != nil {
			return p, sent, err
		}
		p.LearnS += time.Since(began).Seconds()
	}
	p.Rating /= float64(max(1, sent))
	if arm.Evolve {
		run, err := c.evolve(ctx)
		if err != nil {
			return p, sent, fmt.Errorf("evolving: %w", err)
		}
		p.Counts = run.Counts
	}
	return p, sent, nil
}

func (a Arm) rating(e example, id string) rating {
	out := rating{ID: id, Retrieval: e.found.ID, Score: e.score, Response: e.text, Source: "ground_truth", Rater: "eval", Evaluator: a.Judge}
	if a.Judge == "gold" {
		out.Answer = e.question.Answers
	}
	if a.Source == LLM {
		out.Source = "llm"
	}
	return out
}

// judged are the examples that the model has rated, with its ratings. The sidecar could rate by
// itself (judge.share), but would rate the answers to the held-out questions as well.
func (r *runner) judged(ctx context.Context, examples []example) ([]example, error) {
	err := r.each(ctx, len(examples), func(ctx context.Context, i int) (err error) {
		e := &examples[i]
		if e.score, err = r.Judge(ctx, e.question.Text, e.text, e.found); err != nil {
			return fmt.Errorf("question %s: the judge: %w", e.question.ID, err)
		}
		return nil
	})
	return slices.DeleteFunc(examples, func(e example) bool { return e.score == 0 }), err
}

// examples asks questions and reads the responses; those with no result can't be rated.
func (r *runner) examples(ctx context.Context, c *client, questions []Question, arm Arm) ([]example, error) {
	all := make([]example, len(questions))
	err := r.each(ctx, len(questions), func(ctx context.Context, i int) error {
		q := questions[i]
		found, err := c.retrieve(ctx, r.request(q, arm))
		if errors.Is(err, errNothing) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("question %s: %w", q.ID, err)
		}
		if len(found.Results) == 0 {
			return nil
		}
		e := example{question: q, found: found, response: respond(read(q, found))}
		if r.Model {
			got, err := c.answer(ctx, r.request(q, arm))
			if err != nil && !errors.Is(err, errUnanswered) {
				return fmt.Errorf("question %s: %w", q.ID, err)
			}
			e.found.ID, e.response, e.text = got.Retrieval, nil, got.Text // none: it is left out below
		} else {
			e.text = strings.Join(e.response, ", ")
		}
		all[i] = e
		return nil
	})
	var out []example
	for _, e := range all {
		if e.found != nil && e.text != "" {
			out = append(out, e)
		}
	}
	return out, err
}

const (
	pollEvery = 20 * time.Millisecond
	longest   = 2 * time.Minute // without any progress
)

// applied waits until so many ratings were taken in, by the sidecar's own count.
func applied(ctx context.Context, c *client, n int) error {
	last, since := -1.0, time.Now()
	for {
		m, err := c.metrics(ctx)
		if err != nil {
			return err
		}
		var done float64
		for _, outcome := range []string{"applied", "superseded", "held", "void"} {
			done += m[`dgraph_evorag_feedback_total{outcome="`+outcome+`"}`]
		}
		switch {
		case int(done) >= n:
			return nil
		case done != last:
			last, since = done, time.Now()
		case time.Since(since) > longest:
			return fmt.Errorf("%d ratings were sent and %d applied by this sidecar, no more in %v; on a cluster of yours, stop its other sidecars meanwhile", n, int(done), longest)
		}
		if err := sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// ready waits until the graph is in memory.
func ready(ctx context.Context, c *client) error {
	for began := time.Now(); ; {
		m, err := c.metrics(ctx)
		if err != nil {
			return err
		}
		if m["dgraph_evorag_cache_ready"] == 1 {
			return nil
		}
		if time.Since(began) > longest {
			return fmt.Errorf("the graph is not in memory after %v; raise cache.memory_mb", longest)
		}
		if err := sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}
