package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/entity"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

// withTokenizer gives the shared engine, if its build of the tokenizer loads.
func withTokenizer(t testing.TB) *enginetest.Engine {
	e := enginetest.Shared(t)
	if !e.HasTokenizer() {
		t.Skip("NO TOKENIZER, NOT TESTED: no evorag_entity.so that fits the engine lies beside it")
	}
	return e
}

// linked asks the tokenizer's index, as a variable and as a literal of the query.
func linked(t testing.TB, e *enginetest.Engine, question string) []string {
	t.Helper()
	read := func(data json.RawMessage) []string {
		var reply struct {
			Q []struct {
				Name string `json:"name"`
			} `json:"q"`
		}
		require.NoError(t, json.Unmarshal(data, &reply))
		names := []string{}
		for _, n := range reply.Q {
			names = append(names, n.Name)
		}
		sort.Strings(names)
		return names
	}
	byVariable := read(e.Query(t, `query q($q: string) { q(func: anyof(name, evorag_entity, $q)) { name } }`,
		map[string]string{"$q": entity.Question(question)}))
	literal := `"\u0001` + strings.ReplaceAll(question, `"`, `\"`) + `"`
	require.Equal(t, byVariable, read(e.Query(t, `{ q(func: anyof(name, evorag_entity, `+literal+`)) { name } }`, nil)))
	return byVariable
}

func TestTheTokenizerLinksNamesInsideQuestions(t *testing.T) {
	e := withTokenizer(t)
	e.Reset(t)
	e.Alter(t, "name: string @index(exact) .")
	names := []string{
		"Eva Green", "Eva", "Green Day", "Casino Royale (2006 film)", "Amélie Poulain", "The Matrix", "It", "O'Brien",
		"Rosemary's Baby", "Война и мир", "東京タワー", "Simon & Garfunkel", `Weird "Al" Yankovic`, "Who", "!!!",
	}
	var nquads strings.Builder
	for i, n := range names {
		fmt.Fprintf(&nquads, "_:n%d <name> %s .\n", i, quote(n))
	}
	e.Mutate(t, nquads.String())
	e.Alter(t, "name: string @index(exact, evorag_entity) .") // the index is built over what is there

	for _, c := range []struct {
		name, question string
		want           []string
	}{
		{"names of one and of several words", "Who directed the movies of Eva Green?", []string{"Eva", "Eva Green"}},
		{"lower case and a possessive", "who directed eva green's films before casino royale", []string{"Casino Royale (2006 film)", "Eva", "Eva Green"}},
		{"accents on either side", "is Amelie Poulain in THE MÁTRIX", []string{"Amélie Poulain", "The Matrix"}},
		{"a name without its article", "who made Matrix", []string{"The Matrix"}},
		{"apostrophes, straight and curly", "did O’Brien see rosemary’s baby", []string{"O'Brien", "Rosemary's Baby"}},
		{"an ampersand spelled out", "albums of Simon and Garfunkel", []string{"Simon & Garfunkel"}},
		{"quotes in a name", `songs of weird "al" yankovic`, []string{`Weird "Al" Yankovic`}},
		{"Cyrillic", "кто написал ВОЙНА И МИР", []string{"Война и мир"}},
		{"a script without spaces", "東京タワーはどこですか", []string{"東京タワー"}},
		{"a stop word written as a name", "who directed It?", []string{"It"}},
		{"no name", "what is it like to do so?", []string{}},
		{"nothing", "", []string{}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, linked(t, e, c.question)) })
	}

	t.Run("a changed name is indexed anew", func(t *testing.T) {
		uids := e.Mutate(t, `_:x <name> "Old Name" .`)
		require.Equal(t, []string{"Old Name"}, linked(t, e, "where is old name"))
		e.Mutate(t, "<"+uids["x"]+`> <name> "New Name" .`)
		require.Empty(t, linked(t, e, "where is old name"))
		require.Equal(t, []string{"New Name"}, linked(t, e, "where is new name"))
	})
	t.Run("eq finds names that no question can hold, with this index alone", func(t *testing.T) {
		e.Alter(t, "name: string @index(evorag_entity) .")
		for _, n := range []string{"!!!", "Eva Green", "Who"} {
			got := string(e.Query(t, `query q($n: string) { q(func: eq(name, $n)) { name } }`, map[string]string{"$n": n}))
			require.Equal(t, 1, strings.Count(got, "name"), got)
		}
	})
	t.Run("the longest question is answered quickly", func(t *testing.T) {
		var words []string
		for i := range 2 * entity.MaxQuestionWords {
			words = append(words, fmt.Sprint("word", i))
		}
		linked(t, e, strings.Join(words, " "))
		start := time.Now()
		linked(t, e, strings.Join(words, " "))
		t.Logf("%d tokens, asked twice: %v", len(entity.Tokens(entity.Question(strings.Join(words, " ")))), time.Since(start))
		start = time.Now()
		linked(t, e, "Which movies did the director of Amélie Poulain make after The Matrix?")
		t.Logf("12 words, asked twice: %v", time.Since(start))
	})
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return strings.ReplaceAll(string(b), `\u0026`, "&")
}

func TestATokenizerThatDoesNotFit(t *testing.T) {
	bin := enginetest.Bin(t)
	other := filepath.Join(t.TempDir(), "other.so") // any Go program with other build settings
	source := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600))
	out, err := exec.Command("go", "build", "-trimpath", "-o", other, source).CombinedOutput()
	require.NoError(t, err, string(out))
	dir := t.TempDir()

	t.Run("is left out, and why is told", func(t *testing.T) {
		var lines []string
		e := enginetest.Start(t, engine.Options{DataDir: dir, Tokenizer: other, Progress: func(l string) { lines = append(lines, l) }})
		require.False(t, e.HasTokenizer())
		require.Contains(t, strings.Join(lines, "\n"), "tokenizer left out: the engine was built with ")
		require.Contains(t, strings.Join(lines, "\n"), "make engine")
		stop(t, e.Engine)
	})
	t.Run("keeps a folder that was indexed with it from starting", func(t *testing.T) {
		file := filepath.Join(dir, "engine.json")
		state, err := os.ReadFile(file)
		require.NoError(t, err)
		indexed := strings.Replace(string(state), `"tokenizer": false`, `"tokenizer": true`, 1)
		require.NotEqual(t, string(state), indexed)
		require.NoError(t, os.WriteFile(file, []byte(indexed), 0o600))
		_, err = engine.Start(t.Context(), engine.Options{Bin: bin, DataDir: dir, Tokenizer: other})
		require.ErrorContains(t, err, "is indexed with the tokenizer")
		require.ErrorContains(t, err, "make engine")
		require.NotContains(t, err.Error(), "\n")
	})
}
