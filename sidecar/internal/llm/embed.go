package llm

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	openai "github.com/sashabaranov/go-openai"
)

// ErrDimension is returned for vectors of another length than was asked for.
var ErrDimension = fmt.Errorf("the model's vectors have another dimension than embedding.dimensions says; %w", ErrWait)

// Embedder calls one embeddings model, with the patience of a Client: retries, rate, breaker. It is
// safe for concurrent use.
type Embedder struct {
	client     *Client
	dimensions int
}

// NewEmbedder makes an Embedder; it opens no connection yet. dimensions is asked for and
// insisted on; 0 takes what the model gives.
func NewEmbedder(o Options, dimensions int) *Embedder {
	o.Section = "embedding"
	return &Embedder{New(o), dimensions}
}

// Name is the model's, with the dimensions where they are asked for.
func (e *Embedder) Name() string {
	if e.dimensions == 0 {
		return e.client.Model
	}
	return fmt.Sprintf("%s/%d", e.client.Model, e.dimensions)
}

// Embed gives the vectors of texts, in their order, as the model gave them, and what they cost in
// tokens. Errors: those of every call, ErrOutput for an answer that leaves one out, and
// ErrDimension. Numbers are not looked at.
func (e *Embedder) Embed(ctx context.Context, texts []string) (vectors [][]float32, tokens int, err error) {
	c := e.client
	began := c.Now()
	defer func() {
		if tokens == 0 && err == nil {
			tokens = EstimateTokens(texts)
		}
		c.budget.spend(tokens)
		c.Observe(Call{Purpose: "embed", Err: err, Took: c.Now().Sub(began), Usage: Usage{PromptTokens: tokens}})
	}()
	resp, err := c.api.CreateEmbeddings(ctx, openai.EmbeddingRequestStrings{
		Input: texts, Model: openai.EmbeddingModel(c.Model), Dimensions: e.dimensions, EncodingFormat: openai.EmbeddingEncodingFormatFloat,
	})
	if err != nil {
		return nil, 0, classifyAs(err, ErrEmbedSetup)
	}
	tokens = cmp.Or(resp.Usage.PromptTokens, resp.Usage.TotalTokens)
	vectors = make([][]float32, len(texts))
	for _, d := range resp.Data {
		if d.Index < 0 || d.Index >= len(texts) {
			return nil, tokens, fmt.Errorf("%w (vector %d of %d texts)", ErrOutput, d.Index, len(texts))
		}
		vectors[d.Index] = d.Embedding
	}
	if missing := slices.IndexFunc(vectors, func(v []float32) bool { return len(v) == 0 }); missing >= 0 {
		return nil, tokens, fmt.Errorf("%w (%d texts were sent, number %d has no vector)", ErrOutput, len(texts), missing+1)
	}
	for _, v := range vectors {
		if want := cmp.Or(e.dimensions, len(vectors[0])); len(v) != want {
			return nil, tokens, fmt.Errorf("%w (%d instead of %d)", ErrDimension, len(v), want)
		}
	}
	return vectors, tokens, nil
}

// EstimateTokens is about what texts cost: one token for four bytes, at least one each.
func EstimateTokens(texts []string) int {
	n := 0
	for _, t := range texts {
		n += len(t)/4 + 1
	}
	return n
}
