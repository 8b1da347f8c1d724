package load_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/migrate"
)

// cluster is an engine without data and with today's evorag schema.
func cluster(t *testing.T) *dgraph.Client {
	return migrated(t, enginetest.Shared(t))
}

func migrated(t *testing.T, eng *enginetest.Engine) *dgraph.Client {
	eng.Reset(t)
	c := dial(t, eng)
	m, err := migrate.New(c, t.Name(), time.Now)
	require.NoError(t, err)
	_, err = m.Up(t.Context())
	require.NoError(t, err)
	return c
}

func dial(t *testing.T, eng *enginetest.Engine) *dgraph.Client {
	c, err := dgraph.Dial(dgraph.Options{Target: dgraph.Target{Addr: eng.GRPCAddr()}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}
