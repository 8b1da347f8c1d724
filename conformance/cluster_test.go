package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// side is one way to the data: straight to the alpha, or through the sidecar.
type side struct {
	name string
	http string // host:port
	conn *grpc.ClientConn
}

// cluster is a zero, an alpha and a sidecar in front of it, with the graph of testdata.
type cluster struct {
	direct, through side
	processes       []*process
	dir             string
	ttl             int // seconds that an access token lasts; 0: nobody is asked who he is
}

var (
	shared      *cluster
	sharedOnce  sync.Once
	sharedError error
)

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		shared.stop(code != 0)
	}
	os.Exit(code)
}

// engineBin is the engine. Where none was built the test is skipped; it fails there with
// EVORAG_REQUIRE_ENGINE=1.
func engineBin(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("DGRAPH_BIN")
	if bin == "" {
		bin = "../bin/dgraph"
	}
	if _, err := os.Stat(bin); err != nil {
		if os.Getenv("EVORAG_REQUIRE_ENGINE") == "1" {
			t.Fatal(err)
		}
		t.Skipf("NO ENGINE, NOT TESTED: %v; build one with make engine or set DGRAPH_BIN", err)
	}
	return bin
}

// sides gives the two ways to the graph of testdata.
func sides(t *testing.T) (direct, through side) {
	t.Helper()
	bin := engineBin(t)
	sharedOnce.Do(func() {
		shared = &cluster{}
		sharedError = shared.start(bin)
	})
	require.NoError(t, sharedError)
	return shared.direct, shared.through
}

// sidesWithACL gives the two ways to a cluster of the test's own that checks who asks. Access
// tokens last as many seconds as the test says.
func sidesWithACL(t *testing.T, seconds int) (direct, through side) {
	t.Helper()
	c := &cluster{ttl: seconds}
	bin := engineBin(t)
	t.Cleanup(func() { c.stop(t.Failed()) })
	require.NoError(t, c.start(bin))
	return c.direct, c.through
}

// ports of Dgraph without an offset: zero's and alpha's internal, HTTP and gRPC ones.
var ports = []int{5080, 6080, 7080, 8080, 9080}

func (c *cluster) start(bin string) (err error) {
	if bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp("", "evorag-conformance-"); err != nil {
		return err
	}
	sidecar, err := c.sidecar()
	if err != nil {
		return err
	}
	offset, err := freeOffset()
	if err != nil {
		return err
	}
	at := func(port int) string { return "127.0.0.1:" + strconv.Itoa(port+offset) }
	shift := strconv.Itoa(offset)
	c.run(bin, "zero", "-o", shift, "--my", at(5080), "--wal", filepath.Join(c.dir, "zw"))
	if err := waitFor("http://" + at(6080) + "/health"); err != nil {
		return c.failed(err)
	}
	alpha := []string{"alpha", "-o", shift, "--my", at(7080), "--zero", at(5080),
		"-p", filepath.Join(c.dir, "p"), "-w", filepath.Join(c.dir, "w"), "--security", "whitelist=127.0.0.1"}
	serve := []string{"serve", "--dgraph", at(9080), "--dgraph-http", "http://" + at(8080), "--http", at(8090), "--grpc", at(9090)}
	if c.ttl > 0 {
		secret, password := filepath.Join(c.dir, "secret"), filepath.Join(c.dir, "password")
		if err := errors.Join(os.WriteFile(secret, []byte(strings.Repeat("s", 32)), 0o600), os.WriteFile(password, []byte("password"), 0o600)); err != nil {
			return err
		}
		alpha = append(alpha, "--acl", fmt.Sprintf("secret-file=%s; access-ttl=%ds", secret, c.ttl))
		serve = append(serve, "--user", "groot", "--password-file", password)
	}
	c.run(bin, alpha...)
	if err := waitFor("http://" + at(8080) + "/health"); err != nil {
		return c.failed(err)
	}
	if c.direct, err = newSide("direct", at(8080), at(9080)); err != nil {
		return err
	}
	// The data comes first, or the sidecar's own nodes would have the uids that it names.
	prepare := func() error { return c.fill(at(6080)) }
	if c.ttl > 0 {
		prepare = func() error { return waitForGroot(at(8080)) }
	}
	if err := prepare(); err != nil {
		return c.failed(err)
	}
	c.run(sidecar, serve...)
	if err := waitFor("http://" + at(8090) + "/health"); err != nil {
		return c.failed(err)
	}
	c.through, err = newSide("through the sidecar", at(8090), at(9090))
	return err
}

// sidecar is the binary that EVORAG_BIN names, or one built from this repository.
func (c *cluster) sidecar() (string, error) {
	if bin := os.Getenv("EVORAG_BIN"); bin != "" {
		return filepath.Abs(bin)
	}
	bin := filepath.Join(c.dir, "dgraph-evorag")
	build := exec.Command("go", "build", "-o", bin, "./sidecar/cmd/dgraph-evorag")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the sidecar: %w\n%s", err, out)
	}
	return bin, nil
}

func newSide(name, http, rpc string) (side, error) {
	conn, err := grpc.NewClient(rpc, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30), grpc.MaxCallSendMsgSize(1<<30)))
	return side{name, http, conn}, err
}

// fill loads testdata into the alpha.
func (c *cluster) fill(zero string) error {
	if _, err := fetch("http://"+zero+"/assign?what=uids&num=100000", "", nil); err != nil {
		return err
	}
	schema, err := os.ReadFile("testdata/graph.schema")
	if err != nil {
		return err
	}
	rdf, err := os.ReadFile("testdata/graph.rdf")
	if err != nil {
		return err
	}
	if _, err := fetch("http://"+c.direct.http+"/alter", "application/dql", schema); err != nil {
		return err
	}
	_, err = fetch("http://"+c.direct.http+"/mutate?commitNow=true", "application/rdf",
		[]byte("{ set {\n"+string(rdf)+"\n} }"))
	return err
}

// fetch gets, or posts where there is a body, and takes errors in the answer for errors.
func fetch(url, contentType string, body []byte) ([]byte, error) {
	get := func() (*http.Response, error) { return http.Get(url) }
	if body != nil {
		get = func() (*http.Response, error) { return http.Post(url, contentType, bytes.NewReader(body)) }
	}
	resp, err := get()
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || bytes.Contains(answer, []byte(`"errors":`))) {
		err = fmt.Errorf("%s: %s: %s", url, resp.Status, answer)
	}
	return answer, err
}

func waitFor(url string) (err error) {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		var answer []byte
		if answer, err = fetch(url, "", nil); err == nil && !strings.Contains(string(answer), "unhealthy") {
			return nil
		}
	}
	return fmt.Errorf("%s does not answer: %w", url, err)
}

// waitForGroot waits for the administrator, whom a new alpha makes once it is healthy.
func waitForGroot(alpha string) (err error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if _, err = fetch("http://"+alpha+"/login", "application/json", []byte(groot)); err == nil {
			return nil
		}
	}
	return err
}

// groot logs the administrator of the first namespace in.
const groot = `{"userid": "groot", "password": "password", "namespace": 0}`

// freeOffset finds a shift of Dgraph's ports, and ten above them for the sidecar, that nobody uses.
func freeOffset() (int, error) {
	for offset := 15000; offset < 50000; offset += 100 {
		if offsetFree(offset) {
			return offset, nil
		}
	}
	return 0, errors.New("no free ports for a cluster")
}

func offsetFree(offset int) bool {
	for _, p := range append([]int{8090, 9090}, ports...) {
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(p+offset))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// process is a running child, its output kept.
type process struct {
	cmd *exec.Cmd
	log *os.File
}

func (c *cluster) run(bin string, args ...string) {
	p := &process{cmd: exec.Command(bin, args...)}
	p.cmd.SysProcAttr = child()
	p.cmd.Dir = c.dir
	log, err := os.Create(filepath.Join(c.dir, fmt.Sprintf("%d-%s.log", len(c.processes), args[0])))
	if err == nil {
		p.log, p.cmd.Stdout, p.cmd.Stderr = log, log, log
	}
	c.processes = append(c.processes, p)
	if err := p.cmd.Start(); err != nil {
		fmt.Fprintln(log, err)
	}
}

// failed adds the ends of all logs to an error.
func (c *cluster) failed(err error) error {
	if err == nil {
		return nil
	}
	for _, p := range c.processes {
		text, readErr := os.ReadFile(p.log.Name())
		err = errors.Join(err, readErr, fmt.Errorf("%s:\n%s", p.cmd, text[max(0, len(text)-2000):]))
	}
	return err
}

// stop ends the sidecar first, then alpha and zero. The logs stay after a failure.
func (c *cluster) stop(keep bool) {
	for i := len(c.processes) - 1; i >= 0; i-- {
		p := c.processes[i]
		if p.cmd.Process == nil {
			continue
		}
		_ = p.cmd.Process.Signal(os.Interrupt)
		done := make(chan struct{})
		go func() { _ = p.cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			_ = p.cmd.Process.Kill()
			<-done
		}
		p.log.Close()
	}
	if keep {
		fmt.Fprintln(os.Stderr, "logs are in", c.dir)
		return
	}
	_ = os.RemoveAll(c.dir)
}
