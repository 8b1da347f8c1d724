package feedback

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"
)

const (
	maxBody   = 1 << 20 // bytes of a delivery
	maxEvents = 1000    // of one delivery
)

// refusal is an error with the status that the sender gets.
type refusal struct {
	status int
	code   string
	error
}

// Receive is POST /evorag/v1/feedback. A delivery is stored before the 202; one that was stored
// before gets the same answer and has no second effect.
func (s *Service) Receive(w http.ResponseWriter, r *http.Request) { s.deliver(w, r, false) }

// ReceiveTrusted is Receive for an administrator whom the caller has recognised: nothing need be signed.
func (s *Service) ReceiveTrusted(w http.ResponseWriter, r *http.Request) { s.deliver(w, r, true) }

func (s *Service) deliver(w http.ResponseWriter, r *http.Request, trusted bool) {
	ids, err := s.receive(w, r, trusted)
	var no refusal
	switch {
	case errors.As(err, &no):
		if no.status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		s.Meter.Feedback("refused", 1)
		answerError(w, no.status, no.code, no.Error())
	case err != nil: // the engine is away, or we are stopping
		w.Header().Set("Retry-After", "5")
		answerError(w, http.StatusServiceUnavailable, "not_stored", "the feedback could not be stored, send it again: "+err.Error())
	case len(ids) == 1:
		answerJSON(w, http.StatusAccepted, map[string]string{"id": ids[0], "status": "stored"})
	default:
		answerJSON(w, http.StatusAccepted, map[string]any{"ids": ids, "status": "stored"})
	}
}

func (s *Service) receive(w http.ResponseWriter, r *http.Request, trusted bool) ([]string, error) {
	if !trusted && len(s.Secrets) == 0 && !fromHere(r.RemoteAddr) {
		return nil, refusal{http.StatusForbidden, "no_secret", errors.New("without feedback.secret_file the webhook takes deliveries from this machine only; configure a secret and sign")}
	}
	if int(s.backlog.Load()) >= s.Backlog {
		return nil, refusal{http.StatusTooManyRequests, "backlog", fmt.Errorf("%d ratings are still to be applied (feedback.backlog); send it later", s.Backlog)}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			return nil, refusal{http.StatusRequestEntityTooLarge, "too_large", errors.New("a delivery may have 1 MiB; send less")}
		}
		return nil, refusal{http.StatusBadRequest, "unreadable", err}
	}
	if !trusted && len(s.Secrets) > 0 {
		if err := verify(r.Header, body, s.Secrets, s.Now(), s.Tolerance); err != nil {
			return nil, refusal{http.StatusUnauthorized, "unsigned", err}
		}
	}
	if !s.bucket.take() { // after the signature: what strangers send doesn't use up the senders' rate
		return nil, refusal{http.StatusTooManyRequests, "too_many", fmt.Errorf("more than %g deliveries a second (feedback.rate); send them later", s.Rate)}
	}
	events, err := read(r.Header, body)
	switch {
	case errors.Is(err, errMedia):
		return nil, refusal{http.StatusUnsupportedMediaType, "media_type", err}
	case err != nil:
		return nil, refusal{http.StatusBadRequest, "invalid_request", err}
	case len(events) > maxEvents:
		return nil, refusal{http.StatusRequestEntityTooLarge, "too_large", fmt.Errorf("%d events in one delivery; send at most %d", len(events), maxEvents)}
	}
	ids, parent := make([]string, len(events)), traceparent(r.Context())
	for i := range events {
		if events[i].ID == "" {
			events[i].ID = "given:" + rand.Text()
		}
		ids[i], events[i].Trace = events[i].ID, parent
		if err := s.admit(events[i]); err != nil {
			if len(events) > 1 {
				var no refusal
				if errors.As(err, &no) {
					return nil, refusal{no.status, no.code, fmt.Errorf("event %d: %w", i, no.error)}
				}
			}
			return nil, err
		}
	}
	if len(events) == 0 {
		return ids, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), 15*time.Second)
	defer cancel()
	return ids, s.store(ctx, events)
}

// store keeps events that were admitted. Where retrievals are not stored, their retrievals must be
// there from before: others never will be.
func (s *Service) store(ctx context.Context, events []Event) error {
	if s.Forget {
		ids := map[string]bool{}
		for _, e := range events {
			ids[e.Retrieval] = false
		}
		known, err := s.memory.find(ctx, ids)
		if err != nil {
			return err
		}
		if len(known) < len(ids) {
			return refusal{http.StatusNotFound, "not_stored_here", errors.New("retrievals are not stored here, so they can't be rated; switch feedback.store on")}
		}
	}
	return s.inbox.store(ctx, events)
}

// admit refuses what never can be applied.
func (s *Service) admit(e Event) error {
	if err := e.check(); err != nil {
		return refusal{http.StatusBadRequest, "invalid_request", err}
	}
	namespace, at, err := s.IDs.Parse(e.Retrieval)
	switch {
	case err != nil:
		return refusal{http.StatusBadRequest, "forged_retrieval", err}
	case namespace != s.Namespace:
		return refusal{http.StatusForbidden, "other_namespace", fmt.Errorf("the retrieval belongs to namespace %d; this sidecar learns in namespace %d", namespace, s.Namespace)}
	case s.Now().Sub(at) > s.Keep:
		s.Meter.Feedback("expired", 1)
		return refusal{http.StatusGone, "expired", fmt.Errorf("the retrieval is of %s; retrievals are kept for %s (feedback.keep)", at.UTC().Format(time.RFC3339), s.Keep)}
	}
	if _, err := s.evaluator(e.Evaluator); err != nil {
		return refusal{http.StatusBadRequest, "invalid_request", err}
	}
	return nil
}

// fromHere tells a peer on this machine.
func fromHere(remote string) bool {
	peer, err := netip.ParseAddrPort(remote)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the answer is not JSON"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// answerError answers as all services under /evorag/v1: {"error":{"code":...,"message":...}}.
func answerError(w http.ResponseWriter, status int, code, message string) {
	answerJSON(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}
