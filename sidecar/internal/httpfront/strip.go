package httpfront

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/strip"
)

// answerKey is under which a request's context holds what is to be done with its answer.
type answerKey struct{}

// onAnswer gives a request whose answer from the alpha goes through do before it goes to
// the caller.
func onAnswer(r *http.Request, do func(*http.Response) error) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), answerKey{}, do))
}

// forwardQuery forwards a query without the directive.
func (f *Front) forwardQuery(w http.ResponseWriter, r *http.Request, text []byte) {
	if !strip.MayShow(text) {
		f.forward.ServeHTTP(w, r)
		return
	}
	req, ok := decode(text, r)
	if !ok || req.RDF { // RDF has no facets
		f.forward.ServeHTTP(w, r)
		return
	}
	f.forwardStripped(w, r, req.Query)
}

// forwardStripped forwards a request with a query. Where its answer could show the
// extension's own facets and predicates unasked, they are taken out.
func (f *Front) forwardStripped(w http.ResponseWriter, r *http.Request, query string) {
	var filter *strip.Filter
	if strip.MayShow([]byte(query)) {
		filter = strip.For(query)
	}
	if filter == nil {
		f.forward.ServeHTTP(w, r)
		return
	}
	f.forwardChanged(w, r, filter.JSON)
}

// forwardChanged forwards a request and changes the JSON of a 200 answer.
func (f *Front) forwardChanged(w http.ResponseWriter, r *http.Request, change func([]byte) []byte) {
	zip := strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
	r = onAnswer(r, func(resp *http.Response) error {
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Encoding") != "" {
			return nil
		}
		was, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if err := resp.Body.Close(); err != nil {
			return err
		}
		is := change(was)
		if zip && !bytes.HasPrefix(was, []byte(`{"errors":`)) { // the alpha compresses no error
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = z.Write(is) // a buffer takes everything
			_ = z.Close()
			is = b.Bytes()
			resp.Header.Set("Content-Encoding", "gzip")
		}
		resp.Body = io.NopCloser(bytes.NewReader(is))
		resp.ContentLength = int64(len(is))
		resp.Header.Set("Content-Length", strconv.Itoa(len(is)))
		return nil
	})
	r.Header = r.Header.Clone()
	r.Header.Del("Accept-Encoding")
	f.forward.ServeHTTP(w, r)
}
