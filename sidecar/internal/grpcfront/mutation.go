package grpcfront

import (
	"context"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/dgraph-io/dgo/v230/protos/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/mutation"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// Keeper knows what was learned about edges.
type Keeper interface {
	// Learned reads what was learned about the edges that a mutation sets, and gives the
	// transaction in which the mutation must run.
	Learned(ctx context.Context, c graph.Call, edges []mutation.Edge) (mutation.Learned, graph.Txn, error)
}

// Fields of api.Request, of api.Mutation and of api.NQuad.
const (
	fieldStartTS   protowire.Number = 1
	fieldQuery     protowire.Number = 4
	fieldMutations protowire.Number = 12
	fieldHash      protowire.Number = 15

	fieldSetJSON   protowire.Number = 1
	fieldSetNQuads protowire.Number = 3
	fieldSet       protowire.Number = 5

	fieldSubject  protowire.Number = 1
	fieldObjectID protowire.Number = 3
	fieldFacets   protowire.Number = 7
)

// hasMutations tells an api.Request with mutations.
func hasMutations(data mem.BufferSlice) bool {
	text, err := textField(data, fieldMutations)
	return err == nil && text != ""
}

// mutation forwards a request with mutations. To edges between nodes that may have existed
// before, it adds the facets that were learned about them, in the mutation's own
// transaction: the alpha would drop them. A request that sets no such edge is forwarded as
// it came, and so is one whose look-up fails: the alpha says better what is wrong with it. Only
// where the engine can't be asked now the mutation isn't forwarded: a moment later, when it can,
// it would drop what was learned.
func (f *Front) mutation(method string, s grpc.ServerStream, m *message, answer func(*message) (*message, error)) error {
	defer f.Wrote() // the status that ends the call is sent after this
	keep := f.keep
	if method == methodRunDQL {
		keep = f.keepRunDQL
	}
	kept, err := keep(s.Context(), m.data.Materialize())
	if err != nil && proxy.Passing(err) {
		return err
	}
	if err != nil {
		f.Log.Warn("a mutation is forwarded without a look at what was learned about its edges", "error", err)
	}
	if err != nil || kept == nil {
		return f.forward(method, s, m, answer)
	}
	m.free()
	m = &message{data: mem.BufferSlice{mem.SliceBuffer(kept)}}
	if method == methodRunDQL {
		return f.forward(methodQuery, asRunDQL{s}, m, answer)
	}
	return f.forward(method, s, m, answer)
}

// keep gives the request that keeps learned facets; nil where none can be lost.
func (f *Front) keep(ctx context.Context, b []byte) ([]byte, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if len(md.Get("galaxy-operation")) > 0 {
		return nil, nil // a load into namespaces that are not the caller's
	}
	var edges []mutation.Edge
	if _, err := sets(b, func(s set) ([][]byte, error) {
		edges = append(edges, s.edges()...)
		return [][]byte{s.bytes}, nil
	}); err != nil || len(edges) == 0 {
		return nil, err
	}
	var req api.Request
	if err := req.Unmarshal(b); err != nil {
		return nil, err
	}
	learned, txn, err := f.Keeper.Learned(ctx, graph.Call{
		Query: req.Query, Vars: req.Vars, StartTS: req.StartTs, Hash: req.Hash, Credentials: credentials(md),
	}, edges)
	if err != nil {
		return nil, err
	}
	if learned.Any() {
		done := 0
		if b, err = sets(b, func(s set) ([][]byte, error) {
			e := s.edges()
			l := learned.Part(done, done+len(e))
			done += len(e)
			return s.keep(e, l)
		}); err != nil {
			return nil, err
		}
	}
	if req.StartTs == 0 { // of a field that stands twice the last one counts
		b = protowire.AppendVarint(protowire.AppendTag(b[:len(b):len(b)], fieldStartTS, protowire.VarintType), txn.StartTS)
		if txn.Hash != "" {
			b = protowire.AppendString(protowire.AppendTag(b, fieldHash, protowire.BytesType), txn.Hash)
		}
	}
	return b, nil
}

// set is one field of an api.Mutation that sets edges, as it lies on the wire: other
// versions of the protocol know more fields than ours, and none may get lost.
type set struct {
	field protowire.Number
	bytes []byte
}

// sets goes through the fields of an api.Request that set edges and gives the request with
// what do makes of each, one or more fields in its place.
func sets(request []byte, do func(set) ([][]byte, error)) ([]byte, error) {
	return replaceFields(request, func(num protowire.Number, mutation []byte) ([][]byte, error) {
		if num != fieldMutations {
			return [][]byte{mutation}, nil
		}
		out, err := replaceFields(mutation, func(num protowire.Number, b []byte) ([][]byte, error) {
			switch num {
			case fieldSetJSON, fieldSetNQuads, fieldSet:
				return do(set{num, b})
			}
			return [][]byte{b}, nil
		})
		return [][]byte{out}, err
	})
}

// replaceFields gives a protobuf message with other values in its fields of bytes.
func replaceFields(b []byte, replace func(protowire.Number, []byte) ([][]byte, error)) ([]byte, error) {
	out := make([]byte, 0, len(b)+64)
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		if typ == protowire.BytesType {
			was, _ := protowire.ConsumeBytes(b[n:])
			is, err := replace(num, was)
			if err != nil {
				return nil, err
			}
			for _, v := range is {
				out = protowire.AppendBytes(protowire.AppendTag(out, num, typ), v)
			}
		} else {
			out = append(out, b[:n+size]...)
		}
		b = b[n+size:]
	}
	return out, nil
}

// edges lists the edges that the field sets.
func (s set) edges() []mutation.Edge {
	switch s.field {
	case fieldSetJSON:
		return mutation.JSON(string(s.bytes), dql.Span{End: len(s.bytes)})
	case fieldSetNQuads:
		return mutation.NQuads(string(s.bytes), dql.Span{End: len(s.bytes)})
	}
	var q api.NQuad
	if q.Unmarshal(s.bytes) != nil {
		return nil
	}
	own := make([]string, len(q.Facets))
	for i, x := range q.Facets {
		own[i] = x.Key
	}
	if e, ok := mutation.NewEdge(q.Subject, q.Predicate, q.ObjectId, own); ok {
		return []mutation.Edge{e}
	}
	return nil
}

// keep adds what was learned about the field's edges.
func (s set) keep(edges []mutation.Edge, l mutation.Learned) ([][]byte, error) {
	if !l.Any() {
		return [][]byte{s.bytes}, nil
	}
	if s.field != fieldSet {
		kept, err := dql.Splice(string(s.bytes), mutation.Keep(edges, l))
		return [][]byte{[]byte(kept)}, err
	}
	if e := edges[0]; e.Subject.Var == "" && e.Object.Var == "" {
		kept, err := appendFacets(s.bytes, l.Of(0)[0].Facets)
		return [][]byte{kept}, err
	}
	out := [][]byte{s.bytes}
	for _, found := range l.Of(0) { // a later quad replaces an earlier one's facets
		q := protowire.AppendString(protowire.AppendTag(s.bytes[:len(s.bytes):len(s.bytes)], fieldSubject, protowire.BytesType), found.Head.String())
		q = protowire.AppendString(protowire.AppendTag(q, fieldObjectID, protowire.BytesType), found.Object.String())
		q, err := appendFacets(q, found.Facets)
		if err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}

// appendFacets adds facets to an api.NQuad, in the binary form in which Dgraph keeps their
// values (types/conversion.go).
func appendFacets(quad []byte, facets []mutation.Facet) ([]byte, error) {
	quad = quad[:len(quad):len(quad)]
	for _, f := range facets {
		x := api.Facet{Key: f.Key}
		if n, err := strconv.ParseInt(f.Value, 10, 64); err == nil {
			x.ValType, x.Value = api.Facet_INT, binary.LittleEndian.AppendUint64(nil, uint64(n)) //nolint:gosec // its bits
		} else if v, err := strconv.ParseFloat(f.Value, 64); err == nil {
			x.ValType, x.Value = api.Facet_FLOAT, binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
		} else {
			x.ValType, x.Value = api.Facet_BOOL, []byte{0}
			if f.Value == "true" {
				x.Value[0] = 1
			}
		}
		b, err := x.Marshal()
		if err != nil {
			return nil, err
		}
		quad = protowire.AppendBytes(protowire.AppendTag(quad, fieldFacets, protowire.BytesType), b)
	}
	return quad, nil
}
