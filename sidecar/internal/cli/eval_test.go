package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEvalSaysWhatToWriteInstead(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	put("triples.tsv", "a\tr\tb\nb\tr\tc\n")
	put("questions.jsonl", `{"id": "1", "question": "what?", "topic_entities": ["a"], "answers": ["b"]}`)
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no sets", nil, exitUsage, "--data"},
		{"a folder without sets", []string{"--data", t.TempDir()}, exitFailed, "holds no question set"},
		{"an experiment that is none", []string{"--data", dir, "--experiments", "magic"}, exitUsage, "write one of [compare"},
		{"a split that is none", []string{"--data", dir, "--splits", "magic"}, exitUsage, "write one of [paraphrase"},
		{"no seeds", []string{"--data", dir, "--seeds", "0"}, exitUsage, "at least 1"},
		{"a cluster that would forget", []string{"--data", dir, "--dgraph", "localhost:9080"}, exitFailed, "--yes"},
		{"every set is too large", []string{"--data", dir, "--max-triples", "1"}, exitFailed, "more than 1 triplets"},
		{"a set that is not there", []string{"--data", dir, "--sets", "none"}, exitFailed, "triples.tsv"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := Run(Process{Args: append([]string{"eval", "--out", t.TempDir()}, c.args...), Env: func(string) string { return "" }, Out: &out, Err: &errs})
			require.Equal(t, c.code, code, errs.String())
			require.Contains(t, errs.String(), c.says)
		})
	}
}
