package llm

import (
	"context"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Answer writes a response to the retrieval's question from its results. With on it hands
// every piece to on as it comes, and an error of on ends it. seen are the results
// that the model has seen, by index. Errors: *Refusal, and those of the client; a reply
// that was cut off comes back with the error as far as it came.
func (c *Client) Answer(ctx context.Context, r graph.Retrieval, on func(piece string) error) (reply Reply, seen []int, err error) {
	p := newPrompt(r.Question, r, c.ContextBytes)
	req := request{purpose: "answer", messages: p.messages(""), maxTokens: c.MaxTokens}
	if on == nil {
		reply, err = c.complete(ctx, req)
	} else {
		reply, err = c.stream(ctx, req, on)
	}
	return reply, p.lines, err
}
