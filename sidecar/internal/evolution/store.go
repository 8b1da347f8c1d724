package evolution

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

// record is a run as the cluster remembers it.
type record struct {
	UID   graph.UID  `json:"uid"`
	ID    string     `json:"id"`
	State State      `json:"state"`
	Began time.Time  `json:"began"`
	Ended *time.Time `json:"ended"`
	Tick  *time.Time `json:"tick"`
	Body  string     `json:"body"`

	batches []batch
}

// body is what a record holds besides what it is found by.
type body struct {
	judge
	Counts Counts `json:"counts"`
	Note   string `json:"note,omitempty"`
	Keep   bool   `json:"keep_feedback,omitempty"` // of an undoing
	Gate   *Gate  `json:"gate,omitempty"`
	CutOff bool   `json:"cut_off,omitempty"` // ended by another process than began it
	Fence  int    `json:"fence,omitempty"`   // of the lease it began under; runs are in its order
}

// batch is a part of a run, changed in one transaction.
type batch struct {
	UID    graph.UID `json:"uid"`
	Number int       `json:"number"`
	State  State     `json:"state"` // Planned, Done, Undone
	Plan   string    `json:"plan"`
	Done   string    `json:"done"`
}

func (b batch) changes() (out []Change, err error) {
	text := b.Plan
	if b.State != Planned {
		text = b.Done
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil, fmt.Errorf("batch %s of a run is not readable: %w", b.UID, err)
	}
	return out, nil
}

func (r record) body() (b body, err error) {
	if err := json.Unmarshal([]byte(r.Body), &b); err != nil {
		return b, fmt.Errorf("the record of run %s is not readable: %w", r.ID, err)
	}
	b.Run = r.ID
	return b, nil
}

// run is what is shown of a record.
func (r record) run() (Run, error) {
	b, err := r.body()
	if err != nil {
		return Run{}, err
	}
	out := Run{ID: r.ID, State: r.State, Began: r.Began, Ended: r.Ended, Tick: r.Tick, Thresholds: b.Thresholds, Counts: b.Counts, Note: b.Note, Gate: b.Gate}
	for _, batch := range r.batches {
		changes, err := batch.changes()
		if err != nil {
			return Run{}, err
		}
		out.Changes = append(out.Changes, changes...)
	}
	if r.State == Running || r.State == Undoing {
		out.Counts = count(out.Changes)
	}
	return out, nil
}

// find reads one run with its batches in order; ErrNoRun where there is none.
func find(ctx context.Context, query facet.Query, id string) (record, error) {
	var answer struct {
		Runs    []record `json:"runs"`
		Changes []batch  `json:"changes"`
	}
	if err := read(ctx, query, &answer, queries.Text("evolution_run"), map[string]string{"$id": id}); err != nil {
		return record{}, err
	}
	if len(answer.Runs) == 0 {
		return record{}, fmt.Errorf("%w: %q", ErrNoRun, id)
	}
	r := answer.Runs[0]
	r.batches = answer.Changes
	slices.SortFunc(r.batches, func(a, b batch) int { return cmp.Compare(a.Number, b.Number) })
	return r, nil
}

// known is what the cluster knows of runs.
type known struct {
	open   []string  // ids of runs that were begun and not ended, the oldest first
	last   time.Time // tick that was served; zero where none was
	recent []record
}

// served tells a tick that has come to nothing or will: served before, or come while a run was
// under way. A run that was cut off and finished later was not under way in between.
func (k known) served(tick time.Time) bool {
	return !k.last.Before(tick) || slices.ContainsFunc(k.recent, func(r record) bool {
		b, err := r.body()
		return err == nil && !b.CutOff && r.State == Done && r.Ended != nil && // of one undone it is when that was
			!tick.Before(r.Began) && !tick.After(*r.Ended)
	})
}

func readKnown(ctx context.Context, query facet.Query) (known, error) {
	var answer struct {
		Open []struct {
			ID string `json:"id"`
		} `json:"open"`
		Last []struct {
			Tick time.Time `json:"tick"`
		} `json:"last"`
		Recent []record `json:"recent"`
	}
	if err := read(ctx, query, &answer, queries.Text("evolution_open"), nil); err != nil {
		return known{}, err
	}
	k := known{recent: answer.Recent}
	for _, r := range answer.Open {
		k.open = append(k.open, r.ID)
	}
	if len(answer.Last) > 0 {
		k.last = answer.Last[0].Tick
	}
	return k, nil
}

// list reads the newest runs, without their batches.
func list(ctx context.Context, query facet.Query, first int) ([]Run, error) {
	var answer struct {
		Runs []record `json:"runs"`
	}
	if err := read(ctx, query, &answer, queries.Text("evolution_runs"), map[string]string{"$first": strconv.Itoa(first)}); err != nil {
		return nil, err
	}
	out := make([]Run, len(answer.Runs))
	for i, r := range answer.Runs {
		var err error
		if out[i], err = r.run(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// recordTx writes a run with all its planned batches, in the caller's transaction.
func recordTx(ctx context.Context, tx graph.Tx, fence int, run Run, j judge, batches [][]Change) error {
	b := body{judge: j, Counts: run.Counts, Note: run.Note, Gate: run.Gate, Fence: fence}
	var n []byte
	n = fmt.Appendf(n, `_:run <dgraph.type> "evorag.Run" .
_:run <evorag.run.id> %s .
_:run <evorag.run.began> "%s" .
`, graph.Quote(run.ID), stamp(run.Began))
	if run.Tick != nil {
		n = fmt.Appendf(n, "_:run <evorag.run.tick> \"%s\" .\n", stamp(*run.Tick))
	}
	n, err := stateOf(n, "_:run", run.State, run.Ended, b)
	if err != nil {
		return err
	}
	for i, changes := range batches {
		plan, err := json.Marshal(changes)
		if err != nil {
			return err
		}
		n = fmt.Appendf(n, `_:b%[1]d <dgraph.type> "evorag.Change" .
_:b%[1]d <evorag.change.run> %[2]s .
_:b%[1]d <evorag.change.number> "%[1]d" .
_:b%[1]d <evorag.change.state> "%[3]s" .
_:b%[1]d <evorag.change.plan> %[4]s .
`, i, graph.Quote(run.ID), Planned, graph.Quote(string(plan)))
	}
	_, err = tx.Set(ctx, n)
	return err
}

// stateOf appends how far a run has come.
func stateOf(n []byte, subject string, state State, ended *time.Time, b body) ([]byte, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	n = fmt.Appendf(n, `%[1]s <evorag.run.state> "%[2]s" .
%[1]s <evorag.run.body> %[3]s .
`, subject, state, graph.Quote(string(text)))
	if ended != nil {
		n = fmt.Appendf(n, "%s <evorag.run.ended> \"%s\" .\n", subject, stamp(*ended))
	}
	return n, nil
}

// batchState appends what became of a batch.
func batchState(n []byte, b graph.UID, state State, done []Change) ([]byte, error) {
	text, err := json.Marshal(done)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(n, `<%[1]s> <evorag.change.state> "%[2]s" .
<%[1]s> <evorag.change.done> %[3]s .
`, b, state, graph.Quote(string(text))), nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func marshal(changes []Change) (string, error) {
	text, err := json.Marshal(changes)
	return string(text), err
}
