package feedback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/queries"
)

// fetched is how many ratings are read at once; several batches.
const fetched = 400

// enoughFailures of one rating alone, Wait apart, make it void.
const enoughFailures = 10

// work applies ratings until ctx ends: as soon as a batch is full, or Wait after the first.
func (s *Service) work(ctx context.Context) {
	learner := s.Learner()
	every := time.NewTicker(s.Wait)
	defer every.Stop()
	var looked time.Time // at what waits
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		case <-s.inbox.news:
			if int(s.backlog.Load()) < s.Batch {
				continue // the ticker takes what doesn't fill a batch
			}
		}
		err := s.lookAfterAlter(ctx)
		if err == nil {
			err = s.drain(ctx, learner, statusPending)
		}
		if now := s.Now(); err == nil && now.Sub(looked) >= s.Retry {
			looked = now
			err = s.drain(ctx, learner, statusWaiting)
		}
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("ratings can't be applied now; they are kept", "error", err)
		}
	}
}

// drain applies all ratings of one status.
func (s *Service) drain(ctx context.Context, learner credit.Learner, status string) error {
	seen := map[string]bool{} // those that stay as they are come only once
	for staying := 0; ; {
		events, err := s.events(ctx, status, staying+fetched)
		if err != nil {
			return err
		}
		all := len(events)
		events = slices.DeleteFunc(events, func(e stored) bool { return seen[e.uid] })
		staying = all - len(events)
		if len(events) == 0 {
			return nil
		}
		for batch := range slices.Chunk(events, s.Batch) {
			for _, e := range batch {
				seen[e.uid] = true
			}
			if err := s.teach(ctx, learner, batch); err != nil {
				return err
			}
		}
	}
}

// teach applies one batch. Where it fails for a reason that lies in one of the ratings, each
// is tried alone, and the one that fails is void.
func (s *Service) teach(ctx context.Context, learner credit.Learner, batch []stored) error {
	began := time.Now()
	lessons, rest, err := s.prepare(ctx, batch, learner)
	if err != nil {
		return err
	}
	done, err := s.apply(ctx, lessons, rest)
	if err != nil {
		if ctx.Err() != nil || transient(err) {
			return err
		}
		if len(batch) == 1 {
			if s.failures[batch[0].uid]++; s.failures[batch[0].uid] < enoughFailures {
				s.Log.Warn("a rating can't be applied now", "feedback", batch[0].uid, "error", err)
				return nil
			}
			s.Log.Error("a rating can't be applied", "feedback", batch[0].uid, "error", err)
			delete(s.failures, batch[0].uid)
			_, err = s.apply(ctx, nil, []fate{{batch[0], statusVoid, "it can't be applied: " + err.Error()}})
			return err
		}
		for i := range batch {
			if err := s.teach(ctx, learner, batch[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	s.count(done, rest, time.Since(began))
	return nil
}

func (s *Service) count(done *ledger, rest []fate, took time.Duration) {
	n := map[string]int{}
	for _, e := range done.batch.Entries {
		n[e.Kind]++
	}
	for _, f := range rest {
		if f.status == statusWaiting {
			n[statusWaiting]++
		}
	}
	for outcome, count := range n {
		s.Meter.Feedback(outcome, count)
	}
	s.backlog.Add(-int64(n[kindApplied] + n[kindSuperseded] + n[kindVoid]))
	if len(done.batch.Entries) > 0 {
		s.Meter.Batch(took)
	}
}

// events reads ratings of one status.
func (s *Service) events(ctx context.Context, status string, most int) ([]stored, error) {
	data, err := s.read(ctx, queries.Text("feedback_events"), map[string]string{"$status": status, "$first": fmt.Sprint(most)})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Events []struct {
			UID      string    `json:"uid"`
			Received time.Time `json:"received"`
			Body     string    `json:"body"`
		} `json:"events"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("reading ratings: %w", err)
	}
	out := make([]stored, len(answer.Events))
	for i, e := range answer.Events {
		out[i] = stored{uid: e.UID, received: e.Received}
		if err := json.Unmarshal([]byte(e.Body), &out[i].Event); err != nil {
			out[i].broken = fmt.Errorf("the stored rating is not readable: %w", err)
		}
	}
	return out, nil
}

// transient tells errors that say nothing about the ratings: the engine is away or not ready.
func transient(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	switch status.Code(err) {
	case codes.Unknown, codes.InvalidArgument:
		text := strings.ToLower(err.Error())
		for _, passing := range []string{"retry", "not ready", "unavailable", "connection", "leader", "deadline", "closed", "draining", "overloaded", "pending"} {
			if strings.Contains(text, passing) {
				return true
			}
		}
		return false
	}
	return true
}
