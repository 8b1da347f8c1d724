package grpcfront_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/grpcfront"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bytesCodec sends and receives *[]byte as they are.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (bytesCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte{}, data...)
	return nil
}
func (bytesCodec) Name() string { return "proto" }

// alpha is a server that knows no protobuf: it records bytes and does what the method's name says.
type alpha struct {
	mu       sync.Mutex
	got      [][]byte
	md       metadata.MD
	deadline time.Duration
	reply    []byte        // to every message; nil: "re:" and the message
	gone     chan struct{} // closed when a hanging call was cancelled
}

func (a *alpha) received() [][]byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.got
}

func (a *alpha) serve(_ any, s grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(s)
	a.mu.Lock()
	a.md, _ = metadata.FromIncomingContext(s.Context())
	if d, ok := s.Context().Deadline(); ok {
		a.deadline = time.Until(d)
	}
	a.mu.Unlock()
	if err := s.SetHeader(metadata.Pairs("from-alpha", "header")); err != nil {
		return err
	}
	s.SetTrailer(metadata.Pairs("from-alpha", "trailer", "some-bin", "\x00\x01"))
	switch method {
	case "/x.Y/Fail":
		st, err := status.New(codes.FailedPrecondition, "not now").WithDetails(&errdetails.ErrorInfo{Reason: "tide"})
		if err != nil {
			return err
		}
		return st.Err()
	case "/x.Y/Hang":
		if err := s.SendHeader(nil); err != nil {
			return err
		}
		<-s.Context().Done()
		close(a.gone)
		return s.Context().Err()
	case "/x.Y/HeaderFirst":
		if err := s.SendHeader(nil); err != nil {
			return err
		}
	}
	for n := 0; ; n++ {
		var b []byte
		if err := s.RecvMsg(&b); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		a.mu.Lock()
		a.got = append(a.got, b)
		a.mu.Unlock()
		reply := a.reply
		if reply == nil {
			reply = append([]byte("re:"), b...)
		}
		if err := s.SendMsg(&reply); err != nil {
			return err
		}
	}
}

type ranker struct {
	calls  []proxy.Request
	answer proxy.Response
	err    error
}

func (k *ranker) Query(_ context.Context, r proxy.Request) (*proxy.Response, error) {
	k.calls = append(k.calls, r)
	return &k.answer, k.err
}

// dial connects to s over memory. Messages are raw bytes with codec, protobuf without.
func dial(t *testing.T, l *bufconn.Listener, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///mem", append(opts,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// newFront serves a front before a fake alpha and gives connections to it: one that sends
// bytes, one that speaks protobuf.
func newFront(t *testing.T, k *ranker) (a *alpha, bytes, proto *grpc.ClientConn) {
	t.Helper()
	a = &alpha{gone: make(chan struct{})}
	al, fl := bufconn.Listen(1<<20), bufconn.Listen(1<<20)
	server := grpc.NewServer(grpc.ForceServerCodec(bytesCodec{}), grpc.UnknownServiceHandler(a.serve), grpc.MaxRecvMsgSize(grpcfront.MaxMessage))
	go func() { _ = server.Serve(al) }()
	t.Cleanup(server.Stop)
	front := grpcfront.New(grpcfront.Options{
		Alpha: dial(t, al), Ranker: k, Metrics: telemetry.New("test"),
		AdminNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	go func() { _ = front.Serve(fl) }()
	t.Cleanup(func() { front.Stop(t.Context()) })
	raw := dial(t, fl, grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{}), grpc.MaxCallRecvMsgSize(grpcfront.MaxMessage), grpc.MaxCallSendMsgSize(grpcfront.MaxMessage)))
	return a, raw, dial(t, fl)
}

func request(t *testing.T, r *api.Request) []byte { return marshal(t, r) }

func marshal(t *testing.T, m interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	b, err := m.Marshal()
	require.NoError(t, err)
	return b
}

const ranked = `{ q(func: uid(1)) @evorag(query: "x") { uid } }`

func TestMessagesReachTheAlphaAsTheBytesThatCame(t *testing.T) {
	unknown := protowire.AppendTag(request(t, &api.Request{Query: "{q(func: uid(1)){uid}}"}), 999, protowire.BytesType)
	unknown = protowire.AppendString(unknown, ranked)
	for _, c := range []struct {
		name, method string
		body         []byte
	}{
		{"a query", "/api.Dgraph/Query", request(t, &api.Request{Query: "{q(func: uid(1)){uid}}", Vars: map[string]string{"$a": "b"}})},
		{"a query with a field that we don't know", "/api.Dgraph/Query", unknown},
		{"bytes that are no protobuf", "/api.Dgraph/Query", []byte("\xff\xff\xffjunk")},
		{"no bytes", "/api.Dgraph/Query", []byte{}},
		{"the word in a mutation", "/api.Dgraph/Query", request(t, &api.Request{Mutations: []*api.Mutation{{SetNquads: []byte(`_:a <name> "@evorag" .`)}}})},
		{"a newer client's query", "/api.Dgraph/RunDQL", protowire.AppendString([]byte{0x0a}, "{q(func: uid(1)){uid}}")},
		{"a method that we don't know", "/api.Dgraph/AllocateIDs", []byte(ranked)},
		{"a service that we don't know", "/pb.Zero/Connect", []byte(ranked)},
		{"32 MiB", "/api.Dgraph/Query", request(t, &api.Request{Mutations: []*api.Mutation{{SetNquads: make([]byte, 32<<20)}}})},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &ranker{}
			a, conn, _ := newFront(t, k)
			var reply []byte
			require.NoError(t, conn.Invoke(t.Context(), c.method, &c.body, &reply))
			require.Empty(t, k.calls)
			require.Len(t, a.received(), 1)
			require.True(t, string(c.body) == string(a.received()[0]), "bytes differ")
			require.True(t, "re:"+string(c.body) == string(reply), "reply differs")
		})
	}
}

func TestMetadataDeadlinesAndTrailersPassBothWays(t *testing.T) {
	a, conn, _ := newFront(t, &ranker{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "accessjwt", "jwt", "auth-token", "a", "auth-token", "b", "any-bin", "\x00\xff")
	body, reply := []byte("x"), []byte{}
	var header, trailer metadata.MD
	require.NoError(t, conn.Invoke(ctx, "/x.Y/Z", &body, &reply, grpc.Header(&header), grpc.Trailer(&trailer), grpc.UseCompressor(gzip.Name)))
	require.Equal(t, []string{"jwt"}, a.md.Get("accessjwt"))
	require.Equal(t, []string{"a", "b"}, a.md.Get("auth-token"))
	require.Equal(t, []string{"\x00\xff"}, a.md.Get("any-bin"))
	require.InDelta(t, 60, a.deadline.Seconds(), 5)
	require.Equal(t, []string{"header"}, header.Get("from-alpha"))
	require.Equal(t, []string{"application/grpc+proto"}, header.Get("content-type"))
	require.Equal(t, []string{"trailer"}, trailer.Get("from-alpha"))
	require.Equal(t, []string{"\x00\x01"}, trailer.Get("some-bin"))
}

func TestAStatusKeepsItsCodeTextAndDetails(t *testing.T) {
	_, conn, _ := newFront(t, &ranker{})
	body, reply := []byte("x"), []byte{}
	var trailer metadata.MD
	err := conn.Invoke(t.Context(), "/x.Y/Fail", &body, &reply, grpc.Trailer(&trailer))
	s := status.Convert(err)
	require.Equal(t, codes.FailedPrecondition, s.Code())
	require.Equal(t, "not now", s.Message())
	require.Len(t, s.Details(), 1)
	require.Equal(t, "tide", s.Details()[0].(*errdetails.ErrorInfo).Reason)
	require.Equal(t, []string{"trailer"}, trailer.Get("from-alpha"))
}

func TestStreamsFlowBothWaysAndTheHeaderComesFirst(t *testing.T) {
	a, conn, _ := newFront(t, &ranker{})
	s, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/x.Y/HeaderFirst")
	require.NoError(t, err)
	header, err := s.Header() // before anything is sent
	require.NoError(t, err)
	require.Equal(t, []string{"header"}, header.Get("from-alpha"))
	for i := range 100 {
		out := fmt.Appendf(nil, "m%d", i)
		require.NoError(t, s.SendMsg(&out))
		var in []byte
		require.NoError(t, s.RecvMsg(&in))
		require.Equal(t, "re:"+string(out), string(in))
	}
	require.NoError(t, s.CloseSend())
	var in []byte
	require.Equal(t, io.EOF, s.RecvMsg(&in))
	require.Len(t, a.received(), 100)
	require.Equal(t, []string{"trailer"}, s.Trailer().Get("from-alpha"))
}

func TestACancelledCallIsCancelledAtTheAlpha(t *testing.T) {
	a, conn, _ := newFront(t, &ranker{})
	ctx, cancel := context.WithCancel(t.Context())
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/x.Y/Hang")
	require.NoError(t, err)
	_, err = s.Header()
	require.NoError(t, err)
	cancel()
	select {
	case <-a.gone:
	case <-time.After(10 * time.Second):
		t.Fatal("the alpha was not told")
	}
}

func TestAQueryWithTheDirectiveIsRanked(t *testing.T) {
	k := &ranker{answer: proxy.Response{
		Answer: graph.Answer{
			JSON: []byte(`{"q":[]}`), Txn: graph.Txn{StartTS: 5, Keys: []string{"k"}, Hash: "h"},
			Latency: graph.Latency{Total: 9}, NumUIDs: map[string]uint64{"_total": 3},
		},
		Retrieval: &graph.Retrieval{ID: "r1"},
	}}
	a, raw, conn := newFront(t, k)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "accessjwt", "jwt", "auth-token", "poor", "debug", "true", "other", "x")
	var header metadata.MD
	resp, err := api.NewDgraphClient(conn).Query(ctx, &api.Request{
		Query: ranked, Vars: map[string]string{"$q": "why"}, StartTs: 5, Hash: "h", ReadOnly: true, BestEffort: true, RespFormat: api.Request_RDF,
	}, grpc.Header(&header))
	require.NoError(t, err)
	require.Empty(t, a.received())
	want := proxy.Request{RDF: true, Call: graph.Call{
		Query: ranked, Vars: map[string]string{"$q": "why"}, StartTS: 5, Hash: "h", ReadOnly: true, BestEffort: true, Debug: true,
		Credentials: graph.Credentials{"accessjwt": {"jwt"}, "auth-token": {"poor"}},
	}}
	require.Equal(t, []proxy.Request{want}, k.calls)
	require.Equal(t, `{"q":[]}`, string(resp.Json))
	require.Equal(t, &api.TxnContext{StartTs: 5, Keys: []string{"k"}, Hash: "h"}, resp.Txn)
	require.Equal(t, uint64(9), resp.Latency.TotalNs)
	require.Equal(t, uint64(3), resp.Metrics.NumUids["_total"])
	require.True(t, strings.HasPrefix(resp.Hdrs["evorag"].Value[0], `{"retrieval":"r1"`))
	require.Equal(t, []string{"3"}, header.Get("dgraph-toucheduids"))

	require.Equal(t, resp.Hdrs["evorag"].Value, header.Get("evorag"), "where dgo looks for it")

	// RunDQLRequest: dql_query = 1, vars = 2, read_only = 3, and a field of tomorrow.
	run := protowire.AppendString([]byte{0x0a}, ranked)
	run = append(append(run, 0x18, 1), 0x98, 0x06, 1)
	var reply []byte
	require.NoError(t, raw.Invoke(t.Context(), "/api.Dgraph/RunDQL", &run, &reply))
	require.Equal(t, graph.Call{Query: ranked, ReadOnly: true, Credentials: graph.Credentials{}}, k.calls[1].Call)
	require.NoError(t, resp.Unmarshal(reply))
	require.Contains(t, resp.Hdrs, "evorag")
}

func TestErrorsOfARankedQuery(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		code codes.Code
		want string
	}{
		{"a fault in the directive", &dql.Error{Line: 3, Column: 7, Msg: "no"}, codes.InvalidArgument, "line 3 column 7: no"},
		{"a status of the engine", status.Error(codes.PermissionDenied, "hidden"), codes.PermissionDenied, "hidden"},
		{"out of time", context.DeadlineExceeded, codes.DeadlineExceeded, "context deadline exceeded"},
		{"any other error", errors.New("odd"), codes.Unknown, "odd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, conn := newFront(t, &ranker{err: c.err})
			_, err := api.NewDgraphClient(conn).Query(t.Context(), &api.Request{Query: ranked})
			require.Equal(t, c.code, status.Code(err))
			require.Equal(t, c.want, status.Convert(err).Message())
		})
	}
}

func TestAnUpsertIsRankedAndThenRunAtTheTimestampOfItsReading(t *testing.T) {
	const upsert = `upsert { query { v as q(func: uid(1)) @evorag(query: "x") { uid } } mutation { set { uid(v) <a> "b" . } } }`
	for _, c := range []struct {
		name, method string
		sent, want   []byte
		query        string
	}{
		{
			"a request with mutations", "/api.Dgraph/Query",
			request(t, &api.Request{Query: ranked, Hash: "old", CommitNow: true, Mutations: []*api.Mutation{{SetNquads: []byte(`uid(v) <a> "b" .`)}}}),
			request(t, &api.Request{Query: "rewritten", StartTs: 5, Hash: "h", CommitNow: true, Mutations: []*api.Mutation{{SetNquads: []byte(`uid(v) <a> "b" .`)}}}),
			ranked,
		},
		{
			"RunDQL", "/api.Dgraph/RunDQL",
			protowire.AppendString([]byte{0x0a}, upsert), protowire.AppendString([]byte{0x0a}, "rewritten"),
			upsert,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &ranker{answer: proxy.Response{
				Answer:    graph.Answer{JSON: []byte(`{"q":["ranked"]}`), Txn: graph.Txn{StartTS: 5, Hash: "h"}},
				Retrieval: &graph.Retrieval{ID: "r1"}, Text: "rewritten",
			}}
			a, raw, _ := newFront(t, k)
			a.reply = marshal(t, &api.Response{Json: []byte(`{"q":["all"]}`), Uids: map[string]string{"new": "0x7"}, Txn: &api.TxnContext{CommitTs: 6}})
			var reply []byte
			require.NoError(t, raw.Invoke(t.Context(), c.method, &c.sent, &reply))
			require.True(t, k.calls[0].Upsert)
			require.Equal(t, c.query, k.calls[0].Query)

			require.Len(t, a.received(), 1)
			var want, got api.Request
			if c.method == "/api.Dgraph/Query" {
				require.NoError(t, want.Unmarshal(c.want))
				require.NoError(t, got.Unmarshal(a.received()[0]))
				require.Equal(t, want.String(), got.String())
			} else {
				require.Equal(t, append(c.sent, c.want...), a.received()[0], "the last field counts")
			}
			var resp api.Response
			require.NoError(t, resp.Unmarshal(reply))
			require.Equal(t, `{"q":["ranked"]}`, string(resp.Json))
			require.Equal(t, map[string]string{"new": "0x7"}, resp.Uids)
			require.Equal(t, uint64(6), resp.Txn.CommitTs)
			require.Contains(t, resp.Hdrs, "evorag")
		})
	}
}

func TestAnUpsertOverRunDQLRunsInTheTransactionOfItsReading(t *testing.T) {
	k := &ranker{answer: proxy.Response{
		Answer:    graph.Answer{JSON: []byte(`{"q":["ranked"]}`), Txn: graph.Txn{StartTS: 5, Hash: "h"}},
		Retrieval: &graph.Retrieval{ID: "r1"}, Text: `upsert { query { v as q(func: uid(1)) { uid } } mutation { set { uid(v) <a> "b" . } } }`,
	}}
	a, raw, _ := newFront(t, k)
	a.reply = marshal(t, &api.Response{Txn: &api.TxnContext{CommitTs: 6}})
	sent := protowire.AppendString([]byte{0x0a}, `upsert { query { v as q(func: uid(1)) @evorag(query: "x") { uid } } mutation { set { uid(v) <a> "b" . } } }`)
	var reply []byte
	require.NoError(t, raw.Invoke(t.Context(), "/api.Dgraph/RunDQL", &sent, &reply))
	require.Len(t, a.received(), 1)
	var got api.Request
	require.NoError(t, got.Unmarshal(a.received()[0]))
	require.Equal(t, []any{uint64(5), "h", true}, []any{got.StartTs, got.Hash, got.CommitNow})
	require.Len(t, got.Mutations, 1)
	require.Equal(t, `uid(v) <a> "b" .`, strings.TrimSpace(string(got.Mutations[0].SetNquads)))
	require.NotContains(t, got.Query, "mutation")
}

func TestAlterAndLoginAreForAdminNetworksOnly(t *testing.T) {
	for _, c := range []struct {
		name, network string
		code          codes.Code
	}{
		{"a peer inside", "127.0.0.0/8", codes.OK},
		{"a peer outside", "10.0.0.0/8", codes.PermissionDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &alpha{}
			al := bufconn.Listen(1 << 20)
			server := grpc.NewServer(grpc.ForceServerCodec(bytesCodec{}), grpc.UnknownServiceHandler(a.serve))
			go func() { _ = server.Serve(al) }()
			defer server.Stop()
			front := grpcfront.New(grpcfront.Options{
				Alpha: dial(t, al), Ranker: &ranker{}, Metrics: telemetry.New("test"),
				AdminNetworks: []netip.Prefix{netip.MustParsePrefix(c.network)},
			})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			go func() { _ = front.Serve(l) }()
			defer front.Stop(t.Context())
			conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{})))
			require.NoError(t, err)
			defer conn.Close()
			body, reply := []byte{}, []byte{}
			for _, method := range []string{"/api.Dgraph/Alter", "/api.Dgraph/Login"} {
				require.Equal(t, c.code, status.Code(conn.Invoke(t.Context(), method, &body, &reply)))
			}
			require.NoError(t, conn.Invoke(t.Context(), "/api.Dgraph/CommitOrAbort", &body, &reply))
		})
	}
}

func TestAnAlphaThatIsAwayIsUnavailable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	away, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer away.Close()
	front := grpcfront.New(grpcfront.Options{Alpha: away, Ranker: &ranker{}, Metrics: telemetry.New("test")})
	fl := bufconn.Listen(1 << 16)
	go func() { _ = front.Serve(fl) }()
	defer front.Stop(t.Context())
	_, err = api.NewDgraphClient(dial(t, fl)).CheckVersion(t.Context(), &api.Check{})
	require.Equal(t, codes.Unavailable, status.Code(err))
}
