package proxy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
	"github.com/evorag/dgraph-evorag/sidecar/internal/token"
)

// canned answers every query from memory, so that only the sidecar's own work is measured.
type canned struct{ schema, data string }

func (c canned) Query(_ context.Context, call graph.Call) (graph.Answer, error) {
	if strings.HasPrefix(call.Query, "schema") {
		return graph.Answer{JSON: []byte(c.schema)}, nil
	}
	return graph.Answer{JSON: []byte(c.data), Txn: graph.Txn{StartTS: 7}}, nil
}

// BenchmarkWrittenOutOwn is the sidecar's own time for a written block of about 1,000 edges.
func BenchmarkWrittenOutOwn(b *testing.B) {
	var data strings.Builder
	data.WriteString(`{"q":[{"evorag.u":"0x1","name":"Studio","makes":[`)
	for i := range 10 {
		if i > 0 {
			data.WriteByte(',')
		}
		fmt.Fprintf(&data, `{"evorag.u":"0x%x","name":"film number %d","evorag.s":%d.5,"stars":[`, 100+i, i, 90+i)
		for j := range 100 {
			if j > 0 {
				data.WriteByte(',')
			}
			fmt.Fprintf(&data, `{"evorag.u":"0x%x","name":"actor %d of %d","evorag.s":%d}`, 1000+100*i+j, j, i, 50+j)
		}
		data.WriteString("]}")
	}
	data.WriteString("]}]}")
	ids, err := token.NewSigner(make([]byte, 32))
	require.NoError(b, err)
	p, err := proxy.New(proxy.Options{
		Engine: canned{`{"schema":[{"predicate":"name","type":"string"},{"predicate":"makes","type":"uid","list":true},{"predicate":"stars","type":"uid","list":true}]}`, data.String()},
		IDs:    ids, Now: time.Now, Defaults: defaults, Budget: proxy.Budget{Edges: 1e6, Steps: 1e6, Time: time.Minute},
	})
	require.NoError(b, err)
	call := graph.Call{Query: `{ q(func: uid(1)) @evorag(query: "who plays in the films of the studio?") { name makes { name stars { name } } } }`}
	b.ReportAllocs()
	caches := make([]byte, 8<<20)
	for b.Loop() {
		b.StopTimer()
		for i := 0; i < len(caches); i += 64 { // as the engine leaves them
			caches[i]++
		}
		b.StartTimer()
		r, err := p.Query(b.Context(), proxy.Request{Call: call})
		require.NoError(b, err)
		require.Len(b, r.Retrieval.Results, 1)
	}
}
