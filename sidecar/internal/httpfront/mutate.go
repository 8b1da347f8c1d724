package httpfront

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

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

// mutateBytes is the longest mutation, decompressed, that is looked into; the alpha has no
// such limit.
const mutateBytes = 1 << 30

var errMutateBytes = errors.New("the mutation is too long to be looked into")

// mutate forwards a mutation. To edges between nodes that may have existed before, it adds
// the facets that were learned about them, in the mutation's own transaction: the alpha
// would drop them. A mutation that sets no such edge is forwarded as it came.
func (f *Front) mutate(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost && r.Method != http.MethodPut {
		f.forward.ServeHTTP(w, r)
		return
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, mutateBytes+1))
	if err != nil {
		writeUnread(w, r, err)
		return
	}
	readAgain(r, raw, mutateBytes)
	m, text := readMutation(r, raw)
	if text == "" && len(raw) > 0 {
		f.Log.Warn("a mutation is forwarded unread: it is too long, or its compression is not what its header says", "bytes", len(raw))
	}
	if up, ok := readUpsert(r, m, text); ok {
		f.upsert(w, r, up)
		return
	}
	kept, err := f.kept(r, m, text)
	if err != nil {
		writeQueryError(w, err)
		return
	}
	f.forwardStripped(w, kept, m.Query)
}

// kept is the request that keeps what was learned about the mutation's edges, or the one
// that came. The error is that of an engine which can't be asked now: forwarded a moment later,
// when it can, the mutation would drop what was learned.
func (f *Front) kept(r *http.Request, m mutation.Text, text string) (*http.Request, error) {
	if len(m.Edges) == 0 || f.Keeper == nil {
		return r, nil
	}
	out, err := f.keep(r, m, text)
	if err != nil && proxy.Passing(err) {
		return nil, err
	}
	if err != nil { // the alpha says better than we what is wrong with it
		f.Log.Warn("a mutation is forwarded without a look at what was learned about its edges", "error", err)
		return r, nil
	}
	return out, nil
}

// readMutation reads the body of a mutation and gives it decompressed. One that the alpha
// would refuse before it looks inside sets no edges.
func readMutation(r *http.Request, raw []byte) (m mutation.Text, text string) {
	text, err := inflated(raw, r.Header.Get("Content-Encoding"))
	if err != nil {
		return m, ""
	}
	switch media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media {
	case "application/rdf":
		m = mutation.ReadRDF(text)
	case "application/json":
		m = mutation.ReadJSON(text)
	}
	return m, text
}

// keep gives the request that keeps what was learned about the mutation's edges.
func (f *Front) keep(r *http.Request, m mutation.Text, text string) (*http.Request, error) {
	parameters, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	call := graph.Call{Query: m.Query, Hash: parameters.Get("hash"), Credentials: credentials(r.Header)}
	if v := parameters.Get("startTs"); v != "" {
		if call.StartTS, err = strconv.ParseUint(v, 0, 64); err != nil {
			return nil, err
		}
	}
	learned, txn, err := f.Keeper.Learned(r.Context(), call, m.Edges)
	if err != nil {
		return nil, err
	}
	out := r.Clone(r.Context())
	if call.StartTS == 0 {
		parameters.Set("startTs", strconv.FormatUint(txn.StartTS, 10))
		if txn.Hash != "" {
			parameters.Set("hash", txn.Hash)
		}
		out.URL.RawQuery = parameters.Encode()
	}
	if learned.Any() {
		kept, err := dql.Splice(text, mutation.Keep(m.Edges, learned))
		if err != nil {
			return nil, err
		}
		setBody(out, kept)
	}
	return out, nil
}

// setBody gives the request another body, not compressed.
func setBody(r *http.Request, text string) {
	r.Body = io.NopCloser(strings.NewReader(text))
	r.ContentLength = int64(len(text))
	r.Header.Del("Content-Encoding")
	r.Header.Set("Content-Length", strconv.Itoa(len(text)))
}

// inflated undoes a gzip. An encoding that the alpha refuses gives no text.
func inflated(raw []byte, encoding string) (string, error) {
	switch encoding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return "", err
		}
		if raw, err = io.ReadAll(io.LimitReader(z, mutateBytes+1)); err != nil {
			return "", errors.Join(err, z.Close())
		}
	default:
		return "", nil
	}
	if len(raw) > mutateBytes {
		return "", errMutateBytes
	}
	return string(raw), nil
}
