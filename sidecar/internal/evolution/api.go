package evolution

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/sidecar/internal/lease"
)

// Bounds of the services.
const (
	bodyBytes = 1 << 16
	listed    = 20
	longest   = 30 * time.Minute // of a run on request; it goes on when the caller goes away
)

// Listed is the answer to a list of runs.
type Listed struct {
	Runs []Run `json:"runs"`
}

// Runners evolve several namespaces, the sidecar's own first: the services below work in the
// one that a request names, else in the own.
type Runners []*Runner

// ServeRuns is GET /evorag/v1/runs, the newest runs first (?first=20), and POST of the same:
// {"dry_run": true} decides a run and writes nothing, {} evolves the graph now.
func (all Runners) ServeRuns(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodGet {
		r := all.of(w, req.URL.Query().Get("namespace"))
		if r == nil {
			return
		}
		first := listed
		if text := req.URL.Query().Get("first"); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > 1000 {
				answerError(w, http.StatusBadRequest, "invalid_request", "first is "+strconv.Quote(text)+"; write a number from 1 to 1000")
				return
			}
			first = n
		}
		runs, err := r.List(req.Context(), first)
		answer(w, Listed{runs}, err)
		return
	}
	var order struct {
		DryRun    bool        `json:"dry_run"`
		Namespace json.Number `json:"namespace"`
	}
	if err := decode(w, req, &order); err != nil {
		answerError(w, http.StatusBadRequest, "invalid_request", err.Error()+`; write {} or {"dry_run": true}`)
		return
	}
	r := all.of(w, order.Namespace.String())
	if r == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), longest)
	defer cancel()
	var run Run
	var err error
	if order.DryRun {
		run, err = r.Plan(ctx)
	} else {
		run, err = r.Run(ctx, nil)
	}
	answer(w, run, err)
}

// ServeRun is GET /evorag/v1/runs/{id}, one run with its changes, and POST
// /evorag/v1/runs/{id}/undo, with {"keep_feedback": true} where feedback since is to stand.
// prefix is what the path begins with.
func (all Runners) ServeRun(prefix string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		id, verb, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, prefix), "/")
		switch {
		case verb == "" && req.Method == http.MethodGet:
			r := all.of(w, req.URL.Query().Get("namespace"))
			if r == nil {
				return
			}
			run, err := r.Show(req.Context(), id)
			answer(w, run, err)
		case verb == "undo" && req.Method == http.MethodPost:
			var order struct {
				Keep      bool        `json:"keep_feedback"`
				Namespace json.Number `json:"namespace"`
			}
			if err := decode(w, req, &order); err != nil {
				answerError(w, http.StatusBadRequest, "invalid_request", err.Error()+`; write {} or {"keep_feedback": true}`)
				return
			}
			r := all.of(w, order.Namespace.String())
			if r == nil {
				return
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), longest)
			defer cancel()
			run, err := r.Undo(ctx, id, order.Keep)
			answer(w, run, err)
		default:
			answerError(w, http.StatusNotFound, "not_found", "write GET "+prefix+"{id} or POST "+prefix+"{id}/undo")
		}
	}
}

// of is the runner of a namespace, "" for the sidecar's own. Where there is none the answer
// says so, and it is nil.
func (all Runners) of(w http.ResponseWriter, namespace string) *Runner {
	if namespace == "" {
		return all[0]
	}
	known := make([]string, len(all))
	for i, r := range all {
		known[i] = strconv.FormatUint(r.Namespace, 10)
		if known[i] == namespace {
			return r
		}
	}
	answerError(w, http.StatusBadRequest, "other_namespace", "this sidecar evolves namespace "+strings.Join(known, ", ")+", not "+namespace+"; add it under evolution.namespaces")
	return nil
}

// decode reads one JSON object, or an empty body, strictly.
func decode(w http.ResponseWriter, req *http.Request, into any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, req.Body, bodyBytes))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return errors.New("the body is not readable: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// answer writes v, or the error with its status.
func answer(w http.ResponseWriter, v any, err error) {
	switch {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // a caller who is gone needs no message
	case errors.Is(err, ErrNoRun):
		answerError(w, http.StatusNotFound, "no_such_run", err.Error())
	case errors.Is(err, ErrFinal):
		answerError(w, http.StatusGone, "final", err.Error())
	case errors.Is(err, ErrTouched):
		answerError(w, http.StatusConflict, "touched_since", err.Error())
	case errors.Is(err, ErrNotDone):
		answerError(w, http.StatusConflict, "not_done", err.Error())
	case errors.Is(err, lease.ErrHeld), errors.Is(err, lease.ErrLost):
		w.Header().Set("Retry-After", "10")
		answerError(w, http.StatusConflict, "busy", err.Error())
	default:
		answerError(w, http.StatusBadGateway, "engine_error", err.Error())
	}
}

func answerError(w http.ResponseWriter, status int, code, message string) {
	type fault struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]fault{"error": {code, message}})
}
