package feedback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

// kindTakenOut is the journal's word for edges that somebody deleted while a batch that wrote
// them was under way. In Dgraph both succeed, and the edge is back: it is deleted again.
const kindTakenOut = "taken out"

// checked is what a check has found out: the batches that were looked at, and those that
// could not be.
type checked struct {
	done []string
	left []journaled
	err  error
}

// verify looks for edges that the last batches brought back to life. It waits for the check
// before it and leaves its own under way, beside the next batch. The state just before a
// batch's commit tells: an edge that was there when the batch read it, and was not there
// then, was deleted in between.
func (s *Service) verify(ctx context.Context) error {
	err := s.awaitCheck()
	if len(s.unverified) == 0 {
		return err
	}
	batches := s.unverified
	s.unverified = nil
	s.checking = make(chan checked, 1)
	go func(to chan<- checked) { to <- s.check(ctx, batches) }(s.checking)
	return err
}

// awaitCheck waits for the check that is under way.
func (s *Service) awaitCheck() error {
	if s.checking == nil {
		return nil
	}
	c := <-s.checking
	s.checking = nil
	s.verified = append(s.verified, c.done...)
	s.unverified = append(c.left, s.unverified...)
	return c.err
}

func (s *Service) check(ctx context.Context, batches []journaled) (c checked) {
	for i, b := range batches {
		revived, err := s.revived(ctx, b)
		if err == nil && len(revived) > 0 {
			err = s.takeOut(ctx, revived)
		}
		if err != nil {
			return checked{c.done, batches[i:], fmt.Errorf("checking what a batch wrote: %w", err)}
		}
		c.done = append(c.done, b.uid)
	}
	return c
}

func (s *Service) revived(ctx context.Context, b journaled) ([]graph.Triplet, error) {
	if b.commitTS == 0 {
		var err error
		if b.commitTS, err = s.commitOf(ctx, b); err != nil || b.commitTS == 0 {
			return nil, err
		}
	}
	before, err := facet.Exist(ctx, s.at(b.commitTS-1), b.edges)
	if hidden(err) {
		return nil, nil // with access control nobody reads at a timestamp that was not his own
	}
	if err != nil {
		return nil, err
	}
	var gone []graph.Triplet
	for _, t := range b.edges {
		if !before[t] {
			gone = append(gone, t)
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	// Old states go in time: only where the older one is still there is the newer one to be believed.
	read, err := facet.Exist(ctx, s.at(b.readTS), gone)
	var out []graph.Triplet
	for _, t := range gone {
		if read[t] {
			out = append(out, t)
		}
	}
	return out, err
}

// at reads at a timestamp of the past.
func (s *Service) at(ts uint64) facet.Query {
	return func(ctx context.Context, text string, vars map[string]string) ([]byte, error) {
		return s.read(ctx, ts, text, vars)
	}
}

// takeOut deletes edges again, and journals it. One that somebody has set anew since, without
// what was learned, stays.
func (s *Service) takeOut(ctx context.Context, edges []graph.Triplet) error {
	var done []graph.Triplet
	_, err := s.Store.RunTxAt(ctx, func(ctx context.Context, tx graph.Tx) error {
		now, err := facet.Read(ctx, tx.Query, edges)
		if err != nil {
			return err
		}
		done = nil
		var deletes []byte
		for _, t := range edges {
			if e, there := now[t]; there && e.Learned {
				done = append(done, t)
				deletes = fmt.Appendf(deletes, "<%s> <%s> <%s> .\n", t.Head, t.Predicate, t.Object)
			}
		}
		if len(done) == 0 {
			return nil
		}
		m, err := readModel(ctx, tx.Query)
		if err != nil {
			return err
		}
		m.Batches++
		alpha := m.alpha(s.Alpha)
		entry := Entry{Kind: kindTakenOut, Alpha: [2]float64{alpha, alpha}}
		for i := range done {
			entry.Void = append(entry.Void, i)
		}
		nquads, err := Batch{Number: m.Batches, Time: s.Now(), Edges: done, Entries: []Entry{entry}}.appendTo(m.appendTo(nil), tx.StartTS())
		if err != nil {
			return err
		}
		if err := tx.Delete(ctx, deletes); err != nil {
			return err
		}
		_, err = tx.Set(ctx, nquads)
		return err
	})
	if err == nil && len(done) > 0 {
		s.Changed(done)
		s.Log.Info("edges that were deleted while they were scored are taken out again", "edges", len(done))
	}
	return err
}

// recover checks batches that were committed before the sidecar went down.
func (s *Service) recover(ctx context.Context) {
	for ctx.Err() == nil {
		left, err := s.unchecked(ctx)
		if err == nil {
			s.unverified = left
			err = errors.Join(s.verify(ctx), s.awaitCheck())
		}
		if err == nil {
			return
		}
		s.Log.Warn("the journal can't be checked now", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (s *Service) unchecked(ctx context.Context) ([]journaled, error) {
	data, err := s.read(ctx, 0, queries.Text("journal_unchecked"), nil)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Batches []struct {
			UID    string `json:"uid"`
			ReadTS uint64 `json:"read_ts"`
			Body   string `json:"body"`
		} `json:"batches"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("reading unchecked batches: %w", err)
	}
	out := make([]journaled, len(answer.Batches))
	for i, row := range answer.Batches {
		var b Batch
		if err := json.Unmarshal([]byte(row.Body), &b); err != nil {
			return nil, fmt.Errorf("the journal's batch %s is not readable: %w", row.UID, err)
		}
		out[i] = journaled{uid: row.UID, edges: b.written(), readTS: row.ReadTS}
	}
	return out, nil
}

// commitOf finds the timestamp of a batch's commit: the first at which its node is seen.
func (s *Service) commitOf(ctx context.Context, b journaled) (uint64, error) {
	text := "{ batch(func: uid(" + b.uid + ")) @filter(has(evorag.batch.number)) { uid } }"
	now, err := s.Store.OwnQuery(ctx, graph.Call{Query: text, ReadOnly: true})
	if err != nil {
		return 0, err
	}
	lo, hi := b.readTS, now.Txn.StartTS // not seen at lo, seen at hi
	for lo+1 < hi {
		mid := lo + (hi-lo)/2
		data, err := s.read(ctx, mid, text, nil)
		if hidden(err) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if strings.Contains(string(data), "0x") {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, nil
}

// settle marks what was verified, where no batch did it.
func (s *Service) settle(ctx context.Context) error {
	if err := errors.Join(s.verify(ctx), s.awaitCheck()); err != nil || len(s.verified) == 0 {
		return err
	}
	_, err := s.apply(ctx, nil, nil)
	return err
}

// hidden tells the refusal to read at a timestamp without its hash, which Dgraph asks for where
// access control is on.
func hidden(err error) bool { return err != nil && strings.Contains(err.Error(), "hash mismatch") }

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
