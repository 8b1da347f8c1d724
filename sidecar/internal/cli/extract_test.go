package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/llm/llmtest"
)

func TestExtractWritesTripletsAndTellsTheCost(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.txt", []byte("Alien was directed by Ridley Scott."), 0o600))
	model := llmtest.New(t, llmtest.Says(`{"entities":["Alien","Aliens"],"facts":[{"head":"Alien","relation":"directed by","object":"Ridley Scott"}]}`))
	args := []string{"extract", "a.txt", "--llm-url", model.URL + "/v1", "--llm-model", "m"}
	prices := map[string]string{"DGRAPH_EVORAG_LLM_PROMPT_PRICE": "10", "DGRAPH_EVORAG_LLM_COMPLETION_PRICE": "50"}
	code, out, err := call(t, prices, args...)
	require.Equal(t, 0, code, err)
	require.Equal(t, "triplets.jsonl: 1 fact and 2 mentions from 1 chunk of 1 file\n  1 name or fact left out: not in the text\n  100 tokens in, 20 out, cost 0.0020\n", out)
	text, readErr := os.ReadFile("triplets.jsonl")
	require.NoError(t, readErr)
	require.Contains(t, string(text), `{"head":"Alien","relation":"directed by","object":"Ridley Scott"}`)

	code, out, err = call(t, nil, args...)
	require.Equal(t, 0, code, err)
	require.Contains(t, out, "1 chunk had been read before\n")
	require.Equal(t, 1, model.Calls(), "what was read costs nothing again")
}

func TestExtractNamesWhatIsWrong(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.txt", []byte("Alien was directed by Ridley Scott."), 0o600))
	mute := llmtest.New(t, llmtest.Says("I would rather not."))
	broken := llmtest.New(t, llmtest.Fails(401, "no key"))
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no file", []string{"extract"}, 2, "no file is given"},
		{"a file that isn't there", []string{"extract", "b.txt"}, 1, "open b.txt: no such file or directory"},
		{"a folder", []string{"extract", t.TempDir()}, 1, "is a folder; name the files in it"},
		{"no model", []string{"extract", "a.txt"}, 1, "no chat model is set; give --llm-url and --llm-model"},
		{"a model that talks", []string{"extract", "a.txt", "--llm-url", mute.URL + "/v1", "--llm-model", "m"}, 1, "1 chunk could not be read; the same command tries them again"},
		{"a server that refuses", []string{"extract", "a.txt", "--llm-url", broken.URL + "/v1", "--llm-model", "m"}, 1, "the same command goes on"},
		{"an output that can't be", []string{"extract", "a.txt", "--llm-url", mute.URL + "/v1", "--llm-model", "m", "-o", filepath.Join("no", "x")}, 1, "no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, _, err := call(t, nil, c.args...)
			require.Equal(t, c.code, code, err)
			require.Contains(t, err, c.want)
		})
	}
}
