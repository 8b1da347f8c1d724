package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// AlphaHTTP is an alpha, to be asked for its health.
type AlphaHTTP struct {
	URL    *url.URL
	Client *http.Client
	Token  string // access token of a guardian, who hears of all nodes; may be empty
}

// Health asks for the nodes of the cluster, or, where that is refused, for the alpha's own
// health. date is the alpha's clock in whole seconds; zero where it tells none.
func (a AlphaHTTP) Health(ctx context.Context) (nodes []Node, date time.Time, err error) {
	nodes, date, err = a.get(ctx, "all")
	if err != nil || len(nodes) == 0 {
		nodes, date, err = a.get(ctx, "")
	}
	return nodes, date, err
}

func (a AlphaHTTP) get(ctx context.Context, query string) ([]Node, time.Time, error) {
	at := a.URL.JoinPath("health")
	at.RawQuery = query
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, time.Time{}, err
	}
	if a.Token != "" {
		req.Header.Set("X-Dgraph-AccessToken", a.Token)
	}
	resp, err := a.Client.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, time.Time{}, err
	}
	defer resp.Body.Close()
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		date = time.Time{}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, date, err
	}
	var nodes []Node
	if err := json.Unmarshal(body, &nodes); err != nil {
		return nil, date, fmt.Errorf("%s answered %d %s", at, resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return nodes, date, nil
}
