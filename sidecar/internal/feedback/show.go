package feedback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

// ShowRetrieval is GET /evorag/v1/retrievals/{id}: the retrieval as it was shown, with what was
// answered. It holds somebody's question: for administrators.
func (s *Service) ShowRetrieval(w http.ResponseWriter, r *http.Request) {
	id := path.Base(r.URL.Path)
	namespace, at, err := s.IDs.Parse(id)
	switch {
	case err != nil:
		answerError(w, http.StatusBadRequest, "forged_retrieval", err.Error())
		return
	case namespace != s.Namespace:
		answerError(w, http.StatusForbidden, "other_namespace", fmt.Sprintf("the retrieval belongs to namespace %d", namespace))
		return
	case s.Now().Sub(at) > s.Keep:
		answerError(w, http.StatusGone, "expired", fmt.Sprintf("retrievals are kept for %s (feedback.keep)", s.Keep))
		return
	}
	found, err := s.memory.find(r.Context(), map[string]bool{id: true})
	if err != nil {
		answerError(w, http.StatusBadGateway, "engine_error", err.Error())
		return
	}
	known, ok := found[id]
	if !ok {
		w.Header().Set("Retry-After", "1")
		answerError(w, http.StatusNotFound, "not_stored", "the retrieval is not stored; one that was shown just now may still be on its way")
		return
	}
	answerJSON(w, http.StatusOK, struct {
		graph.Retrieval
		Response string `json:"response,omitempty"`
	}{known.Retrieval, known.response})
}

// Outcome is what became of a rating.
type Outcome struct {
	ID       string    `json:"id"`
	Status   string    `json:"status"` // pending, waiting, applied, superseded, held, void
	Reason   string    `json:"reason,omitempty"`
	Received time.Time `json:"received"`
	Batch    int       `json:"batch,omitempty"` // the journal's number
}

// ShowRating is GET /evorag/v1/feedback/status?id=: what became of a delivery.
func (s *Service) ShowRating(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	data, err := s.read(r.Context(), queries.Text("feedback_rating"), map[string]string{"$id": id})
	if err != nil {
		answerError(w, http.StatusBadGateway, "engine_error", err.Error())
		return
	}
	var answer struct {
		Ratings []struct {
			Outcome
			Batch struct {
				Number int `json:"number"`
			} `json:"batch"`
		} `json:"ratings"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		answerError(w, http.StatusBadGateway, "engine_error", err.Error())
		return
	}
	if len(answer.Ratings) == 0 {
		answerError(w, http.StatusNotFound, "not_found", fmt.Sprintf("no delivery %q; send the id that the webhook answered as ?id=", id))
		return
	}
	out := answer.Ratings[0].Outcome
	out.ID, out.Batch = id, answer.Ratings[0].Batch.Number
	answerJSON(w, http.StatusOK, out)
}

// Explanation is why an edge's score is what it is.
type Explanation struct {
	graph.Triplet
	HeadName   string             `json:"head_name,omitempty"`
	ObjectName string             `json:"object_name,omitempty"`
	There      bool               `json:"there"` // the edge exists
	Now        graph.Contribution `json:"now"`
	History    []Happening        `json:"history"` // in the order in which it happened
}

// Happening is one step of an edge's history.
type Happening struct {
	Time   time.Time `json:"time"`
	Batch  int       `json:"batch"`
	Before *float64  `json:"before,omitempty"` // nil where the edge was missing
	After  *float64  `json:"after,omitempty"`
	Entry
}

var errNoSuchNode = errors.New("no node of that name")

// Explain is GET /evorag/v1/edges/explain?head=&predicate=&object=: the edge's history from the
// journal, down to the rating and the question of each step. head and object are uids or names.
func (s *Service) Explain(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	got, err := s.explain(r.Context(), q.Get("head"), q.Get("predicate"), q.Get("object"))
	switch {
	case errors.Is(err, errNoSuchNode):
		answerError(w, http.StatusNotFound, "no_such_node", err.Error())
	case errors.Is(err, errQuestion):
		answerError(w, http.StatusBadRequest, "invalid_request", err.Error())
	case err != nil:
		answerError(w, http.StatusBadGateway, "engine_error", err.Error())
	default:
		answerJSON(w, http.StatusOK, got)
	}
}

var errQuestion = errors.New("ask with head, predicate and object")

func (s *Service) explain(ctx context.Context, head, predicate, object string) (Explanation, error) {
	if head == "" || predicate == "" || object == "" || strings.ContainsAny(predicate, "<>\"{}|^`\\ \t\r\n~") {
		return Explanation{}, fmt.Errorf("%w, for instance ?head=0x1&predicate=owned_by&object=0x2; head and object may be names", errQuestion)
	}
	heads, err := s.nodes(ctx, head)
	if err != nil {
		return Explanation{}, err
	}
	objects, err := s.nodes(ctx, object)
	if err != nil {
		return Explanation{}, err
	}
	var triplets []graph.Triplet
	for _, h := range heads {
		for _, o := range objects {
			triplets = append(triplets, graph.Triplet{Head: h.UID, Predicate: predicate, Object: o.UID})
		}
	}
	edges, err := facet.Read(ctx, s.read, triplets)
	if err != nil {
		return Explanation{}, err
	}
	out := Explanation{Triplet: triplets[0], HeadName: heads[0].Name, ObjectName: objects[0].Name, Now: graph.Neutral()}
	for i, t := range triplets { // names may be ambiguous: the edge that is there is meant
		if e, there := edges[t]; there {
			out.Triplet, out.There, out.Now = t, true, e.Contribution
			out.HeadName, out.ObjectName = heads[i/len(objects)].Name, objects[i%len(objects)].Name
			break
		}
	}
	out.History, err = s.history(ctx, out.Triplet)
	return out, err
}

func (s *Service) nodes(ctx context.Context, name string) ([]graph.Node, error) {
	if strings.HasPrefix(name, "0x") {
		uid, err := graph.ParseUID(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errQuestion, err)
		}
		return []graph.Node{{UID: uid}}, nil
	}
	found, err := s.Resolve(ctx, name)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%w: %q", errNoSuchNode, name)
	}
	return found, err
}

// history takes an edge's steps out of the journal.
func (s *Service) history(ctx context.Context, t graph.Triplet) ([]Happening, error) {
	out := []Happening{}
	for before := math.MaxInt; ; {
		batches, err := batchesOf(ctx, s.read, slices.Values([]graph.UID{t.Head}), 0, before)
		if err != nil {
			return nil, err
		}
		if len(batches) == 0 {
			return out, nil
		}
		before = batches[0].Number
		var steps []Happening
		for _, b := range batches {
			steps = append(steps, b.of(t)...)
		}
		out = append(steps, out...)
	}
}

// of is what a batch did to an edge.
func (b Batch) of(t graph.Triplet) (out []Happening) {
	at := slices.Index(b.Edges, t)
	if at < 0 {
		return nil
	}
	for _, e := range b.Entries {
		step := Happening{Time: b.Time, Batch: b.Number, Entry: e}
		step.Steps, step.Void, step.X, step.Template = nil, nil, nil, ""
		step.Weights = slices.DeleteFunc(slices.Clone(e.Weights), func(w Weighed) bool {
			return graph.ParseRelation(w.Of.Relation).Predicate != t.Predicate
		})
		for _, c := range e.Steps {
			if c.Edge == at {
				step.Before, step.After = &c.Before, &c.After
				out = append(out, step)
			}
		}
		if slices.Contains(e.Void, at) {
			out = append(out, step)
		}
	}
	return out
}

// readBatches reads journal nodes, in order.
func readBatches(data []byte) ([]Batch, error) {
	var answer struct {
		Batches []struct {
			UID  string `json:"uid"`
			Body string `json:"body"`
		} `json:"batches"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	out := make([]Batch, len(answer.Batches))
	for i, row := range answer.Batches {
		if err := json.Unmarshal([]byte(row.Body), &out[i]); err != nil {
			return nil, fmt.Errorf("the journal's batch %s is not readable: %w", row.UID, err)
		}
	}
	slices.SortFunc(out, func(a, b Batch) int { return a.Number - b.Number })
	return out, nil
}
