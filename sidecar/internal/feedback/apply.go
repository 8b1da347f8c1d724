package feedback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

// state is all that decides what a batch does, as its transaction reads it.
type state struct {
	status  map[string]string // of the batch's ratings, by uid
	model   model
	applied map[string]effect // the rating that counts now, by rater key
}

// effect is a rating that counts, with what it did.
type effect struct {
	uid      string
	received time.Time
	batch    int   // the journal's number
	entry    Entry // its edges are indices into edges
	edges    []graph.Triplet
}

// stateText is the query of readState for these ratings.
func stateText(lessons []lesson, rest []fate) string {
	var uids, keys []string
	for _, l := range lessons {
		uids = append(uids, l.uid)
		if key := l.Key(); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, f := range rest {
		uids = append(uids, f.uid)
	}
	text := listed("feedback_state", keys)
	if len(uids) > 0 {
		text = strings.Replace(text, "uid(0x1)", "uid("+strings.Join(uids, ", ")+")", 1)
	}
	return text
}

func readState(data []byte) (state, error) {
	var answer struct {
		Events []struct {
			UID    string `json:"uid"`
			Status string `json:"status"`
		} `json:"events"`
		Model   []model `json:"model"`
		Applied []struct {
			UID      string    `json:"uid"`
			Key      string    `json:"key"`
			Received time.Time `json:"received"`
			Batch    struct {
				UID string `json:"uid"`
			} `json:"batch"`
		} `json:"applied"`
		Batches []struct {
			UID    string `json:"uid"`
			Number int    `json:"number"`
			Body   string `json:"body"`
		} `json:"batches"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return state{}, fmt.Errorf("reading the state of ratings: %w", err)
	}
	st := state{status: map[string]string{}, applied: map[string]effect{}}
	for _, e := range answer.Events {
		st.status[e.UID] = e.Status
	}
	if len(answer.Model) > 0 {
		st.model = answer.Model[0]
	}
	batches := map[string]Batch{}
	for _, row := range answer.Batches {
		var b Batch
		if err := json.Unmarshal([]byte(row.Body), &b); err != nil {
			return state{}, fmt.Errorf("the journal's batch %d is not readable: %w", row.Number, err)
		}
		batches[row.UID] = b
	}
	for _, a := range answer.Applied {
		b := batches[a.Batch.UID]
		entry, err := b.entryOf(a.UID)
		if err != nil {
			return state{}, err
		}
		st.applied[a.Key] = effect{a.UID, a.Received, b.Number, entry, b.Edges}
	}
	return st, nil
}

// ledger carries a batch out, entry by entry, on the edges as the transaction read them.
type ledger struct {
	batch   Batch
	at      map[graph.Triplet]int // place in batch.Edges
	edges   map[graph.Triplet]facet.Edge
	changed map[graph.Triplet]bool
	fresh   map[graph.Triplet]bool // had no score
	alpha   float64
	reset   int                // effects up to this batch are forgotten already
	status  map[string]string  // new statuses, by uid
	applied map[string]effect  // as state, kept up to date
	bring   map[string]*lesson // by retrieval: brings the response that is to be kept
}

// carryOut gives back what edges have lost, applies the lessons that are still to be
// applied, in their order, and notes the ratings that are void. It is a function of its arguments: the journal tells what it did.
func carryOut(st state, edges map[graph.Triplet]facet.Edge, lost []facet.Edge, lessons []lesson, rest []fate, alpha float64, now time.Time) *ledger {
	l := &ledger{
		batch: Batch{Number: st.model.Batches + 1, Time: now}, at: map[graph.Triplet]int{}, edges: edges,
		changed: map[graph.Triplet]bool{}, fresh: map[graph.Triplet]bool{}, alpha: st.model.alpha(alpha), reset: st.model.Reset, status: map[string]string{}, applied: st.applied,
		bring: map[string]*lesson{},
	}
	l.restore(lost)
	for i := range lessons {
		x := &lessons[i]
		if !toBeApplied(st.status[x.uid]) {
			continue
		}
		before, rated := l.applied[x.Key()]
		if rated && !x.later(before.received, before.uid) {
			l.status[x.uid] = statusSuperseded
			l.batch.Entries = append(l.batch.Entries, l.entry(kindSuperseded, x))
			continue
		}
		if x.held && !rated { // what was learned from the same rater is replaced, not kept
			l.status[x.uid] = statusHeld
			l.batch.Entries = append(l.batch.Entries, l.entry(kindHeld, x))
			continue
		}
		if rated {
			l.reverse(before)
		}
		l.apply(x)
	}
	for _, f := range rest {
		if f.status == statusVoid && toBeApplied(st.status[f.uid]) {
			e := l.entry(kindVoid, &lesson{stored: f.stored, response: f.Response})
			e.Reason = f.reason
			l.batch.Entries = append(l.batch.Entries, e)
		}
	}
	return l
}

// restore gives edges the scores that they have lost.
func (l *ledger) restore(lost []facet.Edge) {
	if len(lost) == 0 {
		return
	}
	e := Entry{Kind: kindRepaired, Alpha: [2]float64{l.alpha, l.alpha}}
	for _, edge := range lost {
		e.Steps = append(e.Steps, Change{l.place(edge.Triplet), graph.NeutralScore, edge.Score, edge.Updates})
		l.put(edge)
	}
	l.batch.Entries = append(l.batch.Entries, e)
}

func toBeApplied(status string) bool { return status == statusPending || status == statusWaiting }

func (l *ledger) entry(kind string, x *lesson) Entry {
	return Entry{
		Kind: kind, Feedback: x.uid, Delivery: x.ID, Retrieval: x.Retrieval, Question: x.question,
		Rating: x.Rating, Rater: x.Rater, Source: x.Source, Response: beginning(x.response), Alpha: [2]float64{l.alpha, l.alpha},
	}
}

// beginning is as much of a response as the journal keeps.
func beginning(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// apply adds a lesson's steps to the scores, equations (8) and (9).
func (l *ledger) apply(x *lesson) {
	e := l.entry(kindApplied, x)
	for _, step := range x.steps {
		i := l.place(step.Triplet)
		edge, there := l.edges[step.Triplet]
		if !there {
			e.Void = append(e.Void, i)
			continue
		}
		after := clampScore(edge.Score + step.Delta)
		edge.Updates++
		e.Steps = append(e.Steps, Change{i, edge.Score, after, edge.Updates})
		edge.Score = after
		l.put(edge)
	}
	if len(x.weights) > 0 {
		e.Weights, e.X, e.Template = x.weights, &x.from.Features, x.from.Template
	}
	l.alpha = clampAlpha(l.alpha + x.alpha)
	e.Alpha[1] = l.alpha
	l.batch.Entries = append(l.batch.Entries, e)
	l.status[x.uid] = statusApplied
	l.applied[x.Key()] = effect{x.uid, x.received, l.batch.Number, e, l.batch.Edges}
	if x.Response != "" && l.bring[x.Retrieval] == nil {
		l.bring[x.Retrieval] = x
	}
}

// reverse takes an effect back: exactly the steps that were made are subtracted. What a reset
// has forgotten has no effect any more.
func (l *ledger) reverse(before effect) {
	e := before.entry
	done, moved := e.Steps, e.Alpha[1]-e.Alpha[0]
	e.Weights = back(e.Weights)
	e.Kind, e.Steps, e.Void, e.Alpha = kindReversed, nil, nil, [2]float64{l.alpha, l.alpha}
	l.status[before.uid] = statusSuperseded
	if before.batch <= l.reset {
		done, moved, e.Weights = nil, 0, nil
	}
	for _, c := range done {
		t := before.edges[c.Edge]
		i := l.place(t)
		edge, there := l.edges[t]
		if !there {
			e.Void = append(e.Void, i)
			continue
		}
		after := clampScore(edge.Score - (c.After - c.Before))
		edge.Updates = max(0, edge.Updates-1)
		e.Steps = append(e.Steps, Change{i, edge.Score, after, edge.Updates})
		edge.Score = after
		l.put(edge)
	}
	l.alpha = clampAlpha(l.alpha - moved)
	e.Alpha[1] = l.alpha
	l.batch.Entries = append(l.batch.Entries, e)
}

func (l *ledger) place(t graph.Triplet) int {
	i, known := l.at[t]
	if !known {
		i = len(l.batch.Edges)
		l.at[t] = i
		l.batch.Edges = append(l.batch.Edges, t)
	}
	return i
}

// written are the edges that were changed, as they are to be.
func (l *ledger) written() []facet.Edge {
	out := make([]facet.Edge, 0, len(l.changed))
	for t := range l.changed {
		out = append(out, l.edges[t])
	}
	return out
}

func (l *ledger) put(e facet.Edge) {
	if !e.Learned {
		l.fresh[e.Triplet] = true
	}
	l.edges[e.Triplet] = e
	l.changed[e.Triplet] = true
}

// attemptsTogether is how often a batch that grew is tried before smaller ones are.
const attemptsTogether = 3

// errCrowded is returned for a batch that was aborted again and again, and would be less often
// were it smaller.
var errCrowded = errors.New("others write the same edges all the time")

// apply carries lessons and fates out in ONE transaction: it reads the edges' facets, merges,
// and writes facets, alpha, the journal's entry and every rating's status. A rating whose status
// is not pending any more was applied by another replica, or by an attempt of ours whose
// answer was lost; it is left alone.
func (s *Service) apply(ctx context.Context, lessons []lesson, rest []fate) (*ledger, error) {
	var done *ledger
	var learned model
	attempts := 0
	ctx, cancel := context.WithTimeout(ctx, longestCall)
	defer cancel()
	err := s.Store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		if attempts++; attempts > attemptsTogether && len(lessons)+len(rest) > s.Batch {
			return errCrowded
		}
		st, edges, err := s.readAll(ctx, tx, lessons, rest)
		if err != nil {
			return err
		}
		known, err := knownOf(ctx, tx.Query, edges, st.model.Reset)
		if err != nil {
			return err
		}
		done, learned = carryOut(st, edges, lost(edges, known), lessons, rest, s.Alpha, s.Now()), st.model
		nquads, err := s.nquads(st, done, lessons, rest)
		if err != nil || len(nquads) == 0 {
			return err
		}
		return facet.Commit(ctx, tx, s.read, done.written(), nquads)
	})
	if done != nil { // where the commit's answer was lost, it may have been carried out
		if written := done.batch.written(); len(written) > 0 {
			s.Changed(written)
		}
	}
	if err != nil {
		return nil, err
	}
	if len(done.batch.Entries) > 0 {
		alpha := done.alpha
		learned.Alpha, learned.Batches = &alpha, done.batch.Number
		s.noteModel(learned)
		s.weigh(done.batch)
	}
	return done, nil
}

// readAll reads what decides and what may change. State and the lessons' own edges come with
// one query; edges of ratings that are replaced, which only the state tells, with another.
func (s *Service) readAll(ctx context.Context, tx graph.Tx, lessons []lesson, rest []fate) (st state, edges map[graph.Triplet]facet.Edge, err error) {
	own := map[graph.Triplet]bool{}
	for _, l := range lessons {
		for _, step := range l.steps {
			own[step.Triplet] = true
		}
	}
	data, edges, err := facet.ReadBeside(ctx, tx.Query, stateText(lessons, rest), slices.Collect(maps.Keys(own)))
	if err != nil {
		return state{}, nil, err
	}
	if st, err = readState(data); err != nil {
		return state{}, nil, err
	}
	var others []graph.Triplet
	for _, l := range lessons {
		before, ok := st.applied[l.Key()]
		if !ok || !toBeApplied(st.status[l.uid]) {
			continue
		}
		for _, c := range before.entry.Steps {
			if t := before.edges[c.Edge]; !own[t] {
				own[t] = true
				others = append(others, t)
			}
		}
	}
	more, err := facet.Read(ctx, tx.Query, others)
	maps.Copy(edges, more)
	return st, edges, err
}

// nquads writes all of a batch but its edges; nothing where there is nothing to do.
func (s *Service) nquads(st state, l *ledger, lessons []lesson, rest []fate) ([]byte, error) {
	var b []byte
	for _, f := range rest {
		if now := st.status[f.uid]; toBeApplied(now) && now != f.status {
			b = fmt.Appendf(b, "<%s> <evorag.feedback.status> %s .\n<%[1]s> <evorag.feedback.reason> %[3]s .\n", f.uid, graph.Quote(f.status), graph.Quote(f.reason))
		}
	}
	if len(l.batch.Entries) == 0 {
		return b, nil
	}
	for uid, status := range l.status {
		b = fmt.Appendf(b, "<%s> <evorag.feedback.status> %s .\n", uid, graph.Quote(status))
	}
	for _, e := range l.batch.Entries {
		if e.Kind == kindApplied {
			b = fmt.Appendf(b, "<%s> <evorag.feedback.batch> _:batch .\n", e.Feedback)
		}
	}
	for _, x := range l.bring {
		if x.from.uid != 0 {
			b = fmt.Appendf(b, "<%s> <evorag.retrieval.response> %s .\n", x.from.uid, graph.Quote(x.Response))
		}
	}
	m := st.model
	m.Alpha, m.Batches = &l.alpha, l.batch.Number
	return l.batch.appendTo(m.appendTo(b), l.fresh)
}
