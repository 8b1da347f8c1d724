package facet_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

func TestMain(m *testing.M) {
	enginetest.Main(m, func() error { return goleak.Find() })
}

func client(t *testing.T) (*enginetest.Engine, *dgraph.Client) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	c, err := dgraph.Dial(dgraph.Options{Target: dgraph.Target{Addr: eng.GRPCAddr()}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return eng, c
}

func TestAUsersFacetsSurviveAWriteWithTheirTypes(t *testing.T) {
	eng, c := client(t)
	eng.Alter(t, "knows: [uid] @reverse .\nboss: uid .")
	uids := eng.Mutate(t, `
		_:a <knows> _:b (int=1, float=1.0, tiny=1e-9, huge=1e21, negative=-2.0, yes=true, note="2024-01-01T00:00:00Z", text="a \"b\" \\ c\nd é", zero="", since=2006-01-02T15:04:05Z, zoned=2006-01-02T15:04:05+02:00, fine=2006-01-02T15:04:05.123456789Z, day=2006-01-02) .
		_:a <knows> _:c .
		_:a <boss> _:b (float=2.0) .`)
	a, b, gone := uid(t, uids["a"]), uid(t, uids["b"]), uid(t, uids["c"])
	knows, plain, boss := graph.Triplet{Head: a, Predicate: "knows", Object: b}, graph.Triplet{Head: a, Predicate: "knows", Object: gone}, graph.Triplet{Head: a, Predicate: "boss", Object: b}
	missing := graph.Triplet{Head: b, Predicate: "knows", Object: a}

	// Which facets a filter of each type keeps tells the types apart.
	types := func() (out string) {
		for _, f := range []string{
			`lt(int, "1e308")`, `lt(float, "1e308")`, `lt(negative, "1e308")`, `lt(huge, "1e308")`, `allofterms(note, "2024-01-01T00:00:00Z")`, `allofterms(since, "2006-01-02T15:04:05Z")`,
			`allofterms(zoned, "2006")`, `allofterms(text, "a")`, `eq(yes, true)`, `eq(zero, "")`,
		} {
			out += fmt.Sprintln(f, string(eng.Query(t, "{ q(func: uid("+a.String()+")) { knows @facets("+f+") { uid } } }", nil)))
		}
		return out + string(eng.Query(t, "{ q(func: uid("+a.String()+")) { knows @facets { uid } boss @facets { uid } } }", nil))
	}
	before := types()

	change := func(score float64, n int) {
		require.NoError(t, c.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
			edges, err := facet.Read(ctx, tx.Query, []graph.Triplet{knows, plain, boss, missing})
			require.NoError(t, err)
			require.Len(t, edges, 3)
			require.NotContains(t, edges, missing)
			var nquads []byte
			for _, e := range edges {
				e.Score, e.Updates = score, n
				nquads = e.AppendTo(nquads)
			}
			_, err = tx.Set(ctx, nquads)
			return err
		}))
	}
	change(101.25, 1)
	after := string(eng.Query(t, "{ q(func: uid("+a.String()+")) { knows @facets { uid } } }", nil))
	require.Contains(t, after, `"knows|evorag.score":101.25`)
	require.Contains(t, after, `"knows|note":"2024-01-01T00:00:00Z"`)
	change(100, 0)
	require.Equal(t, before, types(), "what is neutral again is as it was")
}

func uid(t *testing.T, s string) graph.UID {
	u, err := graph.ParseUID(s)
	require.NoError(t, err)
	return u
}

func TestAScoreIsReadBackWithTheSameBits(t *testing.T) {
	eng, c := client(t)
	eng.Alter(t, "knows: [uid] .")
	uids := eng.Mutate(t, "_:a <knows> _:b .")
	edge := graph.Triplet{Head: uid(t, uids["a"]), Predicate: "knows", Object: uid(t, uids["b"])}
	rapid.Check(t, func(rt *rapid.T) {
		score := rapid.Float64Range(0, 200).Draw(rt, "score")
		write := facet.Edge{Triplet: edge, Contribution: graph.Contribution{Score: score, Updates: 1}}
		require.NoError(rt, c.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
			_, err := tx.Set(ctx, write.AppendTo(nil))
			return err
		}))
		edges, err := facet.Read(t.Context(), c.Read, []graph.Triplet{edge})
		require.NoError(rt, err)
		require.Equal(rt, graph.RoundScore(score), edges[edge].Score, "on engines that print six decimals too")
		require.True(rt, edges[edge].Learned)
	})
}
