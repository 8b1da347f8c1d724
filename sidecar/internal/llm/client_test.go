package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
)

func TestAWholeAnswer(t *testing.T) {
	s := script(t, says("Ridley Scott [1]."))
	var seen []llm.Call
	c, _ := client(t, s, func(o *llm.Options) { o.Observe = func(c llm.Call) { seen = append(seen, c) } })
	reply, lines, err := c.Answer(t.Context(), films(), nil)
	require.NoError(t, err)
	require.Equal(t, llm.Reply{Text: "Ridley Scott [1].", Model: "served-model", Finish: "stop", Usage: llm.Usage{PromptTokens: 100, CompletionTokens: 20}}, reply)
	require.Equal(t, []int{0, 1}, lines)
	require.Equal(t, "Bearer k", s.Auth[0])
	require.Len(t, seen, 1)
	require.Equal(t, "answer", seen[0].Purpose)
	require.Equal(t, "ok", seen[0].Outcome())
	var body map[string]any
	require.NoError(t, json.Unmarshal(s.Bodies[0], &body))
	require.Equal(t, "m", body["model"])
	require.EqualValues(t, 50, body["max_tokens"])
	require.Less(t, body["temperature"], 1e-6)
}

func TestReasoningModelsAreAskedInTheirOwnWay(t *testing.T) {
	s := script(t, says("x"))
	c, _ := client(t, s, func(o *llm.Options) { o.Model = "o3-mini" })
	_, _, err := c.Answer(t.Context(), films(), nil)
	require.NoError(t, err)
	require.NotContains(t, string(s.Bodies[0]), "temperature")
	require.NotContains(t, string(s.Bodies[0]), `"max_tokens"`)
	require.Contains(t, string(s.Bodies[0]), `"max_completion_tokens":8242`)
}

func TestAServerThatRecoversIsWaitedFor(t *testing.T) {
	date := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		first turn
		pause time.Duration
	}{
		{"too many requests, with a number of seconds", fails(429, "slow down", "Retry-After", "7"), 7 * time.Second},
		{"too many requests, with a date", fails(429, "slow down", "Retry-After", date.Add(9*time.Second).Format(http.TimeFormat)), 9 * time.Second},
		{"too many requests, with nothing", fails(429, "slow down"), 375 * time.Millisecond},
		{"an internal error", fails(500, "oops"), 375 * time.Millisecond},
		{"an overloaded gateway", answersJSON(503, "<html>", "Retry-After", "2"), 2 * time.Second},
		{"a connection that is cut", drops, 375 * time.Millisecond},
		{"half an answer", answersText(`{"choices":[{"index":0,"message":{"role":"assist`), 375 * time.Millisecond},
		{"a page of HTML", answersText(`<html>hello</html>`), 375 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := script(t, c.first, says("here"))
			k, w := client(t, s, func(o *llm.Options) { o.Now = func() time.Time { return date } })
			reply, _, err := k.Answer(t.Context(), films(), nil)
			require.NoError(t, err)
			require.Equal(t, "here", reply.Text)
			require.Equal(t, []time.Duration{c.pause}, w.all)
		})
	}
}

func TestAServerThatFailsIsNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		turn   turn
		want   error
		text   string
		calls  int
		after  time.Duration
		change func(*llm.Options)
	}{
		{name: "errors without end", turn: fails(500, "oops"), want: llm.ErrUnavailable, text: "500 Internal Server Error: oops", calls: 3},
		{name: "a limit without end", turn: fails(429, "slow", "Retry-After", "3"), want: llm.ErrBusy, text: "429 Too Many Requests: slow", calls: 3, after: 3 * time.Second},
		{name: "a limit that lasts", turn: fails(429, "come back tomorrow", "Retry-After", "3600"), want: llm.ErrBusy, text: "come back tomorrow", calls: 1, after: time.Hour},
		{name: "a wrong key", turn: fails(401, "bad key"), want: llm.ErrSetup, text: "401 Unauthorized: bad key", calls: 1},
		{name: "an unknown model", turn: fails(404, "no such model"), want: llm.ErrSetup, text: "no such model", calls: 1},
		{name: "a path that isn't there", turn: answersJSON(404, "nope"), want: llm.ErrSetup, text: "404 Not Found", calls: 1},
		{name: "a redirection", turn: answersJSON(301, "", "Location", "https://elsewhere/v1"), want: llm.ErrSetup, text: `301 Moved Permanently to "https://elsewhere/v1"`, calls: 1},
		{name: "no choices", turn: answersJSON(200, map[string]any{"choices": []any{}}), want: llm.ErrEmpty, calls: 1},
		{name: "an empty text", turn: says("  \n"), want: llm.ErrEmpty, calls: 1},
		{name: "silence", turn: hangs, want: llm.ErrTimeout, calls: 2, change: func(o *llm.Options) { o.Timeout, o.Retries = 300*time.Millisecond, 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := script(t, c.turn)
			k, _ := client(t, s, c.change)
			_, _, err := k.Answer(t.Context(), films(), nil)
			require.ErrorIs(t, err, c.want)
			require.ErrorIs(t, err, llm.ErrWait)
			require.ErrorContains(t, err, c.text)
			require.Equal(t, c.calls, s.Calls())
			require.Equal(t, c.after, llm.RetryAfter(err))
		})
	}
}

func TestNobodyAtTheAddress(t *testing.T) {
	s := script(t, says("x"))
	s.Close()
	k, w := client(t, s, nil)
	_, _, err := k.Answer(t.Context(), films(), nil)
	require.ErrorIs(t, err, llm.ErrUnavailable)
	require.ErrorContains(t, err, "connection refused")
	require.Len(t, w.all, 2)
}

func TestARefusalKeepsItsWords(t *testing.T) {
	for name, turn := range map[string]turn{
		"in its own field": chooses(map[string]any{"refusal": "I can't help with that."}, "stop"),
		"in a stream":      streams(`!{"choices":[{"index":0,"delta":{"refusal":"I can't help"}}]}`, `!{"choices":[{"index":0,"delta":{"refusal":" with that."},"finish_reason":"stop"}]}`, done),
	} {
		t.Run(name, func(t *testing.T) {
			s := script(t, turn)
			k, _ := client(t, s, nil)
			on := func(string) error { return nil }
			if !strings.Contains(name, "stream") {
				on = nil
			}
			_, _, err := k.Answer(t.Context(), films(), on)
			var refusal *llm.Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, "I can't help with that.", refusal.Words)
		})
	}
}

func TestAContentFilterIsARefusal(t *testing.T) {
	s := script(t, chooses(map[string]any{"content": ""}, "content_filter"))
	k, _ := client(t, s, nil)
	_, _, err := k.Answer(t.Context(), films(), nil)
	require.ErrorAs(t, err, new(*llm.Refusal))
}

func TestStreams(t *testing.T) {
	for _, c := range []struct {
		name  string
		turn  turn
		text  string
		want  error
		usage llm.Usage
		say   string
	}{
		{name: "a whole one", turn: streams("Ridley", " Scott", stops, usage, done), text: "Ridley Scott", usage: llm.Usage{PromptTokens: 7, CompletionTokens: 3}},
		{name: "one without [DONE]", turn: streams("Ridley", stops), text: "Ridley"},
		{name: "one whose connection is cut", turn: streams("Rid", "CUT"), text: "Rid", want: llm.ErrCut},
		{name: "one that ends too early", turn: streams("Rid"), text: "Rid", want: llm.ErrCut},
		{name: "one that falls silent", turn: streams("Rid", "HANG"), text: "Rid", want: llm.ErrTimeout},
		{name: "one with an error inside", turn: streams("Rid", `!{"error":{"message":"out of memory"}}`), text: "Rid", want: llm.ErrCut, say: "out of memory"},
		{name: "one with half JSON inside", turn: streams("Rid", `!{"choices":[{"ind`), text: "Rid", want: llm.ErrCut},
		{name: "one with nothing in it", turn: streams(done), want: llm.ErrEmpty},
		{name: "one of JSON in one piece", turn: says("Ridley"), want: llm.ErrEmpty},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := script(t, c.turn)
			k, _ := client(t, s, func(o *llm.Options) { o.Timeout = 1500 * time.Millisecond })
			var got strings.Builder
			reply, _, err := k.Answer(t.Context(), films(), func(p string) error { got.WriteString(p); return nil })
			require.Equal(t, c.text, got.String())
			require.Equal(t, c.text, reply.Text)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
				require.ErrorContains(t, err, c.say)
				return
			}
			require.NoError(t, err)
			if c.usage != (llm.Usage{}) {
				require.Equal(t, c.usage, reply.Usage)
			}
		})
	}
}

func TestAStreamThatIsSlowButAliveIsRead(t *testing.T) {
	s := script(t, func(w http.ResponseWriter, r *http.Request) {
		for range 6 {
			time.Sleep(300 * time.Millisecond)
			streams("x")(w, r)
		}
		streams(stops, done)(w, r)
	})
	k, _ := client(t, s, func(o *llm.Options) { o.Timeout = 1500 * time.Millisecond })
	reply, _, err := k.Answer(t.Context(), films(), func(string) error { return nil })
	require.NoError(t, err)
	require.Equal(t, "xxxxxx", reply.Text)
}

func TestACallerWhoGoesEndsTheCallAndBlamesNobody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := script(t, hangs, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		hangs(w, r)
	}, says("x"))
	k, w := client(t, s, func(o *llm.Options) { o.BreakerFailures = 1 })
	short, end := context.WithTimeout(t.Context(), 2*time.Second)
	defer end()
	_, _, err := k.Answer(short, films(), nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Empty(t, w.all)
	_, _, err = k.Answer(ctx, films(), func(string) error { return nil })
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = k.Answer(t.Context(), films(), nil)
	require.NoError(t, err, "the circuit is still closed")
}

func TestAReaderWhoGoesEndsTheStream(t *testing.T) {
	s := script(t, streams("a", "b", "c", stops, done))
	k, _ := client(t, s, nil)
	gone := errors.New("gone")
	reply, _, err := k.Answer(t.Context(), films(), func(string) error { return gone })
	require.ErrorIs(t, err, gone)
	require.Equal(t, "a", reply.Text)
}

func TestAFailingServerIsLeftAloneAndTriedAgain(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	s := script(t, fails(500, "a"), fails(500, "b"), fails(500, "c"), fails(500, "d"), says("back"))
	k, _ := client(t, s, func(o *llm.Options) {
		o.Retries, o.BreakerFailures, o.BreakerCooldown = 0, 3, time.Minute
		o.Now = func() time.Time { return now }
	})
	ask := func() error { _, _, err := k.Answer(t.Context(), films(), nil); return err }
	for range 3 {
		require.ErrorContains(t, ask(), "500")
	}
	err := ask()
	require.ErrorIs(t, err, llm.ErrUnavailable)
	require.ErrorContains(t, err, "3 calls in a row failed; the next is tried in 1m0s")
	require.Equal(t, time.Minute, llm.RetryAfter(err))
	require.Equal(t, 3, s.Calls())
	now = now.Add(time.Minute)
	require.ErrorContains(t, ask(), "500 Internal Server Error: d")
	require.ErrorContains(t, ask(), "4 calls in a row failed")
	now = now.Add(time.Minute)
	require.NoError(t, ask())
	require.NoError(t, ask())
}

func TestTheHoursBudget(t *testing.T) {
	for name, change := range map[string]func(*llm.Options){
		"of calls":  func(o *llm.Options) { o.CallsPerHour = 2 },
		"of tokens": func(o *llm.Options) { o.TokensPerHour = 121 }, // each call costs 120
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
			s := script(t, says("x"))
			k, _ := client(t, s, func(o *llm.Options) { change(o); o.Now = func() time.Time { return now } })
			ask := func() error { _, _, err := k.Answer(t.Context(), films(), nil); return err }
			require.NoError(t, ask())
			now = now.Add(10 * time.Minute)
			require.NoError(t, ask())
			err := ask()
			require.ErrorIs(t, err, llm.ErrBudget)
			require.Equal(t, 50*time.Minute, llm.RetryAfter(err))
			require.Equal(t, 2, s.Calls())
			now = now.Add(50 * time.Minute)
			require.NoError(t, ask())
		})
	}
}

func TestCallsAreSpacedAndAFarTurnIsRefused(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	s := script(t, says("x"))
	k, w := client(t, s, func(o *llm.Options) { o.CallsPerMinute = 6; o.Now = func() time.Time { return now } })
	ask := func() error { _, _, err := k.Answer(t.Context(), films(), nil); return err }
	require.NoError(t, ask())
	require.NoError(t, ask())
	require.NoError(t, ask())
	require.Equal(t, []time.Duration{10 * time.Second, 20 * time.Second}, w.all)
	err := ask()
	require.ErrorIs(t, err, llm.ErrBusy)
	require.Equal(t, 30*time.Second, llm.RetryAfter(err))
	require.Equal(t, 3, s.Calls())
}
