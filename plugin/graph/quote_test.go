package graph_test

import (
	"strconv"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

func TestQuoteIsReadBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Filter(utf8.ValidString).Draw(t, "s")
		back, err := strconv.Unquote(graph.Quote(s))
		require.NoError(t, err)
		require.Equal(t, s, back)
	})
}

func TestQuoteUsesNoEscapeThatDgraphRefuses(t *testing.T) {
	require.Equal(t, "\"\uFFFD\"", graph.Quote("\xff"))
	require.Equal(t, `"a\"b\\c\n\r\t\u0000\u007fé😀'"`, graph.Quote("a\"b\\c\n\r\t\x00\x7fé😀'"))
	require.Equal(t, `"a\u0000\u0007\n\t\\\"é𝄞\u007f"`, graph.Quote("a\x00\a\n\t\\\"é𝄞\x7f"))
}
