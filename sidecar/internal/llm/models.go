package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// Check asks the server for its models, without retries and outside the budgets. The error
// says what to mend: the server is away, it refuses us, or it doesn't have the model.
func (c *Client) Check(ctx context.Context) error {
	cfg := openai.DefaultConfig(c.APIKey)
	cfg.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	cfg.HTTPClient = &http.Client{Transport: c.Transport}
	list, err := openai.NewClientWithConfig(cfg).ListModels(ctx)
	var answered *openai.RequestError
	if errors.As(err, &answered) && answered.HTTPStatusCode == http.StatusNotFound {
		return nil // it is there, and tells nobody what it has
	}
	if err != nil {
		return classify(err)
	}
	names := make([]string, len(list.Models))
	for i, m := range list.Models {
		names[i] = m.ID
	}
	if slices.Contains(names, c.Model) || slices.Contains(names, c.Model+":latest") { // Ollama's way to write it
		return nil
	}
	if len(names) == 0 {
		return fmt.Errorf("the model server has no model at all; give it %s", c.Model)
	}
	return fmt.Errorf("the model server doesn't have llm.model %q; it has %s", c.Model, strings.Join(names[:min(len(names), 10)], ", "))
}
