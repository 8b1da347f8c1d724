package facet_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

// race commits a write of the edge and a wildcard delete, each begun before the other is committed,
// and requires that one of them was aborted and tried again.
func race(t *testing.T, c *dgraph.Client, edge graph.Triplet, wildcard string, deletedFirst bool) {
	writes, deletes := 0, 0
	write := func(between func()) {
		require.NoError(t, c.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
			writes++
			edges, err := facet.Read(ctx, tx.Query, []graph.Triplet{edge})
			if err != nil || len(edges) == 0 {
				return err
			}
			if writes == 1 {
				between()
			}
			e := edges[edge]
			e.Score = 101
			return facet.Commit(ctx, tx, c.Read, []facet.Edge{e}, nil)
		}))
	}
	remove := func(between func()) {
		require.NoError(t, c.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
			deletes++
			if err := tx.Delete(ctx, fmt.Appendf(nil, wildcard, edge.Head)); err != nil {
				return err
			}
			if deletes == 1 {
				between()
			}
			return nil
		}))
	}
	nothing := func() {}
	if deletedFirst {
		write(func() { remove(nothing) })
	} else {
		remove(func() { write(nothing) })
	}
	require.Equal(t, 3, writes+deletes, "one was aborted, %d writes, %d deletes", writes, deletes)
}

// Whichever of the two begins first and whichever commits first: an edge that was deleted is
// not back, and one of the two has tried again.
func TestAWriteAndAWildcardDeleteConflict(t *testing.T) {
	for _, schema := range []string{"[uid]", "[uid] @reverse", "[uid] @count", "[uid] @reverse @count", "uid", "uid @reverse @count"} {
		for _, wildcard := range []string{"<%s> <knows> * .", "<%s> * * ."} {
			for _, deletedFirst := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, %s, deleted first: %t", schema, fmt.Sprintf(wildcard, "S"), deletedFirst), func(t *testing.T) {
					eng, c := client(t)
					eng.Alter(t, "knows: "+schema+" .\ntype Person {\nknows\n}")
					uids := eng.Mutate(t, "_:a <knows> _:b (since=1) .\n_:a <dgraph.type> \"Person\" .")
					edge := graph.Triplet{Head: uid(t, uids["a"]), Predicate: "knows", Object: uid(t, uids["b"])}

					race(t, c, edge, wildcard, deletedFirst)
					require.JSONEq(t, `{"has": [], "there": [], "inverse": []}`, string(eng.Query(t, `{ has(func: has(knows)) { uid }
						there(func: uid(`+edge.Head.String()+`)) { knows { uid } } inverse(func: uid(0xdd3816e610e368b9)) { knows { uid } } }`, nil)))
				})
			}
		}
	}
}

func TestAFenceChangesNothing(t *testing.T) {
	for _, schema := range []string{"[uid] @reverse", "[uid] @reverse @count"} {
		t.Run(schema, func(t *testing.T) {
			eng, c := client(t)
			eng.Alter(t, "knows: "+schema+" .")
			uids := eng.Mutate(t, "_:a <knows> _:b (since=1) .\n_:a <knows> _:c .\n_:d <knows> _:c .")
			edge := graph.Triplet{Head: uid(t, uids["a"]), Predicate: "knows", Object: uid(t, uids["b"])}
			state := func() string {
				return string(eng.Query(t, `{ q(func: has(knows)) { uid n: count(knows) knows @facets(since) { uid m: count(~knows) } }
					inverse(func: has(~knows)) { uid ~knows { uid } } }`, nil))
			}
			before := state()
			for range 3 {
				require.NoError(t, c.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
					edges, err := facet.Read(ctx, tx.Query, []graph.Triplet{edge})
					require.NoError(t, err)
					e := edges[edge]
					e.Score++
					return facet.Commit(ctx, tx, c.Read, []facet.Edge{e}, nil)
				}))
			}
			require.JSONEq(t, before, state())
			edges, err := facet.Read(t.Context(), c.Read, []graph.Triplet{edge})
			require.NoError(t, err)
			require.Equal(t, 103.0, edges[edge].Score)
		})
	}
}

func TestTheFenceHoldsUnderAccessControl(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(strings.Repeat("s", 32)), 0o600))
	eng := enginetest.Start(t, engine.Options{ACLSecretFile: secret})
	c, err := dgraph.Dial(dgraph.Options{Target: dgraph.Target{Addr: eng.GRPCAddr(), User: "groot", Password: "password"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.Eventually(t, func() bool { // groot is made a little after the alpha is healthy
		return c.Alter(t.Context(), "knows: [uid] @reverse .\nlikes: [uid] @count .") == nil
	}, time.Minute, 100*time.Millisecond)
	for _, predicate := range []string{"knows", "likes"} {
		for _, deletedFirst := range []bool{true, false} {
			t.Run(fmt.Sprint(predicate, ", deleted first: ", deletedFirst), func(t *testing.T) {
				var edge graph.Triplet
				require.NoError(t, c.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
					uids, err := tx.Set(ctx, []byte("_:a <"+predicate+"> _:b (since=1) ."))
					edge = graph.Triplet{Head: uids["a"], Predicate: predicate, Object: uids["b"]}
					return err
				}))
				race(t, c, edge, "<%s> <"+predicate+"> * .", deletedFirst)
				edges, err := facet.Read(t.Context(), c.Read, []graph.Triplet{edge})
				require.NoError(t, err)
				require.Empty(t, edges)
			})
		}
	}
}
