package app_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/eval"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm/llmtest"
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
	enginetest.Long(t)
	if testing.Short() {
		t.Skip("starts an engine of its own")
	}
	lab := &app.Lab{Engine: app.EngineOptions{Bin: enginetest.Bin(t), DataDir: t.TempDir()}, Version: "test", Log: slog.New(slog.DiscardHandler)}
	require.True(t, lab.Fresh())
	plan := eval.Plan{
		Kinds: []eval.Kind{eval.Paraphrase, eval.Chronological}, Seeds: 1, Iterations: 2, Sizes: eval.Sizes{Train: 40, Test: 20},
		Experiments: []eval.Experiment{eval.Compare, eval.Noise}, Detail: []string{"firms"}, DetailKinds: []eval.Kind{eval.Paraphrase}, DetailSeeds: 1,
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

func TestTheHarnessPlantsRefinesAndTakesTimes(t *testing.T) {
	enginetest.Long(t)
	if testing.Short() {
		t.Skip("starts engines of its own")
	}
	lab := &app.Lab{Engine: app.EngineOptions{Bin: enginetest.Bin(t), DataDir: t.TempDir()}, Version: "test", Log: slog.New(slog.DiscardHandler)}
	set := firms(t)
	for i := range set.Questions { // what planting needs
		q := &set.Questions[i]
		n := strings.TrimPrefix(q.Topics[0], "Firm ")
		q.Path = []eval.Triple{{"Firm " + n, "founded_by", "Person " + n}, {"Person " + n, "born_in", "Town " + n}}
		q.Steps = []string{"founded_by", "born_in"}
	}
	plan := eval.Plan{
		Kinds: []eval.Kind{eval.Unseen}, Seeds: 1, Iterations: 2, Sizes: eval.Sizes{Train: 40, Test: 20}, Detail: []string{"firms"},
		Experiments: []eval.Experiment{eval.Compare, eval.Plant, eval.Refine, eval.Batch},
	}
	r, err := eval.Run(t.Context(), lab, []*eval.Set{set}, plan, eval.Options{Iterations: 2, Concurrency: 4, Batch: 20, Progress: func(string, ...any) {}})
	require.NoError(t, err)
	require.Empty(t, r.Notes)

	require.Len(t, r.Planted, 4)
	for _, p := range r.Planted {
		require.NotZero(t, p.Before, "the static system falls for %s", p.Fault)
		require.LessOrEqual(t, p.Left, p.Before)
		require.GreaterOrEqual(t, p.Cases, p.Before)
	}
	require.Equal(t, eval.LongPath, r.Planted[3].Fault)
	require.Equal(t, r.Planted[3].Cases, r.Planted[3].Before, "two hops can't be found in one")

	require.Len(t, r.Refined, 3)
	require.Less(t, r.Refined[2].Score.Found, 1.0, "a fifth of the graph is missing")

	require.Len(t, r.Batches, 5)
	for _, b := range r.Batches {
		require.NotZero(t, b.Ratings)
		require.Positive(t, b.Forward)
		require.Positive(t, b.Backward)
	}
}

// TestTheHarnessLetsAModelAnswerAndJudge with a model that is odd now and then, as small ones are: it
// answers nothing at all, and writes prose where JSON was asked for.
func TestTheHarnessLetsAModelAnswerAndJudge(t *testing.T) {
	enginetest.Long(t)
	if testing.Short() {
		t.Skip("starts an engine of its own")
	}
	firm := regexp.MustCompile(`Question: .*Firm (\d+)`)
	model := llmtest.New(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Stream   bool
			Messages []struct{ Content string }
		}
		raw, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(raw, &body)
		text := body.Messages[len(body.Messages)-1].Content
		n := -1
		if m := firm.FindStringSubmatch(body.Messages[1].Content); m != nil {
			n, _ = strconv.Atoi(m[1])
		}
		switch {
		case body.Stream && n%5 == 0:
			llmtest.Streams(llmtest.Stops, llmtest.Done)(w, r)
		case body.Stream:
			llmtest.Streams("It is ", "Town 7.", llmtest.Stops, llmtest.Usage, llmtest.Done)(w, r)
		case n%5 == 1 || n%5 == 2 && !strings.Contains(text, "Rate the response"): // a judge's or an evaluator's
			llmtest.Says("Five stars!")(w, r)
		case strings.Contains(text, "Rate the response"):
			llmtest.Says(`{"reason": "So it seems.", "score": 2}`)(w, r)
		default: // the evaluator: every result has contributed
			verdicts := map[string]any{}
			for line := range strings.SplitSeq(text, "\n") {
				var n int
				if _, err := fmt.Sscanf(line, "[%d] ", &n); err == nil {
					verdicts[fmt.Sprint(n)] = map[string]float64{"support": 1, "fidelity": 1, "conflict": 0}
				}
			}
			out, _ := json.Marshal(verdicts)
			llmtest.Says(string(out))(w, r)
		}
	})
	lab := &app.Lab{Engine: app.EngineOptions{Bin: enginetest.Bin(t), DataDir: t.TempDir()}, Version: "test", Log: slog.New(slog.DiscardHandler)}
	lab.Sources.Flags = map[string]string{"llm.base_url": model.URL + "/v1", "llm.model": "m", "llm.calls_per_minute": "100000", "llm.calls_per_hour": "100000", "feedback.evaluator": "embedding"}
	plan := eval.Plan{
		Kinds: []eval.Kind{eval.Unseen}, Seeds: 1, Iterations: 1, Sizes: eval.Sizes{Train: 20, Test: 20}, Detail: []string{"firms"}, DetailKinds: []eval.Kind{eval.Unseen}, DetailSeeds: 1,
		Experiments: []eval.Experiment{eval.Sources},
	}
	cfg, err := config.Load(lab.Sources)
	require.NoError(t, err)
	judge, err := app.NewRater(cfg)
	require.NoError(t, err)
	r, err := eval.Run(t.Context(), lab, []*eval.Set{firms(t)}, plan, eval.Options{Iterations: 1, Concurrency: 4, Batch: 20, Model: true, Judge: judge, Progress: func(string, ...any) {}})
	require.NoError(t, err)
	arms := map[string]*eval.Trial{}
	for _, trial := range r.Trials {
		arms[trial.Arm] = trial
		require.Positive(t, trial.Points[0].FirstToken)
		require.InDelta(t, 7, trial.Points[0].Prompt, 1e-9, "by the model's count")
		require.Zero(t, trial.Points[0].Score.EM)
		require.Positive(t, trial.Points[0].Unanswered, "it counts as wrong")
		require.LessOrEqual(t, trial.Points[0].Score.ACC, .2, "one town in forty is the one that it says")
	}
	require.Contains(t, arms, "llm ratings")
	require.Positive(t, arms["llm ratings"].Points[1].Unrated)
	require.InDelta(t, 2, arms["llm ratings"].Points[1].Rating, 0)
	require.Contains(t, arms, "embedding ratings")
	require.InDelta(t, 1+4./3, arms["feedback + evolution"].Points[1].Rating, .3, "F1 of its words: one of four is shared with any town")
}

// texts is a made-up set that comes with texts: each speaks of a firm and of its founder, and
// another of the founder's town.
func texts(t *testing.T) *eval.Set {
	dir := filepath.Join(t.TempDir(), "texts")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	var prov, passages, questions strings.Builder
	for i := range 66 {
		fmt.Fprintf(&prov, "Firm %[1]d\tfounded by\tPerson %[1]d\t%[2]d\nPerson %[1]d\tborn in\tTown %[1]d\t%[3]d\nFirm %[1]d\tsells\tThing %[1]d\t%[4]d\n", i, 3*i, 3*i+1, 3*i+2)
		for n, text := range []string{"Firm %d was founded by Person %[1]d.", "Person %d saw the light in Town %[1]d.", "Firm %d sells Thing %[1]d."} {
			fmt.Fprintf(&passages, `{"n": %d, "title": "Text %[1]d", "text": %q}`+"\n", 3*i+n, fmt.Sprintf(text, i))
		}
		fmt.Fprintf(&questions, `{"id": "q%d", "question": "Where does the founder of Firm %[1]d come from?", "topic_entities": ["Firm %[1]d"], "answers": ["x"], "hops": 2, "gold_passages": [%d, %d]}`+"\n", i, 3*i, 3*i+1)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write([]byte(passages.String()))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for name, text := range map[string]string{"triples.tsv": "a\tb\tc\n", "triples_prov.tsv": prov.String(), "questions.jsonl": questions.String(), "passages.jsonl.gz": zipped.String()} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	s, err := eval.ReadSet(dir)
	require.NoError(t, err)
	return s
}

func TestTheRecipeForTextChunks(t *testing.T) {
	enginetest.Long(t)
	if testing.Short() {
		t.Skip("starts an engine of its own")
	}
	lab := &app.Lab{Engine: app.EngineOptions{Bin: enginetest.Bin(t), DataDir: t.TempDir()}, Version: "test", Log: slog.New(slog.DiscardHandler)}
	plan := eval.Plan{Kinds: []eval.Kind{eval.Unseen}, Seeds: 1, Iterations: 2, Sizes: eval.Sizes{Train: 40, Test: 20}, Experiments: []eval.Experiment{eval.Chunk}}
	r, err := eval.Run(t.Context(), lab, []*eval.Set{texts(t)}, plan, eval.Options{Iterations: 2, Concurrency: 4, Batch: 20, Progress: func(string, ...any) {}})
	require.NoError(t, err)
	require.Empty(t, r.Notes)
	require.Len(t, r.Chunks, 1)
	require.Equal(t, 66*6, r.Sets[0].Triples, "each text mentions two entities")
	require.GreaterOrEqual(t, r.Chunks[0].Before, .5, "the text that names the firm is one hop away")
	require.GreaterOrEqual(t, r.Chunks[0].After, r.Chunks[0].Before-.05)
}

func TestTheHarnessUsesAGivenCluster(t *testing.T) {
	enginetest.Long(t)
	if testing.Short() {
		t.Skip("takes a while")
	}
	e := enginetest.Shared(t)
	e.Reset(t)
	lab := &app.Lab{Given: true, Version: "test", Log: slog.New(slog.DiscardHandler)}
	lab.Sources.Flags = map[string]string{"dgraph": e.GRPCAddr(), "dgraph_http": "http://" + e.HTTPAddr()}
	plan := eval.Plan{Kinds: []eval.Kind{eval.Unseen}, Seeds: 2, Iterations: 1, Sizes: eval.Sizes{Train: 20, Test: 20}, Detail: []string{"firms"}, Experiments: []eval.Experiment{eval.Compare, eval.Plant, eval.Refine}}
	r, err := eval.Run(t.Context(), lab, []*eval.Set{firms(t)}, plan, eval.Options{Iterations: 1, Concurrency: 4, Batch: 20, Progress: func(string, ...any) {}})
	require.NoError(t, err)
	require.Len(t, r.Trials, 4)
	require.Equal(t, r.Trials[0].Points[0].Score, r.Trials[1].Points[0].Score, "what was learned before is forgotten")
	require.Len(t, r.Notes, 2, "what would change the graph is left out: %v", r.Notes)
	require.NoError(t, e.Err(), "the cluster is not stopped")
}
