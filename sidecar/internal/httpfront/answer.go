package httpfront

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// Dgraph's codes in errors[].extensions.code (x/x.go).
const (
	codeError          = "Error"
	codeInvalidRequest = "ErrorInvalidRequest"
	codeUnauthorized   = "ErrorUnauthorized"
)

// fault is one error in Dgraph's shape.
type fault struct {
	Message    string            `json:"message"`
	Locations  []location        `json:"locations,omitempty"`
	Extensions map[string]string `json:"extensions"`

	code string
}

type location struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// writeFault answers {"errors":[...],"data":null}.
func writeFault(w http.ResponseWriter, code int, f fault) {
	f.Extensions = map[string]string{"code": f.code}
	writeJSON(w, code, struct {
		Errors []fault `json:"errors"`
		Data   any     `json:"data"`
	}{Errors: []fault{f}})
}

// writeUnread answers a request whose body can't be read as the alpha does.
func writeUnread(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the caller has gone
	}
	writeJSON(w, http.StatusOK, struct {
		Errors []fault `json:"errors"`
	}{[]fault{{Message: err.Error(), Extensions: map[string]string{"code": codeInvalidRequest}}}})
}

// writeQueryError answers as the alpha does: status 200 with the error in the body. Only an
// engine that isn't there is a 502.
func writeQueryError(w http.ResponseWriter, err error) {
	code, f := http.StatusOK, fault{Message: err.Error(), code: codeInvalidRequest}
	var at *dql.Error
	if errors.As(err, &at) {
		f.Locations = []location{{at.Line, at.Column}}
	} else if s, ok := status.FromError(err); ok {
		switch s.Code() {
		case codes.Unknown: // a plain error of the engine: over HTTP it has no gRPC words around it
			f.Message = s.Message()
		case codes.Unavailable:
			code, f.code = http.StatusBadGateway, codeError
			f.Message = "the engine doesn't answer: " + s.Message()
		}
	}
	writeFault(w, code, f)
}

// extensions stand beside "data", named and ordered as Dgraph's query.Extensions; behind them the
// retrieval.
type extensions struct {
	Latency latency `json:"server_latency"`
	Txn     txn     `json:"txn"`
	Metrics metrics `json:"metrics"`
}

type latency struct {
	Parsing         int64 `json:"parsing_ns,omitempty"`
	Processing      int64 `json:"processing_ns,omitempty"`
	Encoding        int64 `json:"encoding_ns,omitempty"`
	AssignTimestamp int64 `json:"assign_timestamp_ns,omitempty"`
	Total           int64 `json:"total_ns,omitempty"`
}

type txn struct {
	StartTS  uint64   `json:"start_ts,omitempty"`
	CommitTS uint64   `json:"commit_ts,omitempty"`
	Aborted  bool     `json:"aborted,omitempty"`
	Keys     []string `json:"keys,omitempty"`
	Preds    []string `json:"preds,omitempty"`
	Hash     string   `json:"hash,omitempty"`
}

type metrics struct {
	NumUIDs map[string]uint64 `json:"num_uids,omitempty"`
}

// writeAnswer writes {"data":...,"extensions":...} with the bytes of data as they are,
// gzipped where the caller takes that, as the alpha does.
func writeAnswer(w http.ResponseWriter, r *http.Request, a *proxy.Response) {
	ext, err := json.Marshal(extensions{
		Latency: latency{
			Parsing:         a.Latency.Parsing.Nanoseconds(),
			Processing:      a.Latency.Processing.Nanoseconds(),
			Encoding:        a.Latency.Encoding.Nanoseconds(),
			AssignTimestamp: a.Latency.AssignTimestamp.Nanoseconds(),
			Total:           a.Latency.Total.Nanoseconds(),
		},
		Txn:     txn(a.Txn),
		Metrics: metrics{a.NumUIDs},
	})
	if err != nil {
		writeQueryError(w, err)
		return
	}
	room := answers.Get().(*[]byte)
	b := append(append((*room)[:0], `{"data":`...), a.JSON...)
	b = append(append(b, `,"extensions":`...), ext...)
	if a.Retrieval != nil {
		b = append(b[:len(b)-1], `,"evorag":`...)
		if b, err = a.Retrieval.AppendJSON(b); err != nil {
			writeQueryError(w, err)
			return
		}
		b = append(b, '}')
	}
	b = append(b, '}')
	w.Header().Set("Dgraph-TouchedUids", strconv.FormatUint(a.NumUIDs["_total"], 10))
	writeBytes(w, r, http.StatusOK, b)
	if cap(b) <= answerKept {
		*room = b
		answers.Put(room)
	}
}

// answers are written again into the same room; that of an uncommonly large one is left to the
// collector.
var answers = sync.Pool{New: func() any { return new([]byte) }}

const answerKept = 1 << 20

func writeJSON(w http.ResponseWriter, code int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		code, b = http.StatusInternalServerError, []byte(`{"errors":[{"message":"the answer can't be written as JSON","extensions":{"code":"Error"}}],"data":null}`)
	}
	writeBytes(w, nil, code, b)
}

// writeBytes writes a JSON answer; r, if given, says whether gzip is welcome.
func writeBytes(w http.ResponseWriter, r *http.Request, code int, b []byte) {
	addCORS(w.Header())
	w.Header().Set("Content-Type", "application/json")
	if r != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		var z bytes.Buffer
		zw := gzip.NewWriter(&z)
		_, _ = zw.Write(b) // a buffer takes everything
		_ = zw.Close()
		b = z.Bytes()
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(code)
	_, _ = w.Write(b) // a caller that has gone needs no answer
}
