package eval

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// client asks a sidecar through its public services.
type client struct {
	base string
	http *http.Client
}

func newClient(base string) *client {
	return &client{base, &http.Client{Timeout: 10 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

// ask is the body of POST /evorag/v1/retrieve and of /evorag/v1/ask. Zero fields are the
// sidecar's defaults.
type ask struct {
	Question    string   `json:"question"`
	Entities    []string `json:"entities,omitempty"`
	EntityCount int      `json:"entity_count,omitempty"`
	Hops        int      `json:"hops,omitempty"`
	Paths       int      `json:"paths,omitempty"`
	Alpha       *float64 `json:"alpha,omitempty"`
	Bundle      *bool    `json:"bundle,omitempty"`
}

// errNothing is returned where the sidecar finds no node to start from.
var errNothing = errors.New("nothing to start from")

func (c *client) retrieve(ctx context.Context, a ask) (*graph.Retrieval, error) {
	var found graph.Retrieval
	err := c.call(ctx, http.MethodPost, "/evorag/v1/retrieve", a, &found)
	return &found, err
}

// answered is what is read of the answer to POST /evorag/v1/ask.
type answered struct {
	Retrieval string `json:"retrieval"`
	Text      string `json:"answer"`
	Usage     struct {
		PromptTokens int `json:"prompt_tokens"`
	} `json:"usage"`
	firstToken time.Duration
}

// errUnanswered is returned where the model was asked and gave no whole answer, as small ones
// sometimes do. It says nothing about the next question.
var errUnanswered = errors.New("the model gave no answer")

// answer lets the model answer, streamed, and takes the time to the first piece of text.
func (c *client) answer(ctx context.Context, a ask) (out answered, err error) {
	body, err := json.Marshal(struct {
		ask
		Stream bool `json:"stream"`
	}{a, true})
	if err != nil {
		return out, err
	}
	began := time.Now()
	resp, err := c.send(ctx, http.MethodPost, "/evorag/v1/ask", body)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	event := ""
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = name
			continue
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		switch event {
		case "delta":
			if out.firstToken == 0 {
				out.firstToken = time.Since(began)
			}
		case "error":
			for _, code := range []string{"model_empty", "model_cut_off", "model_timeout"} {
				if strings.Contains(data, `"`+code+`"`) {
					return out, fmt.Errorf("%w: %s", errUnanswered, data)
				}
			}
			return out, fmt.Errorf("the model can't be asked: %s", data)
		case "done":
			return out, json.Unmarshal([]byte(data), &out)
		}
	}
	return out, errors.Join(errors.New("the answer ended in the middle"), lines.Err())
}

// rating is the body of POST /evorag/v1/feedback.
type rating struct {
	ID        string   `json:"id"`
	Retrieval string   `json:"retrieval"`
	Score     float64  `json:"score"`
	Response  string   `json:"response"`
	Answer    []string `json:"answer,omitempty"`
	Source    string   `json:"source,omitempty"`
	Rater     string   `json:"rater,omitempty"`
	Evaluator string   `json:"evaluator,omitempty"`
}

// Bounds of a delivery, of which the webhook takes 1 MiB.
const (
	perDelivery      = 20
	bytesPerDelivery = 1 << 19
)

// rate sends ratings in their order, several at once.
func (c *client) rate(ctx context.Context, ratings ...rating) error {
	for len(ratings) > 0 {
		n := 1
		for size := ratings[0].size(); n < min(perDelivery, len(ratings)); n++ {
			if size += ratings[n].size(); size > bytesPerDelivery {
				break
			}
		}
		if err := c.call(ctx, http.MethodPost, "/evorag/v1/feedback", ratings[:n], nil); err != nil {
			return err
		}
		ratings = ratings[n:]
	}
	return nil
}

// size is about the bytes of a rating.
func (r rating) size() int {
	n := len(r.Retrieval) + len(r.Response)
	for _, a := range r.Answer {
		n += len(a)
	}
	return n
}

// evolved is what is read of a run.
type evolved struct {
	ID     string `json:"id"`
	State  string `json:"state"`
	Counts Counts `json:"counts"`
}

// Counts are the changes of runs of evolution.
type Counts struct {
	Shortcuts int `json:"shortcuts"`
	Removed   int `json:"removed"`
	Hidden    int `json:"hidden"`
	Shown     int `json:"shown"`
}

func (c *Counts) add(o Counts) {
	c.Shortcuts += o.Shortcuts
	c.Removed += o.Removed
	c.Hidden += o.Hidden
	c.Shown += o.Shown
}

func (c *client) evolve(ctx context.Context) (evolved, error) {
	var run evolved
	err := c.call(ctx, http.MethodPost, "/evorag/v1/runs", struct{}{}, &run)
	return run, err
}

// metrics reads /evorag/metrics: value by name with labels, as it stands there.
func (c *client) metrics(ctx context.Context) (map[string]float64, error) {
	resp, err := c.send(ctx, http.MethodGet, "/evorag/metrics", nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if x, err := strconv.ParseFloat(value, 64); ok && name != "#" && err == nil {
			out[name] = x
		}
	}
	return out, lines.Err()
}

// call sends in as JSON and reads the answer into out; nil: it is passed over.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	return json.NewDecoder(resp.Body).Decode(out)
}

// patience is how often a call is sent that the sidecar answers 429 or 503.
const patience = 60

// send gives an answer of status 2xx; the caller closes its body.
func (c *client) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	for try := 1; ; try++ {
		req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := c.http.Do(req)
		if err != nil {
			var at *url.Error
			if errors.As(err, &at) {
				err = at.Err
			}
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		if resp.StatusCode/100 == 2 {
			return resp, nil
		}
		text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
		resp.Body.Close()
		switch {
		case err != nil:
			return nil, err
		case resp.StatusCode == http.StatusNotFound && bytes.Contains(text, []byte(`"nothing_linked"`)):
			return nil, errNothing
		case (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable) && try < patience:
			if err := sleep(ctx, time.Second); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, bytes.TrimSpace(text))
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
