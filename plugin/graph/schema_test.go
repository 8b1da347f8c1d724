package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// As Dgraph v25.4.0 answers "schema {}".
const engineSchema = `{"schema":[
 {"predicate":"dgraph.type","type":"string","index":true,"tokenizer":["exact"],"list":true},
 {"predicate":"emb","type":"float32vector","tokenizer":["hnsw(\"exponent\":\"5\",\"metric\":\"cosine\")"],"index_specs":[{"name":"hnsw","options":[{"key":"metric","value":"cosine"},{"key":"exponent","value":"5"}]}]},
 {"predicate":"evorag.shortcut","type":"uid","reverse":true,"list":true},
 {"predicate":"follows","type":"uid","reverse":true,"count":true,"list":true},
 {"predicate":"name","type":"string","index":true,"tokenizer":["exact","term"],"upsert":true,"lang":true},
 {"predicate":"boss","type":"uid"},
 {"predicate":"score","type":"float","index":true,"tokenizer":["float"],"no_conflict":true},
 {"predicate":"mail","type":"string","index":true,"tokenizer":["hash"],"upsert":true,"unique":true},
 {"predicate":"имя","type":"string"}],
 "types":[{"name":"Person","fields":[{"name":"name"},{"name":"follows"},{"name":"~follows"}]}]}`

func TestParseSchema(t *testing.T) {
	s, err := graph.ParseSchema([]byte(engineSchema))
	require.NoError(t, err)
	require.Equal(t, []string{"boss", "follows"}, s.UIDPredicates())
	require.Equal(t, []graph.Relation{{Predicate: "boss"}, {Predicate: "evorag.shortcut"}, {Predicate: "follows"}, {Predicate: "follows", Inverse: true}}, s.Relations())
	require.Equal(t, []string{"name", "follows", "~follows"}, s.Types["Person"])
	require.True(t, s.Predicates["name"].HasTokenizer("term"))
	require.False(t, s.Predicates["name"].HasTokenizer("fulltext"))
}

func TestPredicateSchemaPrintsEveryAttribute(t *testing.T) {
	s, err := graph.ParseSchema([]byte(engineSchema))
	require.NoError(t, err)
	for name, want := range map[string]string{
		"emb":     `<emb>: float32vector @index(hnsw(metric: "cosine", exponent: "5")) .`,
		"follows": `<follows>: [uid] @reverse @count .`,
		"name":    `<name>: string @index(exact, term) @lang @upsert .`,
		"boss":    `<boss>: uid .`,
		"score":   `<score>: float @index(float) @noconflict .`,
		"mail":    `<mail>: string @index(hash) @upsert @unique .`,
		"имя":     `<имя>: string .`,
	} {
		require.Equal(t, want, s.Predicates[name].String())
	}
}

func TestParseSchemaOfSomethingElseIsAnError(t *testing.T) {
	_, err := graph.ParseSchema([]byte(`<html>`))
	require.ErrorContains(t, err, "schema answer")
}

func TestParseSchemaOfAnEmptyAnswer(t *testing.T) {
	s, err := graph.ParseSchema([]byte(`{}`))
	require.NoError(t, err)
	require.Empty(t, s.UIDPredicates())
}

func TestShortcutsAreFollowedForwardOnly(t *testing.T) {
	s, err := graph.ParseSchema([]byte(`{"schema":[
		{"predicate":"knows","type":"uid","list":true,"reverse":true},
		{"predicate":"evorag.shortcut","type":"uid","list":true,"reverse":true},
		{"predicate":"evorag.feedback.batch","type":"uid"}]}`))
	require.NoError(t, err)
	require.Equal(t, []string{"knows"}, s.UIDPredicates())
	require.Equal(t, []graph.Relation{{Predicate: "evorag.shortcut"}, {Predicate: "knows"}, {Predicate: "knows", Inverse: true}}, s.Relations())
}
