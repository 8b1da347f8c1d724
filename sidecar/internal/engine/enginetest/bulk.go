package enginetest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
)

const bulkWithin = 20 * time.Minute

// Bulk gives an engine of the test's own on data that dgraph bulk has loaded: rdf and schema
// are files, rdf may be gzipped. A million edges take about a minute.
func Bulk(t testing.TB, rdf, schema string) *Engine {
	t.Helper()
	bin := Bin(t)
	dir, err := os.MkdirTemp("", "evorag-bulk-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ctx, cancel := context.WithTimeout(context.Background(), bulkWithin)
	defer cancel()
	if err := bulk(ctx, bin, dir, rdf, schema); err != nil {
		t.Fatal(err)
	}
	return Start(t, engine.Options{Bin: bin, DataDir: dir})
}

// bulk loads into the folder of an engine: the zero keeps the leases there, the loader's
// output becomes the alpha's postings.
func bulk(ctx context.Context, bin, dir, rdf, schema string) error {
	offset, err := freeOffset()
	if err != nil {
		return err
	}
	address := fmt.Sprintf("localhost:%d", 5080+offset)
	zero := exec.CommandContext(ctx, bin, "zero", "--bindall=false", "--my", address, "--port_offset", fmt.Sprint(offset), "--wal", "zero", "--telemetry", "reports=false")
	zero.Dir = dir
	zero.Cancel = func() error { return zero.Process.Signal(os.Interrupt) }
	if err := zero.Start(); err != nil {
		return err
	}
	defer func() {
		_ = zero.Process.Signal(os.Interrupt)
		_ = zero.Wait()
	}()
	for {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			conn.Close()
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryEvery):
		}
	}
	loader := exec.CommandContext(ctx, bin, "bulk", "-f", rdf, "-s", schema, "--zero", address,
		"--out", filepath.Join(dir, "out"), "--tmp", filepath.Join(dir, "tmp-bulk"), "--reduce_shards=1", "--map_shards=1", "--http", "localhost:0")
	loader.Dir = dir
	if out, err := loader.CombinedOutput(); err != nil {
		return fmt.Errorf("dgraph bulk: %w\n%s", err, out[max(0, len(out)-2000):])
	}
	return os.Rename(filepath.Join(dir, "out", "0", "p"), filepath.Join(dir, "p"))
}

// freeOffset finds an offset at which a zero's two ports are free.
func freeOffset() (int, error) {
	for range 50 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		offset := l.Addr().(*net.TCPAddr).Port - 6080
		if err := l.Close(); err != nil {
			return 0, err
		}
		l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 5080+offset))
		if err == nil && offset > 0 {
			return offset, l.Close()
		}
	}
	return 0, fmt.Errorf("no two free ports for a zero")
}
