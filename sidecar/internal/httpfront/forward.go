package httpfront

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"time"
)

// keywords are our words for the completion of Ratel's editor.
var keywords = []string{"@evorag", "evorag.entities", "query", "hops", "paths", "instances", "bundle", "entities", "alpha", "via", "fanout", "hidden", "explain"}

// mayWrite are the paths on which data is written.
var mayWrite = map[string]bool{"/mutate": true, "/mutate/": true, "/commit": true, "/graphql": true}

// reverseProxy forwards requests with the headers, parameters and compression that they
// came with. modify, if any, changes a 200 answer's body.
func (f *Front) reverseProxy(modify func([]byte) ([]byte, error)) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(f.Alpha)
			p.Out.URL.RawQuery = p.In.URL.RawQuery // unparsable parameters are the alpha's to judge
			p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
			p.SetXForwarded()
			f.traceOn(p.Out)
			if modify != nil {
				p.Out.Header.Del("Accept-Encoding")
			}
		},
		Transport: &http.Transport{
			TLSClientConfig:       f.AlphaTLS,
			DisableCompression:    true, // or gzip would be undone on the way back
			MaxIdleConnsPerHost:   64,
			IdleConnTimeout:       90 * time.Second,
			ExpectContinueTimeout: time.Second,
		},
		BufferPool: buffers,
		ModifyResponse: func(r *http.Response) error {
			addCORS(r.Header)
			if mayWrite[r.Request.URL.Path] && r.Request.Method != http.MethodOptions {
				f.Wrote()
			}
			if do, ok := r.Request.Context().Value(answerKey{}).(func(*http.Response) error); ok {
				return do(r)
			}
			if modify == nil || r.StatusCode != http.StatusOK || r.Request.Method != http.MethodGet {
				return nil
			}
			return replaceBody(r, modify)
		},
		ErrorHandler: f.alphaFailed,
		ErrorLog:     log.New(io.Discard, "", 0), // ErrorHandler logs
	}
}

// alphaFailed answers where no alpha answered. A preflight gets its headers all the same,
// so that the browser shows the error of the request behind it.
func (f *Front) alphaFailed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the caller has gone
	}
	var body unreadable
	if errors.As(err, &body) {
		writeUnread(w, r, body)
		return
	}
	f.Log.Warn("alpha doesn't answer", "path", r.URL.Path, "error", err)
	if r.Method == http.MethodOptions {
		addCORS(w.Header())
		return
	}
	writeFault(w, http.StatusBadGateway, fault{Message: "the alpha at " + f.Alpha.Host + " doesn't answer: " + err.Error(), code: codeError})
}

func replaceBody(r *http.Response, modify func([]byte) ([]byte, error)) error {
	was, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return err
	}
	if err := r.Body.Close(); err != nil {
		return err
	}
	is, err := modify(was)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(is))
	r.ContentLength = int64(len(is))
	r.Header.Set("Content-Length", strconv.Itoa(len(is)))
	return nil
}

// addKeywords appends our words to the alpha's {"keywords":[{"type":"","name":"..."}]}; an
// answer of another shape stays as it is.
func addKeywords(body []byte) ([]byte, error) {
	type word struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	var list struct {
		Keywords []word `json:"keywords"`
	}
	if json.Unmarshal(body, &list) != nil {
		return body, nil //nolint:nilerr // not an error: an alpha of another version
	}
	known := map[string]bool{}
	for _, k := range list.Keywords {
		known[strings.ToLower(k.Name)] = true
	}
	for _, name := range keywords {
		if !known[name] {
			list.Keywords = append(list.Keywords, word{Name: name})
		}
	}
	return json.Marshal(list)
}

// buffers are the 32 KiB that each forwarded body is copied through.
var buffers = &bufferPool{sync.Pool{New: func() any { return new([32 << 10]byte) }}}

type bufferPool struct{ sync.Pool }

func (p *bufferPool) Get() []byte  { return p.Pool.Get().(*[32 << 10]byte)[:] }
func (p *bufferPool) Put(b []byte) { p.Pool.Put((*[32 << 10]byte)(b)) }
