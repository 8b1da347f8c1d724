package dgraph_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
)

// fake is an engine that answers what its fields say and remembers what it was asked.
type fake struct {
	api.UnimplementedDgraphServer
	mu      sync.Mutex
	queries []*api.Request
	seen    []metadata.MD // of Query
	logins  []*api.LoginRequest
	valid   string // access token that is good; empty: anything
	login   func(*api.LoginRequest) (*api.Jwt, error)
	query   func(*api.Request) (*api.Response, error)
	commit  func(*api.TxnContext) (*api.TxnContext, error)
	alter   func(*api.Operation) error
}

func (f *fake) Query(ctx context.Context, req *api.Request) (*api.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	md, _ := metadata.FromIncomingContext(ctx)
	f.queries, f.seen = append(f.queries, req), append(f.seen, md)
	if got := md.Get("accessjwt"); f.valid != "" && (len(got) == 0 || got[0] != f.valid) {
		return nil, status.Error(codes.Unauthenticated, "Token is expired")
	}
	if f.query != nil {
		return f.query(req)
	}
	return &api.Response{Json: []byte(`{}`), Txn: &api.TxnContext{StartTs: 7}}, nil
}

func (f *fake) Login(_ context.Context, req *api.LoginRequest) (*api.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logins = append(f.logins, req)
	jwt, err := f.login(req)
	if err != nil {
		return nil, err
	}
	b, err := jwt.Marshal()
	return &api.Response{Json: b}, err
}

func (f *fake) CommitOrAbort(_ context.Context, txn *api.TxnContext) (*api.TxnContext, error) {
	if f.commit != nil && !txn.Aborted {
		return f.commit(txn)
	}
	return txn, nil
}

func (f *fake) Alter(_ context.Context, op *api.Operation) (*api.Payload, error) {
	return &api.Payload{}, f.alter(op)
}

func (f *fake) CheckVersion(context.Context, *api.Check) (*api.Version, error) {
	return &api.Version{Tag: "v0"}, nil
}

func dial(t *testing.T, f *fake, target dgraph.Target, aborted ...func()) *dgraph.Client {
	listener := bufconn.Listen(1 << 16)
	server := grpc.NewServer()
	api.RegisterDgraphServer(server, f)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	target.Addr = "passthrough:///fake"
	o := dgraph.Options{Target: target, Dial: []grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
	}}
	if len(aborted) > 0 {
		o.Aborted = aborted[0]
	}
	c, err := dgraph.Dial(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestACallersQueryCarriesTheCallersCredentialsAndNoOthers(t *testing.T) {
	f := &fake{
		login: func(*api.LoginRequest) (*api.Jwt, error) { return &api.Jwt{AccessJwt: "own"}, nil },
		query: func(*api.Request) (*api.Response, error) {
			return &api.Response{
				Json:    []byte(`{"q":[]}`),
				Txn:     &api.TxnContext{StartTs: 5, Hash: "h", Keys: []string{"k"}, Preds: []string{"p"}},
				Latency: &api.Latency{ParsingNs: 1, ProcessingNs: 2, EncodingNs: 3, AssignTimestampNs: 4, TotalNs: 10},
				Metrics: &api.Metrics{NumUids: map[string]uint64{"_total": 3}},
			}, nil
		},
	}
	c := dial(t, f, dgraph.Target{User: "groot", Password: "x"})
	ctx := metadata.AppendToOutgoingContext(t.Context(), "accessjwt", "somebody else's")
	call := graph.Call{
		Query: "q", Vars: map[string]string{"$a": "b"}, StartTS: 5, Hash: "h", ReadOnly: true, BestEffort: true,
		Credentials: graph.Credentials{"AccessJwt": {"caller's"}, "auth-token": {"t"}},
	}
	answer, err := c.Query(ctx, call)
	require.NoError(t, err)
	require.Equal(t, graph.Answer{
		JSON: []byte(`{"q":[]}`), Txn: graph.Txn{StartTS: 5, Hash: "h", Keys: []string{"k"}, Preds: []string{"p"}},
		Latency: graph.Latency{Parsing: 1, Processing: 2, Encoding: 3, AssignTimestamp: 4, Total: 10}, NumUIDs: map[string]uint64{"_total": 3},
	}, answer)
	require.Equal(t, []string{"caller's"}, f.seen[0].Get("accessjwt"))
	require.Equal(t, []string{"t"}, f.seen[0].Get("auth-token"))
	require.Empty(t, f.logins)
	req := f.queries[0]
	require.Equal(t, []any{"q", uint64(5), "h", true, true, "b"}, []any{req.Query, req.StartTs, req.Hash, req.ReadOnly, req.BestEffort, req.Vars["$a"]})

	_, err = c.Query(ctx, graph.Call{Query: "q"})
	require.NoError(t, err)
	require.Empty(t, f.seen[1].Get("accessjwt"), "a caller without credentials gets none")
}

func TestErrorsOfTheEngineKeepTheirStatus(t *testing.T) {
	f := &fake{query: func(*api.Request) (*api.Response, error) { return nil, status.Error(codes.ResourceExhausted, "busy") }}
	_, err := dial(t, f, dgraph.Target{}).Query(t.Context(), graph.Call{Query: "q"})
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
}

func TestTheSidecarLogsInAndRenewsItsToken(t *testing.T) {
	f := &fake{valid: "one"}
	f.login = func(req *api.LoginRequest) (*api.Jwt, error) {
		if req.RefreshToken == "r1" {
			return &api.Jwt{AccessJwt: "two", RefreshJwt: "r2"}, nil
		}
		if req.RefreshToken != "" {
			return nil, status.Error(codes.Unauthenticated, "refresh token expired")
		}
		return &api.Jwt{AccessJwt: f.valid, RefreshJwt: "r1"}, nil
	}
	c := dial(t, f, dgraph.Target{User: "groot", Password: "pass", Namespace: 2})
	for range 2 {
		_, err := c.Read(t.Context(), "q", nil)
		require.NoError(t, err)
	}
	require.Len(t, f.logins, 1)
	require.Equal(t, []any{"groot", "pass", uint64(2)}, []any{f.logins[0].Userid, f.logins[0].Password, f.logins[0].Namespace})

	f.valid = "two" // the first token has expired
	_, err := c.Read(t.Context(), "q", nil)
	require.NoError(t, err)
	require.Equal(t, "r1", f.logins[1].RefreshToken)

	f.valid = "three" // and now the refresh token too
	_, err = c.Read(t.Context(), "q", nil)
	require.NoError(t, err)
	require.Len(t, f.logins, 4)
	require.Equal(t, "pass", f.logins[3].Password)
}

func TestARefusedLoginSaysAsWhom(t *testing.T) {
	f := &fake{login: func(*api.LoginRequest) (*api.Jwt, error) { return nil, status.Error(codes.Unauthenticated, "invalid") }}
	_, err := dial(t, f, dgraph.Target{User: "groot", Password: "secret"}).Read(t.Context(), "q", nil)
	require.ErrorContains(t, err, "as groot in namespace 0")
	require.NotContains(t, err.Error(), "secret")
}

func TestRunTxRunsAgainWhenAborted(t *testing.T) {
	commits := 0
	f := &fake{commit: func(txn *api.TxnContext) (*api.TxnContext, error) {
		if commits++; commits < 3 {
			return nil, status.Error(codes.Aborted, "conflict")
		}
		return txn, nil
	}}
	f.query = func(req *api.Request) (*api.Response, error) {
		return &api.Response{Json: []byte(`{}`), Txn: &api.TxnContext{StartTs: 7}, Uids: map[string]string{"a": "0x2a"}}, nil
	}
	runs, aborts := 0, 0
	err := dial(t, f, dgraph.Target{}, func() { aborts++ }).RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
		runs++
		if _, err := tx.Query(ctx, "q", nil); err != nil {
			return err
		}
		uids, err := tx.Set(ctx, []byte(`_:a <name> "x" .`))
		require.Equal(t, map[string]graph.UID{"a": 42}, uids)
		return err
	})
	require.NoError(t, err)
	require.Equal(t, 3, runs)
	require.Equal(t, 2, aborts)
	require.Equal(t, uint64(7), f.queries[1].StartTs, "the write is in the read's transaction")
}

func TestRunTxEndsWithItsContext(t *testing.T) {
	f := &fake{commit: func(*api.TxnContext) (*api.TxnContext, error) { return nil, status.Error(codes.Aborted, "conflict") }}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := dial(t, f, dgraph.Target{}).RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		_, err := tx.Set(ctx, []byte(`_:a <name> "x" .`))
		return err
	})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestRunTxReturnsOtherErrorsAtOnce(t *testing.T) {
	boom := errors.New("boom")
	runs := 0
	err := dial(t, &fake{}, dgraph.Target{}).RunTx(t.Context(), func(context.Context, graph.Tx) error {
		runs++
		return boom
	})
	require.ErrorIs(t, err, boom)
	require.Equal(t, 1, runs)
}

func TestAlterWaitsForTheEngine(t *testing.T) {
	calls := 0
	f := &fake{alter: func(*api.Operation) error {
		if calls++; calls < 3 {
			return status.Error(codes.Unknown, "Pending transactions found. Please retry operation")
		}
		return nil
	}}
	require.NoError(t, dial(t, f, dgraph.Target{}).Alter(t.Context(), "name: string ."))
	require.Equal(t, 3, calls)
}
