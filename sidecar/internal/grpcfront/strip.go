package grpcfront

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/evorag/dgraph-evorag/plugin/strip"
)

const fieldJSON protowire.Number = 1 // of api.Response

// stripped gives what takes the extension's own facets and predicates out of the answer to a
// query that didn't ask for them; nil where its answer can't show any.
func stripped(query string) func(*message) (*message, error) {
	if !strip.MayShow([]byte(query)) {
		return nil
	}
	filter := strip.For(query)
	if filter == nil {
		return nil
	}
	return func(m *message) (*message, error) {
		b := m.data.Materialize()
		m.free()
		b, err := replaceFields(b, func(num protowire.Number, was []byte) ([][]byte, error) {
			if num == fieldJSON {
				was = filter.JSON(was)
			}
			return [][]byte{was}, nil
		})
		return &message{data: mem.BufferSlice{mem.SliceBuffer(b)}}, err
	}
}
