package proxy_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// duringSchema does something once the engine has answered a read of the schema, before that is heard.
type duringSchema struct {
	proxy.Engine
	reads atomic.Int32
	then  func()
}

func (e *duringSchema) Query(ctx context.Context, call graph.Call) (graph.Answer, error) {
	answer, err := e.Engine.Query(ctx, call)
	if strings.HasPrefix(call.Query, "schema") {
		if e.reads.Add(1) == 1 {
			e.then()
		}
	}
	return answer, err
}

func TestASchemaReadBeforeItChangedIsNotKept(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	engine := &duringSchema{Engine: c.client}
	now := time.Now()
	p := newProxyOf(t, proxy.Options{Engine: engine, Now: func() time.Time { return now }})
	engine.then = p.SchemaChanged
	for range 3 {
		_, err := p.Query(t.Context(), proxy.Request{Call: graph.Call{Query: `{ q(func: eq(name, "Alien")) @evorag(query: "x") { name } }`}})
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, engine.reads.Load(), "what was read before the change is used once, what was read after it twice")
}
