package conformance

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// client plays a scenario on one side and writes down every answer.
type client struct {
	t          *testing.T
	side       side
	transcript strings.Builder
	answers    int
}

// say notes an answer.
func (c *client) say(what, answer string) {
	c.answers++
	fmt.Fprintf(&c.transcript, "%s\n%s\n\n", what, answer)
}

// do sends a request and returns the raw answer.
func (c *client) do(r request) string {
	c.t.Helper()
	raw, err := r.raw(c.side)
	require.NoError(c.t, err, c.side.name)
	c.say(equalised(r.String()), equalised(raw))
	return raw
}

// call makes a call and returns the answer.
func (c *client) call(k call) proto.Message {
	c.t.Helper()
	out, answer, err := k.raw(c.side)
	require.NoError(c.t, err, c.side.name)
	c.say(equalised(k.String()), k.tell(proto.Clone(out), answer))
	return out
}

// txn is a transaction context in the "extensions" of an answer.
type txn struct {
	StartTS uint64   `json:"start_ts"`
	Hash    string   `json:"hash"`
	Keys    []string `json:"keys"`
	Preds   []string `json:"preds"`
}

func (c *client) txnOf(raw string) txn {
	c.t.Helper()
	_, body, _ := strings.Cut(raw, "\n\n")
	var a struct {
		Extensions struct{ Txn txn }
	}
	require.NoError(c.t, json.Unmarshal([]byte(body), &a), raw)
	require.NotZero(c.t, a.Extensions.Txn.StartTS, raw)
	return a.Extensions.Txn
}

// in puts a path into the transaction.
func (x txn) in(path string) string {
	v := url.Values{"startTs": {strconv.FormatUint(x.StartTS, 10)}}
	if x.Hash != "" {
		v.Set("hash", x.Hash)
	}
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	return path + sep + v.Encode()
}

// end commits the transaction, or aborts it.
func (x txn) end(abort bool) request {
	body, _ := json.Marshal(map[string][]string{"keys": x.Keys, "preds": x.Preds}) // strings only
	path := x.in("/commit")
	if abort {
		path += "&abort=true"
	}
	return post(path, "application/json", string(body))
}

// scenario is played on a predicate set of its own, which is dropped before each time.
type scenario struct {
	name string
	play func(*client)
}

var statusFault = regexp.MustCompile(`(?m)^(Unknown|Aborted|Unauthenticated|Unimplemented|FailedPrecondition|InvalidArgument|PermissionDenied): `)

// playBothWays plays each scenario straight and through the sidecar and compares all that came back.
func playBothWays(t *testing.T, scenarios []scenario) {
	direct, through := sides(t)
	answers, faults := 0, 0
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			a := play(t, direct, direct, s)
			b := play(t, direct, through, s)
			require.Equal(t, a.transcript.String(), b.transcript.String())
			faults += strings.Count(a.transcript.String(), `"errors":`) + len(statusFault.FindAllString(a.transcript.String(), -1))
			answers += a.answers
		})
	}
	t.Logf("%d scenarios with %d answers each way compared, %d of them errors", len(scenarios), answers, faults)
}

func play(t *testing.T, admin, s side, sc scenario) *client {
	t.Helper()
	for _, attr := range []string{"s.name", "s.age", "s.friend", "s.more"} {
		_, err := fetch("http://"+admin.http+"/alter", "application/json", []byte(`{"drop_attr": "`+attr+`"}`))
		require.NoError(t, err)
	}
	_, err := fetch("http://"+admin.http+"/alter", "application/dql",
		[]byte("s.name: string @index(exact) @upsert .\ns.age: int .\ns.friend: [uid] @reverse @count ."))
	require.NoError(t, err)
	c := &client{t: t, side: s}
	sc.play(c)
	tidy := renamed(c.transcript.String())
	c.transcript.Reset()
	c.transcript.WriteString(tidy)
	return c
}

var assigned = regexp.MustCompile(`0x[0-9a-f]{5,}`)

// renamed numbers the uids that the engine has assigned (those above the ones that the tests
// choose) in the order in which they appear.
func renamed(transcript string) string {
	names := map[string]string{}
	return assigned.ReplaceAllStringFunc(transcript, func(uid string) string {
		if names[uid] == "" {
			names[uid] = fmt.Sprintf("new uid %d", len(names)+1)
		}
		return names[uid]
	})
}
