package relevance_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

func random(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func cosineOf(a, b []float32) float64 {
	var dot, x, y float64
	for i := range a {
		dot, x, y = dot+float64(a[i])*float64(b[i]), x+float64(a[i])*float64(a[i]), y+float64(b[i])*float64(b[i])
	}
	return dot / math.Sqrt(x*y)
}

func dense(t require.TestingT, v []float32) relevance.Dense {
	d, err := relevance.NewDense(v)
	require.NoError(t, err)
	return d
}

// Products of kept vectors, which the processor's own instructions make, are those of the
// numbers that the model gave, but for rounding.
func TestRowsGiveTheModelsCosines(t *testing.T) {
	for _, dim := range []int{1, 3, 31, 32, 33, 100, 384, 768, 1536} {
		t.Run(fmt.Sprint(dim), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(dim), 1))
			var rows relevance.Rows
			var of []uint32
			var all [][]float32
			for range 1100 { // more than a page
				v := random(r, dim)
				longer, row, ok := rows.Append(dense(t, v))
				require.True(t, ok)
				rows, of, all = longer, append(of, row), append(all, v)
			}
			require.Equal(t, 1100, rows.Len())
			x := random(r, dim)
			q := &relevance.Question{Model: dense(t, x)}
			got, greatest := relevance.Modelled{Hashed: relevance.List{}, Rows: rows, Of: of}.Products([]float32{9, 9, 9}, q)
			require.Len(t, got, len(all))
			most := 0.0
			for i, v := range all {
				require.InDelta(t, cosineOf(v, x), got[i], 0.02)
				require.InDelta(t, dense(t, v).Cosine(q.Model), got[i], 1e-6)
				most = max(most, float64(got[i]))
			}
			require.Equal(t, most, float64(greatest))
		})
	}
}

func TestAModelsVectorThatIsNoneIsRefused(t *testing.T) {
	for name, v := range map[string][]float32{
		"no numbers": {}, "zero everywhere": {0, 0}, "not a number": {1, float32(math.NaN())}, "infinite": {float32(math.Inf(-1)), 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := relevance.NewDense(v)
			require.ErrorIs(t, err, relevance.ErrVector)
		})
	}
	rows, row, ok := relevance.Rows{}.Append(relevance.Dense{})
	require.False(t, ok)
	require.EqualValues(t, relevance.NoRow, row)
	rows, _, ok = rows.Append(dense(t, []float32{1, 2}))
	require.True(t, ok)
	_, _, ok = rows.Append(dense(t, []float32{1, 2, 3}))
	require.False(t, ok, "another dimension than the first")
}

// Whoever holds Rows goes on reading them while others append.
func TestRowsStayAsTheyAreWhileOthersAppend(t *testing.T) {
	var rows relevance.Rows
	rows, first, _ := rows.Append(dense(t, []float32{1, 0}))
	held := rows
	q := &relevance.Question{Model: dense(t, []float32{1, 0})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 5000 {
			rows, _, _ = rows.Append(dense(t, []float32{0, 1}))
		}
	}()
	for range 1000 {
		got, _ := relevance.Modelled{Hashed: relevance.List{}, Rows: held, Of: []uint32{first}}.Products(nil, q)
		require.InDelta(t, 1, got[0], 1e-6)
	}
	<-done
	require.Equal(t, 1, held.Len())
	require.Equal(t, 5001, rows.Len())
}

// world is a random set of texts and edges of which some have a model's vector.
type world struct {
	hash                  *relevance.Hash
	entities, labels      relevance.List
	rows                  relevance.Rows
	ofEntity, ofLabel, of []uint32
	edges                 [][3]uint32 // from, relation, to
	q                     *relevance.Question
}

func draw(t *rapid.T) world {
	w := world{}
	var err error
	w.hash, err = relevance.NewHash(64)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	dim := rapid.IntRange(1, 40).Draw(t, "dim")
	some := rapid.Float64Range(0, 1).Draw(t, "share with a vector")
	row := func() uint32 {
		if r.Float64() >= some {
			return relevance.NoRow
		}
		longer, row, _ := w.rows.Append(dense(t, random(r, dim)))
		w.rows = longer
		return row
	}
	text := rapid.StringMatching(`[a-d ]{0,8}`)
	for range rapid.IntRange(1, 12).Draw(t, "entities") {
		w.entities, w.ofEntity = append(w.entities, relevance.Pack(w.hash.Embed(text.Draw(t, "name")))), append(w.ofEntity, row())
	}
	for range rapid.IntRange(1, 4).Draw(t, "labels") {
		w.labels, w.ofLabel = append(w.labels, relevance.Pack(w.hash.Embed(text.Draw(t, "label")))), append(w.ofLabel, row())
	}
	for range rapid.IntRange(1, 30).Draw(t, "edges") {
		w.edges = append(w.edges, [3]uint32{uint32(r.IntN(len(w.entities))), uint32(r.IntN(len(w.labels))), uint32(r.IntN(len(w.entities)))})
		w.of = append(w.of, row())
	}
	w.q = w.hash.Ask(text.Draw(t, "question"))
	if rapid.Bool().Draw(t, "with a model") {
		w.q.Model = dense(t, random(r, dim))
	}
	return w
}

type relevant interface {
	Ask(*relevance.Question)
	Sr(from, relation, to, edge uint32) float64
	Srs(dst []float64, from, relation uint32, to, edge []uint32)
	Bound(from, relation uint32) float64
	BoundFrom(from uint32) float64
	BoundOf(relation uint32) float64
	Max() float64
}

func (w world) ways() map[relevance.Way]relevant {
	hashed := func() *relevance.Composed {
		return relevance.NewComposed(relevance.DefaultTemplate, w.entities, w.labels)
	}
	return map[relevance.Way]relevant{
		relevance.ByHash: hashed(),
		relevance.ByComposed: relevance.NewComposed(relevance.DefaultTemplate,
			relevance.Modelled{Hashed: w.entities, Rows: w.rows, Of: w.ofEntity}, relevance.Modelled{Hashed: w.labels, Rows: w.rows, Of: w.ofLabel}),
		relevance.ByTriplet: relevance.NewTriplets(hashed(), w.rows, w.of),
	}
}

func TestEveryBoundHoldsInEveryWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := draw(t)
		for way, sr := range w.ways() {
			sr.Ask(w.q)
			for i, e := range w.edges {
				edge := uint32(i)
				got := sr.Sr(e[0], e[1], e[2], edge)
				require.GreaterOrEqual(t, got, relevance.MinSr, way)
				for _, bound := range []float64{sr.Bound(e[0], e[1]), sr.BoundFrom(e[0]), sr.BoundOf(e[1]), sr.Max()} {
					require.LessOrEqual(t, got, bound, way)
				}
				many := []float64{0}
				sr.Srs(many, e[0], e[1], []uint32{e[2]}, []uint32{edge})
				require.Equal(t, got, many[0], way)
			}
		}
	})
}

// What has no vector, and all where the question has none, counts by its hashed text.
func TestWithoutAVectorTheHashedTextCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := draw(t)
		ways := w.ways()
		for way, sr := range ways {
			if way == relevance.ByHash {
				sr.Ask(w.q.Hashed())
			} else {
				sr.Ask(w.q)
			}
		}
		for i, e := range w.edges {
			hashed := ways[relevance.ByHash].Sr(e[0], e[1], e[2], uint32(i))
			if w.q.Model.None() || w.of[i] == relevance.NoRow {
				require.Equal(t, hashed, ways[relevance.ByTriplet].Sr(e[0], e[1], e[2], uint32(i)))
			}
			if w.q.Model.None() {
				require.Equal(t, hashed, ways[relevance.ByComposed].Sr(e[0], e[1], e[2], uint32(i)))
			}
		}
	})
}

// An edge's own vector decides in the way of triplets, whatever its parts are.
func TestATripletsVectorDecides(t *testing.T) {
	h, err := relevance.NewHash(64)
	require.NoError(t, err)
	texts := relevance.List{relevance.Pack(h.Embed("a")), relevance.Pack(h.Embed("b"))}
	var rows relevance.Rows
	rows, near, _ := rows.Append(dense(t, []float32{3, 4}))
	rows, far, _ := rows.Append(dense(t, []float32{-4, 3}))
	sr := relevance.NewTriplets(relevance.NewComposed(relevance.DefaultTemplate, texts, texts), rows, []uint32{near, far})
	q := h.Ask("a b")
	q.Model = dense(t, []float32{3, 4})
	sr.Ask(q)
	require.InDelta(t, 1, sr.Sr(0, 0, 1, 0), 0.01)
	require.InDelta(t, 0.5, sr.Sr(0, 0, 1, 1), 0.01)
}

// BenchmarkModelled compares a question with 200,000 vectors of 384 dimensions.
func BenchmarkModelled(b *testing.B) {
	const n, dim = 200_000, 384
	r := rand.New(rand.NewPCG(1, 1))
	var rows relevance.Rows
	var of []uint32
	for range n {
		longer, row, _ := rows.Append(dense(b, random(r, dim)))
		rows, of = longer, append(of, row)
	}
	q := &relevance.Question{Model: dense(b, random(r, dim))}
	m := relevance.Modelled{Hashed: relevance.List{}, Rows: rows, Of: of}
	var dst []float32
	b.ResetTimer()
	for b.Loop() {
		dst, _ = m.Products(dst, q)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n*float64(min(2, runtime.GOMAXPROCS(0))), "ns/vector/core")
	b.ReportMetric(float64(rows.Bytes())/1e6, "MB")
}

// BenchmarkCosine compares two vectors without the processor's own instructions.
func BenchmarkCosine(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	x, y := dense(b, random(r, 384)), dense(b, random(r, 384))
	for b.Loop() {
		x.Cosine(y)
	}
}
