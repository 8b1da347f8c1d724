package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/dgraph-io/dgo/v230"
	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

const peopleSchema = `
name: string @index(exact, term) .
role: string @index(exact) .
knows: [uid] @reverse .
type Person {
  name
  role
  knows
}
`

// open starts a sidecar on the shared engine, which holds Ann, who knows Bea.
func open(t testing.TB) (front app.Addresses, eng *enginetest.Engine, uids map[string]string) {
	t.Helper()
	eng = enginetest.Shared(t)
	eng.Reset(t)
	c := settings(eng.GRPCAddr())
	c.Cache.Mode = "off" // which may be behind what others have committed
	front = serve(t, c)
	eng.Alter(t, peopleSchema)
	uids = eng.Mutate(t, `
		_:ann <name> "Ann Archer" .
		_:bea <name> "Bea Baker" .
		_:ann <knows> _:bea (evorag.score=120.0) .`)
	return front, eng, uids
}

// forms are the same ranked question in each form, about whom a person knows.
func forms(name string) map[string]string {
	root := fmt.Sprintf(`q(func: eq(name, %q))`, name)
	return map[string]string{
		"written out": `{ ` + root + ` @evorag(query: "whom?") { name knows { name } } }`,
		"hops":        `{ ` + root + ` @evorag(query: "whom?", hops: 1) { name } }`,
		"recurse":     `{ ` + root + ` @recurse(depth: 2) @evorag(query: "whom?") { name knows } }`,
	}
}

func TestTransactionsOverGRPC(t *testing.T) {
	front, _, uids := open(t)
	ctx := t.Context()
	db := client(t, front.GRPC)
	ask := func(t *testing.T, txn *dgo.Txn, query string) string {
		t.Helper()
		resp, err := txn.Query(ctx, query)
		require.NoError(t, err)
		require.NotEmpty(t, ranking(t, resp).ID)
		return string(resp.Json)
	}

	for form, query := range forms("Dora Dean") {
		t.Run(form+": what is not committed is seen inside, and only there", func(t *testing.T) {
			txn := db.NewTxn()
			_, err := txn.Mutate(ctx, &api.Mutation{SetNquads: []byte("_:d <name> \"Dora Dean\" .\n_:d <knows> <" + uids["ann"] + "> .")})
			require.NoError(t, err)
			require.Contains(t, ask(t, txn, query), "Ann Archer")
			require.Equal(t, `{"q":[]}`, ask(t, db.NewTxn(), query))
			require.NoError(t, txn.Discard(ctx))
			require.Equal(t, `{"q":[]}`, ask(t, db.NewReadOnlyTxn(), query), "an aborted transaction leaves nothing")
		})
	}

	for form, query := range forms("Ann Archer") {
		t.Run(form+": a transaction sees the graph of its start", func(t *testing.T) {
			before, rival := db.NewTxn(), db.NewTxn()
			require.Contains(t, ask(t, before, query), "Bea Baker")
			added, err := rival.Mutate(ctx, &api.Mutation{SetNquads: []byte("<" + uids["ann"] + "> <knows> _:e .\n_:e <name> \"Eve Early\" ."), CommitNow: true})
			require.NoError(t, err)
			require.NotContains(t, ask(t, before, query), "Eve Early")
			require.Contains(t, ask(t, db.NewTxn(), query), "Eve Early")
			require.Contains(t, ask(t, db.NewReadOnlyTxn(), query), "Eve Early")
			_, err = db.NewTxn().Mutate(ctx, &api.Mutation{DelNquads: []byte("<" + uids["ann"] + "> <knows> <" + added.Uids["e"] + "> ."), CommitNow: true})
			require.NoError(t, err)
			require.NotContains(t, ask(t, db.NewTxn(), query), "Eve Early")
			require.Contains(t, ask(t, db.NewReadOnlyTxn().BestEffort(), query), "Bea Baker")
		})
		t.Run(form+": a conflict after it aborts the commit, as after a plain query", func(t *testing.T) {
			for _, first := range []string{query, `{ q(func: has(name)) { name } }`} {
				mine, rival := db.NewTxn(), db.NewTxn()
				_, err := mine.Query(ctx, first)
				require.NoError(t, err)
				role := func(txn *dgo.Txn, role string) error {
					_, err := txn.Mutate(ctx, &api.Mutation{SetNquads: []byte("<" + uids["ann"] + "> <role> \"" + role + "\" .")})
					return err
				}
				require.NoError(t, role(mine, "mine"))
				_, err = mine.Query(ctx, first)
				require.NoError(t, err)
				require.NoError(t, role(rival, "rival"))
				require.NoError(t, rival.Commit(ctx))
				require.ErrorIs(t, mine.Commit(ctx), dgo.ErrAborted)
			}
		})
		t.Run(form+": the transaction's context is what a plain query gets", func(t *testing.T) {
			raw := api.NewDgraphClient(dial(t, front.GRPC))
			txn := func(r *api.Request) *api.TxnContext {
				resp, err := raw.Query(ctx, r)
				require.NoError(t, err)
				return resp.Txn
			}
			plain := `{ q(func: eq(name, "Ann Archer")) { name knows { name } } }`
			written := txn(&api.Request{Mutations: []*api.Mutation{{SetNquads: []byte("<" + uids["bea"] + "> <knows> <" + uids["ann"] + "> .")}}})
			require.NotEmpty(t, written.Keys)
			require.Equal(t, txn(&api.Request{Query: plain, StartTs: written.StartTs}), txn(&api.Request{Query: query, StartTs: written.StartTs}))
			_, err := raw.CommitOrAbort(ctx, &api.TxnContext{StartTs: written.StartTs, Aborted: true})
			require.NoError(t, err)
			for _, r := range []api.Request{{}, {ReadOnly: true}, {ReadOnly: true, BestEffort: true}} {
				p, q := api.Request{Query: plain, ReadOnly: r.ReadOnly, BestEffort: r.BestEffort}, api.Request{Query: query, ReadOnly: r.ReadOnly, BestEffort: r.BestEffort}
				want, got := txn(&p), txn(&q)
				require.NotZero(t, got.StartTs)
				require.GreaterOrEqual(t, got.StartTs, want.StartTs)
				want.StartTs = got.StartTs
				require.Equal(t, want, got)
			}
		})
	}

	t.Run("a read-only transaction stays at its start", func(t *testing.T) {
		txn := db.NewReadOnlyTxn()
		query := forms("Ann Archer")["hops"]
		require.Contains(t, ask(t, txn, query), "Bea Baker")
		_, err := db.NewTxn().Mutate(ctx, &api.Mutation{DelNquads: []byte("<" + uids["ann"] + "> <knows> * ."), CommitNow: true})
		require.NoError(t, err)
		require.Contains(t, ask(t, txn, query), "Bea Baker")
		require.NotContains(t, ask(t, db.NewReadOnlyTxn(), query), "Bea Baker")
	})
	t.Run("a cancelled question ends as such", func(t *testing.T) {
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		_, err := db.NewReadOnlyTxn().Query(cancelled, forms("Ann Archer")["hops"])
		require.ErrorContains(t, err, "canceled")
	})
}

// txnContext is the transaction in an HTTP answer.
type txnContext struct {
	StartTS uint64   `json:"start_ts"`
	Keys    []string `json:"keys"`
	Preds   []string `json:"preds"`
	Hash    string   `json:"hash"`
}

func txnOf(t *testing.T, answer string) txnContext {
	t.Helper()
	var got struct{ Extensions struct{ Txn txnContext } }
	require.NoError(t, json.Unmarshal([]byte(answer), &got), answer)
	return got.Extensions.Txn
}

func TestTransactionsOverHTTP(t *testing.T) {
	front, _, uids := open(t)
	var c caller
	for form, query := range forms("Dora Dean") {
		t.Run(form, func(t *testing.T) {
			ask := func(parameters string) string {
				return c.must(t, front.HTTP, "/query"+parameters, "application/dql", query)
			}
			write := func() txnContext {
				return txnOf(t, c.must(t, front.HTTP, "/mutate", "application/rdf", "{ set {\n_:d <name> \"Dora Dean\" .\n_:d <knows> <"+uids["ann"]+"> .\n} }"))
			}
			written := write()
			inside := fmt.Sprintf("?startTs=%d", written.StartTS)
			require.Contains(t, ask(inside), "Ann Archer")
			require.Equal(t, written.StartTS, txnOf(t, ask(inside)).StartTS)
			require.Contains(t, ask(""), `"q":[]`)
			c.must(t, front.HTTP, "/commit"+inside+"&abort=true", "application/json", "")
			require.Contains(t, ask(""), `"q":[]`)

			written = write()
			inside = fmt.Sprintf("?startTs=%d", written.StartTS)
			require.Contains(t, ask(inside), "Ann Archer")
			body, err := json.Marshal(map[string]any{"keys": written.Keys, "preds": written.Preds})
			require.NoError(t, err)
			c.must(t, front.HTTP, "/commit"+inside, "application/json", string(body))
			require.Contains(t, ask("?ro=true"), "Ann Archer")
			require.Eventually(t, func() bool { return strings.Contains(ask("?be=true"), "Ann Archer") }, startWithin, 1e7)
			c.must(t, front.HTTP, "/mutate?commitNow=true", "application/rdf", "upsert { query { d as var(func: eq(name, \"Dora Dean\")) } mutation { delete {\nuid(d) <name> * .\nuid(d) <knows> * .\n} } }")
		})
	}
}
