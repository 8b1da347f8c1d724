package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/embed"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm/llmtest"
)

// meaning is what the scripted model knows: which words mean the same.
var meaning = map[string]string{"filmmaker": "directed", "by": "", "of": "", "the": "", "who": "", "is": "", "007": "royale", "casino": "royale"}

// modelled are settings with the scripted model.
func modelled(t *testing.T, dgraph string, server *llmtest.Server, way string) config.Config {
	c := settings(dgraph)
	c.Embedding.BaseURL, c.Embedding.Model, c.Embedding.Way, c.Embedding.Dir = server.URL+"/v1", "m", way, t.TempDir()
	c.Embedding.Retries = 0
	require.NoError(t, c.Verify())
	return c
}

func retrieve(t *testing.T, at app.Addresses, body string) graph.Retrieval {
	t.Helper()
	var r graph.Retrieval
	text := post(t, "http://"+at.HTTP+"/evorag/v1/retrieve", "application/json", body)
	require.NoError(t, json.Unmarshal([]byte(text), &r), text)
	return r
}

// once asks until the answer is as wanted: the graph in memory and its vectors come by and by.
func once(t *testing.T, at app.Addresses, body string, wanted func(graph.Retrieval) bool) graph.Retrieval {
	t.Helper()
	var r graph.Retrieval
	require.Eventually(t, func() bool { r = retrieve(t, at, body); return wanted(r) }, time.Minute, 50*time.Millisecond, "%s", body)
	return r
}

func TestAModelsVectorsRankWhatSharesNoWordWithTheQuestion(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	eng.Alter(t, schema)
	eng.Mutate(t, films)
	const question = `{"question": "who is the filmmaker of Casino Royale", "hops": 1}`
	plain := start(t, func(ctx context.Context, o app.Options) error { return app.Serve(ctx, settings(eng.GRPCAddr()), o) })
	r := retrieve(t, plain.Addresses, question)
	require.Len(t, r.Results, 2)
	require.Equal(t, graph.Relevance{Way: "hash"}, r.Relevance)
	plain.end(t)

	for _, way := range []string{"composed", "triplet"} {
		for _, cache := range []string{"on", "off"} {
			t.Run(way+", cache "+cache, func(t *testing.T) {
				server := llmtest.New(t, llmtest.Embeds(500, meaning))
				cfg := modelled(t, eng.GRPCAddr(), server, way)
				cfg.Cache.Mode = cache
				cfg.Embedding.Near = 0 // or start nodes are looked for by the whole question too

				dry, err := app.Index(t.Context(), cfg, "", embed.IndexOptions{DryRun: true}, func(int) {}, slog.New(slog.DiscardHandler))
				require.NoError(t, err)
				require.Zero(t, dry.Known)
				require.Positive(t, dry.Tokens)
				require.Zero(t, server.Calls())
				done, err := app.Index(t.Context(), cfg, "", embed.IndexOptions{Workers: 2}, func(int) {}, slog.New(slog.DiscardHandler))
				require.NoError(t, err)
				require.Equal(t, dry.Texts, done.Embedded)
				calls := server.Calls()

				s := start(t, func(ctx context.Context, o app.Options) error { return app.Serve(ctx, cfg, o) })
				r := once(t, s.Addresses, question, func(r graph.Retrieval) bool { return cache == "off" || r.Cache.Mode == graph.CacheResident })
				require.Equal(t, []string{"directed_by"}, r.Results[0].Metapath, "the model knows what a filmmaker is")
				require.Equal(t, graph.Relevance{Way: way, Model: "m"}, r.Relevance, "every text has a vector")
				require.Contains(t, r.Embedder, "m/"+way)
				best, other := r.Results[0].Instances[0].Triplets[0], r.Results[1].Instances[0].Triplets[0]
				require.Greater(t, best.Sr, other.Sr)
				require.Equal(t, calls+1, server.Calls(), "the question alone was sent, once")

				// The form that is written out is ranked by the same numbers.
				text := `{"query": "query q($q: string) { q(func: eq(name, \"Casino Royale\")) @evorag(query: $q) { name directed_by { name } starring { name } } }", "variables": {"$q": "who is the filmmaker of Casino Royale"}}`
				var written struct {
					Extensions struct{ Evorag graph.Retrieval }
				}
				body := post(t, "http://"+s.HTTP+"/query", "application/json", text)
				require.NoError(t, json.Unmarshal([]byte(body), &written), body)
				require.Equal(t, []string{"directed_by"}, written.Extensions.Evorag.Results[0].Metapath)
				require.InDelta(t, best.Sr, written.Extensions.Evorag.Results[0].Instances[0].Triplets[0].Sr, 1e-9)
				require.Equal(t, calls+1, server.Calls())
			})
		}
	}
}

func TestTextsWithoutAVectorAreCountedAndEmbeddedInTheBackground(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	eng.Alter(t, schema)
	eng.Mutate(t, films)
	server := llmtest.New(t, llmtest.Embeds(500, meaning))
	cfg := modelled(t, eng.GRPCAddr(), server, "composed")
	cfg.Embedding.Near = 0
	s := start(t, func(ctx context.Context, o app.Options) error { return app.Serve(ctx, cfg, o) })
	const question = `{"question": "who is the filmmaker of Casino Royale", "hops": 1}`
	first := retrieve(t, s.Addresses, question)
	require.Equal(t, 5, first.Relevance.Fallback, "three names and two labels")
	require.Empty(t, first.Relevance.Reason)
	once(t, s.Addresses, question, func(r graph.Retrieval) bool {
		return r.Relevance.Fallback == 0 && r.Results[0].Metapath[0] == "directed_by" && r.Results[0].Instances[0].Triplets[0].Sr > 0.7
	})
	resp, err := http.Get("http://" + s.HTTP + "/evorag/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	metrics := string(raw)
	require.Regexp(t, `dgraph_evorag_embedding_fallback_total [1-9]`, metrics)
	require.Regexp(t, `dgraph_evorag_embedding_vectors 5\b`, metrics)
	require.Regexp(t, `dgraph_evorag_llm_calls_total{outcome="ok",purpose="embed"} [1-9]`, metrics)
}

func TestAModelThatFailsLeavesAnswersByHashedWords(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	eng.Alter(t, schema)
	eng.Mutate(t, films)
	for name, c := range map[string]struct {
		turn   llmtest.Turn
		reason string
	}{
		"it refuses our key":            {llmtest.Fails(401, "bad key"), "embedding.base_url, embedding.model and the API key"},
		"it hangs up":                   {llmtest.Drops, "doesn't answer"},
		"it is silent":                  {llmtest.Hangs, "embedding.question_timeout"},
		"it has too many calls":         {llmtest.Fails(429, "slow down"), "too many calls"},
		"its vectors are zero":          {llmtest.Vectors([]float32{0, 0}), "zero everywhere"},
		"its numbers are none":          {llmtest.AnswersText(`{"data":[{"index":0,"embedding":[NaN]}]}`), "doesn't answer"},
		"its vectors are another shape": {llmtest.Vectors([]float32{1}, []float32{1}), "not what was asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, c.turn)
			cfg := modelled(t, eng.GRPCAddr(), server, "triplet")
			cfg.Embedding.QuestionTime, cfg.Embedding.Lazy = 10*time.Second, "off"
			if name == "it is silent" {
				cfg.Embedding.QuestionTime = 300 * time.Millisecond
			}
			s := start(t, func(ctx context.Context, o app.Options) error { return app.Serve(ctx, cfg, o) })
			r := retrieve(t, s.Addresses, `{"question": "who directed Casino Royale", "hops": 1}`)
			require.Equal(t, []string{"directed_by"}, r.Results[0].Metapath)
			require.Contains(t, r.Relevance.Reason, c.reason)
			for _, private := range []string{"bad key", "slow down", "NaN", strings.TrimPrefix(server.URL, "http://")} {
				require.NotContains(t, r.Relevance.Reason, private, "that is for the log")
			}
			require.Equal(t, 2, r.Relevance.Fallback, "both triplets")
			require.Contains(t, r.Embedder, "hash-v1")
		})
	}
}

func TestAQuestionIsLinkedByNamesAndByNearness(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	eng.Alter(t, schema+"title: string @index(exact, term) .\n")
	uids := eng.Mutate(t, films+"_:film <title> \"the Bond film\" .\n")
	server := llmtest.New(t, llmtest.Embeds(500, meaning))
	cfg := modelled(t, eng.GRPCAddr(), server, "hash")
	cfg.Embedding.Near, cfg.Embedding.NearCosine = 2, 0.6
	_, err := app.Index(t.Context(), cfg, "", embed.IndexOptions{}, func(int) {}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	s := start(t, func(ctx context.Context, o app.Options) error { return app.Serve(ctx, cfg, o) })

	r := once(t, s.Addresses, `{"question": "007", "hops": 1}`, func(r graph.Retrieval) bool { return len(r.Entities) > 0 })
	require.Len(t, r.Entities, 1)
	near := r.Entities[0]
	require.Equal(t, uids["film"], near.UID.String())
	require.Equal(t, "Casino Royale", near.Name)
	require.Equal(t, graph.ByVector, near.Reason)
	require.Greater(t, near.Similarity, 0.9)
	require.Less(t, near.Score, 1.0)
	require.NotEmpty(t, r.Results)
	require.Equal(t, graph.Relevance{Way: "hash", Model: "m"}, r.Relevance)

	r = retrieve(t, s.Addresses, `{"question": "did Eva Green play in 007", "hops": 1}`)
	require.Equal(t, graph.ByName, r.Entities[0].Reason)
	require.Equal(t, uids["eva"], r.Entities[0].UID.String())

	r = retrieve(t, s.Addresses, `{"question": "who directed the bond film", "hops": 1}`)
	require.Equal(t, graph.ByAlias, r.Entities[0].Reason)
	require.Equal(t, uids["film"], r.Entities[0].UID.String())
	require.Equal(t, "Casino Royale", r.Entities[0].Name)

	r = retrieve(t, s.Addresses, fmt.Sprintf(`{"question": "who directed it", "entities": [%q], "hops": 1}`, uids["film"]))
	require.Equal(t, graph.ByCaller, r.Entities[0].Reason)
}

// vectorOf is the scripted model's vector of a text, as Dgraph spells it.
func vectorOf(t *testing.T, server *llmtest.Server, text string) string {
	t.Helper()
	var answer struct {
		Data []struct{ Embedding json.RawMessage }
	}
	body := post(t, server.URL+"/v1/embeddings", "application/json", fmt.Sprintf(`{"model": "m", "input": [%q]}`, text))
	require.NoError(t, json.Unmarshal([]byte(body), &answer), body)
	return string(answer.Data[0].Embedding)
}

func TestAQuestionsOwnVectorCountsAsTheQuestionDoes(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	eng.Alter(t, schema)
	eng.Mutate(t, films)
	const question = "who is the filmmaker of Casino Royale"
	argumentOf := map[string]string{}
	ask := func(s *running, argument, value string) (graph.Retrieval, string) {
		body, err := json.Marshal(map[string]any{"query": `query q($v: ` + value + `) { q(func: eq(name, "Casino Royale")) @evorag(` + argument + `: $v, hops: 1) { name } }`,
			"variables": map[string]string{"$v": argumentOf[argument]}})
		require.NoError(t, err)
		var answer struct {
			Extensions struct{ Evorag graph.Retrieval }
		}
		text := post(t, "http://"+s.HTTP+"/query", "application/json", string(body))
		require.NoError(t, json.Unmarshal([]byte(text), &answer), text)
		return answer.Extensions.Evorag, text
	}
	for _, way := range []string{"composed", "triplet", "hash"} {
		t.Run(way, func(t *testing.T) {
			server := llmtest.New(t, llmtest.Embeds(500, meaning))
			cfg := modelled(t, eng.GRPCAddr(), server, way)
			_, err := app.Index(t.Context(), cfg, "", embed.IndexOptions{}, func(int) {}, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			s := start(t, func(ctx context.Context, o app.Options) error { return app.Serve(ctx, cfg, o) })
			argumentOf = map[string]string{"query": question, "embedding": vectorOf(t, server, "who is the filmmaker of")} // without the start node's name
			calls := server.Calls()
			own, text := ask(s, "embedding", "float32vector")
			require.Equal(t, calls, server.Calls(), "the model has nothing to do")
			if way == "hash" {
				require.Contains(t, text, "this sidecar ranks by words, which have no use for a vector; write query: $question")
				require.Contains(t, text, `"line":1`)
				return
			}
			want, _ := ask(s, "query", "string")
			require.Len(t, own.Results, 2)
			require.Empty(t, own.Question)
			require.Equal(t, want.Results, own.Results)
			require.Equal(t, []string{"directed_by"}, own.Results[0].Metapath)
			written, err := json.Marshal(map[string]any{"query": `query q($v: float32vector) { q(func: eq(name, "Casino Royale")) @evorag(embedding: $v) { name directed_by { name } starring { name } } }`,
				"variables": map[string]string{"$v": argumentOf["embedding"]}})
			require.NoError(t, err)
			var form1 struct {
				Extensions struct{ Evorag graph.Retrieval }
			}
			text = post(t, "http://"+s.HTTP+"/query", "application/json", string(written))
			require.NoError(t, json.Unmarshal([]byte(text), &form1), text)
			require.Equal(t, own.Results[0].Metapath, form1.Extensions.Evorag.Results[0].Metapath)
			require.InDelta(t, own.Results[0].Z, form1.Extensions.Evorag.Results[0].Z, 1e-9)
			for vector, wrong := range map[string]string{
				"[1, 2]":                                "the vector has 2 numbers, those of m have 500",
				"[0, 0":                                 "not a list of numbers",
				"[1e99, 1]":                             "not a list of numbers",
				"[\"a\", 1]":                            "not a list of numbers",
				"[" + strings.Repeat("0, ", 499) + "0]": "zero everywhere",
			} {
				argumentOf["embedding"] = vector
				_, text := ask(s, "embedding", "string")
				require.Contains(t, text, wrong)
			}
		})
	}
}

// A part of the graph, or none, has no vectors of all names in memory: the engine has, in an index.
func TestStartNodesNearTheQuestionComeOutOfTheEnginesOwnIndex(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	eng.Alter(t, schema+"meant: float32vector @index(hnsw(metric: \"cosine\")) .\n")
	uids := eng.Mutate(t, films)
	server := llmtest.New(t, llmtest.Embeds(500, meaning))
	for node, name := range map[string]string{"eva": "Eva Green", "film": "Casino Royale", "martin": "Martin Campbell"} {
		eng.Mutate(t, fmt.Sprintf("<%s> <meant> %q .", uids[node], vectorOf(t, server, name)))
	}
	cfg := modelled(t, eng.GRPCAddr(), server, "hash")
	cfg.Cache.Mode, cfg.Embedding.Near, cfg.Embedding.NearCosine, cfg.Embedding.Predicate = "off", 2, 0.6, "meant"
	s := start(t, func(ctx context.Context, o app.Options) error { return app.Serve(ctx, cfg, o) })
	r := retrieve(t, s.Addresses, `{"question": "007", "hops": 1}`)
	require.Len(t, r.Entities, 1)
	require.Equal(t, uids["film"], r.Entities[0].UID.String())
	require.Equal(t, "Casino Royale", r.Entities[0].Name)
	require.Equal(t, graph.ByVector, r.Entities[0].Reason)
	require.Greater(t, r.Entities[0].Similarity, 0.9)
	require.NotEmpty(t, r.Results)
	require.Equal(t, "Eva Green", retrieve(t, s.Addresses, `{"question": "did Eva Green play in 007", "hops": 1}`).Entities[0].Name)
}

// Queries at once send their questions, each once, and nothing else, whatever they miss.
func TestAQueryNeverFloodsTheServer(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	eng.Alter(t, schema)
	var many strings.Builder
	many.WriteString("_:film <name> \"Casino Royale\" .\n_:film <dgraph.type> \"Entity\" .\n")
	for i := range 500 {
		fmt.Fprintf(&many, "_:p%d <name> \"person %d\" .\n_:film <starring> _:p%d .\n", i, i, i)
	}
	eng.Mutate(t, many.String())
	var texts atomic.Int64
	embeds := llmtest.Embeds(50, nil)
	server := llmtest.New(t, func(w http.ResponseWriter, r *http.Request) { texts.Add(1); embeds(w, r) })
	cfg := modelled(t, eng.GRPCAddr(), server, "triplet")
	cfg.Embedding.Lazy = "off"
	s := start(t, func(ctx context.Context, o app.Options) error { return app.Serve(ctx, cfg, o) })
	for range 3 {
		r := retrieve(t, s.Addresses, `{"question": "who plays in Casino Royale", "hops": 1}`)
		require.Positive(t, r.Relevance.Fallback)
	}
	require.Contains(t, []int64{1, 2}, texts.Load(), "the question without the start node's name, and whole once start nodes are looked for by nearness")
}
