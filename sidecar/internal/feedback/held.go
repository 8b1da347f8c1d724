package feedback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
)

// kindHeld is the journal's word for a rating that is kept to check evolution with, and not
// learned from.
const kindHeld = "held"

// Praised is a retrieval with the paths that earned its answer a good rating.
type Praised struct {
	Retrieval graph.Retrieval
	Paths     []graph.Path
}

// HeldOut gives the newest retrievals whose ratings were held out of learning (Options.Hold) and
// are good, at most so many, among the newest 400: those that are still stored, with a question that can be asked again.
func (s *Service) HeldOut(ctx context.Context, most int) ([]Praised, error) {
	events, err := s.held(ctx)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, e := range events {
		ids[e.Retrieval] = ids[e.Retrieval] || e.Response == ""
	}
	known, err := s.memory.find(ctx, ids)
	if err != nil {
		return nil, err
	}
	var out []Praised
	newest, done := map[string]bool{}, map[string]bool{} // by rater and retrieval; by retrieval
	for _, e := range events {
		r, ok := known[e.Retrieval]
		if !ok || r.Question == "" || newest[e.Key()] || done[e.Retrieval] || len(out) == most {
			continue
		}
		newest[e.Key()] = true
		paths, err := s.praised(ctx, e, r)
		if err != nil {
			return nil, err
		}
		if len(paths) > 0 {
			done[e.Retrieval] = true
			out = append(out, Praised{r.Retrieval, paths})
		}
	}
	return out, nil
}

// praised lists the paths that earned a rating: of each result with a utility above 0 those
// that the response names, or all where it names none. A rating that can't be judged has none.
func (s *Service) praised(ctx context.Context, e stored, r *shown) ([]graph.Path, error) {
	u, texts, err := s.utilities(ctx, e, r)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, credit.ErrNoResponse), errors.Is(err, credit.ErrNoGold), errors.Is(err, credit.ErrUnusable), errors.Is(err, errNever):
		return nil, nil
	case err != nil:
		return nil, err
	case u == nil:
		return nil, nil
	}
	mentions := credit.Mentions(r.Retrieval, texts...)
	var out []graph.Path
	for i, result := range r.Results {
		if u[i] <= 0 {
			continue
		}
		named := slices.ContainsFunc(mentions[i], func(m credit.Mention) bool { return m.Own })
		for j, in := range result.Instances {
			if mentions[i][j].Own || !named {
				out = append(out, in.Path())
			}
		}
	}
	return out, nil
}

// held reads the newest 400 ratings that are held out, the newest first.
func (s *Service) held(ctx context.Context) ([]stored, error) {
	data, err := s.read(ctx, queries.Text("feedback_held"), nil)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Held []struct {
			UID      string    `json:"uid"`
			Received time.Time `json:"received"`
			Body     string    `json:"body"`
		} `json:"held"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("reading held-out ratings: %w", err)
	}
	out := make([]stored, len(answer.Held))
	for i, e := range answer.Held {
		out[i] = stored{uid: e.UID, received: e.Received}
		if err := json.Unmarshal([]byte(e.Body), &out[i].Event); err != nil {
			return nil, fmt.Errorf("the stored rating %s is not readable: %w", e.UID, err)
		}
	}
	slices.SortFunc(out, func(a, b stored) int { return b.received.Compare(a.received) })
	return out, nil
}
