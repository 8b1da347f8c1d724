package render

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

func TestEdges(t *testing.T) {
	type edge struct {
		near, far graph.UID
		score     float64
		hidden    bool
	}
	for _, c := range []struct {
		name, rows string
		want       []edge
	}{
		{"rows and their edges", `[{"u":"0x1","e":[{"u":"0x2","s":7.5},{"u":"0x3","h":true}]},{"u":"0x4","e":[{"u":"0x2"}]}]`,
			[]edge{{1, 2, 7.5, false}, {1, 3, 100, true}, {4, 2, 100, false}}},
		{"a predicate of one node gives an object", `[{"u":"0x1","e":{"u":"0x2","s":200.0,"h":false}}]`, []edge{{1, 2, 200, false}}},
		{"the row's uid may come last", `[{"e":[{"s":1,"u":"0x2"}],"u":"0x1"}]`, []edge{{1, 2, 1, false}}},
		{"what else stands there is passed over", `[ {"u":"0x1", "x":{"u":[1]}, "e":[ {"y":[{}],"u":"0x2"} ]} ]`, []edge{{1, 2, 100, false}}},
		{"a row without edges, an edge and a row without a uid", `[{"u":"0x1"},{"u":"0x1","e":[{"s":3}]},{"e":[{"u":"0x2"}]}]`, nil},
		{"a score out of bounds is bounded", `[{"u":"0x1","e":[{"u":"0x2","s":1e9},{"u":"0x3","s":-1}]}]`, []edge{{1, 2, 200, false}, {1, 3, 0, false}}},
		{"no rows", `[]`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []edge
			r := Reread{Edge: func(ends int, near, far graph.UID, of graph.Contribution) {
				require.Equal(t, 12, ends)
				got = append(got, edge{near, far, of.Score, of.Hidden})
			}}
			require.NoError(t, r.Read([]byte(`{"nodes":[{"evorag.u":"0x1"}],"e12":`+c.rows+`}`)))
			require.Equal(t, c.want, got)
		})
	}
	for _, rows := range []string{``, `[{"u":"0x1","e":[{"u":"0x2"}]`, `[{"u":"0x1","e":[{"u":{}}]}]`, `[1]`, `{"u"}`} {
		require.ErrorIs(t, Reread{Edge: func(int, graph.UID, graph.UID, graph.Contribution) {}}.Read([]byte(`{"e0":`+rows+`}`)), ErrJSON, rows)
	}
}
