package feedback

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/evorag/dgraph-evorag/queries"
)

// Summary is how far learning is, by all replicas together.
type Summary struct {
	Pending, Waiting, Applied, Superseded, Held, Void int           // ratings by status
	Oldest                                            time.Duration // age of the oldest that is still to be applied
	Alpha                                             *float64      // the learned one; nil: none yet
	Batches                                           int           // of the journal
}

// Summary reads the state of feedback. The error is the cluster's.
func (s *Service) Summary(ctx context.Context) (Summary, error) {
	data, err := s.read(ctx, queries.Text("feedback_summary"), nil)
	if err != nil {
		return Summary{}, err
	}
	type counted []struct {
		Count int `json:"count"`
	}
	var answer struct {
		Pending, Waiting, Applied, Superseded, Held, Void counted
		Oldest                                            []struct {
			Received time.Time `json:"received"`
		} `json:"oldest"`
		Model []model `json:"model"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return Summary{}, fmt.Errorf("reading the state of feedback: %w", err)
	}
	var out Summary
	for _, c := range []struct {
		from counted
		to   *int
	}{
		{answer.Pending, &out.Pending}, {answer.Waiting, &out.Waiting}, {answer.Applied, &out.Applied},
		{answer.Superseded, &out.Superseded}, {answer.Held, &out.Held}, {answer.Void, &out.Void},
	} {
		for _, row := range c.from {
			*c.to += row.Count
		}
	}
	for _, o := range answer.Oldest {
		if !o.Received.IsZero() {
			out.Oldest = max(0, s.Now().Sub(o.Received))
		}
	}
	if len(answer.Model) > 0 {
		out.Alpha, out.Batches = answer.Model[0].Alpha, answer.Model[0].Batches
	}
	return out, nil
}
