package httpfront

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
	"github.com/evorag/dgraph-evorag/sidecar/internal/status"
)

// apiBytes is the largest body that the services under /evorag/v1 take.
const apiBytes = 1 << 20

// retrieve is POST /evorag/v1/retrieve: a proxy.RetrieveRequest in, a graph.Retrieval out.
func (f *Front) retrieve(w http.ResponseWriter, r *http.Request) {
	var req proxy.RetrieveRequest
	if code, err := decodeStrict(w, r, &req); err != nil {
		writeAPIError(w, code, "invalid_request", err.Error())
		return
	}
	req.Credentials = credentials(r.Header)
	found, err := f.Ranker.Retrieve(r.Context(), req)
	if err != nil {
		code, name := apiCode(err)
		writeAPIError(w, code, name, message(err))
		return
	}
	b, err := json.Marshal(found)
	if err != nil {
		writeAPIError(w, http.StatusInternalServerError, "internal", err.Error())
		return
	}
	writeBytes(w, r, http.StatusOK, b)
}

// status is GET /evorag/v1/status: a status.Report. Its own status is 503 where it is failing,
// so that a monitor need not read it.
func (f *Front) status(w http.ResponseWriter, r *http.Request) {
	report := f.Status(r.Context())
	code := http.StatusOK
	if report.State == status.Failing {
		code = http.StatusServiceUnavailable
	}
	writeJSON(w, code, report)
}

// alive is GET /evorag/health: this process answers, whatever becomes of the alpha. /health is
// the alpha's own.
func (f *Front) alive(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"status": "healthy", "uptime_sec": int64(time.Since(f.started).Seconds())})
}

func (f *Front) metrics(w http.ResponseWriter, r *http.Request) {
	addCORS(w.Header())
	f.Metrics.Handler().ServeHTTP(w, r)
}

// decodeStrict reads one JSON object into v: no unknown field, nothing behind it, at most
// apiBytes. The error says what to mend; code is the HTTP status for it.
func decodeStrict(w http.ResponseWriter, r *http.Request, v any) (code int, err error) {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, apiBytes))
	d.DisallowUnknownFields()
	err = d.Decode(v)
	var (
		tooBig *http.MaxBytesError
		typ    *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &tooBig):
		return http.StatusRequestEntityTooLarge, errors.New("the body has more than 1 MiB; send less")
	case errors.Is(err, io.EOF):
		return http.StatusBadRequest, errors.New("the body is empty; write a JSON object")
	case errors.As(err, &typ) && typ.Field != "":
		return http.StatusBadRequest, errors.New(typ.Field + " is a JSON " + typ.Value + "; write a value of type " + typ.Type.String())
	case err != nil:
		return http.StatusBadRequest, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err = d.Token(); !errors.Is(err, io.EOF) {
		return http.StatusBadRequest, errors.New("there is more behind the JSON object; send one object")
	}
	return 0, nil
}

// writeAPIError answers {"error":{"code":...,"message":...}}.
func writeAPIError(w http.ResponseWriter, code int, name, message string) {
	type apiError struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	writeJSON(w, code, map[string]apiError{"error": {name, message}})
}

// apiCode is the one table from errors to HTTP statuses and our names for them.
func apiCode(err error) (int, string) {
	var at *dql.Error
	switch {
	case errors.As(err, &at), errors.Is(err, proxy.ErrBadRequest), errors.Is(err, proxy.ErrNoNameIndex):
		return http.StatusBadRequest, "invalid_request"
	case errors.Is(err, proxy.ErrNothingLinked):
		return http.StatusNotFound, "nothing_linked"
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout, "timeout"
	}
	switch grpcstatus.Code(err) {
	case codes.InvalidArgument:
		return http.StatusBadRequest, "invalid_request"
	case codes.Unauthenticated:
		return http.StatusUnauthorized, "unauthenticated"
	case codes.PermissionDenied:
		return http.StatusForbidden, "permission_denied"
	case codes.NotFound:
		return http.StatusNotFound, "not_found"
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests, "busy"
	case codes.Unavailable:
		return http.StatusBadGateway, "engine_unavailable"
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout, "timeout"
	case codes.Unknown: // what Dgraph gives most of its errors, and what a plain error counts as
		if _, fromEngine := grpcstatus.FromError(err); fromEngine {
			return http.StatusBadGateway, "engine_error"
		}
	}
	return http.StatusInternalServerError, "internal"
}

// message is an error's text without gRPC's words around it.
func message(err error) string {
	if s, ok := grpcstatus.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}
