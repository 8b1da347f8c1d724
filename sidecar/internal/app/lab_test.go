package app_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/eval"
)

// firms is a made-up question set: firms, their founders, and where those were born.
func firms(t *testing.T) *eval.Set {
	dir := filepath.Join(t.TempDir(), "firms")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	var triples, questions strings.Builder
	for i := range 40 {
		fmt.Fprintf(&triples, "Firm %[1]d\tfounded_by\tPerson %[1]d\nPerson %[1]d\tborn_in\tTown %[1]d\nPerson %[1]d\tmarried_to\tSpouse %[1]d\nFirm %[1]d\tlocated_in\tPlace %[1]d\n", i)
		for n, wording := range []string{"Where does the maker of Firm %d come from?", "Home of who began Firm %d?", "Which town did the founder of Firm %d first see?"} {
			fmt.Fprintf(&questions, `{"id": "q%d-%d", "question": %q, "topic_entities": ["Firm %d"], "answers": ["Town %d"], "hops": 2, "group": %d}`+"\n", i, n, fmt.Sprintf(wording, i), i, i, i)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "triples.tsv"), []byte(triples.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "questions.jsonl"), []byte(questions.String()), 0o600))
	s, err := eval.ReadSet(dir)
	require.NoError(t, err)
	return s
}

func TestTheHarnessMeasuresOnARealCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts an engine of its own")
	}
	lab := &app.Lab{Engine: app.EngineOptions{Bin: enginetest.Bin(t), DataDir: t.TempDir()}, Version: "test", Log: slog.New(slog.DiscardHandler)}
	require.True(t, lab.Fresh())
	plan := eval.Plan{
		Kinds: []eval.Kind{eval.Paraphrase, eval.Chronological}, Seeds: 1, Iterations: 2, Sizes: eval.Sizes{Train: 40, Test: 20},
		Experiments: []eval.Experiment{eval.Compare, eval.Noise}, DetailKinds: []eval.Kind{eval.Paraphrase}, DetailSeeds: 1,
	}
	var lines []string
	r, err := eval.Run(t.Context(), lab, []*eval.Set{firms(t)}, plan, eval.Options{
		Iterations: 2, Concurrency: 4, Batch: 20, Progress: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) },
	})
	require.NoError(t, err, strings.Join(lines, "\n"))
	require.Len(t, r.Trials, 5+2, "two arms, and three with inverted ratings on the one split")
	require.Equal(t, 160, r.Sets[0].Triples)
	for _, trial := range r.Trials {
		require.Len(t, trial.Points, 3)
		require.Equal(t, r.Trials[0].Points[0].Score.Questions, 20)
		require.InDelta(t, 1, trial.Points[0].Score.Found, 0, "the answer is two hops away: %s", trial.Arm)
		if trial.Split == eval.Paraphrase {
			require.Equal(t, r.Trials[0].Points[0].Score, trial.Points[0].Score, "each arm begins where nothing is learned: %s", trial.Arm)
		}
	}
	require.Equal(t, 5.0, r.Trials[0].Points[1].Rating, "the reader knows an answer that it sees")
	require.Less(t, r.Trials[4].Points[1].Rating, 4.5, "a share of the ratings is inverted: %s", r.Trials[4].Arm)
	first, last := r.Trials[1].Points[0].Score, r.Trials[1].Points[2].Score
	require.NotEqual(t, first.MRR, last.MRR, "what was learned changes what is found")
	require.NotEmpty(t, r.Bars)
	entries, err := os.ReadDir(lab.Engine.DataDir)
	require.NoError(t, err)
	require.Empty(t, entries, "private clusters leave nothing behind")
}
