package app_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

func TestMain(m *testing.M) {
	enginetest.Main(m, func() error {
		return goleak.Find(goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"))
	})
}
