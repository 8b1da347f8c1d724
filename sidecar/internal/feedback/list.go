package feedback

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of a page of the inbox.
const (
	pageOf   = 20
	mostOf   = 200
	farthest = 100_000
)

// statuses are all that a rating can have, in the order of its life.
var statuses = []string{statusPending, statusWaiting, statusApplied, statusSuperseded, statusHeld, statusVoid}

// Inbox is a page of what came, the newest first.
type Inbox struct {
	Ratings []Received     `json:"ratings"`
	Counts  map[string]int `json:"counts"` // by status, of all there are
}

// Received is one rating and what became of it.
type Received struct {
	Event
	Question string    `json:"question,omitempty"` // empty where the retrieval is forgotten
	Status   string    `json:"status"`
	Reason   string    `json:"reason,omitempty"`
	Received time.Time `json:"received"`
	Batch    int       `json:"batch,omitempty"` // the journal's number
}

// List is GET /evorag/v1/feedback/inbox?status=&first=20&offset=0: what came, the newest first. It
// holds other people's questions: for administrators.
func (s *Service) List(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	chosen := statuses
	if one := q.Get("status"); one != "" {
		if !slices.Contains(statuses, one) {
			answerError(w, http.StatusBadRequest, "invalid_request", fmt.Sprintf("status is %q; write %s", one, strings.Join(statuses, ", ")))
			return
		}
		chosen = []string{one}
	}
	first, err := within(q.Get("first"), "first", pageOf, 1, mostOf)
	if err != nil {
		answerError(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	offset, err := within(q.Get("offset"), "offset", 0, 0, farthest)
	if err != nil {
		answerError(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	page, err := s.list(r.Context(), chosen, first, offset)
	if err != nil {
		answerError(w, http.StatusBadGateway, "engine_error", err.Error())
		return
	}
	answerJSON(w, http.StatusOK, page)
}

// within reads a number of a query, or gives the one that stands for none.
func within(text, name string, none, low, high int) (int, error) {
	if text == "" {
		return none, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s is %q; write a number from %d to %d", name, text, low, high)
	}
	return n, nil
}

func (s *Service) list(ctx context.Context, chosen []string, first, offset int) (Inbox, error) {
	data, err := s.read(ctx, listed("feedback_inbox", chosen), map[string]string{"$first": strconv.Itoa(first), "$offset": strconv.Itoa(offset)})
	if err != nil {
		return Inbox{}, err
	}
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(data, &answer); err != nil {
		return Inbox{}, fmt.Errorf("reading the inbox: %w", err)
	}
	out := Inbox{Ratings: []Received{}, Counts: map[string]int{}}
	for _, status := range statuses {
		var n []struct {
			Count int `json:"count"`
		}
		if err := json.Unmarshal(answer[status], &n); err != nil || len(n) != 1 {
			return Inbox{}, fmt.Errorf("reading the inbox: the number of %s ratings is %s", status, answer[status])
		}
		out.Counts[status] = n[0].Count
	}
	var rows []struct {
		ID       string    `json:"id"`
		Status   string    `json:"status"`
		Reason   string    `json:"reason"`
		Received time.Time `json:"received"`
		Body     string    `json:"body"`
		Batch    struct {
			Number int `json:"number"`
		} `json:"batch"`
	}
	if err := json.Unmarshal(answer["ratings"], &rows); err != nil {
		return Inbox{}, fmt.Errorf("reading the inbox: %w", err)
	}
	asked := map[string]bool{}
	for _, row := range rows {
		one := Received{Status: row.Status, Reason: row.Reason, Received: row.Received, Batch: row.Batch.Number}
		if err := json.Unmarshal([]byte(row.Body), &one.Event); err != nil {
			return Inbox{}, fmt.Errorf("the stored rating %s is not readable: %w", row.ID, err)
		}
		out.Ratings = append(out.Ratings, one)
		asked[one.Retrieval] = false // no response is wanted
	}
	known, err := s.memory.find(ctx, asked)
	if err != nil {
		return Inbox{}, err
	}
	for i, one := range out.Ratings {
		if r, ok := known[one.Retrieval]; ok {
			out.Ratings[i].Question = r.Question
		}
	}
	return out, nil
}
