package feedback_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

// chaosEvents is the number of ratings of the short run; EVORAG_CHAOS sets another.
const (
	chaosEvents  = 400
	chaosSenders = 8
)

// arena is a cluster and a sidecar as processes that can be killed at any moment.
type arena struct {
	t          *testing.T
	dir        string
	dgraph     string
	evorag     string
	offset     int
	http, grpc string

	mu                   sync.Mutex
	zero, alpha, sidecar *child
}

// child is a process with the one goroutine that waits for its end.
type child struct {
	*os.Process
	ended chan struct{}
}

func newArena(t *testing.T) *arena {
	a := &arena{t: t, dir: t.TempDir(), dgraph: enginetest.Bin(t)}
	a.evorag = filepath.Join(a.dir, "dgraph-evorag")
	build := exec.Command("go", "build", "-o", a.evorag, "github.com/evorag/dgraph-evorag/sidecar/cmd/dgraph-evorag")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, os.WriteFile(filepath.Join(a.dir, "key"), []byte("0123456789abcdef"), 0o600))
	t.Cleanup(func() { a.kill(&a.sidecar); a.kill(&a.alpha); a.kill(&a.zero) })
	for range 5 { // somebody may take a port that was free just now
		if err = a.startZero(); err == nil {
			break
		}
		a.kill(&a.zero)
	}
	require.NoError(t, err)
	require.NoError(t, a.startAlpha())
	require.NoError(t, a.startSidecar())
	return a
}

func free(ports ...int) bool {
	for _, p := range ports {
		l, err := net.Listen("tcp", ":"+strconv.Itoa(p))
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}

func (a *arena) start(name, bin string, args ...string) (*child, error) {
	log, err := os.OpenFile(filepath.Join(a.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(bin, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = a.dir, log, log
	cmd.Env = append(os.Environ(), "DGRAPH_EVORAG_RETRIEVAL_KEY_FILE="+filepath.Join(a.dir, "key"), "DGRAPH_EVORAG_FEEDBACK_WAIT=100ms",
		"DGRAPH_EVORAG_FEEDBACK_QUEUE=100000", "DGRAPH_EVORAG_CACHE_MODE=off")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd.Process, make(chan struct{})}
	go func() { defer close(c.ended); _ = cmd.Wait() }()
	return c, nil
}

func (c *child) stop() {
	_ = c.Signal(syscall.SIGKILL)
	<-c.ended
}

// kill ends a process at once, wherever it is.
func (a *arena) kill(c **child) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if *c != nil {
		(*c).stop()
		*c = nil
	}
}

// startZero tries ports that are free.
func (a *arena) startZero() error {
	for a.offset = 19000 + rand.IntN(400); !free(a.offset+5080, a.offset+6080, a.offset+7080, a.offset+8080, a.offset+9080, a.offset+10080, a.offset+10090); a.offset++ {
	}
	a.http, a.grpc = fmt.Sprintf("127.0.0.1:%d", a.offset+10080), fmt.Sprintf("127.0.0.1:%d", a.offset+10090)
	zero, err := a.start("zero", a.dgraph, "zero", "--my=localhost:"+strconv.Itoa(a.offset+5080), "-o", strconv.Itoa(a.offset), "--wal", "zw"+strconv.Itoa(a.offset))
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.zero = zero
	a.mu.Unlock()
	return await(zero, "http://127.0.0.1:"+strconv.Itoa(a.offset+6080)+"/health")
}

func (a *arena) startAlpha() error {
	alpha, err := a.start("alpha", a.dgraph, "alpha", "--my=localhost:"+strconv.Itoa(a.offset+7080), "--zero=localhost:"+strconv.Itoa(a.offset+5080),
		"-o", strconv.Itoa(a.offset), "-p", "p", "-w", "w", "--security", "whitelist=127.0.0.1")
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.alpha = alpha
	a.mu.Unlock()
	return await(alpha, "http://127.0.0.1:"+strconv.Itoa(a.offset+8080)+"/health")
}

// startSidecar tries until the alpha lets it.
func (a *arena) startSidecar() error {
	deadline := time.Now().Add(2 * time.Minute)
	for time.Now().Before(deadline) {
		c, err := a.start("sidecar", a.evorag, "serve", "--dgraph", "127.0.0.1:"+strconv.Itoa(a.offset+9080), "--http", a.http, "--grpc", a.grpc)
		if err != nil {
			return err
		}
		for up := false; !up; {
			select {
			case <-c.ended:
				up = true // gone: the alpha was away, try again
			case <-time.After(50 * time.Millisecond):
				if resp, err := http.Get("http://" + a.http + "/evorag/v1/status"); err == nil {
					resp.Body.Close()
					a.mu.Lock()
					a.sidecar = c
					a.mu.Unlock()
					return nil
				}
			}
		}
	}
	return errors.New("the sidecar does not start; see its log")
}

// await waits until a process says that it is healthy.
func await(c *child, url string) error {
	healthy := func() bool {
		resp, err := http.Get(url)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return err == nil && resp.StatusCode == http.StatusOK && !bytes.Contains(body, []byte("unhealthy"))
	}
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		select {
		case <-c.ended:
			return fmt.Errorf("%s: the process has ended", url)
		case <-time.After(100 * time.Millisecond):
			if healthy() {
				return nil
			}
		}
	}
	return fmt.Errorf("%s: not healthy", url)
}

// post sends JSON to the sidecar; an error where nobody answers.
func (a *arena) post(path, contentType string, body []byte) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+a.http+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// Whoever is killed at whatever moment: every rating takes effect once, in an order that the
// journal tells, and nothing of the users' is lost.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for a minute")
	}
	events := chaosEvents
	if text := os.Getenv("EVORAG_CHAOS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		events = n
	}
	a := newArena(t)
	client, err := dgraph.Dial(dgraph.Options{Target: dgraph.Target{Addr: "127.0.0.1:" + strconv.Itoa(a.offset+9080)}})
	require.NoError(t, err)
	defer client.Close()
	facets := a.load(client)
	shown := a.retrieve()

	var sent, taken, kills atomic.Int64
	done := make(chan struct{})
	var senders, others sync.WaitGroup
	for i := range chaosSenders {
		senders.Go(func() { a.rate(i, events/chaosSenders, shown, &sent, &taken) })
	}
	others.Go(func() { a.killer(done, &taken, events, &kills) })
	var heads seats
	read(t, client, `{ q(func: has(seat)) { uid seat { uid } } }`, &heads)
	others.Go(func() { a.vandal(done, heads) })
	began := time.Now()
	senders.Wait()
	close(done)
	others.Wait()
	accepted := time.Since(began)
	require.False(t, t.Failed(), "somebody gave up")

	a.drained(client)

	applied := requireReference(t, client)
	var stored struct{ Ratings []struct{ Count int } }
	read(t, client, `{ ratings(func: has(evorag.feedback.id)) { count: count(uid) } }`, &stored)
	require.Equal(t, events/chaosSenders*chaosSenders, stored.Ratings[0].Count, "every delivery is stored once")
	require.JSONEq(t, facets, a.facets(client), "the users' facets are as they were")
	var doomed struct{ Q []struct{ UID string } }
	read(t, client, `{ q(func: has(doomed)) { uid doomed { uid } } }`, &doomed)
	require.Empty(t, doomed.Q, "what was deleted stays deleted")
	t.Logf("%d ratings (%d deliveries with duplicates) taken in %s, %d took effect at least once; %d kills", stored.Ratings[0].Count, sent.Load(), accepted.Round(time.Second), applied, kills.Load())
}

// drained waits until nothing is pending, as long as it gets less.
func (a *arena) drained(client *dgraph.Client) {
	const patience = 2 * time.Minute
	least, since := math.MaxInt, time.Now()
	for time.Since(since) < patience {
		var left struct{ Pending []struct{ Count int } }
		data, err := client.Read(a.t.Context(), `{ pending(func: eq(evorag.feedback.status, ["pending", "waiting"])) { count: count(uid) } }`, nil)
		if err == nil && json.Unmarshal(data, &left) == nil {
			n := left.Pending[0].Count
			if n == 0 {
				return
			}
			if n < least {
				least, since = n, time.Now()
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
	log, err := os.ReadFile(filepath.Join(a.dir, "sidecar.log"))
	require.NoError(a.t, err)
	require.Failf(a.t, "ratings stay pending", "%d of them; the end of the sidecar's log:\n%s", least, log[max(0, len(log)-4000):])
}

// load makes studios with owners, a seat that other clients set again and again, and edges
// that are going to be deleted.
func (a *arena) load(client *dgraph.Client) string {
	require.NoError(a.t, client.Alter(a.t.Context(), "name: string @index(exact, term) .\nowned_by: [uid] @reverse .\nseat: [uid] .\ndoomed: [uid] .\nfounded_by: [uid] ."))
	var b strings.Builder
	b.WriteString("{ set {\n")
	for i := range 20 {
		fmt.Fprintf(&b, "_:s%d <name> \"Studio%d\" .\n", i, i)
		for j := range 5 {
			fmt.Fprintf(&b, "_:o%d_%d <name> \"Owner%dof%d\" .\n_:s%d <owned_by> _:o%d_%d (since=20%02d, note=\"2013-06-28T00:00:00Z\", share=%d.0) .\n", i, j, j, i, i, i, j, j, j)
		}
		fmt.Fprintf(&b, "_:c%d <name> \"City%d\" .\n_:s%d <seat> _:c%d (since=1999-01-02T00:00:00Z) .\n_:f%d <name> \"Founder%d\" .\n_:s%d <founded_by> _:f%d .\n_:d%d <name> \"Doomed%d\" .\n_:s%d <doomed> _:d%d .\n",
			i, i, i, i, i, i, i, i, i, i, i, i)
	}
	b.WriteString("} }")
	code, body, err := a.post("/mutate?commitNow=true", "application/rdf", []byte(b.String()))
	require.NoError(a.t, err)
	require.Equal(a.t, 200, code)
	require.NotContains(a.t, string(body), `"errors"`)
	return a.facets(client)
}

func (a *arena) facets(client *dgraph.Client) string {
	data, err := client.Read(a.t.Context(), `{ q(func: has(owned_by)) { uid owned_by @facets(since, note, share) { uid } seat @facets(since) { uid } } }`, nil)
	require.NoError(a.t, err)
	return string(data)
}

// retrieve asks about every studio, several times.
func (a *arena) retrieve() (ids []string) {
	for i := range 60 {
		code, body, err := a.post("/evorag/v1/retrieve", "application/json", fmt.Appendf(nil, `{"question":"Who is Studio%d owned by?","hops":1,"bundle":%t}`, i%20, i%3 == 0))
		require.NoError(a.t, err)
		require.Equal(a.t, 200, code, string(body))
		var r struct{ Retrieval string }
		require.NoError(a.t, json.Unmarshal(body, &r))
		ids = append(ids, r.Retrieval)
	}
	return ids
}

// rate sends ratings until each is taken: some twice, many by raters who change their minds.
func (a *arena) rate(sender, n int, shown []string, sent, taken *atomic.Int64) {
	r := rand.New(rand.NewPCG(uint64(sender), 7))
	for i := range n {
		studio := r.IntN(len(shown))
		body, err := json.Marshal(map[string]any{
			"id": fmt.Sprintf("s%d-%d", sender, i), "retrieval": shown[studio], "score": 1 + r.IntN(5), "rater": fmt.Sprintf("rater%d", r.IntN(4)),
			"response": fmt.Sprintf("Owner%dof%d", r.IntN(5), studio%20),
		})
		if err != nil {
			a.t.Error(err)
			return
		}
		for times := 1 + r.IntN(5)/4; times > 0 && !a.t.Failed(); {
			code, answer, err := a.post("/evorag/v1/feedback", "application/json", body)
			switch {
			case err == nil && code == http.StatusAccepted:
				times--
				sent.Add(1)
			case err == nil && code != http.StatusServiceUnavailable && code != http.StatusTooManyRequests:
				a.t.Errorf("%d %s", code, answer)
				return
			default:
				time.Sleep(50 * time.Millisecond)
			}
		}
		taken.Add(1)
	}
}

// killer kills the sidecar again and again, and the alpha now and then, until one doesn't start again.
func (a *arena) killer(done <-chan struct{}, taken *atomic.Int64, events int, kills *atomic.Int64) {
	r := rand.New(rand.NewPCG(3, 1))
	alphaAt := int64(events / 3)
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(300+r.IntN(2000)) * time.Millisecond):
		}
		victim, again := &a.sidecar, a.startSidecar
		if taken.Load() >= alphaAt {
			alphaAt += int64(max(events/3, 500)) + 1
			victim, again = &a.alpha, a.startAlpha
		}
		a.kill(victim)
		kills.Add(1)
		if err := again(); err != nil {
			a.t.Error(err)
			return
		}
	}
}

// seats are the studios with theirs.
type seats struct {
	Q []struct {
		UID  string
		Seat []struct{ UID string }
	}
}

// vandal sets edges again through the sidecar, as an ordinary import does, and deletes others
// around it, while they are scored.
func (a *arena) vandal(done <-chan struct{}, all seats) {
	heads := len(all.Q)
	for i := 0; ; i++ {
		select {
		case <-done:
			for i := range heads { // whoever is left
				for a.doom(all.Q[i].UID) != nil && !a.t.Failed() {
					time.Sleep(100 * time.Millisecond)
				}
			}
			return
		case <-time.After(30 * time.Millisecond):
		}
		h := all.Q[i%heads]
		_, _, _ = a.post("/mutate?commitNow=true", "application/rdf", fmt.Appendf(nil, "{ set { <%s> <seat> <%s> (since=1999-01-02T00:00:00Z) . } }", h.UID, h.Seat[0].UID))
		if i%10 == 0 {
			_ = a.doom(h.UID)
		}
	}
}

// doom deletes edges by a wildcard, directly at the alpha.
func (a *arena) doom(head string) error {
	resp, err := http.Post("http://127.0.0.1:"+strconv.Itoa(a.offset+8080)+"/mutate?commitNow=true", "application/rdf", strings.NewReader("{ delete { <"+head+"> <doomed> * . } }"))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && bytes.Contains(body, []byte(`"errors"`)) {
		err = errors.New(string(body))
	}
	return err
}
