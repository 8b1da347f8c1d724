package migrate_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/migrate"
)

func TestWhatIsDroppedIsPutBack(t *testing.T) {
	c := cluster(t)
	m := migrator(t, c)
	_, err := m.Up(t.Context())
	require.NoError(t, err)
	predicates, types := own(t, c)
	guard := migrate.NewGuard(m, slog.New(slog.DiscardHandler))
	for _, drop := range []string{
		`{"drop_all":true}`, `{"drop_op":"DATA"}`, `{"drop_attr":"evorag.predicate"}`, `{"drop_attr":"evorag.migration.version"}`,
		`{"drop_op":"TYPE","drop_value":"evorag.Relation"}`, `{"drop_attr":"evorag.shortcut"}`,
	} {
		enginetest.Shared(t).Alter(t, drop)
		guard.Check(t.Context())
		p, ty := own(t, c)
		require.Equal(t, predicates, p, drop)
		require.Equal(t, types, ty, drop)
		states, err := m.Status(t.Context())
		require.NoError(t, err)
		for _, s := range states {
			require.NotZero(t, s.Applied, "migration %d after %s", s.Version, drop)
		}
	}
	done, err := m.Ensure(t.Context())
	require.NoError(t, err)
	require.Empty(t, done, "nothing is missing")
}
