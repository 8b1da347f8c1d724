package grpcfront_test

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/mutation"
	"github.com/evorag/dgraph-evorag/sidecar/internal/grpcfront"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

// keeper knows that 0x1 follows 0x2 has a score and is hidden.
type keeper struct{ calls []graph.Call }

func (k *keeper) Learned(_ context.Context, c graph.Call, edges []mutation.Edge) (mutation.Learned, graph.Txn, error) {
	k.calls = append(k.calls, c)
	l, err := mutation.NewLookup(c.Query, edges)
	if err != nil {
		return mutation.Learned{}, graph.Txn{}, err
	}
	learned, err := l.Read([]byte(`{"evorag.b0":[{"evorag.u":"0x1","evorag.e":[{"evorag.u":"0x2","evorag.e|evorag.score":90.5,"evorag.e|evorag.n":3,"evorag.e|evorag.hidden":true}]}]}`))
	return learned, graph.Txn{StartTS: 70, Hash: "h"}, err
}

// newKeepingFront gives a fake alpha behind a front with a keeper, and a connection that
// sends bytes.
func newKeepingFront(t *testing.T, k *keeper) (*alpha, *grpc.ClientConn) {
	t.Helper()
	a := &alpha{gone: make(chan struct{})}
	al, fl := bufconn.Listen(1<<20), bufconn.Listen(1<<20)
	server := grpc.NewServer(grpc.ForceServerCodec(bytesCodec{}), grpc.UnknownServiceHandler(a.serve))
	go func() { _ = server.Serve(al) }()
	t.Cleanup(server.Stop)
	front := grpcfront.New(grpcfront.Options{
		Alpha: dial(t, al), Ranker: &ranker{}, Keeper: k, Metrics: telemetry.New("test"),
		AdminNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	go func() { _ = front.Serve(fl) }()
	t.Cleanup(func() { front.Stop(t.Context()) })
	conn, err := grpc.NewClient("passthrough:///mem", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return fl.DialContext(ctx) }),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{})))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return a, conn
}

func TestAMutationKeepsFieldsThatWeDoNotKnow(t *testing.T) {
	quad := quadOf(t, &api.NQuad{Subject: "0x1", Predicate: "follows", ObjectId: "0x2"})
	quad = protowire.AppendString(protowire.AppendTag(quad, 99, protowire.BytesType), "of a later version")
	mu := protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), quad)
	mu = protowire.AppendBytes(protowire.AppendTag(mu, 3, protowire.BytesType), []byte("<0x1> <follows> <0x2> (since=1) .\n<0x1> <follows> <0x3> ."))
	mu = protowire.AppendBytes(protowire.AppendTag(mu, 4, protowire.BytesType), []byte("<0x1> <follows> <0x2> ."))
	body := protowire.AppendBytes(protowire.AppendTag(nil, 12, protowire.BytesType), mu)
	body = protowire.AppendVarint(protowire.AppendTag(body, 98, protowire.VarintType), 7)

	k := &keeper{}
	a, conn := newKeepingFront(t, k)
	var answer []byte
	require.NoError(t, conn.Invoke(metadata.AppendToOutgoingContext(t.Context(), "accessjwt", "token"), "/api.Dgraph/Query", &body, &answer))
	require.Equal(t, graph.Credentials{"accessjwt": {"token"}}, k.calls[0].Credentials)
	got := a.received()[0]
	var req api.Request
	require.NoError(t, req.Unmarshal(got))
	require.Equal(t, uint64(70), req.StartTs)
	require.Equal(t, "h", req.Hash)
	require.Equal(t, "<0x1> <follows> <0x2> (since=1, evorag.score=90.5, evorag.n=3, evorag.hidden=true) .\n<0x1> <follows> <0x3> .", string(req.Mutations[0].SetNquads))
	require.Equal(t, "<0x1> <follows> <0x2> .", string(req.Mutations[0].DelNquads))
	require.Equal(t, []*api.Facet{
		{Key: "evorag.score", Value: []byte{0, 0, 0, 0, 0, 0xa0, 0x56, 0x40}, ValType: api.Facet_FLOAT},
		{Key: "evorag.n", Value: []byte{3, 0, 0, 0, 0, 0, 0, 0}, ValType: api.Facet_INT},
		{Key: "evorag.hidden", Value: []byte{1}, ValType: api.Facet_BOOL},
	}, req.Mutations[0].Set[0].Facets)
	require.Contains(t, string(got), "of a later version")
	require.Contains(t, string(got), string(protowire.AppendVarint(protowire.AppendTag(nil, 98, protowire.VarintType), 7)))
}

func TestAMutationThatCanLoseNothingIsForwardedAsItCame(t *testing.T) {
	for _, c := range []struct {
		name string
		req  *api.Request
		md   []string
	}{
		{name: "new nodes", req: &api.Request{Mutations: []*api.Mutation{{SetNquads: []byte("_:a <follows> <0x2> ."), DelNquads: []byte("<0x1> <follows> <0x2> .")}}}},
		{name: "values", req: &api.Request{Mutations: []*api.Mutation{{SetJson: []byte(`{"uid":"0x1","name":"a"}`)}}}},
		{name: "a load into other namespaces", req: &api.Request{Mutations: []*api.Mutation{{SetNquads: []byte("<0x1> <follows> <0x2> .")}}}, md: []string{"galaxy-operation", "true"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &keeper{}
			a, conn := newKeepingFront(t, k)
			body := request(t, c.req)
			var answer []byte
			require.NoError(t, conn.Invoke(metadata.AppendToOutgoingContext(t.Context(), c.md...), "/api.Dgraph/Query", &body, &answer))
			require.Equal(t, body, a.received()[0])
			require.Empty(t, k.calls)
		})
	}
}

func quadOf(t *testing.T, q *api.NQuad) []byte {
	t.Helper()
	b, err := q.Marshal()
	require.NoError(t, err)
	return b
}

func TestARunDQLThatSetsEdgesRunsInTheTransactionOfTheLookUp(t *testing.T) {
	text := `upsert { query { v as var(func: uid(0x1)) } fragment f { name } mutation @if(gt(len(v), 0)) { set { <0x9> <name> "lost" . } set { <0x1> <follows> <0x2> . } } mutation { delete { uid(v) <name> * . } } }`
	body := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), text)
	body = protowire.AppendBytes(protowire.AppendTag(body, 2, protowire.BytesType), []byte("\n\x02$a\x12\x01b"))
	body = protowire.AppendVarint(protowire.AppendTag(body, 5, protowire.VarintType), 1)
	k := &keeper{}
	a, conn := newKeepingFront(t, k)
	var answer []byte
	require.NoError(t, conn.Invoke(metadata.AppendToOutgoingContext(t.Context(), "accessjwt", "token"), "/api.Dgraph/RunDQL", &body, &answer))
	require.Equal(t, map[string]string{"$a": "b"}, k.calls[0].Vars)
	var req api.Request
	require.NoError(t, req.Unmarshal(a.received()[0]))
	require.Equal(t, api.Request{
		StartTs: 70, Hash: "h", Query: " { v as var(func: uid(0x1)) }fragment f { name }", Vars: map[string]string{"$a": "b"}, RespFormat: api.Request_RDF, CommitNow: true,
		Mutations: []*api.Mutation{ // the last set of one block counts, and a condition goes on to the next: so Dgraph reads it
			{Cond: "@if(gt(len(v), 0))", SetNquads: []byte(" <0x1> <follows> <0x2> (evorag.score=90.5, evorag.n=3, evorag.hidden=true) . ")},
			{Cond: "@if(gt(len(v), 0))", DelNquads: []byte(" uid(v) <name> * . ")},
		},
	}, req)
}
