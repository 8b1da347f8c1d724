package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/credit"
)

// Feedback says how ratings are taken and what they teach.
type Feedback struct {
	Store   string        `yaml:"store"`   // on: retrievals are stored, so that they can be rated; off
	Keep    time.Duration `yaml:"keep"`    // how long a retrieval is remembered and can be rated
	Queue   int           `yaml:"queue"`   // retrievals that wait to be stored; more are dropped, queries never wait
	Batch   int           `yaml:"batch"`   // ratings that are applied without waiting for others, unless more come at once
	Most    int           `yaml:"most"`    // most ratings applied in one transaction, where more than a batch wait; at least batch
	Wait    time.Duration `yaml:"wait"`    // longest wait for a batch to fill
	Rate    float64       `yaml:"rate"`    // deliveries a second; more are answered 429
	Backlog int           `yaml:"backlog"` // ratings to be applied before deliveries are answered 429

	// SecretFile holds the webhook's secrets (whsec_...), a line each: any of them will do, so
	// that they can be changed. Empty: deliveries from this machine only.
	SecretFile string        `yaml:"secret_file"`
	Tolerance  time.Duration `yaml:"tolerance"` // age of a signature
	Secrets    []string      `yaml:"-"`

	Evaluator   string  `yaml:"evaluator"`    // embedding, gold or llm
	MinFidelity float64 `yaml:"min_fidelity"` // a result counts from here on, -1..1
	MaxConflict float64 `yaml:"max_conflict"` // and up to here, -1..1

	Learner Learner `yaml:"learner"`
	RateOf  Weights `yaml:"rate_of"`
}

// Learner holds the settings of the update.
type Learner struct {
	Rule     string  `yaml:"rule"`      // default, paper, or custom: the fields below
	Eta      float64 `yaml:"eta"`       // rate of scores
	EtaAlpha float64 `yaml:"eta_alpha"` // rate of alpha
	Cap      float64 `yaml:"cap"`       // most raw points that one rating moves an edge
	Delta    float64 `yaml:"delta"`     // smoothing of the loss
	Gain     string  `yaml:"gain"`      // on: steps grow with the number of paths; off
	Negative float64 `yaml:"negative"`  // weight of what went wrong, 0..1
}

// Weights are the weights of ratings by who gives them, 0..1.
type Weights struct {
	Human       float64 `yaml:"human"`        // how far a rating by a person counts, 0..1
	LLM         float64 `yaml:"llm"`          // by a model
	GroundTruth float64 `yaml:"ground_truth"` // against a reference answer
}

func defaultFeedback() Feedback {
	gate := credit.DefaultGate()
	return Feedback{
		Store: "on", Keep: 7 * 24 * time.Hour, Queue: 1024, Batch: 20, Most: 1000, Wait: time.Second, Rate: 1000, Backlog: 100_000,
		Tolerance: 5 * time.Minute,
		Evaluator: "embedding", MinFidelity: gate.MinFidelity, MaxConflict: gate.MaxConflict,
		Learner: Learner{Rule: "default", Eta: 0.5, EtaAlpha: 0.05, Cap: 3, Delta: 0.2, Gain: "off", Negative: 0.3},
		RateOf:  Weights{Human: 1, LLM: 1, GroundTruth: 1},
	}
}

func (f Feedback) verify(bad func(field string, value any, write string), within func(field string, v, lo, hi int)) {
	between := func(field string, v, lo, hi float64) {
		if !(v >= lo && v <= hi) {
			bad(field, v, fmt.Sprintf("a number from %g to %g", lo, hi))
		}
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"feedback.keep", f.Keep}, {"feedback.wait", f.Wait}, {"feedback.tolerance", f.Tolerance}} {
		if d.value <= 0 {
			bad(d.field, d.value, "a duration above zero, for instance 1s")
		}
	}
	if !slices.Contains([]string{"on", "off"}, f.Store) {
		bad("feedback.store", f.Store, "on or off")
	}
	within("feedback.queue", f.Queue, 1, 1_000_000)
	within("feedback.batch", f.Batch, 1, 1000)
	within("feedback.most", f.Most, f.Batch, 10_000)
	within("feedback.backlog", f.Backlog, 1, 100_000_000)
	between("feedback.rate", f.Rate, 0.1, 1e6)
	if !slices.Contains([]string{"embedding", "gold", "llm"}, f.Evaluator) {
		bad("feedback.evaluator", f.Evaluator, "embedding, gold or llm")
	}
	between("feedback.min_fidelity", f.MinFidelity, -1, 1)
	between("feedback.max_conflict", f.MaxConflict, -1, 1)
	if !slices.Contains([]string{"default", "paper", "custom"}, f.Learner.Rule) {
		bad("feedback.learner.rule", f.Learner.Rule, "default, paper or custom")
	}
	between("feedback.learner.eta", f.Learner.Eta, 0, 10)
	between("feedback.learner.eta_alpha", f.Learner.EtaAlpha, 0, 1)
	between("feedback.learner.cap", f.Learner.Cap, 0, 200)
	between("feedback.learner.delta", f.Learner.Delta, 0, 10)
	between("feedback.learner.negative", f.Learner.Negative, 0, 1)
	if !slices.Contains([]string{"on", "off"}, f.Learner.Gain) {
		bad("feedback.learner.gain", f.Learner.Gain, "on or off")
	}
	between("feedback.rate_of.human", f.RateOf.Human, 0, 1)
	between("feedback.rate_of.llm", f.RateOf.LLM, 0, 1)
	between("feedback.rate_of.ground_truth", f.RateOf.GroundTruth, 0, 1)
}

// readSecrets reads the webhook's secrets, one a line.
func (f *Feedback) readSecrets() error {
	if f.SecretFile == "" {
		return nil
	}
	b, err := os.ReadFile(f.SecretFile)
	if err != nil {
		return fmt.Errorf("feedback.secret_file: %w", err)
	}
	f.Secrets = strings.Fields(string(b))
	if len(f.Secrets) == 0 {
		return fmt.Errorf("feedback.secret_file %s holds no secret; make one with: echo whsec_$(head -c 32 /dev/urandom | base64)", f.SecretFile)
	}
	return nil
}
