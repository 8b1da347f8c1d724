package search_test

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// The result is that of enumeration in every way in which Sr comes about, with vectors of a model
// for all, some or none of the texts, and with the bounds that each way has.
func TestTheSearchEqualsEnumerationWithAModelsVectors(t *testing.T) {
	hash, err := relevance.NewHash(64)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		q := drawQuery(t, w)
		way := rapid.SampledFrom(relevance.Ways).Draw(t, "way")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		dim := rapid.SampledFrom([]int{1, 2, 3, 40}).Draw(t, "dim")
		share := rapid.SampledFrom([]float64{0, .5, 1}).Draw(t, "share with a vector")
		vector := func() relevance.Dense {
			v := make([]float32, dim)
			for i := range v {
				v[i] = float32(r.IntN(5) - 2) // few values: ties abound
			}
			v[0] += .5
			d, err := relevance.NewDense(v)
			require.NoError(t, err)
			return d
		}
		var rows relevance.Rows
		texts := func(n int) (relevance.List, []uint32) {
			var list relevance.List
			var of []uint32
			for range n {
				list = append(list, relevance.Pack(hash.Embed(rapid.StringMatching(`[a-c]{0,3}( [a-c]{1,3})?`).Draw(t, "text"))))
				row := uint32(relevance.NoRow)
				if r.Float64() < share {
					rows, row, _ = rows.Append(vector())
				}
				of = append(of, row)
			}
			return list, of
		}
		entities, ofEntity := texts(len(w.steps))
		labels, ofLabel := texts(len(w.name))
		_, ofEdge := texts(23)
		asked := hash.Ask(rapid.StringMatching(`[a-c]{1,3} [a-c]{1,3}`).Draw(t, "question"))
		if rapid.IntRange(0, 4).Draw(t, "the model answers") > 0 {
			asked.Model = vector()
		}
		var sr interface {
			search.Relevance
			Ask(*relevance.Question)
		}
		switch way {
		case relevance.ByComposed:
			sr = relevance.NewComposed(relevance.DefaultTemplate,
				relevance.Modelled{Hashed: entities, Rows: rows, Of: ofEntity}, relevance.Modelled{Hashed: labels, Rows: rows, Of: ofLabel})
		case relevance.ByTriplet:
			sr = relevance.NewTriplets(relevance.NewComposed(relevance.DefaultTemplate, entities, labels), rows, ofEdge)
		default:
			sr = relevance.NewComposed(relevance.DefaultTemplate, entities, labels)
			asked = asked.Hashed()
		}
		sr.Ask(asked)
		learned := contribution{make([]float64, 23)}
		for i := range learned.sc {
			learned.sc[i] = float64(r.IntN(3)) / 2
		}
		h := search.NewHybrid(rapid.SampledFrom([]float64{.1, .5, .9}).Draw(t, "alpha"), sr, learned, len(w.name), nil)
		for from, steps := range w.steps {
			for _, s := range steps {
				k := key{search.Node(from), s}
				w.p[k], w.sc[k] = h.Score(search.Node(from), s)
			}
		}
		got, err := search.Top(context.Background(), w, h, q)
		if err != nil || got.Partial {
			t.Fatalf("error %v, reason %q", err, got.Reason)
		}
		want := w.reference(q)
		if !reflect.DeepEqual(want, got.Bundles) {
			t.Fatalf("%s: want %s\n got %s", way, show(want), show(got.Bundles))
		}
	})
}

// contribution is Sc by edge, of which nothing is known by relation.
type contribution struct{ sc []float64 }

func (c contribution) Sc(edge uint32) float64   { return c.sc[edge] }
func (c contribution) MaxSc(search.Rel) float64 { return 1 }
func (c contribution) Scs(dst []float64, edges []uint32) {
	for i, e := range edges {
		dst[i] = c.sc[e]
	}
}
