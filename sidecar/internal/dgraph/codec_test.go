package dgraph

import (
	"testing"

	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

func TestAnAnswerIsReadAsByGRPCsOwnCodec(t *testing.T) {
	json := protowire.AppendBytes(protowire.AppendTag(nil, fieldJSON, protowire.BytesType), []byte(`{"q":[]}`))
	whole, err := (&api.Response{
		Json: []byte(`{"q":[{"name":"Eva"}]}`), Txn: &api.TxnContext{StartTs: 7, Keys: []string{"k"}, Hash: "h"},
		Latency: &api.Latency{ParsingNs: 1}, Metrics: &api.Metrics{NumUids: map[string]uint64{"name": 3}}, Uids: map[string]string{"a": "0x1"},
	}).Marshal()
	require.NoError(t, err)
	without, err := (&api.Response{Txn: &api.TxnContext{StartTs: 7}}).Marshal()
	require.NoError(t, err)
	for name, b := range map[string][]byte{
		"whole":              whole,
		"no JSON":            without,
		"nothing":            {},
		"empty JSON":         protowire.AppendBytes(protowire.AppendTag(nil, fieldJSON, protowire.BytesType), nil),
		"JSON last":          append(without[:len(without):len(without)], json...),
		"JSON twice":         append(whole[:len(whole):len(whole)], json...),
		"an unknown field":   protowire.AppendVarint(protowire.AppendTag(whole[:len(whole):len(whole)], 900, protowire.VarintType), 1),
		"cut off":            whole[:len(whole)-1],
		"cut off in JSON":    whole[:9],
		"JSON as a number":   protowire.AppendVarint(protowire.AppendTag(nil, fieldJSON, protowire.VarintType), 1),
		"not a message":      {0xff},
		"a length too large": {0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		t.Run(name, func(t *testing.T) {
			half := len(b) / 2 // as it comes in several frames
			data := mem.BufferSlice{mem.SliceBuffer(b[:half]), mem.SliceBuffer(b[half:])}
			var got, want api.Response
			wantErr := newCodec().CodecV2.Unmarshal(data, &want)
			err := newCodec().Unmarshal(data, &got)
			require.Equal(t, wantErr == nil, err == nil, "%v, gRPC's own: %v", err, wantErr)
			if err == nil {
				require.Equal(t, want, got)
				require.Equal(t, len(got.Json), cap(got.Json), "who appends to the JSON writes into the rest of the message")
			}
		})
	}
}
