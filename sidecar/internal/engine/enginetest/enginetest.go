// Package enginetest gives tests a real engine: one for each test package, started at first use.
//
//	func TestMain(m *testing.M) { enginetest.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		eng := enginetest.Shared(t)
//		eng.Reset(t)
//		...
//	}
//
// The binary is DGRAPH_BIN, else bin/dgraph of this repository. Where there is none, tests that
// want one are skipped; with EVORAG_REQUIRE_ENGINE=1 they fail.
package enginetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
)

const (
	startWithin = 2 * time.Minute
	stopWithin  = 30 * time.Second
	stopGrace   = 3 * time.Second
	retryWithin = 60 * time.Second
	retryEvery  = 100 * time.Millisecond
)

// Engine is a running engine with what tests ask of one.
type Engine struct {
	*engine.Engine
}

var shared struct {
	once   sync.Once
	inMain bool
	dir    string
	engine *Engine
	err    error
}

// Main runs the tests of a package and stops the shared engine after them. The checks (goleak.Find, say)
// run last; one that returns an error fails the package. It doesn't return.
func Main(m *testing.M, checks ...func() error) {
	shared.inMain = true
	code := m.Run()
	checks = append([]func() error{stopShared}, checks...)
	for _, check := range checks {
		if err := check(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

func stopShared() error {
	if shared.dir == "" {
		return nil
	}
	var err error
	if shared.engine != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		err = errors.Join(shared.engine.Err(), stop(ctx, shared.engine.Engine))
	}
	return errors.Join(err, os.RemoveAll(shared.dir))
}

// Long skips a test of minutes, visibly, unless EVORAG_LONG is set ("make test-docs", "make test-long").
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv("EVORAG_LONG") == "" {
		t.Skip("takes minutes; make test-docs or make test-long runs it")
	}
}

// Shared gives the test package's engine. Its data is whatever earlier tests left: see Reset.
func Shared(t testing.TB) *Engine {
	t.Helper()
	bin := Bin(t)
	if !shared.inMain {
		t.Fatal("write `func TestMain(m *testing.M) { enginetest.Main(m) }` into this package, it stops the engine")
	}
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "evorag-engine-"); shared.err == nil {
			shared.engine, shared.err = start(engine.Options{Bin: bin, DataDir: shared.dir})
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	if err := shared.engine.Err(); err != nil {
		t.Fatal(err)
	}
	return shared.engine
}

// Start gives an engine of the test's own, stopped at its end. An empty Bin is Bin(t), an empty
// DataDir a temporary one.
func Start(t testing.TB, o engine.Options) *Engine {
	t.Helper()
	if o.Bin == "" {
		o.Bin = Bin(t)
	}
	if o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	e, err := start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		if err := stop(ctx, e.Engine); err != nil {
			t.Error(err)
		}
	})
	return e
}

// stop takes a kill for an end: v25.4.0's alpha was seen to hang in it (docs/DGRAPH.md).
func stop(ctx context.Context, e *engine.Engine) error {
	if err := e.Stop(ctx); !errors.Is(err, engine.ErrKilled) {
		return err
	}
	return nil
}

func start(o engine.Options) (*Engine, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	if o.StopGrace == 0 {
		o.StopGrace = stopGrace
	}
	e, err := engine.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Engine{Engine: e}, nil
}

// Bin gives the engine's binary, or skips (fails, with EVORAG_REQUIRE_ENGINE=1).
func Bin(t testing.TB) string {
	t.Helper()
	bin := os.Getenv("DGRAPH_BIN")
	if bin == "" {
		root, err := repository()
		if err != nil {
			t.Fatal(err)
		}
		bin = filepath.Join(root, "bin", "dgraph")
	} else if !filepath.IsAbs(bin) { // relative to the top of the repository, where make runs
		root, err := repository()
		if err != nil {
			t.Fatal(err)
		}
		bin = filepath.Join(root, bin)
	}
	bin, err := engine.Locate(bin)
	if err == nil {
		return bin
	}
	if os.Getenv("EVORAG_REQUIRE_ENGINE") == "1" {
		t.Fatal(err)
	}
	t.Skipf("NO ENGINE, NOT TESTED: %v", err)
	return ""
}

// repository is the folder of the go.mod above the working directory.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = up
	}
}

// Reset drops all data and the whole schema, evorag's own included.
func (e *Engine) Reset(t testing.TB) {
	t.Helper()
	e.retry(t, "/alter", "application/json", `{"drop_all": true}`)
}

// Alter applies a schema and waits for its indexes.
func (e *Engine) Alter(t testing.TB, schema string) {
	t.Helper()
	e.retry(t, "/alter", "application/dql", schema)
}

// Mutate sets N-Quads in one committed transaction and gives the uids of its blank nodes.
func (e *Engine) Mutate(t testing.TB, nquads string) map[string]string {
	t.Helper()
	data := e.retry(t, "/mutate?commitNow=true", "application/rdf", "{ set {\n"+nquads+"\n} }")
	var reply struct {
		UIDs map[string]string `json:"uids"`
	}
	if err := json.Unmarshal(data, &reply); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return reply.UIDs
}

// Query runs DQL and gives the bytes of "data". vars may be nil.
func (e *Engine) Query(t testing.TB, dql string, vars map[string]string) json.RawMessage {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": dql, "variables": vars})
	if err != nil {
		t.Fatal(err)
	}
	return e.retry(t, "/query", "application/json", string(body))
}

// retry posts until the answer carries no error that the engine asks to retry.
func (e *Engine) retry(t testing.TB, path, contentType, body string) json.RawMessage {
	t.Helper()
	deadline := time.Now().Add(retryWithin)
	for {
		data, err := e.post(path, contentType, body)
		if err == nil {
			return data
		}
		if !retryable(err.Error()) || time.Now().After(deadline) {
			t.Fatalf("%s: %v", path, err)
		}
		time.Sleep(retryEvery)
	}
}

// retryable knows the errors of an engine that is busy with a schema or another transaction.
func retryable(message string) bool {
	message = strings.ToLower(message)
	for _, part := range []string{"retry", "aborted", "already running", "not ready"} {
		if strings.Contains(message, part) {
			return true
		}
	}
	return false
}

func (e *Engine) post(path, contentType, body string) (json.RawMessage, error) {
	client := &http.Client{Timeout: startWithin}
	defer client.CloseIdleConnections()
	resp, err := client.Post("http://"+e.HTTPAddr()+path, contentType, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var reply struct {
		Data   json.RawMessage `json:"data"`
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return nil, fmt.Errorf("status %d: %s", resp.StatusCode, bytes.TrimSpace(raw))
	}
	if len(reply.Errors) > 0 {
		return nil, errors.New(reply.Errors[0].Message)
	}
	return reply.Data, nil
}
