package enginetest

import (
	"context"
	"os"
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
	if err := engine.Bulk(ctx, engine.Options{Bin: bin, DataDir: dir}, rdf, schema); err != nil {
		t.Fatal(err)
	}
	return Start(t, engine.Options{Bin: bin, DataDir: dir})
}
