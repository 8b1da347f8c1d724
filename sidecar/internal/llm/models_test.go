package llm_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm/llmtest"
)

func TestAServerIsCheckedForItsModel(t *testing.T) {
	models := func(names ...string) llmtest.Turn {
		list := []any{}
		for _, n := range names {
			list = append(list, map[string]any{"id": n})
		}
		return llmtest.AnswersJSON(200, map[string]any{"object": "list", "data": list})
	}
	for name, c := range map[string]struct {
		turn llmtest.Turn
		want string
		is   error
	}{
		"it has it":              {models("other", "m"), "", nil},
		"Ollama's way to say so": {models("m:latest"), "", nil},
		"it has others":          {models("a", "b"), `doesn't have llm.model "m"; it has a, b`, nil},
		"it has none":            {models(), "no model at all", nil},
		"it doesn't tell":        {func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) }, "", nil},
		"it refuses our key":     {llmtest.Fails(401, "bad key"), "bad key", llm.ErrSetup},
		"it breaks off":          {llmtest.Drops, "", llm.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t, c.turn)
			err := llm.New(llm.Options{BaseURL: s.URL + "/v1/", Model: "m", APIKey: "k"}).Check(t.Context())
			if c.want == "" && c.is == nil {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			require.Equal(t, 1, s.Calls(), "it is asked once")
			require.Equal(t, "Bearer k", s.Auth[0])
		})
	}
}
