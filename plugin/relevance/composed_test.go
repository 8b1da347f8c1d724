package relevance_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

var someTexts = rapid.Custom(func(t *rapid.T) string {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"film", "directed", "by", "Eva", "München", "北京", "genre", "director", "?"}), 0, 4).Draw(t, "words")
	return strings.Join(words, "_")
})

func TestATableGivesTheVectorsItWasGiven(t *testing.T) {
	h := newHash(t)
	rapid.Check(t, func(t *rapid.T) {
		var table relevance.Table
		want := map[uint32]relevance.Vector{}
		for range rapid.IntRange(0, 30).Draw(t, "changes") {
			if rapid.IntRange(0, 4).Draw(t, "pack") == 0 {
				table.Pack()
				continue
			}
			id := rapid.Uint32Range(0, 12).Draw(t, "id")
			want[id] = h.Embed(someTexts.Draw(t, "text"))
			table.Set(id, want[id])
		}
		q := h.Ask(someTexts.Draw(t, "question"))
		dst := rapid.SampledFrom([][]float32{nil, {9, 9, 9}, make([]float32, 40)}).Draw(t, "dst")
		cos, greatest := table.Products(dst, q)
		if len(cos) != table.Len() {
			t.Fatalf("%d products of %d vectors", len(cos), table.Len())
		}
		for id, c := range cos {
			if math.Abs(float64(c)-want[uint32(id)].Dot(q.Vector)) > .01 {
				t.Fatalf("id %d: cosine %v, want %v", id, c, want[uint32(id)].Dot(q.Vector))
			}
			if c > greatest || c > 1 || c < -1 {
				t.Fatalf("id %d: cosine %v, greatest %v", id, c, greatest)
			}
		}
	})
}

// Many vectors are compared in parts, by several goroutines.
func TestALargeTableGivesEveryProduct(t *testing.T) {
	h := newHash(t)
	words := strings.Fields("river queen film north stone garden castle music winter letter")
	var table relevance.Table
	var vectors []relevance.Vector
	for i := range 30_000 {
		v := h.Embed(words[i%len(words)] + " " + words[i/7%len(words)] + " " + strconv.Itoa(i))
		vectors = append(vectors, v)
		table.Set(uint32(i), v)
	}
	table.Pack()
	for _, i := range []int{0, 3, 29_999} { // changed since
		vectors[i] = h.Embed("snow " + strconv.Itoa(i))
		table.Set(uint32(i), vectors[i])
	}
	q := h.Ask("which castle garden is north of the river")
	cos, greatest := table.Products(nil, q)
	require.Len(t, cos, len(vectors))
	most := float32(0)
	for i, v := range vectors {
		require.InDelta(t, v.Dot(q.Vector), cos[i], .02, i)
		most = max(most, cos[i])
	}
	require.Equal(t, most, greatest)
}

func TestATableTidiesUpAfterItself(t *testing.T) {
	h := newHash(t)
	var table relevance.Table
	for range 50 {
		for id := range uint32(2000) {
			table.Set(id, h.Embed("a name that changes"))
		}
	}
	table.Pack()
	require.Less(t, table.Bytes(), 2000*400, "what was replaced takes no memory")
}

func TestBoundsHold(t *testing.T) {
	h := newHash(t)
	rapid.Check(t, func(t *rapid.T) {
		var entities, relations relevance.Table
		n := rapid.Uint32Range(1, 6).Draw(t, "entities")
		for id := range n {
			entities.Set(id, h.Embed(someTexts.Draw(t, "name")))
		}
		m := rapid.Uint32Range(1, 3).Draw(t, "relations")
		for id := range m {
			relations.Set(id, h.Embed(someTexts.Draw(t, "label")))
		}
		c := relevance.NewComposed(relevance.Template{
			Entity:   rapid.Float64Range(0, 2).Draw(t, "entity weight"),
			Relation: rapid.Float64Range(.1, 2).Draw(t, "relation weight"),
		}, &entities, &relations)
		var labels relevance.Table
		labelled := map[uint32]uint32{}
		for edge := range uint32(rapid.IntRange(0, 3).Draw(t, "labelled edges")) {
			labels.Set(edge/2, h.Embed(someTexts.Draw(t, "edge's label")))
			labelled[edge] = edge / 2
		}
		if len(labelled) > 0 {
			c.LabelEdges(0, 1, &labels, labelled)
		}
		for range 2 {
			c.Ask(h.Ask(someTexts.Draw(t, "question")))
			for from := range n + 1 { // the last is unknown to the table
				for rel := range m + 1 {
					for to := range n + 1 {
						edge := to % 4
						sr, bound := c.Sr(from, rel, to, edge), c.Bound(from, rel)
						several := []float64{0}
						c.Srs(several, from, rel, []uint32{to}, []uint32{edge})
						if several[0] != sr || bound > c.BoundOf(rel)+1e-12 {
							t.Fatalf("Sr %v, Srs %v, bound %v, of the relation %v", sr, several[0], bound, c.BoundOf(rel))
						}
						if sr < relevance.MinSr || sr > bound || bound > c.BoundFrom(from) || c.BoundFrom(from) > c.Max() || c.Max() > 1 {
							t.Fatalf("Sr %v, bound %v, max %v", sr, bound, c.Max())
						}
						if sr != c.Sr(to, rel, from, edge) {
							t.Fatal("Sr depends on the direction of the walk")
						}
					}
				}
			}
		}
	})
}

func TestAReleasedQuestionLeavesNothingBehind(t *testing.T) {
	h := newHash(t)
	rapid.Check(t, func(t *rapid.T) {
		var entities, relations relevance.Table
		for i, text := range rapid.SliceOfN(someTexts, 1, 20).Draw(t, "entities") {
			entities.Set(uint32(i), h.Embed(text))
		}
		relations.Set(0, h.Embed("directed by"))
		sr := func(c *relevance.Composed, question string) (all []float64) {
			c.Ask(h.Ask(question))
			for i := range entities.Len() {
				all = append(all, c.Sr(uint32(i), 0, 0, 0))
			}
			return append(all, c.Max())
		}
		question := someTexts.Draw(t, "question")
		want := sr(relevance.NewComposed(relevance.DefaultTemplate, &entities, &relations), question)
		c := relevance.NewComposed(relevance.DefaultTemplate, &entities, &relations)
		sr(c, someTexts.Draw(t, "before"))
		c.Release()
		if got := sr(c, question); !slices.Equal(want, got) {
			t.Fatalf("%v, not %v", got, want)
		}
	})
}

func TestTheTripletThatAnswersIsMoreRelevant(t *testing.T) {
	h := newHash(t)
	var entities, relations relevance.Table
	for i, s := range []string{"Adult World", "Scott Coffey", "Comedy"} {
		entities.Set(uint32(i), h.Embed(s))
	}
	for i, s := range []string{"directed_by", "has_genre"} {
		relations.Set(uint32(i), h.Embed(s))
	}
	c := relevance.NewComposed(relevance.DefaultTemplate, &entities, &relations)
	c.Ask(h.Ask("who directed Adult World", "Adult World"))
	require.Greater(t, c.Sr(0, 0, 1, 0), c.Sr(0, 1, 2, 0))
	c.Ask(h.Ask("what genre is Adult World", "Adult World"))
	require.Greater(t, c.Sr(0, 1, 2, 0), c.Sr(0, 0, 1, 0))
	require.Zero(t, testing.AllocsPerRun(100, func() { c.Sr(0, 0, 1, 0) }))
	require.Equal(t, .5, c.Sr(8, 9, 8, 0), "without vectors a triplet is neither near nor far")
}

func TestSr(t *testing.T) {
	require.Equal(t, 1.0, relevance.Sr(1))
	require.Equal(t, .5, relevance.Sr(0))
	require.Equal(t, relevance.MinSr, relevance.Sr(-1))
	require.Equal(t, 1.0, relevance.Sr(1.5))
}

func BenchmarkEmbed(b *testing.B) {
	h := newHash(b)
	b.ReportAllocs()
	for b.Loop() {
		h.Embed("The Shawshank Redemption")
	}
}
