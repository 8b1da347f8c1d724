package app

import (
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
	"github.com/evorag/dgraph-evorag/sidecar/internal/graphcache"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
	"github.com/evorag/dgraph-evorag/sidecar/internal/token"
)

// newFeedback makes the room that learns in the sidecar's own namespace. cache and model may
// be nil.
func newFeedback(cfg config.Config, client *dgraph.Client, ids *token.Signer, cache *graphcache.Cache, model *llm.Client, m *telemetry.Metrics, t trace.Tracer, log *slog.Logger) (*feedback.Service, error) {
	f := cfg.Feedback
	learner, err := learnerOf(f.Learner)
	if err != nil {
		return nil, err
	}
	o := feedback.Options{
		Store: client, IDs: retrievalIDs{ids}, Namespace: client.Namespace(), Meter: m, Now: time.Now, Log: log, Tracer: t,
		Learner:    learner,
		Gate:       credit.Gate{MinFidelity: f.MinFidelity, MaxConflict: f.MaxConflict},
		Rates:      map[feedback.Source]float64{feedback.Human: f.RateOf.Human, feedback.LLM: f.RateOf.LLM, feedback.GroundTruth: f.RateOf.GroundTruth},
		Evaluator:  f.Evaluator,
		Evaluators: map[string]feedback.Evaluator{},
		Alpha:      cfg.Ranking.Alpha,
		Forget:     f.Store == "off", Keep: f.Keep, Queue: f.Queue, Batch: f.Batch, Most: f.Most, Wait: f.Wait, Retry: 5 * f.Wait, Rate: f.Rate, Backlog: f.Backlog,
		Tolerance: f.Tolerance, Hold: heldOut(cfg.Evolution),
	}
	if model != nil {
		o.Evaluators["llm"] = llm.NewEvaluator(model)
	}
	if cache != nil {
		o.Changed = cache.Written
	}
	for i, text := range f.Secrets {
		secret, err := feedback.ParseSecret(text)
		if err != nil {
			return nil, fmt.Errorf("feedback.secret_file, line %d: %w", i+1, err)
		}
		o.Secrets = append(o.Secrets, secret)
	}
	return feedback.New(o)
}

// learnerOf gives what makes the learner that is set.
func learnerOf(l config.Learner) (func() credit.Learner, error) {
	switch l.Rule {
	case "default":
		return func() credit.Learner { return credit.DefaultBundleRule().NewLearner("default") }, nil
	case "paper":
		return func() credit.Learner { return credit.PaperRule().NewLearner("paper") }, nil
	case "custom":
		r := credit.Rule{Eta: l.Eta, EtaAlpha: l.EtaAlpha, Cap: l.Cap, Delta: l.Delta, Gain: l.Gain == "on", Negative: l.Negative}
		return func() credit.Learner { return r.NewLearner(fmt.Sprintf("custom %+v", r)) }, nil
	}
	return nil, fmt.Errorf("feedback.learner.rule %q; write default, paper or custom", l.Rule)
}

// retrievalIDs are signed ids as feedback wants them.
type retrievalIDs struct{ *token.Signer }

// Parse checks an id.
func (r retrievalIDs) Parse(id string) (namespace uint64, at time.Time, err error) {
	p, err := r.Signer.Parse(id)
	return p.Namespace, p.Time, err
}
