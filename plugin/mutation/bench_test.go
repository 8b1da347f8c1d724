package mutation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/mutation"
)

// BenchmarkReading measures what a write of 1,000 edges costs here, beside the engine's work.
func BenchmarkReading(b *testing.B) {
	var quads, answer strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&quads, "<%#x> <follows> <%#x> (since=%d) .\n", 0x1100+i%50, 0x1200+i/50, i)
	}
	for s := range 50 {
		var objects []string
		for o := range 20 {
			objects = append(objects, fmt.Sprintf(`{"evorag.u":"%#x","evorag.e|evorag.score":%d.5}`, 0x1200+o, o))
		}
		fmt.Fprintf(&answer, `,{"evorag.u":"%#x","evorag.e":[%s]}`, 0x1100+s, strings.Join(objects, ","))
	}
	text := quads.String()
	b.Run("look-up", func(b *testing.B) {
		for b.Loop() {
			_, err := mutation.NewLookup("", mutation.NQuads(text, dql.Span{End: len(text)}))
			require.NoError(b, err)
		}
	})
	b.Run("keep", func(b *testing.B) {
		edges := mutation.NQuads(text, dql.Span{End: len(text)})
		l, err := mutation.NewLookup("", edges)
		require.NoError(b, err)
		data := []byte(`{"evorag.b0":[` + answer.String()[1:] + `]}`)
		for b.Loop() {
			learned, err := l.Read(data)
			require.NoError(b, err)
			kept, err := dql.Splice(text, mutation.Keep(edges, learned))
			require.NoError(b, err)
			require.Greater(b, len(kept), len(text)+1000*len(", evorag.score="))
		}
	})
}
