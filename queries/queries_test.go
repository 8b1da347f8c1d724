package queries_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/queries"
)

func TestEveryFileIsAQuery(t *testing.T) {
	files, err := fs.Glob(queries.FS, "*.dql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			text := queries.Text(strings.TrimSuffix(file, ".dql"))
			q, err := dql.Parse(text)
			require.NoError(t, err)
			require.NotEmpty(t, q.Blocks)
			require.True(t, strings.HasPrefix(text, "#"), "a query begins with a comment that says what it is for")
		})
	}
}

func TestTextOfNoFilePanics(t *testing.T) {
	require.Panics(t, func() { queries.Text("nothing") })
}
