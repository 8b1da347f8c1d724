package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	pollEvery     = 50 * time.Millisecond
	progressEvery = 3 * time.Second
)

// waitHealthy polls /health until it answers 200, the child ends or ctx does.
func waitHealthy(ctx context.Context, p *process, port int, progress func(string)) error {
	start := time.Now()
	nextNews := start.Add(progressEvery)
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	client := &http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.done:
			return p.ended()
		case now := <-poll.C:
			if now.After(nextNews) {
				nextNews = now.Add(progressEvery)
				progress(fmt.Sprintf("waiting for the %s, %.0f s", p.name, now.Sub(start).Seconds()))
			}
		}
		resp, err := client.Get("http://" + addr(port) + "/health")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
	}
}

// waitReady opens and aborts one empty transaction until that works: a healthy alpha whose zero
// has a new address takes seconds more until it can commit again.
func waitReady(ctx context.Context, p *process, port int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.done:
			cancel(p.ended())
		case <-ctx.Done():
		}
	}()
	client := &http.Client{}
	defer client.CloseIdleConnections()
	for {
		connected, err := emptyTransaction(ctx, client, "http://"+addr(port))
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("the alpha doesn't answer: %w", err)
		case connected:
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pollEvery):
		}
	}
}

// emptyTransaction is false while the alpha has no connection to its zero. Other refusals (of a
// caller without a token, say) are answers of a working alpha.
func emptyTransaction(ctx context.Context, client *http.Client, url string) (bool, error) {
	post := func(path, body string) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/dql")
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		return io.ReadAll(resp.Body)
	}
	reply, err := post("/query", "{ q(func: uid(1)) { uid } }")
	if err != nil {
		return false, err
	}
	var opened struct {
		Extensions struct {
			Txn struct {
				StartTS uint64 `json:"start_ts"`
			} `json:"txn"`
		} `json:"extensions"`
	}
	if json.Unmarshal(reply, &opened) == nil && opened.Extensions.Txn.StartTS > 0 {
		if reply, err = post(fmt.Sprintf("/commit?abort=true&startTs=%d", opened.Extensions.Txn.StartTS), ""); err != nil {
			return false, err
		}
	}
	return !bytes.Contains(reply, []byte("No connection exists")), nil
}
