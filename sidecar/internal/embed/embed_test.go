package embed_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/sidecar/internal/embed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is a model that knows every text, and fails or tells nonsense where it is told to.
type scripted struct {
	mu    sync.Mutex
	dim   int
	calls [][]string
	fail  func(call int, texts []string) error // nil: never
	wrong map[string][]float32                 // instead of a text's vector
}

func (m *scripted) Name() string { return "scripted" }

func (m *scripted) Embed(ctx context.Context, texts []string) ([][]float32, int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, slices.Clone(texts))
	if m.fail != nil {
		if err := m.fail(len(m.calls), texts); err != nil {
			return nil, 0, err
		}
	}
	if ctx.Err() != nil {
		return nil, 0, ctx.Err()
	}
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = m.wrong[t]
		if out[i] == nil {
			out[i] = vectorOf(t, m.dim)
		}
	}
	return out, len(texts), nil
}

func (m *scripted) asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Concat(m.calls...)
}

// vectorOf tells texts apart.
func vectorOf(text string, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(math.Sin(float64(len(text)*31 + int(text[i%len(text)])*7 + i)))
	}
	return v
}

func open(t *testing.T, dir string, m embed.Model, with func(*embed.Options)) *embed.Vectors {
	t.Helper()
	store, err := embed.OpenStore(dir, m.Name())
	require.NoError(t, err)
	o := embed.Options{Model: m, Store: store, Memory: 1 << 20, Batch: 3, Question: time.Second, Lazy: true, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	if with != nil {
		with(&o)
	}
	return embed.New(o)
}

func some(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("text number %d", i)
	}
	return out
}

func TestAnIndexThatWasCutOffGoesOn(t *testing.T) {
	dir := t.TempDir()
	away := errors.New("the server has gone")
	m := &scripted{dim: 5, fail: func(call int, _ []string) error {
		if call == 3 {
			return away
		}
		return nil
	}}
	texts := append(some(10), "text number 3", "") // one twice, one that is none
	r, err := open(t, dir, m, nil).Index(t.Context(), texts, embed.IndexOptions{Workers: 1})
	require.ErrorIs(t, err, away)
	require.ErrorContains(t, err, "6 of 10 texts are done and kept")
	require.Equal(t, 6, r.Embedded)

	m.fail, m.calls = nil, nil
	var told []embed.Progress
	again := open(t, dir, m, nil) // another process
	r, err = again.Index(t.Context(), texts, embed.IndexOptions{Workers: 1, Progress: func(p embed.Progress) { told = append(told, p) }})
	require.NoError(t, err)
	require.Equal(t, []int{10, 6, 4, 0, 4}, []int{r.Texts, r.Known, r.Embedded, r.Bad, r.Tokens})
	require.Len(t, m.asked(), 4, "nothing is paid for twice")
	require.Equal(t, []int{3, 4}, []int{told[0].Done, told[1].Done})
	require.Equal(t, 4, told[1].Total)

	m.calls = nil
	r, err = open(t, dir, m, nil).Index(t.Context(), texts, embed.IndexOptions{})
	require.NoError(t, err)
	require.Equal(t, 10, r.Known)
	require.Empty(t, m.asked())

	rows, of, err := open(t, dir, m, nil).Rows(texts)
	require.NoError(t, err)
	require.Equal(t, 10, rows.Len())
	require.NotContains(t, of[:11], uint32(relevance.NoRow))
	require.Equal(t, of[3], of[10], "one text, one vector")
	require.EqualValues(t, relevance.NoRow, of[11])
	for i, text := range some(10) {
		x, err := relevance.NewDense(vectorOf(text, 5))
		require.NoError(t, err)
		require.InDelta(t, 1, rows.Cosines(of[i:i+1], x)[0], 0.001, text)
	}
}

func TestADryRunCountsAndAsksNothing(t *testing.T) {
	dir := t.TempDir()
	m := &scripted{dim: 4}
	_, err := open(t, dir, m, nil).Index(t.Context(), some(2), embed.IndexOptions{})
	require.NoError(t, err)
	m.calls = nil
	r, err := open(t, dir, m, nil).Index(t.Context(), some(7), embed.IndexOptions{DryRun: true, Estimate: func(texts []string) int { return 10 * len(texts) }})
	require.NoError(t, err)
	require.Equal(t, []int{7, 2, 0, 50}, []int{r.Texts, r.Known, r.Embedded, r.Tokens})
	require.Empty(t, m.asked())
}

func TestAnIndexIsCutOffByItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &scripted{dim: 4, fail: func(call int, _ []string) error {
		if call == 2 {
			cancel()
		}
		return nil
	}}
	r, err := open(t, t.TempDir(), m, nil).Index(ctx, some(20), embed.IndexOptions{Workers: 1})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 3, r.Embedded)
}

func TestVectorsThatAreNoneAreLeftOutAndCounted(t *testing.T) {
	m := &scripted{dim: 3, wrong: map[string][]float32{"zero": {0, 0, 0}, "nan": {1, float32(math.NaN()), 1}}}
	v := open(t, t.TempDir(), m, nil)
	r, err := v.Index(t.Context(), []string{"zero", "good", "nan"}, embed.IndexOptions{})
	require.NoError(t, err)
	require.Equal(t, 1, r.Embedded)
	require.Equal(t, 2, r.Bad)
	_, of, err := v.Rows([]string{"zero", "good", "nan"})
	require.NoError(t, err)
	require.Equal(t, []uint32{relevance.NoRow, 1, relevance.NoRow}, of)
}

func TestAnotherDimensionThanBeforeIsRefused(t *testing.T) {
	dir := t.TempDir()
	_, err := open(t, dir, &scripted{dim: 4}, nil).Index(t.Context(), some(3), embed.IndexOptions{})
	require.NoError(t, err)
	v := open(t, dir, &scripted{dim: 6}, nil)
	_, _, err = v.Rows(some(3))
	require.NoError(t, err)
	_, err = v.Index(t.Context(), some(4), embed.IndexOptions{})
	require.ErrorContains(t, err, "the model gives 6 numbers, before it gave 4; set embedding.dimensions")
	_, err = v.Embed(t.Context(), "a question")
	require.ErrorContains(t, err, "set embedding.dimensions")
}

func TestAnotherModelsVectorsAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	_, err := open(t, dir, &scripted{dim: 4}, nil).Index(t.Context(), some(1), embed.IndexOptions{})
	require.NoError(t, err)
	other, err := embed.OpenStore(dir, "another")
	require.NoError(t, err)
	found, err := other.Get([]embed.Key{embed.KeyOf("text number 0")})
	require.NoError(t, err)
	require.True(t, found[0].None())
}

// A store gives back what was put, whatever process puts and gets.
func TestTheStoreGivesBackWhatWasPut(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		s, err := embed.OpenStore(filepath.Join(dir, fmt.Sprint(n)), "m")
		require.NoError(t, err)
		held := map[embed.Key]relevance.Dense{}
		for range rapid.IntRange(0, 4).Draw(t, "batches") {
			var keys []embed.Key
			var vectors []relevance.Dense
			for range rapid.IntRange(1, 5).Draw(t, "size") {
				d, err := relevance.NewDense([]float32{1, float32(rapid.IntRange(-100, 100).Draw(t, "x"))})
				require.NoError(t, err)
				k := embed.KeyOf(rapid.StringMatching(`[a-e]{1,2}`).Draw(t, "text"))
				keys, vectors = append(keys, k), append(vectors, d)
				held[k] = d
			}
			require.NoError(t, s.Put(keys, vectors))
		}
		var keys []embed.Key
		for _, text := range []string{"a", "b", "ab", "ba", "cc", "e", "nowhere"} {
			keys = append(keys, embed.KeyOf(text))
		}
		got, err := s.Get(keys)
		require.NoError(t, err)
		for i, k := range keys {
			require.Equal(t, held[k], got[i])
		}
	})
}

func TestAFileThatIsNoneIsAnErrorThatNamesIt(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "vectors.db"), []byte("something else"), 0o600))
	s, err := embed.OpenStore(dir, "m")
	require.NoError(t, err)
	_, err = s.Get([]embed.Key{embed.KeyOf("a")})
	require.ErrorIs(t, err, embed.ErrStore)
	require.ErrorContains(t, err, "vectors.db")
	_, err = embed.OpenStore(filepath.Join(dir, "vectors.db"), "m")
	require.ErrorIs(t, err, embed.ErrStore)
}

func TestTheBudgetBoundsWhatIsHeld(t *testing.T) {
	dir := t.TempDir()
	m := &scripted{dim: 32}
	_, err := open(t, dir, m, nil).Index(t.Context(), some(100), embed.IndexOptions{})
	require.NoError(t, err)
	m.calls = nil
	small := open(t, dir, m, func(o *embed.Options) { o.Memory = 10 * (32 + 4 + 40) })
	rows, of, err := small.Rows(some(100))
	require.NoError(t, err)
	require.Equal(t, 10, rows.Len())
	none := 0
	for _, row := range of {
		if row == relevance.NoRow {
			none++
		}
	}
	require.Equal(t, 90, none)

	// What memory has no room for is not asked for again and again.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	small.Want(some(100))
	done := make(chan struct{})
	go func() { small.Run(ctx); close(done) }()
	cancel()
	<-done
	require.Empty(t, m.asked())
}

func TestWhatQueriesMissIsEmbeddedInTheBackground(t *testing.T) {
	m := &scripted{dim: 4, wrong: map[string][]float32{"vain": {0, 0, 0, 0}}}
	v := open(t, t.TempDir(), m, nil)
	go v.Run(t.Context())
	before := v.Changed()
	v.Want(append(some(8), "vain", ""))
	require.Eventually(t, func() bool { n, _ := v.Status(); return n == 8 }, 10*time.Second, time.Millisecond)
	require.NotEqual(t, before, v.Changed())
	m.mu.Lock()
	for _, batch := range m.calls {
		require.LessOrEqual(t, len(batch), 3)
	}
	m.mu.Unlock()
	require.NotContains(t, m.asked(), "")

	v.Want([]string{"another"}) // by when it is known, all before it has been dealt with
	require.Eventually(t, func() bool { n, _ := v.Status(); return n == 9 }, 10*time.Second, time.Millisecond)
	v.Want([]string{"text number 1", "vain", "a third"}) // known, to no avail, new
	require.Eventually(t, func() bool { n, _ := v.Status(); return n == 10 }, 10*time.Second, time.Millisecond)
	require.Len(t, m.asked(), 11)
}

func TestTheBackgroundAsksForNothingWhereItIsOff(t *testing.T) {
	m := &scripted{dim: 4}
	v := open(t, t.TempDir(), m, func(o *embed.Options) { o.Lazy = false })
	ctx, cancel := context.WithCancel(t.Context())
	v.Want(some(3))
	done := make(chan struct{})
	go func() { v.Run(ctx); close(done) }()
	cancel()
	<-done
	require.Empty(t, m.asked())
}

func TestAQuestionIsAskedOnceAndNeverLongerThanItMay(t *testing.T) {
	m := &scripted{dim: 4}
	dir := t.TempDir()
	v := open(t, dir, m, nil)
	first, err := v.Embed(t.Context(), "who is it?")
	require.NoError(t, err)
	second, err := v.Embed(t.Context(), "who is it?")
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.Equal(t, []string{"who is it?"}, m.asked())
	_, err = os.Stat(filepath.Join(dir, "vectors.db"))
	require.ErrorIs(t, err, os.ErrNotExist, "questions are not written down")

	late := open(t, t.TempDir(), hanging{}, func(o *embed.Options) { o.Question = time.Millisecond })
	_, err = late.Embed(t.Context(), "who is it?")
	require.ErrorContains(t, err, "embedding.question_timeout, 1ms")

	bad := open(t, t.TempDir(), &scripted{dim: 2, wrong: map[string][]float32{"x": {float32(math.Inf(1)), 0}}}, nil)
	_, err = bad.Embed(t.Context(), "x")
	require.ErrorIs(t, err, relevance.ErrVector)
}

type hanging struct{}

func (hanging) Name() string { return "hanging" }
func (hanging) Embed(ctx context.Context, _ []string) ([][]float32, int, error) {
	<-ctx.Done()
	return nil, 0, ctx.Err()
}

// Another process's index becomes visible to one that runs.
func TestVectorsOfAnotherProcessAreSeen(t *testing.T) {
	dir := t.TempDir()
	m := &scripted{dim: 4}
	serving := open(t, dir, m, nil)
	_, of, err := serving.Rows([]string{"text number 0"})
	require.NoError(t, err)
	require.EqualValues(t, relevance.NoRow, of[0])
	before := serving.Changed()
	_, err = open(t, dir, m, nil).Index(t.Context(), some(1), embed.IndexOptions{})
	require.NoError(t, err)
	require.NotEqual(t, before, serving.Changed())
	_, of, err = serving.Rows([]string{"text number 0"})
	require.NoError(t, err)
	require.NotEqualValues(t, relevance.NoRow, of[0])
}

func TestReadersAndWritersMayUseTheVectorsAtOnce(t *testing.T) {
	v := open(t, t.TempDir(), &scripted{dim: 8}, nil)
	texts := some(200)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 50 {
				rows, of, err := v.Rows(texts[i : i+50])
				if err != nil {
					t.Error(err)
					return
				}
				x, _ := relevance.NewDense(vectorOf(strings.Repeat("x", 3), 8))
				rows.Cosines(of, x)
			}
		})
	}
	_, err := v.Index(t.Context(), texts, embed.IndexOptions{Workers: 3})
	require.NoError(t, err)
	wg.Wait()
	rows, of, err := v.Rows(texts)
	require.NoError(t, err)
	require.Equal(t, 200, rows.Len())
	require.NotContains(t, of, uint32(relevance.NoRow))
}
