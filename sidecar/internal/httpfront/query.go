package httpfront

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// query forwards a /query, unless its text carries the directive. Requests with a fault that
// the alpha finds before it reads the text (a bad parameter, bad JSON) are forwarded too: its
// own words are the best answer.
func (f *Front) query(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost && r.Method != http.MethodPut {
		f.forward.ServeHTTP(w, r)
		return
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, f.QueryBytes+1))
	if err != nil {
		writeUnread(w, r, err)
		return
	}
	readAgain(r, raw, f.QueryBytes)

	text, whole := f.plain(raw, r.Header.Get("Content-Encoding"))
	if !mayMention(text) {
		f.forwardQuery(w, r, text)
		return
	}
	if !whole {
		writeFault(w, http.StatusRequestEntityTooLarge, fault{
			Message: "a query with @evorag may have " + strconv.FormatInt(f.QueryBytes, 10) + " bytes (limit.query_bytes); send a shorter one",
			code:    codeInvalidRequest,
		})
		return
	}
	req, ok := decode(text, r)
	if !ok || !dql.Mentions(req.Query) {
		f.forwardQuery(w, r, text)
		return
	}
	f.ranked(w, r, req)
}

// ranked answers a query with the directive in Dgraph's shape.
func (f *Front) ranked(w http.ResponseWriter, r *http.Request, req request) {
	ctx := r.Context()
	if req.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, req.timeout)
		defer cancel()
	}
	req.Credentials = credentials(r.Header)
	answer, err := f.Ranker.Query(ctx, req.Request)
	if err != nil {
		writeQueryError(w, err)
		return
	}
	writeAnswer(w, r, answer)
}

// request is a decoded /query.
type request struct {
	proxy.Request
	timeout time.Duration // 0: none
}

// decode reads text and parameters as the alpha does (dgraph/cmd/alpha/http.go). ok is
// false where the alpha would refuse the request without looking at the query.
func decode(text []byte, r *http.Request) (req request, ok bool) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return req, false
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return req, false
	}
	switch media {
	case "application/json":
		var b struct {
			Query     string            `json:"query"`
			Variables map[string]string `json:"variables"`
		}
		if json.Unmarshal(text, &b) != nil {
			return req, false
		}
		req.Query, req.Vars = b.Query, b.Variables
	case "application/dql", "application/graphql+-":
		req.Query = string(text)
	default:
		return req, false
	}
	err = req.parameters(r.URL.Query())
	return req, err == nil
}

func (req *request) parameters(q url.Values) (err error) {
	flag := func(name string) bool {
		var b bool
		if v := q.Get(name); v != "" && err == nil {
			b, err = strconv.ParseBool(v)
		}
		return b
	}
	req.Debug = flag("debug")
	if v := q.Get("timeout"); v != "" && err == nil {
		req.timeout, err = time.ParseDuration(v)
	}
	if v := q.Get("startTs"); v != "" && err == nil {
		req.StartTS, err = strconv.ParseUint(v, 0, 64)
	}
	req.Hash = q.Get("hash")
	if req.StartTS == 0 {
		req.BestEffort = flag("be")
		req.ReadOnly = flag("ro") || req.BestEffort
	}
	switch q.Get("respFormat") {
	case "", "json":
	case "rdf":
		req.RDF = true
	default:
		err = errors.New("unknown respFormat")
	}
	return err
}

// plain undoes a gzip for inspection. whole is false where the text was longer than the
// limit; an encoding that the alpha refuses gives no text.
func (f *Front) plain(raw []byte, encoding string) (text []byte, whole bool) {
	switch encoding {
	case "", "identity":
		return raw, int64(len(raw)) <= f.QueryBytes
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, true
		}
		text, err = io.ReadAll(io.LimitReader(z, f.QueryBytes+1))
		return text, err == nil && int64(len(text)) <= f.QueryBytes
	}
	return nil, true
}

// mayMention is a cheap look at a body, raw or JSON: the word in any case, or a \u escape
// that could spell it.
func mayMention(b []byte) bool {
	const word = "evorag"
	for i := 0; i+len(word) <= len(b); i++ {
		j := bytes.IndexAny(b[i:], `eE\`)
		if j < 0 {
			return false
		}
		i += j
		if i+len(word) <= len(b) && strings.EqualFold(string(b[i:i+len(word)]), word) {
			return true
		}
		if b[i] == '\\' && i+1 < len(b) && b[i+1] == 'u' {
			return true
		}
	}
	return false
}

// readAgain gives the request the body of which raw is the beginning, or all of it where
// that is not longer than limit.
func readAgain(r *http.Request, raw []byte, limit int64) {
	r.Header.Del("Expect") // who waited was told to go on
	if int64(len(raw)) <= limit {
		r.Body = io.NopCloser(bytes.NewReader(raw)) // net/http sends this in one packet with the header
		return
	}
	rest := r.Body
	r.Body = body{io.MultiReader(bytes.NewReader(raw), rest), rest}
}

// bounded is a body that knows its end. Behind the last byte a transport looks whether there
// is more; the server may have closed the body by then, since the answer has begun, and the
// transport would take that for a failure and break the answer off.
func bounded(b io.ReadCloser, length int64) io.ReadCloser {
	return body{io.LimitReader(b, length), b}
}

// judged tells errors of a caller's body from those of the alpha.
type judged struct{ io.Reader }

func (j judged) Read(b []byte) (int, error) {
	n, err := j.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = unreadable{err}
	}
	return n, err
}

// unreadable is the error of a body that breaks off or is not what its header says.
type unreadable struct{ error }

// body is a request body that is read by way of another reader.
type body struct {
	io.Reader
	io.Closer
}
