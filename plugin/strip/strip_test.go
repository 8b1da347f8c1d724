package strip_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/strip"
)

func TestWhatWasNotAskedForIsTakenOut(t *testing.T) {
	const answer = `{"data":{"q":[{"uid":"0x1","name":"a|evorag.score","follows":[{"uid":"0x2","follows|evorag.n":3,"follows|evorag.score":103.5,"follows|since":2006}, {"follows|evorag.score":1.5,"uid":"0x3"}],"evorag.embedding":[1,2],"~follows|evorag.hidden":true}]},"extensions":{"x":{}}}`
	for _, c := range []struct{ name, query, want string }{
		{"expand", `{ q(func: uid(1)) { expand(_all_) { uid } } }`, `{"data":{"q":[{"uid":"0x1","name":"a|evorag.score","follows":[{"uid":"0x2","follows|since":2006}, {"uid":"0x3"}]}]},"extensions":{"x":{}}}`},
		{"all facets", `{ q(func: uid(1)) { follows @facets { uid } } }`, `{"data":{"q":[{"uid":"0x1","name":"a|evorag.score","follows":[{"uid":"0x2","follows|since":2006}, {"uid":"0x3"}]}]},"extensions":{"x":{}}}`},
		{"a facet and a predicate by name", `{ q(func: uid(1)) { expand(_all_) evorag.embedding follows @facets(evorag.score) { uid } } }`, `{"data":{"q":[{"uid":"0x1","name":"a|evorag.score","follows":[{"uid":"0x2","follows|evorag.score":103.5,"follows|since":2006}, {"follows|evorag.score":1.5,"uid":"0x3"}],"evorag.embedding":[1,2]}]},"extensions":{"x":{}}}`},
		{"expand in a fragment", `{ q(func: uid(1)) { ...f } } fragment f { expand(_all_) }`, `{"data":{"q":[{"uid":"0x1","name":"a|evorag.score","follows":[{"uid":"0x2","follows|since":2006}, {"uid":"0x3"}]}]},"extensions":{"x":{}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.True(t, strip.MayShow([]byte(c.query)))
			f := strip.For(c.query)
			require.NotNil(t, f)
			require.Equal(t, c.want, string(f.JSON([]byte(answer))))
		})
	}
}

func TestAQueryThatNamesAllItShowsHasNoFilter(t *testing.T) {
	for _, q := range []string{
		`{ q(func: uid(1)) { uid follows @facets(evorag.score) { uid } } }`,
		`{ q(func: uid(1)) { uid follows @facets(ge(evorag.score, 1.0)) { uid } } }`,
		`schema {}`,
		`{ not a query`,
	} {
		require.Nil(t, strip.For(q), q)
	}
	require.False(t, strip.MayShow([]byte(`{ q(func: uid(1)) { uid name } }`)))
	require.True(t, strip.MayShow([]byte(`{"query":"{ q(func: uid(1)) { \u0065xpand(_all_) } }"}`)))
}

// FuzzStripping checks against encoding/json: what is left is what a map without the keys is.
func FuzzStripping(f *testing.F) {
	f.Add([]byte(`{"a|evorag.x":{"evorag.y":1},"b":[{"evorag.y":[{"b":2}],"c":"}\"{"},1,null],"evorag.z":0}`))
	f.Add([]byte(` { "evorag.a" : 1 , "b" : 2 , "evorag.c" : 3 } `))
	filter := strip.For(`{ q(func: uid(1)) { expand(_all_) } }`)
	f.Fuzz(func(t *testing.T, b []byte) {
		got := filter.JSON(slices.Clone(b))
		if !json.Valid(b) {
			require.Equal(t, b, got)
			return
		}
		if !bytes.Contains(b, []byte("evorag.")) {
			require.Equal(t, b, got)
			return
		}
		var was, is any
		require.NoError(t, json.Unmarshal(b, &was))
		require.NoError(t, json.Unmarshal(got, &is), "%s became %s", b, got)
		require.Equal(t, without(was), is)
	})
}

func without(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			facet := k[strings.LastIndexByte(k, '|')+1:]
			if strings.Contains(k, "|") && strings.HasPrefix(facet, "evorag.") || !strings.Contains(k, "|") && strings.HasPrefix(strings.TrimPrefix(k, "~"), "evorag.") {
				continue
			}
			out[k] = without(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = without(x)
		}
		return out
	}
	return v
}
