package dgraph

import (
	"github.com/dgraph-io/dgo/v230/protos/api"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// fieldJSON is that of api.Response, the first that the engine writes.
const fieldJSON protowire.Number = 1

// codec is gRPC's own, except that an answer's JSON stays where it came: the message is put
// together once, not once more for the JSON and in a buffer that gRPC clears to its end before.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// Unmarshal reads a message.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	r, ok := v.(*api.Response)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	b := data.Materialize()
	json, rest := cutJSON(b)
	if err := r.Unmarshal(rest); err != nil {
		return err
	}
	if r.Json == nil { // of a field that stands twice the last one counts
		r.Json = json
	}
	return nil
}

// cutJSON divides an api.Response at the end of its JSON, nil where it doesn't begin with that.
func cutJSON(b []byte) (json, rest []byte) {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 || num != fieldJSON || typ != protowire.BytesType {
		return nil, b
	}
	json, size := protowire.ConsumeBytes(b[n:])
	if size < 0 {
		return nil, b
	}
	return json[:len(json):len(json)], b[n+size:]
}
