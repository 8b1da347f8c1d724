package proxy_test

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// model gives each text a vector of its own, which has nothing to do with its words.
type model struct {
	mu   sync.Mutex
	rows relevance.Rows
	of   map[string]uint32
	fail error
}

func (m *model) Name() string { return "m" }

func (m *model) Dim() int { return 16 }

func (m *model) dense(text string) []float32 {
	h := fnv.New64()
	_, _ = h.Write([]byte(text))
	random := rand.New(rand.NewPCG(h.Sum64(), 0))
	x := make([]float32, m.Dim())
	for i := range x {
		x[i] = float32(random.NormFloat64())
	}
	return x
}

func (m *model) Embed(_ context.Context, question string) (relevance.Dense, error) {
	if m.fail != nil {
		return relevance.Dense{}, m.fail
	}
	return relevance.NewDense(m.dense(question))
}

func (m *model) Rows(texts []string) (relevance.Rows, []uint32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[string]uint32{}
	}
	out := make([]uint32, len(texts))
	for i, text := range texts {
		row, known := m.of[text]
		if !known {
			x, err := relevance.NewDense(m.dense(text))
			if err != nil {
				return m.rows, nil, err
			}
			m.rows, row, _ = m.rows.Append(x)
			m.of[text] = row
		}
		out[i] = row
	}
	return m.rows, out, nil
}

func (m *model) Want([]string) {}

// A shortcut that is called as an edge beside it is called is as relevant as that.
func TestAShortcutIsAsRelevantAsTheSearchHadIt(t *testing.T) {
	c := newCluster(t)
	c.load(t, "Scott, born in, South Shields\nScott, lives in, London\nOrphan, born in, nowhere")
	c.set(t, "_:lone <name> \"Castle\" .\n"+uidOf(t, c, "Scott")+" <evorag.shortcut> "+uidOf(t, c, "South Shields")+` (evorag.label="born in") .`)
	resident, _ := c.hold(t)
	vector := denseText(t, new(model).dense("another question"))
	m := &model{}
	modelled := func(way relevance.Way) *cluster {
		return &cluster{newProxyOf(t, proxy.Options{Engine: c.client, Model: m, Way: way}), c.client}
	}
	search := ` @evorag(query: $q, hops: 1) { name } }`
	for name, x := range map[string]struct {
		by   *cluster
		text string
	}{
		"by words, from two nodes of which one has no result": {c, `(func: eq(name, ["Scott", "Castle"]))` + search},
		"likewise in memory":                                   {resident, `(func: eq(name, ["Scott", "Castle"]))` + search},
		"likewise written out":                                 {c, `(func: eq(name, ["Scott", "Castle"])) @evorag(query: $q) { name born_in { name } evorag.shortcut { name } } }`},
		"by a model's vectors of names and labels":             {modelled(relevance.ByComposed), `(func: eq(name, "Scott"))` + search},
		"by a model's vectors of triplets":                     {modelled(relevance.ByTriplet), `(func: eq(name, "Scott"))` + search},
		"by a model's vectors, written out":                    {modelled(relevance.ByTriplet), `(func: eq(name, "Scott")) @evorag(query: $q) { name born_in { name } evorag.shortcut { name } } }`},
		"by the question's own vector, without the question":   {modelled(relevance.ByComposed), `(func: eq(name, "Scott")) @evorag(embedding: "` + vector + `", hops: 1) { name } }`},
		"by the question's own vector, likewise, and triplets": {modelled(relevance.ByTriplet), `(func: eq(name, "Scott")) @evorag(embedding: "` + vector + `", hops: 1) { name } }`},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := x.by.query(t, `query a($q: string) { q`+x.text, "$q", "in which Castle was he born?")
			sr := map[string]float64{}
			for _, result := range r.Results {
				sr[result.Metapath[0]] = result.Instances[0].Triplets[0].Sr
			}
			require.Contains(t, sr, graph.ShortcutPredicate)
			require.InDelta(t, sr["born_in"], sr[graph.ShortcutPredicate], 1e-9)
		})
	}
}

func denseText(t *testing.T, x []float32) string {
	t.Helper()
	d, err := relevance.NewDense(x)
	require.NoError(t, err)
	return d.String()
}
