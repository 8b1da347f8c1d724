// Package dgraph talks to the cluster over gRPC: calls on behalf of a caller with the
// caller's credentials, and the sidecar's own work with its own.
package dgraph

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	"github.com/dgraph-io/dgo/v230"
	"github.com/dgraph-io/dgo/v230/protos/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// MaxMessage is the largest gRPC message in bytes, sent or received; gRPC's own limit of
// 4 MB is less than an ordinary answer of Dgraph.
const MaxMessage = 1 << 30

// window is how many bytes of a message may be under way before the receiver has asked for
// more. gRPC begins with 64 KB, so that an ordinary answer of Dgraph takes several turns.
const window = 4 << 20

// buffers holds messages while they are read. gRPC's own pool has nothing between 32 KB and 1 MB,
// where most answers are, and clears what it lends.
var buffers = mem.NewTieredBufferPool(1<<8, 1<<12, 1<<14, 1<<15, 1<<16, 1<<17, 1<<18, 1<<19, 1<<20)

const schemaQuery = "schema {}"

// Options of Dial. Only Target is needed.
type Options struct {
	Target  Target
	TLS     *tls.Config // nil: as Target.SSLMode says
	Dial    []grpc.DialOption
	Aborted func() // called before a transaction is tried again; may be nil, must not block
}

// Client is one connection to a cluster, safe for concurrent use.
type Client struct {
	conn    *grpc.ClientConn
	raw     api.DgraphClient // as the caller
	own     *dgo.Dgraph      // as the sidecar
	self    *session
	aborted func()
}

// Dial prepares a connection. It does no network work: an engine that is not there shows
// at the first call, or at Version.
func Dial(opts Options) (*Client, error) {
	transport := insecure.NewCredentials()
	conf := opts.TLS
	if conf == nil {
		conf = opts.Target.TLS()
	}
	if conf != nil {
		transport = credentials.NewTLS(conf)
	}
	dial := append([]grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage), grpc.ForceCodecV2(newCodec())),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(2 * window),
		experimental.WithBufferPool(buffers),
	}, opts.Dial...)
	conn, err := grpc.NewClient(opts.Target.Addr, dial...)
	if err != nil {
		return nil, fmt.Errorf("dialling %s: %w", opts.Target, err)
	}
	raw := api.NewDgraphClient(conn)
	self := &session{DgraphClient: raw, target: opts.Target}
	if opts.Aborted == nil {
		opts.Aborted = func() {}
	}
	return &Client{conn: conn, raw: raw, own: dgo.NewDgraphClient(self), self: self, aborted: opts.Aborted}, nil
}

// Conn is the connection itself, for forwarding calls as they came.
func (c *Client) Conn() *grpc.ClientConn { return c.conn }

// Namespace is the one that the sidecar itself works in.
func (c *Client) Namespace() uint64 { return c.self.target.Namespace }

// AccessToken is the sidecar's own, for the alpha's HTTP; empty where no user is configured.
func (c *Client) AccessToken(ctx context.Context) (string, error) { return c.self.token(ctx, "") }

// Close ends the connection; calls under way fail.
func (c *Client) Close() error { return c.conn.Close() }

// Version asks for the engine's version, such as "v25.4.0": the cheapest sign of life.
func (c *Client) Version(ctx context.Context) (string, error) {
	v, err := c.raw.CheckVersion(ctx, &api.Check{})
	if err != nil {
		return "", err
	}
	return v.GetTag(), nil
}

// Query runs a caller's read with the caller's credentials and no others. Errors are the
// engine's, gRPC status included.
func (c *Client) Query(ctx context.Context, call graph.Call) (graph.Answer, error) {
	return query(asCaller(ctx, call), c.raw, call)
}

// OwnQuery runs a read as the sidecar itself; call.Credentials are not looked at.
func (c *Client) OwnQuery(ctx context.Context, call graph.Call) (graph.Answer, error) {
	return query(ctx, c.self, call)
}

// Read runs a read-only query as the sidecar itself at a fresh timestamp and returns "data".
func (c *Client) Read(ctx context.Context, text string, vars map[string]string) ([]byte, error) {
	a, err := c.OwnQuery(ctx, graph.Call{Query: text, Vars: vars, ReadOnly: true})
	return a.JSON, err
}

// Schema is what the caller with these credentials may see; nil is a caller without any.
func (c *Client) Schema(ctx context.Context, creds graph.Credentials) (graph.Schema, error) {
	a, err := c.Query(ctx, graph.Call{Query: schemaQuery, ReadOnly: true, Credentials: creds})
	if err != nil {
		return graph.Schema{}, err
	}
	return graph.ParseSchema(a.JSON)
}

// OwnSchema is the schema as the sidecar itself sees it.
func (c *Client) OwnSchema(ctx context.Context) (graph.Schema, error) {
	data, err := c.Read(ctx, schemaQuery, nil)
	if err != nil {
		return graph.Schema{}, err
	}
	return graph.ParseSchema(data)
}

// asCaller replaces whatever outgoing metadata ctx had by the caller's.
func asCaller(ctx context.Context, call graph.Call) context.Context {
	md := metadata.MD{}
	for key, values := range call.Credentials {
		md.Append(strings.ToLower(key), values...)
	}
	if call.Debug {
		md.Set("debug", "true") // query.isDebug
	}
	return metadata.NewOutgoingContext(ctx, md)
}

func query(ctx context.Context, as api.DgraphClient, call graph.Call) (graph.Answer, error) {
	resp, err := as.Query(ctx, &api.Request{
		Query: call.Query, Vars: call.Vars,
		StartTs: call.StartTS, Hash: call.Hash, ReadOnly: call.ReadOnly, BestEffort: call.BestEffort,
	})
	if err != nil {
		return graph.Answer{}, err
	}
	t, l := resp.GetTxn(), resp.GetLatency()
	return graph.Answer{
		JSON: resp.GetJson(),
		Txn: graph.Txn{
			StartTS: t.GetStartTs(), CommitTS: t.GetCommitTs(), Aborted: t.GetAborted(),
			Keys: t.GetKeys(), Preds: t.GetPreds(), Hash: t.GetHash(),
		},
		Latency: graph.Latency{
			AssignTimestamp: time.Duration(l.GetAssignTimestampNs()), //nolint:gosec // nanoseconds of one call
			Parsing:         time.Duration(l.GetParsingNs()),         //nolint:gosec // likewise
			Processing:      time.Duration(l.GetProcessingNs()),      //nolint:gosec // likewise
			Encoding:        time.Duration(l.GetEncodingNs()),        //nolint:gosec // likewise
			Total:           time.Duration(l.GetTotalNs()),           //nolint:gosec // likewise
		},
		NumUIDs: resp.GetMetrics().GetNumUids(),
	}, nil
}
