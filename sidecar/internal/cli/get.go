package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// get asks a service of a running sidecar, with headers that say who asks, and reads its JSON into v.
func get(ctx context.Context, server, path string, query url.Values, header http.Header, v any) error {
	base, err := url.Parse(server)
	if err != nil || base.Host == "" {
		return fmt.Errorf("the server %q is not a URL; write one like %s", server, defaultServer)
	}
	at := base.JoinPath(path)
	at.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return err
	}
	if header != nil {
		req.Header = header.Clone()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return fmt.Errorf("no sidecar answers at %s (%w); start one with dgraph-evorag up, or name another with --server", server, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, largestAnswer))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(server, resp.StatusCode, body)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("the answer of %s is not readable: %w", server, err)
	}
	return nil
}
