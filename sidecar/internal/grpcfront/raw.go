package grpcfront

import (
	"fmt"

	"google.golang.org/grpc/mem"
)

// message is one gRPC message as it lies on the wire. It holds a reference to its buffers
// until it is sent or freed.
type message struct{ data mem.BufferSlice }

// free gives the buffers back. A nil message has none.
func (m *message) free() {
	if m != nil {
		m.data.Free()
		m.data = nil
	}
}

// raw is a codec that neither reads nor writes: bytes go through as they came.
type raw struct{}

// Name is protobuf's: it becomes the content subtype of forwarded calls.
func (raw) Name() string { return "proto" }

// Marshal hands the buffers over to gRPC, which frees them.
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("a %T can't be forwarded as raw bytes", v)
	}
	data := m.data
	m.data = nil
	return data, nil
}

// Unmarshal keeps the buffers beyond the call.
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("raw bytes can't be received as a %T", v)
	}
	data.Ref()
	m.data = data
	return nil
}
