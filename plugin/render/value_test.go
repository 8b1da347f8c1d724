package render

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBytesStayAsTheyCame(t *testing.T) {
	for name, text := range map[string]string{
		"numbers above 2^53 and odd floats": `{"a":9007199254740993,"b":1.50,"c":-0.0,"d":1e400}`,
		"duplicate keys in their order":     `{"b":1,"a":2,"b":3}`,
		"escapes as written":                `{"q":"\u003cb\u003e \" \\ \/ é","k\"ey":null}`,
		"nesting and empties":               `{"a":[],"b":{},"c":[[1,[]],{"d":[{}]}],"e":""}`,
		"a scalar":                          `"x"`,
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Parse([]byte(text))
			require.NoError(t, err)
			require.Equal(t, text, string(v.AppendTo(nil)))
		})
	}
}

func TestMembersAreLeftClosed(t *testing.T) {
	v, err := ParseMembers([]byte(`{"q": [ {"a" : "]}"} ], "p":{"x":[1, 2]},"n":1}`))
	require.NoError(t, err)
	require.Equal(t, `[ {"a" : "]}"} ]`, string(v.Get("q").Raw))
	require.Equal(t, `{"x":[1, 2]}`, string(v.Get("p").Raw))
	require.Nil(t, v.Get("missing"))
}

func TestTextThatIsNotJSONIsRefused(t *testing.T) {
	for _, text := range []string{"", "{", `{"a":}`, `{"a":1}}`, "nul", `{"a" 1}`} {
		_, err := Parse([]byte(text))
		require.ErrorIs(t, err, ErrJSON, text)
	}
	_, err := ParseMembers([]byte(`[1]`))
	require.ErrorIs(t, err, ErrJSON)
}

func TestAnyCompactJSONIsWrittenBackUnchanged(t *testing.T) {
	var tree func(depth int) *rapid.Generator[any]
	tree = func(depth int) *rapid.Generator[any] {
		leaf := rapid.OneOf(rapid.Float64Range(-1e9, 1e9).AsAny(), rapid.String().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil))
		if depth == 0 {
			return leaf
		}
		return rapid.OneOf(leaf,
			rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return tree(depth - 1) }), 0, 4).AsAny(),
			rapid.MapOfN(rapid.String(), rapid.Deferred(func() *rapid.Generator[any] { return tree(depth - 1) }), 0, 4).AsAny())
	}
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(tree(3).Draw(t, "json"))
		require.NoError(t, err)
		v, err := Parse(text)
		require.NoError(t, err)
		require.Equal(t, string(text), string(v.AppendTo(nil)))
	})
}
