package llmtest

import (
	"encoding/json"
	"hash/fnv"
	"net/http"
	"strings"
)

// Embeds answers calls of /v1/embeddings with vectors of the words of each text: a word adds 1 in
// one of dim dimensions, so texts are near that share words, and words that mean names the word
// that each stands for.
func Embeds(dim int, mean map[string]string) Turn {
	return func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Input []string
			Model string
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			Fails(http.StatusBadRequest, err.Error())(w, r)
			return
		}
		data := make([]any, len(body.Input))
		for i, text := range body.Input {
			data[i] = map[string]any{"object": "embedding", "index": i, "embedding": wordVector(text, dim, mean)}
		}
		AnswersJSON(http.StatusOK, map[string]any{
			"object": "list", "model": body.Model, "data": data, "usage": map[string]int{"prompt_tokens": 2 * len(data), "total_tokens": 2 * len(data)},
		})(w, r)
	}
}

func wordVector(text string, dim int, mean map[string]string) []float32 {
	v := make([]float32, dim)
	v[0] = 0.1 // a text without words has a direction too
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(" _.?!,'", r) }) {
		if other, ok := mean[word]; ok {
			word = other
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(word))
		v[1+int(h.Sum32())%(dim-1)]++
	}
	return v
}

// Vectors answers every call of /v1/embeddings with these, whatever the texts are.
func Vectors(vectors ...[]float32) Turn {
	data := make([]any, len(vectors))
	for i, v := range vectors {
		data[i] = map[string]any{"object": "embedding", "index": i, "embedding": v}
	}
	return AnswersJSON(http.StatusOK, map[string]any{"object": "list", "data": data})
}
