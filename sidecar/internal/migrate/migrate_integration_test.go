package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/schema"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/lease"
	"github.com/evorag/dgraph-evorag/sidecar/internal/migrate"
)

func migrator(t *testing.T, c migrate.Cluster) *migrate.Migrator {
	m, err := migrate.New(c, t.Name(), time.Now)
	require.NoError(t, err)
	return m
}

// own gives what the cluster defines of evorag.
func own(t *testing.T, c *dgraph.Client) (predicates map[string]graph.PredicateSchema, types map[string][]string) {
	s, err := c.OwnSchema(t.Context())
	require.NoError(t, err)
	for name := range s.Predicates {
		if !strings.HasPrefix(name, "evorag.") {
			delete(s.Predicates, name)
		}
	}
	for name := range s.Types {
		if !strings.HasPrefix(name, "evorag.") {
			delete(s.Types, name)
		}
	}
	return s.Predicates, s.Types
}

func TestUpLeadsToTodaysSchemaAndDownBack(t *testing.T) {
	c := cluster(t)
	require.NoError(t, c.Alter(t.Context(), "follows: [uid] @count ."))
	m := migrator(t, c)
	states, err := m.Status(t.Context())
	require.NoError(t, err)
	for _, s := range states {
		require.Zero(t, s.Applied)
	}
	predicates, _ := own(t, c)
	require.Empty(t, predicates, "status writes nothing")

	done, err := m.Up(t.Context())
	require.NoError(t, err)
	require.Len(t, done, len(states))
	predicates, types := own(t, c)
	require.NotEmpty(t, predicates)
	require.NoError(t, c.Alter(t.Context(), schema.Text))
	again, typesAgain := own(t, c)
	require.Equal(t, predicates, again)
	require.Equal(t, types, typesAgain)

	done, err = m.Up(t.Context())
	require.NoError(t, err)
	require.Empty(t, done)
	states, err = m.Status(t.Context())
	require.NoError(t, err)
	for _, s := range states {
		require.NotZero(t, s.Applied)
	}

	done, err = m.Down(t.Context(), 1)
	require.NoError(t, err)
	require.Len(t, done, len(states)-1)
	done, err = m.Down(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, done, 1)
	predicates, types = own(t, c)
	require.Empty(t, predicates)
	require.Empty(t, types)
	s, err := c.OwnSchema(t.Context())
	require.NoError(t, err)
	require.Equal(t, "<follows>: [uid] @count .", s.Predicates["follows"].String(), "the user's stay")

	done, err = m.Up(t.Context())
	require.NoError(t, err)
	require.Len(t, done, len(states), "and up again")
}

func TestUpWorksAfterEverythingWasDropped(t *testing.T) {
	c := cluster(t)
	_, err := migrator(t, c).Up(t.Context())
	require.NoError(t, err)
	enginetest.Shared(t).Reset(t)
	done, err := migrator(t, c).Up(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, done)
}

func TestReplicasThatStartAtOnceMigrateOnce(t *testing.T) {
	c := cluster(t)
	var group errgroup.Group
	var mu sync.Mutex
	ran := map[int]int{}
	for range 4 {
		group.Go(func() error {
			done, err := migrator(t, c).Up(t.Context())
			mu.Lock()
			defer mu.Unlock()
			for _, s := range done {
				ran[s.Version]++
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	states, err := migrator(t, c).Status(t.Context())
	require.NoError(t, err)
	for _, s := range states {
		require.Equal(t, 1, ran[s.Version], "migration %d", s.Version)
	}
	data, err := c.Read(t.Context(), `{ q(func: has(evorag.migration.version)) { count(uid) } l(func: has(evorag.lease.name)) { count(uid) } }`, nil)
	require.NoError(t, err)
	require.JSONEq(t, fmt.Sprintf(`{"q":[{"count":%d}],"l":[{"count":1}]}`, len(states)), string(data))
}

func TestAnEditedMigrationIsRefused(t *testing.T) {
	c := cluster(t)
	_, err := migrator(t, c).Up(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
		data, err := tx.Query(ctx, `{ q(func: eq(evorag.migration.version, 1)) { uid } }`, nil)
		require.NoError(t, err)
		uid := strings.Split(string(data), `"`)[5]
		_, err = tx.Set(ctx, fmt.Appendf(nil, "<%s> <evorag.migration.checksum> \"other\" .\n", uid))
		return err
	}))
	_, err = migrator(t, c).Up(t.Context())
	require.ErrorIs(t, err, migrate.ErrChecksum)
	_, err = migrator(t, c).Status(t.Context())
	require.ErrorIs(t, err, migrate.ErrChecksum)
	_, err = migrator(t, c).Down(t.Context(), 0)
	require.ErrorIs(t, err, migrate.ErrChecksum)
}

func TestUpWaitsForAHolderAndTakesOverFromADeadOne(t *testing.T) {
	c := cluster(t)
	require.NoError(t, c.Alter(t.Context(), schema.Text))
	dead, err := lease.Acquire(t.Context(), c, lease.Options{Name: "migrate", Holder: "dead", TTL: time.Hour, Now: time.Now})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = migrator(t, refused{c, cancel}).Up(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "dead has the lease")

	later, err := migrate.New(c, t.Name(), func() time.Time { return time.Now().Add(2 * time.Hour) })
	require.NoError(t, err)
	done, err := later.Up(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, done)
	require.ErrorIs(t, dead.Renew(t.Context()), lease.ErrLost)
}

// refused is a cluster that tells when somebody was refused a lease.
type refused struct {
	migrate.Cluster
	tell func()
}

func (r refused) RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error {
	err := r.Cluster.RunTx(ctx, fn)
	if errors.Is(err, lease.ErrHeld) {
		r.tell()
	}
	return err
}

func TestAddReverseKeepsEveryOtherAttribute(t *testing.T) {
	c := cluster(t)
	require.NoError(t, c.Alter(t.Context(), "follows: [uid] @count .\nboss: uid .\n<друг>: [uid] .\nage: int .\n"))
	m := migrator(t, c)
	changed, err := m.AddReverse(t.Context(), []string{"follows", "boss", "друг"})
	require.NoError(t, err)
	require.Equal(t, []string{"follows", "boss", "друг"}, changed)
	s, err := c.OwnSchema(t.Context())
	require.NoError(t, err)
	require.Equal(t, "<follows>: [uid] @reverse @count .", s.Predicates["follows"].String())
	require.Equal(t, "<boss>: uid @reverse .", s.Predicates["boss"].String())
	require.Equal(t, "<друг>: [uid] @reverse .", s.Predicates["друг"].String())
	changed, err = m.AddReverse(t.Context(), []string{"follows"})
	require.NoError(t, err)
	require.Empty(t, changed)
	_, err = m.AddReverse(t.Context(), []string{"age"})
	require.ErrorContains(t, err, "@reverse is for edges")
}

func TestTheEngineReadsBackEverySchemaLine(t *testing.T) {
	c := cluster(t)
	require.NoError(t, c.Alter(t.Context(), `
name: string @index(exact, term) @lang @upsert .
mail: string @index(hash) @unique @upsert .
tags: [string] @index(fulltext) @count .
dob: datetime @index(year) .
emb: float32vector @index(hnsw(metric: "cosine", exponent: "5")) .
weight: float @noconflict .
secret: password .
<http://a#b>: string .
`))
	before, err := c.OwnSchema(t.Context())
	require.NoError(t, err)
	var text strings.Builder
	for name, p := range before.Predicates {
		if !graph.Internal(name) {
			fmt.Fprintln(&text, p)
		}
	}
	require.NoError(t, c.Alter(t.Context(), text.String()))
	after, err := c.OwnSchema(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after)
}
