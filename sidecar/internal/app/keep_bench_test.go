package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/dgraph-io/dgo/v230"
	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

// BenchmarkWrite measures a committed write directly, directly with a read of what it writes
// in the same transaction, and through the front. Writes without known edges don't pay for
// the look-up; for others the second is the floor: a read waits until the alpha has applied
// what was committed before it, a blind write doesn't.
func BenchmarkWrite(b *testing.B) {
	eng := enginetest.Shared(b)
	eng.Reset(b)
	eng.Alter(b, people)
	eng.Mutate(b, scored)
	conf := settings(eng.GRPCAddr())
	conf.Cache.Mode = "off" // it reads what was written, at its own pace
	ctx, cancel := context.WithCancel(b.Context())
	ready, done := make(chan app.Addresses, 1), make(chan error, 1)
	go func() {
		done <- app.Serve(ctx, conf, app.Options{Version: "bench", Log: slog.New(slog.DiscardHandler), Ready: func(a app.Addresses) { ready <- a }})
	}()
	at := <-ready
	defer func() { cancel(); require.NoError(b, <-done) }()
	many := func(n int) string {
		var s strings.Builder
		for i := range n {
			fmt.Fprintf(&s, "<%#x> <follows> <%#x> (since=%d) .\n", 0x1100+i%50, 0x1200+i/50, i)
		}
		return s.String()
	}
	const facets = "@facets(evorag.score, evorag.n, evorag.low, evorag.hidden) { uid } } }"
	subjects := make([]string, 50)
	for i := range subjects {
		subjects[i] = fmt.Sprintf("%#x", 0x1100+i)
	}
	for _, w := range []struct{ name, nquads, read string }{
		{"a value", `<0x1002> <name> "Bob" .`, `{ q(func: uid(0x1002)) { name } }`},
		{"a scored edge", `<0x1001> <follows> <0x1002> (since=1) .`, `{ q(func: uid(0x1001)) { follows @filter(uid(0x1002)) ` + facets},
		{"1000 edges", many(1000), `{ q(func: uid(` + strings.Join(subjects, ", ") + `)) { follows ` + facets},
	} {
		for _, to := range []struct {
			name, addr string
			read       bool
		}{{"direct", eng.GRPCAddr(), false}, {"direct with a read", eng.GRPCAddr(), true}, {"front", at.GRPC, false}} {
			b.Run(w.name+"/"+to.name, func(b *testing.B) {
				conn, err := grpc.NewClient(to.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
				require.NoError(b, err)
				defer conn.Close()
				db := dgo.NewDgraphClient(api.NewDgraphClient(conn))
				for b.Loop() {
					txn := db.NewTxn()
					if to.read {
						_, err := txn.Query(ctx, w.read)
						require.NoError(b, err)
					}
					_, err := txn.Mutate(ctx, &api.Mutation{SetNquads: []byte(w.nquads), CommitNow: true})
					require.NoError(b, err)
				}
			})
		}
	}
}
