package render

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
)

// Whatever the bytes: JSON is read and comes back the same, and all ways to read agree on what
// is no JSON.
func FuzzReading(f *testing.F) {
	corpus, err := os.ReadFile("element_test.go")
	require.NoError(f, err)
	f.Add(corpus)
	for _, text := range []string{
		"", "{", "[", `{"a":}`, `{"a":1}}`, "nul", `{"a" 1}`, "[1,]", "[,1]", `{"a":1,}`, "[1 2]", `"\"`, `"\\"`, `["a\\\"b", "c"]`, "\x00", "[\x00]",
		`[{"evorag.u":"0x1","knows":[{"evorag.u":"0x2","name":"B\u00f6b"}]}, {"evorag.u":"0x3"`, `[{"evorag.u":"0x1","knows":{"evorag.u":"0x2","age":3,"knows|evorag.score":1e400}}]`,
		`[{"u":"0x1","e":[{"u":"0x2","s":7.5},{"u":"0x3","h":true}]}]`, `{"u":"0x1","e":{"u":"0x2","s":{}}}`, `[{"u":"0x1","e":[{"u":"0x2"]`,
		`[{"evorag.u":"0x1","knows":[1,null,[2,{}],{"count":3}]}]`, " [ ] ", "-1.5e+7", "[tru]", "[1-2]", "{}}", `[{"a":[}]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := string(text)
		v, err := Parse(text)
		if json.Valid(text) {
			require.NoError(t, err)
		}
		s := scanner{text: text}
		s.skip()
		passed := s.next() == 0 && s.at == len(text) && !s.fault
		require.Equal(t, err == nil, passed)
		if err == nil && json.Valid(text) {
			var want bytes.Buffer
			require.NoError(t, json.Compact(&want, text))
			require.Equal(t, want.String(), string(v.AppendTo(nil)))
		}
		again := Reread{Names: []string{"name"}, Edge: func(int, graph.UID, graph.UID, graph.Contribution) {}, Node: func(r Row) {
			if json.Valid(text) {
				require.True(t, json.Valid(append(append([]byte{'{'}, r.Members...), '}')), "%s", r.Members)
			}
		}}
		for _, key := range []string{"nodes", "e0", "other"} {
			whole := append(append([]byte(`{"`+key+`":`), text...), '}')
			if again.Read(whole) == nil {
				_, err := Parse(whole)
				require.NoError(t, err)
			}
		}
		tree := &plan.Node{Children: []*plan.Node{knows(knows())}, Any: &plan.Node{}}
		whole := append(append([]byte(`{"q":`), text...), '}')
		opened, openErr := ParseAnswer(whole, only("q", tree), func(p string) bool { return p != "name" })
		if openErr == nil {
			_, err := Parse(whole)
			require.NoError(t, err)
			for _, m := range opened.Members {
				if w := m.Value.Written(); w != nil {
					w.Chains()
					w.Close()
				}
			}
			if out := opened.AppendTo(nil); json.Valid(text) {
				require.True(t, json.Valid(out), "%s", out)
			}
			for _, m := range opened.Members {
				if w := m.Value.Written(); w != nil {
					w.Release()
				}
			}
		} else if err == nil {
			require.False(t, v.IsArray())
		}
		require.Equal(t, before, string(text))
	})
}
