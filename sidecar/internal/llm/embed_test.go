package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm/llmtest"
)

func TestEmbedAgainstAServerThatMisbehaves(t *testing.T) {
	good := llmtest.Vectors([]float32{1, 2, 3}, []float32{4, 5, 6})
	for _, c := range []struct {
		name  string
		turns []llmtest.Turn
		want  error // nil: the vectors come
		calls int
	}{
		{"vectors come", []llmtest.Turn{good}, nil, 1},
		{"too many calls, then vectors", []llmtest.Turn{llmtest.Fails(429, "slow down"), good}, nil, 2},
		{"the server breaks, then vectors", []llmtest.Turn{llmtest.Fails(500, "x"), llmtest.Drops, good}, nil, 3},
		{"too many calls for good", []llmtest.Turn{llmtest.Fails(429, "slow down")}, llm.ErrBusy, 3},
		{"silence", []llmtest.Turn{llmtest.Hangs}, llm.ErrTimeout, 3},
		{"a wrong key", []llmtest.Turn{llmtest.Fails(401, "bad key")}, llm.ErrEmbedSetup, 1},
		{"one vector too few", []llmtest.Turn{llmtest.Vectors([]float32{1, 2, 3})}, llm.ErrOutput, 1},
		{"one vector too many", []llmtest.Turn{llmtest.Vectors([]float32{1, 2, 3}, []float32{1, 2, 3}, []float32{1, 2, 3})}, llm.ErrOutput, 1},
		{"an empty vector", []llmtest.Turn{llmtest.Vectors([]float32{1, 2, 3}, nil)}, llm.ErrOutput, 1},
		{"another dimension", []llmtest.Turn{llmtest.Vectors([]float32{1, 2}, []float32{1, 2})}, llm.ErrDimension, 1},
		{"two dimensions", []llmtest.Turn{llmtest.Vectors([]float32{1, 2, 3}, []float32{1, 2})}, llm.ErrDimension, 1},
		{"a number that is none", []llmtest.Turn{llmtest.AnswersText(`{"data":[{"index":0,"embedding":[NaN,1,2]}]}`)}, llm.ErrUnavailable, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := llmtest.New(t, c.turns...)
			var calls []llm.Call
			timeout := 10 * time.Second
			if errors.Is(c.want, llm.ErrTimeout) {
				timeout = 200 * time.Millisecond
			}
			e := llm.NewEmbedder(llm.Options{
				BaseURL: server.URL + "/v1", Model: "minilm", APIKey: "k", Timeout: timeout, Retries: 2,
				Pause: func(context.Context, time.Duration) error { return nil }, Observe: func(c llm.Call) { calls = append(calls, c) },
			}, 3)
			vectors, _, err := e.Embed(t.Context(), []string{"a", "b"})
			require.Equal(t, c.calls, server.Calls())
			require.Len(t, calls, 1)
			require.Equal(t, "embed", calls[0].Purpose)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
				require.ErrorIs(t, err, llm.ErrWait)
				require.Error(t, calls[0].Err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, [][]float32{{1, 2, 3}, {4, 5, 6}}, vectors)
			var sent struct {
				Input      []string
				Model      string
				Dimensions int
			}
			require.NoError(t, json.Unmarshal(server.Bodies[0], &sent))
			require.Equal(t, []string{"a", "b"}, sent.Input)
			require.Equal(t, "minilm", sent.Model)
			require.Equal(t, 3, sent.Dimensions)
			require.Equal(t, "Bearer k", server.Auth[0])
		})
	}
}

func TestAnEmbedderTakesTheModelsDimensionWhereNoneIsSet(t *testing.T) {
	server := llmtest.New(t, llmtest.Embeds(8, nil))
	e := llm.NewEmbedder(llm.Options{BaseURL: server.URL + "/v1", Model: "m", Timeout: time.Second}, 0)
	vectors, tokens, err := e.Embed(t.Context(), []string{"a", "a b"})
	require.NoError(t, err)
	require.Len(t, vectors[1], 8)
	require.Equal(t, 4, tokens)
	require.Equal(t, "m", e.Name())
	require.NotContains(t, string(server.Bodies[0]), "dimensions")
}
