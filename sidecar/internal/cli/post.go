package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// post sends v as JSON to a service of a running sidecar. What the sidecar refuses is an error
// with its words; else the caller closes the answer's body.
func post(ctx context.Context, server, path string, header http.Header, v any) (*http.Response, error) {
	base, err := url.Parse(server)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("the server %q is not a URL; write one like %s", server, defaultServer)
	}
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header.Clone()
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, fmt.Errorf("no sidecar answers at %s (%w); start one with dgraph-evorag up, or name another with --server", server, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return nil, refusal(server, resp.StatusCode, answer)
}

// secretHeader puts the secret that a file holds into a header, after a prefix. No file, no
// header.
func secretHeader(flag, file, name, prefix string) (http.Header, error) {
	h := http.Header{}
	if file == "" {
		return h, nil
	}
	secret, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	h.Set(name, prefix+strings.TrimSpace(string(secret)))
	return h, nil
}

// statusError is a refusal with its HTTP status and body.
type statusError struct {
	error
	code int
	body []byte
}

func (e statusError) Unwrap() error { return e.error }

func refusal(server string, code int, body []byte) error {
	var e struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(body, &e) == nil && e.Error.Message != "" {
		return statusError{errors.New(e.Error.Message), code, body}
	}
	return statusError{fmt.Errorf("%s answered %d %s: is that a dgraph-evorag sidecar?", server, code, http.StatusText(code)), code, body}
}
