package conformance

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/dql"
)

// The corpus is the one that plugin/dql is tested with.
const corpusFile = "../plugin/dql/testdata/corpus.txt"

// entry is one query of the corpus.
type entry struct{ name, text string }

var heading = regexp.MustCompile(`(?m)^-- (.*) --\n`)

func corpus(t testing.TB) []entry {
	t.Helper()
	file, err := os.ReadFile(corpusFile)
	require.NoError(t, err)
	at := heading.FindAllSubmatchIndex(file, -1)
	entries := make([]entry, len(at))
	for i, m := range at {
		end := len(file)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		entries[i] = entry{string(file[m[2]:m[3]]), string(file[m[1]:end])}
	}
	return entries
}

// examples are the values that a variable gets which has no default.
var examples = map[string]string{
	"string": "Eva", "int": "2", "float": "1.5", "bool": "true", "float32vector": "[0.1, 0.2, 0.3]",
}

// values gives every variable that needs one a value of its type.
func values(q *dql.Query) map[string]string {
	vars := map[string]string{}
	for _, v := range q.Vars {
		if value, ok := examples[trimRequired(v.Type)]; ok && !v.HasDefault {
			vars[v.Name] = value
		}
	}
	return vars
}

func trimRequired(typ string) string {
	if n := len(typ); n > 0 && typ[n-1] == '!' {
		return typ[:n-1]
	}
	return typ
}

// withoutDirectives takes every @evorag out of a text and links every evorag.entities to uid(1).
func withoutDirectives(t testing.TB, q *dql.Query) string {
	t.Helper()
	var edits []dql.Edit
	for _, b := range q.Blocks {
		if d := q.Directive(b); d != nil {
			edits = append(edits, dql.Edit{Span: d.Span})
		}
		if b.Func != nil && b.Func.Name == "evorag.entities" {
			edits = append(edits, dql.Edit{Span: b.Func.Span, Text: "uid(1)"})
		}
	}
	text, err := dql.Splice(q.Text, edits)
	require.NoError(t, err)
	return text
}
