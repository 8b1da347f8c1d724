package httpfront

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/answer"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// Asker answers questions with a chat model.
type Asker interface {
	// Ask errors: those of Ranker.Retrieve, and those of package llm.
	Ask(ctx context.Context, r proxy.RetrieveRequest, on answer.Progress) (*answer.Answer, error)
}

// retrievalHeader names the retrieval that an answer comes from, for feedback on it.
const retrievalHeader = "X-Evorag-Retrieval"

var errNoModel = errors.New("no chat model is set; set llm.base_url and llm.model, or use /evorag/v1/retrieve and a model of your own")

// ask is POST /evorag/v1/ask: a proxy.RetrieveRequest and "stream" in, an answer.Answer out,
// as server-sent events if streamed: retrieval, delta..., then done or error.
func (f *Front) ask(w http.ResponseWriter, r *http.Request) {
	var req struct {
		proxy.RetrieveRequest
		Stream bool `json:"stream,omitempty"`
	}
	if code, err := decodeStrict(w, r, &req); err != nil {
		writeAPIError(w, code, "invalid_request", err.Error())
		return
	}
	req.Credentials = credentials(r.Header)
	exposeRetrieval(w.Header())
	if f.Asker == nil {
		writeAPIError(w, http.StatusNotImplemented, "no_model", errNoModel.Error())
		return
	}
	if req.Stream || strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		f.askStreamed(w, r, req.RetrieveRequest)
		return
	}
	a, err := f.Asker.Ask(r.Context(), req.RetrieveRequest, answer.Progress{Retrieved: nameRetrieval(w)})
	if err != nil {
		fault := f.askFault(r.Context(), err)
		fault.retryAfter(w.Header())
		writeAPIError(w, fault.code, fault.name, fault.message)
		return
	}
	writeJSON(w, http.StatusOK, a)
}

// askStreamed answers piece by piece. A failure before the first event has its status; after
// it, it is an event.
func (f *Front) askStreamed(w http.ResponseWriter, r *http.Request, req proxy.RetrieveRequest) {
	s := &events{w: w}
	a, err := f.Asker.Ask(r.Context(), req, answer.Progress{
		Retrieved: func(found *graph.Retrieval) error {
			_ = nameRetrieval(w)(found) // only names it
			return s.send("retrieval", map[string]any{"retrieval": found.ID, "results": len(found.Results), "partial": found.Partial})
		},
		Piece: func(text string) error { return s.send("delta", map[string]string{"text": text}) },
	})
	switch {
	case err == nil:
		_ = s.send("done", a) // a caller that has gone needs no answer
	case !s.begun:
		fault := f.askFault(r.Context(), err)
		fault.retryAfter(w.Header())
		writeAPIError(w, fault.code, fault.name, fault.message)
	default:
		fault := f.askFault(r.Context(), err)
		_ = s.send("error", map[string]string{"code": fault.name, "message": fault.message})
	}
}

// events writes server-sent events.
type events struct {
	w     http.ResponseWriter
	begun bool
}

// send writes one event; the empty name leaves the line with it out.
func (e *events) send(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if name != "" {
		name = "event: " + name + "\n"
	}
	return e.raw(name + "data: " + string(b) + "\n\n")
}

func (e *events) raw(text string) error {
	if !e.begun {
		e.begun = true
		addCORS(e.w.Header())
		e.w.Header().Set("Content-Type", "text/event-stream")
		e.w.Header().Set("Cache-Control", "no-cache")
		e.w.Header().Set("X-Accel-Buffering", "no") // nginx would gather pieces
		e.w.WriteHeader(http.StatusOK)
	}
	if _, err := fmt.Fprint(e.w, text); err != nil {
		return err
	}
	return http.NewResponseController(e.w).Flush()
}

// nameRetrieval puts the retrieval's id into the header.
func nameRetrieval(w http.ResponseWriter) func(*graph.Retrieval) error {
	return func(found *graph.Retrieval) error {
		w.Header().Set(retrievalHeader, found.ID)
		return nil
	}
}

func exposeRetrieval(h http.Header) { h.Set("Access-Control-Expose-Headers", retrievalHeader) }

// askFault is a failed answer as a caller may read it: without the model server's address or
// words, which go to the log.
type askFault struct {
	code          int
	name, message string
	after         time.Duration
}

func (a askFault) retryAfter(h http.Header) {
	if a.after > 0 {
		h.Set("Retry-After", strconv.Itoa(int((a.after+time.Second-1)/time.Second)))
	}
}

func (f *Front) askFault(ctx context.Context, err error) askFault {
	for _, m := range []struct {
		is   error
		code int
		name string
	}{
		{llm.ErrTimeout, http.StatusGatewayTimeout, "model_timeout"},
		{llm.ErrBusy, http.StatusTooManyRequests, "model_busy"},
		{llm.ErrBudget, http.StatusTooManyRequests, "model_budget"},
		{llm.ErrUnavailable, http.StatusBadGateway, "model_unavailable"},
		{llm.ErrCut, http.StatusBadGateway, "model_cut_off"},
		{llm.ErrEmpty, http.StatusBadGateway, "model_empty"},
		{llm.ErrSetup, http.StatusBadGateway, "model_setup"},
	} {
		if errors.Is(err, m.is) {
			f.Log.WarnContext(ctx, "the model gave no answer", "error", err)
			return askFault{m.code, m.name, m.is.Error(), llm.RetryAfter(err)}
		}
	}
	code, name := apiCode(err)
	return askFault{code: code, name: name, message: message(err)}
}
