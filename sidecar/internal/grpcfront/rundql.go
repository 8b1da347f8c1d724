package grpcfront

import (
	"context"

	"github.com/dgraph-io/dgo/v230/protos/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/mutation"
)

// fieldText is the query or mutation in a RunDQLRequest.
const fieldText protowire.Number = 1

// runDQL are the fields of RunDQLRequest, which newer clients send, as those of api.Request. Types
// and meaning are the same, so its messages are read as an api.Request with other numbers.
var runDQL = map[protowire.Number]protowire.Number{
	1: 4,  // dql_query: query
	2: 5,  // vars
	3: 6,  // read_only
	4: 7,  // best_effort
	5: 14, // resp_format
}

// keepRunDQL is keep for a RunDQLRequest. Such a request can't say in which transaction it
// runs, so what comes back is the api.Request that says the same and can.
func (f *Front) keepRunDQL(ctx context.Context, b []byte) ([]byte, error) {
	text, err := textField(mem.BufferSlice{mem.SliceBuffer(b)}, fieldText)
	if err != nil {
		return nil, err
	}
	m := mutation.ReadRDF(text)
	if len(m.Edges) == 0 {
		return nil, nil
	}
	req, err := read(methodRunDQL, b)
	if err != nil {
		return nil, err
	}
	md, _ := metadata.FromIncomingContext(ctx)
	learned, txn, err := f.Keeper.Learned(ctx, graph.Call{Query: m.Query, Vars: req.Vars, Credentials: credentials(md)}, m.Edges)
	if err != nil {
		return nil, err
	}
	kept, err := dql.Splice(text, mutation.Keep(m.Edges, learned))
	if err != nil {
		return nil, err
	}
	return asRequest(b, kept, txn)
}

// asRequest is a RunDQLRequest with another text as the api.Request that the alpha makes of one
// (edgraph/query.go, dql.ParseDQL), in a transaction; nil where the text holds no mutation.
func asRequest(b []byte, text string, txn graph.Txn) ([]byte, error) {
	m := mutation.ReadRDF(text)
	if len(m.Blocks) == 0 {
		return nil, nil
	}
	b, err := renumber(b, runDQL)
	if err != nil {
		return nil, err
	}
	b = protowire.AppendString(protowire.AppendTag(b, fieldQuery, protowire.BytesType), m.Query)
	more := api.Request{StartTs: txn.StartTS, Hash: txn.Hash, CommitNow: true}
	for _, block := range m.Blocks {
		more.Mutations = append(more.Mutations, &api.Mutation{Cond: block.Cond, SetNquads: []byte(block.Set), DelNquads: []byte(block.Delete)})
	}
	rest, err := more.Marshal()
	return append(b, rest...), err
}

// costHeader says how many uids a Query has touched.
const costHeader = "dgraph-toucheduids"

// asRunDQL answers a RunDQL call with what Query gave: without the header of its own.
type asRunDQL struct{ grpc.ServerStream }

// SetHeader leaves the cost out.
func (s asRunDQL) SetHeader(md metadata.MD) error {
	delete(md, costHeader)
	return s.ServerStream.SetHeader(md)
}

// SendHeader leaves the cost out.
func (s asRunDQL) SendHeader(md metadata.MD) error {
	delete(md, costHeader)
	return s.ServerStream.SendHeader(md)
}

// renumber gives the fields of a protobuf message the numbers of another; fields that the
// other doesn't have are left out.
func renumber(b []byte, to map[protowire.Number]protowire.Number) ([]byte, error) {
	out := make([]byte, 0, len(b)+8)
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		if other, ok := to[num]; ok {
			out = protowire.AppendTag(out, other, typ)
			out = append(out, b[n:n+size]...)
		}
		b = b[n+size:]
	}
	return out, nil
}
