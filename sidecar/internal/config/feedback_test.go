package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFeedbackIsVerified(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*Feedback)
		want  string
	}{
		"a batch of none":          {func(f *Feedback) { f.Batch = 0 }, "feedback.batch"},
		"most below a batch":       {func(f *Feedback) { f.Batch, f.Most = 50, 20 }, "feedback.most"},
		"a store that is neither":  {func(f *Feedback) { f.Store = "yes" }, "feedback.store"},
		"nothing kept":             {func(f *Feedback) { f.Keep = 0 }, "feedback.keep"},
		"an unknown evaluator":     {func(f *Feedback) { f.Evaluator = "oracle" }, "feedback.evaluator"},
		"an unknown rule":          {func(f *Feedback) { f.Learner.Rule = "mine" }, "feedback.learner.rule"},
		"a weight above one":       {func(f *Feedback) { f.Learner.Negative = 2 }, "feedback.learner.negative"},
		"a source above one":       {func(f *Feedback) { f.RateOf.LLM = 1.5 }, "feedback.rate_of.llm"},
		"a fidelity out of range":  {func(f *Feedback) { f.MinFidelity = 3 }, "feedback.min_fidelity"},
		"a rate of no deliveries":  {func(f *Feedback) { f.Rate = 0 }, "feedback.rate"},
		"a gain that is no switch": {func(f *Feedback) { f.Learner.Gain = "yes" }, "feedback.learner.gain"},
	} {
		t.Run(name+" is refused by its name", func(t *testing.T) {
			cfg := Default()
			require.NoError(t, cfg.Verify())
			c.spoil(&cfg.Feedback)
			require.ErrorContains(t, cfg.Verify(), c.want)
		})
	}
}

func TestTheWebhooksSecretsAreReadLineByLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secrets")
	require.NoError(t, os.WriteFile(file, []byte("whsec_new\n\nwhsec_old\n"), 0o600))
	env := map[string]string{"DGRAPH_EVORAG_FEEDBACK_SECRET_FILE": file, "DGRAPH_EVORAG_FEEDBACK_RATE_OF_LLM": "0.5"}
	c, err := Load(Sources{Env: func(k string) string { return env[k] }})
	require.NoError(t, err)
	require.Equal(t, []string{"whsec_new", "whsec_old"}, c.Feedback.Secrets)
	require.Equal(t, .5, c.Feedback.RateOf.LLM)
	text, err := c.YAML()
	require.NoError(t, err)
	require.NotContains(t, string(text), "whsec_")

	require.NoError(t, os.WriteFile(file, []byte("\n"), 0o600))
	_, err = Load(Sources{Env: func(k string) string { return env[k] }})
	require.ErrorContains(t, err, "holds no secret")
}
