package httpfront

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/mutation"
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

var errMutateBytes = fmt.Errorf("a mutation of more than %d bytes is not looked into; send it in parts", mutateBytes)

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
		return // the caller broke off
	}
	rest := r.Body
	r.Body = body{io.MultiReader(bytes.NewReader(raw), rest), rest}
	m, text := readMutation(r, raw)
	if len(m.Edges) > 0 && f.Keeper != nil {
		kept, err := f.keep(r, m, text)
		if err == nil {
			r = kept
		} else { // the alpha says better than we what is wrong with it
			f.Log.Warn("a mutation is forwarded without a look at what was learned about its edges", "error", err)
		}
	}
	f.forwardStripped(w, r, m.Query)
}

// readMutation reads the body of a mutation and gives it decompressed. One that the alpha
// would refuse before it looks inside sets no edges.
func readMutation(r *http.Request, raw []byte) (m mutation.Text, text string) {
	text, err := inflated(raw, r.Header.Get("Content-Encoding"))
	if err != nil {
		return mutation.Text{}, ""
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
		out.Body = io.NopCloser(bytes.NewReader([]byte(kept)))
		out.ContentLength = int64(len(kept))
		out.Header.Del("Content-Encoding")
		out.Header.Set("Content-Length", strconv.Itoa(len(kept)))
	}
	return out, nil
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
