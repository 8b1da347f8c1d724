package proxy_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/search"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/load"
	"github.com/evorag/dgraph-evorag/sidecar/internal/migrate"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
	"github.com/evorag/dgraph-evorag/sidecar/internal/token"
)

// cluster is an empty real engine with today's schema, and a proxy in front of it.
type cluster struct {
	*proxy.Proxy
	client *dgraph.Client
}

var defaults = plan.Defaults{Hops: 2, Paths: 10, Instances: 20, Entities: 10, Alpha: .5, Names: []string{"name", "title"}}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	e := enginetest.Shared(t)
	e.Reset(t)
	target, err := dgraph.ParseTarget(e.GRPCAddr())
	require.NoError(t, err)
	client, err := dgraph.Dial(dgraph.Options{Target: target})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	m, err := migrate.New(client, "test", time.Now)
	require.NoError(t, err)
	_, err = m.Up(t.Context())
	require.NoError(t, err)
	return &cluster{newProxy(t, client, proxy.Budget{Edges: 200_000, Steps: 1_000_000, Time: 20 * time.Second}), client}
}

func newProxy(t testing.TB, e proxy.Engine, budget proxy.Budget) *proxy.Proxy {
	t.Helper()
	return newProxyOf(t, proxy.Options{Engine: e, Budget: budget})
}

// newProxyOf fills in what the options leave out.
func newProxyOf(t testing.TB, o proxy.Options) *proxy.Proxy {
	t.Helper()
	ids, err := token.NewSigner(make([]byte, 32))
	require.NoError(t, err)
	o.IDs, o.Defaults, o.Rule = ids, defaults, search.Maximal
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Budget == (proxy.Budget{}) {
		o.Budget = proxy.Budget{Edges: 200_000, Steps: 1_000_000, Time: 20 * time.Second}
	}
	p, err := proxy.New(o)
	require.NoError(t, err)
	return p
}

// load loads triplets, one "head, relation, object" a line.
func (c *cluster) load(t *testing.T, triplets string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "graph.tsv")
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(triplets, ", ", "\t")), 0o600))
	c.loadFile(t, file)
}

func (c *cluster) loadFile(t *testing.T, file string) {
	t.Helper()
	report, err := load.Run(t.Context(), c.client, load.Options{Files: []string{file}, Now: time.Now}, func(load.Progress) {})
	require.NoError(t, err)
	t.Logf("%s: %.0f triplets a second", filepath.Base(file), report.Rate())
	c.SchemaChanged()
}

// query runs a text and returns its data and retrieval.
func (c *cluster) query(t *testing.T, text string, vars ...string) (string, *graph.Retrieval) {
	t.Helper()
	call := graph.Call{Query: text, Vars: map[string]string{}}
	for i := 0; i < len(vars); i += 2 {
		call.Vars[vars[i]] = vars[i+1]
	}
	r, err := c.Query(t.Context(), proxy.Request{Call: call})
	require.NoError(t, err)
	return string(r.JSON), r.Retrieval
}

// set writes N-Quads.
func (c *cluster) set(t *testing.T, nquads string) {
	t.Helper()
	err := c.client.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
		_, err := tx.Set(ctx, []byte(nquads))
		return err
	})
	require.NoError(t, err)
}

func TestMain(m *testing.M) { enginetest.Main(m) }
