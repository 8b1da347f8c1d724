package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// Bounds of waiting between attempts.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 20 * time.Second // also the longest Retry-After that is waited for within a call
	largestReply = 32 << 20
)

// patient sends requests with retries, inside rate, budget and breaker. It is what go-openai
// uses as its HTTP client.
type patient struct {
	next    http.RoundTripper
	timeout time.Duration // longest silence: before the answer's head, and between two reads of it
	retries int
	rate    *rate.Limiter
	budget  *budget
	breaker *breaker
	section string // of the settings
	now     func() time.Time
	pause   func(context.Context, time.Duration) error
	jitter  func() float64 // in [0,1)
}

// Do sends the request until it is answered, refused, or out of retries. Statuses that a
// retry may mend (408, 429, 5xx) never come back: they are errors, with the server's words.
func (p *patient) Do(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	for attempt := 0; ; attempt++ {
		if err := p.admit(ctx); err != nil {
			return nil, err
		}
		resp, err := p.try(req)
		if ctx.Err() != nil { // the caller has gone; the server is not to blame
			if err == nil {
				_ = resp.Body.Close()
			}
			return nil, ctx.Err()
		}
		p.breaker.report(err == nil || errors.Is(err, ErrBusy) || errors.Is(err, ErrSetup), p.now())
		if err == nil {
			return resp, nil
		}
		after := RetryAfter(err)
		if attempt >= p.retries || after > longestPause || errors.Is(err, ErrSetup) {
			return nil, err
		}
		if err := p.pause(ctx, max(after, p.backoff(attempt))); err != nil {
			return nil, err
		}
	}
}

// admit waits for the rate's turn; a turn too far away is ErrBusy.
func (p *patient) admit(ctx context.Context) error {
	now := p.now()
	if err := p.breaker.admit(now); err != nil {
		return err
	}
	turn := p.rate.ReserveN(now, 1)
	wait := turn.DelayFrom(now)
	if wait > longestPause {
		turn.CancelAt(now)
		return &later{fmt.Errorf("%w (%s.calls_per_minute)", ErrBusy, p.section), wait}
	}
	if err := p.budget.admit(now); err != nil {
		turn.CancelAt(now)
		return err
	}
	if wait > 0 {
		return p.pause(ctx, wait)
	}
	return nil
}

// backoff doubles with each attempt and is somewhere in the upper half of that, so that
// callers who failed together don't come back together.
func (p *patient) backoff(attempt int) time.Duration {
	full := min(firstPause<<min(attempt, 10), longestPause)
	return full/2 + time.Duration(p.jitter()*float64(full/2))
}

// try sends the request once. The body of an answer that is no stream is read here, so that
// a connection that is cut counts as a failed attempt.
func (p *patient) try(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	silence := time.AfterFunc(p.timeout, func() { cancel(ErrTimeout) })
	done := func() { silence.Stop(); cancel(nil) }
	once := req.Clone(ctx)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			done()
			return nil, err
		}
		once.Body = body
	}
	resp, err := p.next.RoundTrip(once)
	if err != nil {
		defer done()
		return nil, failure(ctx, err)
	}
	resp.Body = &watched{ReadCloser: resp.Body, ctx: ctx, silence: silence, timeout: p.timeout, done: done}
	streamed := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	if resp.StatusCode == http.StatusOK && streamed {
		return resp, nil
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, largestReply))
	_ = resp.Body.Close()
	switch code := resp.StatusCode; {
	case err != nil:
		return nil, failure(ctx, err)
	case code == http.StatusTooManyRequests:
		return nil, &later{fmt.Errorf("%w (%s: %s)", ErrBusy, resp.Status, excerpt(raw)), p.retryAfter(resp.Header)}
	case code == http.StatusRequestTimeout || code >= http.StatusInternalServerError:
		return nil, &later{fmt.Errorf("%w (%s: %s)", ErrUnavailable, resp.Status, excerpt(raw)), p.retryAfter(resp.Header)}
	case code >= 300 && code < 400:
		return nil, fmt.Errorf("%w (%s to %q)", ErrSetup, resp.Status, resp.Header.Get("Location"))
	case code == http.StatusOK && !json.Valid(raw):
		return nil, fmt.Errorf("%w (its answer is not JSON: %s)", ErrUnavailable, excerpt(raw))
	}
	resp.Body = io.NopCloser(bytes.NewReader(raw))
	return resp, nil
}

// failure names what stopped an attempt.
func failure(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), ErrTimeout) {
		return ErrTimeout
	}
	if errors.Is(err, ErrTimeout) || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w (%w)", ErrUnavailable, err)
}

// retryAfter reads Retry-After, in seconds or as a date (RFC 9110 section 10.2.3); 0 where
// there is none.
func (p *patient) retryAfter(h http.Header) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(p.now()))
	}
	return 0
}

// watched is a body that must not be silent for longer than timeout.
type watched struct {
	io.ReadCloser
	ctx     context.Context
	silence *time.Timer
	timeout time.Duration
	done    func()
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	if err != nil && !errors.Is(err, io.EOF) && errors.Is(context.Cause(w.ctx), ErrTimeout) {
		return n, ErrTimeout
	}
	w.silence.Reset(w.timeout)
	return n, err
}

func (w *watched) Close() error {
	defer w.done()
	return w.ReadCloser.Close()
}

// pause waits, or ends with ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// excerpt is the beginning of a server's words, on one line.
func excerpt(raw []byte) string {
	var e struct {
		Error struct{ Message string }
	}
	text := string(raw)
	if json.Unmarshal(raw, &e) == nil && e.Error.Message != "" {
		text = e.Error.Message
	}
	return cut(strings.Join(strings.Fields(text), " "), 200)
}
