package grpcfront

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"

	"google.golang.org/grpc/metadata"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// A gRPC answer of Dgraph has no "extensions", so the retrieval travels in its hdrs. Most
// clients read the field api.Response.hdrs. dgo throws that away and fills it with the
// response's gRPC header (txn.Do of v230 to v250), so callers written in Go get it there too.
// Others don't: their limit for a header is 8 KiB, that of grpc-go 16 MiB.
const (
	headerKey   = "evorag"
	headerBytes = 1 << 20  // more is left out: proxies on the way have limits of their own
	usualBytes  = 16 << 10 // most retrievals have fewer
)

// header is the retrieval as gRPC metadata for callers that look for it there; nil for
// others. body is r as JSON. Where it is too large the paths are left out.
func header(caller metadata.MD, r *graph.Retrieval, body string) (metadata.MD, error) {
	if agent := caller.Get("user-agent"); len(agent) == 0 || !strings.Contains(agent[0], "grpc-go/") {
		return nil, nil
	}
	text := ascii(body)
	if len(text) > headerBytes {
		short := *r
		short.Results, short.Context, short.Entities = []graph.Result{}, "", nil
		short.Reason = strings.TrimSpace(fmt.Sprintf("%s (%d results are left out of this header; the field hdrs of the answer has them)", r.Reason, len(r.Results)))
		b, err := json.Marshal(short)
		if err != nil {
			return nil, err
		}
		text = ascii(string(b))
	}
	return metadata.Pairs(headerKey, text), nil
}

// ascii is JSON with everything beyond printable ASCII escaped, as metadata must be.
func ascii(text string) string {
	plain := true
	for i := range len(text) {
		plain = plain && text[i] < 0x7f
	}
	if plain {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	for _, r := range text {
		switch {
		case r < 0x7f:
			out.WriteByte(byte(r)) // JSON has no control characters left
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		}
	}
	return out.String()
}
