package proxy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// Each start node is a search of its own: the budget of time is that of all together.
func TestManyStartNodesAreSearchedUntilTimeIsUp(t *testing.T) {
	const nodes = 3000
	c := newCluster(t)
	require.NoError(t, c.client.Alter(t.Context(), "name: string @index(exact) .\nknows: [uid] @reverse ."))
	var nquads strings.Builder
	for i := range nodes {
		fmt.Fprintf(&nquads, "_:n%d <name> \"n%d\" .\n_:n%d <knows> _:n%d .\n", i, i, i, i/10)
	}
	c.set(t, nquads.String())
	c.SchemaChanged()
	_, h := c.hold(t)
	budget := proxy.Budget{Edges: 200_000, Steps: 1_000_000, Time: time.Millisecond}
	for name, o := range map[string]proxy.Options{
		"resident":  {Engine: c.client, Resident: h, Budget: budget},
		"on demand": {Engine: c.client, Budget: budget},
	} {
		r, err := newProxyOf(t, o).Query(t.Context(), proxy.Request{Call: graph.Call{Query: `{ q(func: has(name)) @evorag(query: "x") { uid } }`}})
		require.NoError(t, err, name)
		require.True(t, r.Retrieval.Partial, name)
		require.Contains(t, r.Retrieval.Reason, "time was up", name)
		require.GreaterOrEqual(t, strings.Count(string(r.JSON), `"uid"`), nodes, name)
	}
}
