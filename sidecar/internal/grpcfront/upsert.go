package grpcfront

import (
	"github.com/dgraph-io/dgo/v230/protos/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// upsert runs a request with mutations whose query was ranked already: at the timestamp at
// which it was read, so that the ranking is of what the mutations see. Variables hold all
// that the query finds, whatever is shown.
func (f *Front) upsert(method string, s grpc.ServerStream, b []byte, ranked *proxy.Response, hdrs map[string]*api.ListOfString) error {
	b = b[:len(b):len(b)]
	if method == methodRunDQL {
		asked, err := asRequest(b, ranked.Text, ranked.Txn)
		switch {
		case err != nil:
			return status.Error(codes.InvalidArgument, err.Error())
		case asked != nil:
			method, s, b = methodQuery, asRunDQL{s}, asked
		default: // there is a fault in it, about which the alpha says more
			b = protowire.AppendString(protowire.AppendTag(b, fieldText, protowire.BytesType), ranked.Text)
		}
	} else { // of a field that stands twice the last one counts
		b = protowire.AppendString(protowire.AppendTag(b, fieldQuery, protowire.BytesType), ranked.Text)
		b = protowire.AppendVarint(protowire.AppendTag(b, fieldStartTS, protowire.VarintType), ranked.Txn.StartTS)
		if ranked.Txn.Hash != "" {
			b = protowire.AppendString(protowire.AppendTag(b, fieldHash, protowire.BytesType), ranked.Txn.Hash)
		}
	}
	return f.plain(method, s, &message{data: mem.BufferSlice{mem.SliceBuffer(b)}}, func(m *message) (*message, error) {
		was := m.data.Materialize()
		m.free()
		is, err := replaceFields(was, func(num protowire.Number, value []byte) ([][]byte, error) {
			if num == fieldJSON {
				return nil, nil
			}
			return [][]byte{value}, nil
		})
		if err != nil {
			return nil, err
		}
		more, err := (&api.Response{Json: ranked.JSON, Hdrs: hdrs}).Marshal()
		return &message{data: mem.BufferSlice{mem.SliceBuffer(append(is, more...))}}, err
	})
}
