package proxy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

func TestWhatFeedbackPutFarBehindIsNotShownUnlessAskedFor(t *testing.T) {
	c := newCluster(t)
	c.set(t, `_:a <name> "Studio" .
_:b <name> "Owner" .
_:c <name> "Rival" .
_:d <name> "Street" .
_:a <owned_by> _:b (evorag.score=170.0) .
_:a <compared_with> _:c (evorag.score=60.0) .
_:a <lies_in> _:d .`)
	require.NoError(t, c.client.Alter(t.Context(), "name: string @index(exact) ."))
	c.SchemaChanged()
	p := newProxyOf(t, proxy.Options{Engine: c.client, Margin: rank.DefaultMargin})
	ask := func(p *proxy.Proxy, args string) (string, int) {
		c.Proxy = p
		data, r := c.query(t, `{ q(func: eq(name, "Studio")) @evorag(query: "who owns it", hops: 1`+args+`) { name } }`)
		return data, r.LeftOut
	}
	const owner = `{"q":[{"name":"Studio","owned_by":[{"name":"Owner"}]`

	data, left := ask(p, "")
	require.Equal(t, owner+`}]}`, data)
	require.Equal(t, 2, left)

	data, left = ask(p, ", hidden: true")
	require.Contains(t, data, "Rival")
	require.Contains(t, data, "Street")
	require.Zero(t, left)

	data, left = ask(newProxyOf(t, proxy.Options{Engine: c.client}), "")
	require.Contains(t, data, "Rival", "without a margin all is shown")
	require.Zero(t, left)

	g, ok := c.cache(t).Graph(0)
	require.True(t, ok)
	data, left = ask(newProxyOf(t, proxy.Options{Engine: c.client, Resident: &held{graph: g}, Margin: rank.DefaultMargin}), "")
	require.Equal(t, owner+`}]}`, data, "the same in memory")
	require.Equal(t, 2, left)

	c.set(t, uidOf(t, c, "Studio")+` <owned_by> `+uidOf(t, c, "Owner")+` (evorag.score=170.0, evorag.hidden=true) .`)
	data, left = ask(newProxyOf(t, proxy.Options{Engine: c.client, Resident: &held{graph: g}, Margin: rank.DefaultMargin}), "")
	require.Contains(t, data, "Street", "what isn't there any more, though in memory, puts nothing behind")
	require.NotContains(t, data, "Owner")
	require.Equal(t, 1, left, "the rival has a bad score of its own")
}
