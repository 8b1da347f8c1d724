package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGenerateWritesTheGraphThatIsAskedFor(t *testing.T) {
	code, out, _ := call(t, nil, "generate", "--nodes", "10", "--edges", "25", "--predicates", "3")
	require.Zero(t, code)
	require.Equal(t, 25, strings.Count(out, "\n"))
	code, out, _ = call(t, nil, "generate", "--nodes", "10", "--edges", "25", "--predicates", "3", "--format", "schema")
	require.Zero(t, code)
	require.Equal(t, 3, strings.Count(out, "[uid] @reverse"))

	code, _, errs := call(t, nil, "generate", "--nodes", "1")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "nodes is 1; write 2 or more")
	code, _, errs = call(t, nil, "generate", "--format", "xml")
	require.Equal(t, 2, code)
	require.Contains(t, errs, `--format is "xml"; write tsv, rdf or schema`)
}
