package feedback

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
)

const (
	retrievalGroup  = 64 // retrievals written in one transaction
	retrievalLinger = 250 * time.Millisecond
	recentlyShown   = 512 // retrievals kept in memory, the oldest go first
	pruneEvery      = 10 * time.Minute
	countEvery      = 5 * time.Second // the backlog; what comes and goes here is counted meanwhile
)

// shown is a retrieval with what was answered to it, as far as that is known.
type shown struct {
	graph.Retrieval
	broken   error // it can't be read
	response string
	uid      graph.UID // 0: not stored yet
}

// memory stores retrievals off the query's path and keeps the newest at hand. A write costs the
// engine about what a ranked query does, and queries that begin meanwhile wait for it: so a
// retrieval waits retrievalLinger for others, unless somebody asks for it.
type memory struct {
	*Service
	queue chan *graph.Retrieval
	hurry chan struct{} // somebody asks for one that isn't stored yet
	room  []byte        // that of the last write, for the next

	news chan struct{} // a response is to be stored

	mu        sync.Mutex
	recent    map[string]*shown
	order     []string // of recent, a ring
	next      int
	written   chan struct{}     // closed after the next write
	responses map[string]string // that are to be stored, by retrieval
}

func newMemory(s *Service) *memory {
	return &memory{
		Service: s, queue: make(chan *graph.Retrieval, s.Queue), hurry: make(chan struct{}, 1), news: make(chan struct{}, 1),
		recent: map[string]*shown{}, order: make([]string, recentlyShown), written: make(chan struct{}), responses: map[string]string{},
	}
}

func (m *memory) remember(r *graph.Retrieval) {
	kept := *r // the caller may go on with his
	m.keep(&shown{Retrieval: kept})
	select {
	case m.queue <- &kept:
	default:
		m.Meter.Retrievals("dropped", 1)
	}
}

// keep puts a retrieval among the recent ones, and gives it as it is now: others may change the kept one.
func (m *memory) keep(r *shown) shown {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.response == "" {
		r.response = m.responses[r.ID]
	}
	if old, ok := m.recent[r.ID]; ok {
		if r.response == "" {
			r.response = old.response
		}
		m.recent[r.ID] = r
		return *r
	}
	delete(m.recent, m.order[m.next])
	m.order[m.next] = r.ID
	m.next = (m.next + 1) % len(m.order)
	m.recent[r.ID] = r
	return *r
}

// forget lets the recent ones that are stored go; they are read again where they are wanted.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.recent, func(_ string, r *shown) bool { return r.uid != 0 })
}

// stored gives one of the recent ones that is in the cluster, "" where there is none.
func (m *memory) stored() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, r := range m.recent {
		if r.uid != 0 {
			return id
		}
	}
	return ""
}

// answered notes a response at hand.
func (m *memory) answered(id, response string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.recent[id]; ok {
		r.response = response
	}
}

// storeSoon has a response stored with its retrieval. Where too many wait this one is not.
func (m *memory) storeSoon(id, response string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.responses) >= m.Queue {
		m.Log.Warn("the response to a retrieval is not stored: too many wait for the engine", "retrieval", id)
		return
	}
	m.responses[id] = response
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// run writes what is remembered until ctx ends, in groups.
func (m *memory) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			last, cancel := afterwards(ctx)
			defer cancel()
			for len(m.queue) > 0 {
				if m.write(last, m.group(ctx, <-m.queue)) != nil {
					return
				}
			}
			_ = m.writeResponses(last)
			return
		case r := <-m.queue:
			group := m.group(ctx, r)
			m.insist(ctx, func(ctx context.Context) error { return m.write(ctx, group) })
		case <-m.news:
			m.insist(ctx, m.writeResponses)
		}
	}
}

// insist tries a write until it succeeds, and once more after the end of ctx.
func (m *memory) insist(ctx context.Context, write func(context.Context) error) {
	for write(ctx) != nil {
		select { // the engine is away; the queue fills meanwhile, and drops what is too much
		case <-ctx.Done():
		case <-time.After(time.Second):
			continue
		}
		last, cancel := afterwards(ctx)
		defer cancel()
		_ = write(last)
		return
	}
}

// group is the retrievals of one write: those that come within retrievalLinger of the first,
// and after ctx those that are there.
func (m *memory) group(ctx context.Context, first *graph.Retrieval) []*graph.Retrieval {
	group := []*graph.Retrieval{first}
	linger := time.NewTimer(retrievalLinger)
	defer linger.Stop()
	for waiting := true; len(group) < retrievalGroup; {
		select {
		case r := <-m.queue:
			group = append(group, r)
			continue
		default:
		}
		if !waiting {
			break
		}
		select {
		case r := <-m.queue:
			group = append(group, r)
			continue
		case <-ctx.Done():
		case <-linger.C:
		case <-m.hurry:
		}
		waiting = false
	}
	return group
}

// soon waits until the retrievals that somebody asks for are stored, retrievalLinger at most,
// if they are among those that are not yet.
func (m *memory) soon(ctx context.Context, ids map[string]bool) {
	m.mu.Lock()
	written, late := m.written, false
	for id := range ids {
		r, known := m.recent[id]
		late = late || known && r.uid == 0
	}
	m.mu.Unlock()
	if !late {
		return
	}
	select {
	case m.hurry <- struct{}{}:
	default:
	}
	select {
	case <-written:
	case <-ctx.Done():
	case <-time.After(retrievalLinger):
	}
}

func (m *memory) write(ctx context.Context, group []*graph.Retrieval) error {
	nquads := m.room[:0]
	for i, r := range group {
		var err error
		if nquads, err = m.appendRetrieval(nquads, fmt.Sprintf("_:r%d", i), r); err != nil {
			m.Log.Error("a retrieval can't be written as JSON", "retrieval", r.ID, "error", err)
		}
	}
	m.room = nquads
	var uids map[string]graph.UID
	err := m.Store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) (err error) {
		uids, err = tx.Commit(ctx, nil, nquads, nil)
		return err
	})
	if err != nil {
		m.Log.Warn("retrievals can't be stored now", "count", len(group), "error", err)
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.written)
	m.written = make(chan struct{})
	for i, r := range group {
		if known := m.recent[r.ID]; known != nil {
			known.uid = uids[fmt.Sprintf("r%d", i)]
		}
	}
	m.Meter.Retrievals("stored", len(group))
	return nil
}

// writeResponses stores the responses that came after their retrievals. One whose retrieval is still
// to be written is written with it; one whose retrieval is not there has no effect.
func (m *memory) writeResponses(ctx context.Context) error {
	for {
		group := m.waitingResponses()
		if len(group) == 0 {
			return nil
		}
		var query strings.Builder
		var sets []graph.Conditional
		for id, response := range group {
			name := fmt.Sprintf("r%d", len(sets))
			fmt.Fprintf(&query, "  %s as var(func: eq(evorag.retrieval.id, %s))\n", name, graph.Quote(id))
			sets = append(sets, graph.Conditional{
				If:  "@if(gt(len(" + name + "), 0))",
				Set: fmt.Appendf(nil, "uid(%s) <evorag.retrieval.response> %s .\n", name, graph.Quote(response)),
			})
		}
		if _, err := m.Store.Upsert(ctx, "{\n"+query.String()+"}", sets); err != nil {
			m.Log.Warn("responses to retrievals can't be stored now", "count", len(group), "error", err)
			if ctx.Err() != nil || transient(err) {
				return err
			}
		}
		m.mu.Lock()
		maps.DeleteFunc(m.responses, func(id, response string) bool { return group[id] == response })
		m.mu.Unlock()
	}
}

// waitingResponses are responses that are to be stored, at most as many as one transaction takes.
func (m *memory) waitingResponses() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	group := map[string]string{}
	for id, response := range m.responses {
		if r, known := m.recent[id]; known && r.uid == 0 {
			delete(m.responses, id)
		} else if group[id] = response; len(group) == retrievalGroup {
			break
		}
	}
	return group
}

// storedRetrieval is a retrieval with what its answer doesn't show.
type storedRetrieval struct {
	graph.Retrieval
	X      graph.Features `json:"x"`
	Made   string         `json:"template"` // what X is made by
	Beyond []graph.Result `json:"beyond,omitempty"`
}

func (m *memory) appendRetrieval(b []byte, subject string, r *graph.Retrieval) ([]byte, error) {
	kept := *r
	kept.Context, kept.Timings = "", graph.Timings{} // made again from the rest, or of no use later
	body, err := json.Marshal(storedRetrieval{kept, kept.Features, kept.Template, kept.Beyond})
	if err != nil {
		return b, err
	}
	_, at, err := m.IDs.Parse(r.ID)
	if err != nil {
		return b, err
	}
	b = fmt.Appendf(b, `%[1]s <evorag.retrieval.id> %[2]s .
%[1]s <evorag.retrieval.time> "%[3]s" .
%[1]s <evorag.retrieval.body> `, subject, graph.Quote(r.ID), at.UTC().Format(time.RFC3339Nano))
	b = append(graph.AppendQuote(b, string(body)), " .\n"...)
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.recent[r.ID]; known != nil && known.response != "" {
		b = fmt.Appendf(b, "%s <evorag.retrieval.response> %s .\n", subject, graph.Quote(known.response))
	}
	return b, nil
}

// find gives the retrievals that are stored, by their ids; true asks for a response too, which
// another replica may have stored. One that nobody has written yet is missing.
func (m *memory) find(ctx context.Context, ids map[string]bool) (map[string]*shown, error) {
	m.soon(ctx, ids)
	out := make(map[string]*shown, len(ids))
	var absent []string
	m.mu.Lock()
	for id, response := range ids {
		if r, ok := m.recent[id]; ok && r.uid != 0 && (!response || r.response != "") {
			kept := *r
			out[id] = &kept
		} else {
			absent = append(absent, id)
		}
	}
	m.mu.Unlock()
	if len(absent) == 0 {
		return out, nil
	}
	data, err := m.read(ctx, listed("feedback_retrievals", absent), nil)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Retrievals []struct {
			UID      graph.UID `json:"uid"`
			ID       string    `json:"id"`
			Body     string    `json:"body"`
			Response string    `json:"response"`
		} `json:"retrievals"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("reading retrievals: %w", err)
	}
	for _, row := range answer.Retrievals {
		r := &shown{uid: row.UID, response: row.Response}
		var body storedRetrieval
		if err := json.Unmarshal([]byte(row.Body), &body); err != nil {
			out[row.ID] = &shown{broken: fmt.Errorf("the stored retrieval is not readable: %w", err)}
			continue
		}
		r.Retrieval = body.Retrieval
		r.Features, r.Template, r.Beyond = body.X, body.Made, body.Beyond
		kept := m.keep(r)
		out[row.ID] = &kept
	}
	return out, nil
}

// prune forgets retrievals that are older than Keep.
func (m *memory) prune(ctx context.Context) error {
	before := m.Now().Add(-m.Keep).UTC().Format(time.RFC3339)
	for {
		data, err := m.read(ctx, queries.Text("retrievals_old"), map[string]string{"$before": before})
		if err != nil {
			return err
		}
		var answer struct {
			Old []struct {
				UID graph.UID `json:"uid"`
			} `json:"old"`
		}
		if err := json.Unmarshal(data, &answer); err != nil {
			return fmt.Errorf("reading old retrievals: %w", err)
		}
		if len(answer.Old) == 0 {
			return nil
		}
		var nquads []byte
		for _, r := range answer.Old {
			for _, p := range []string{"dgraph.type", "evorag.retrieval.id", "evorag.retrieval.time", "evorag.retrieval.body", "evorag.retrieval.response"} {
				nquads = fmt.Appendf(nquads, "<%s> <%s> * .\n", r.UID, p)
			}
		}
		err = m.Store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error { return tx.Delete(ctx, nquads) })
		if err != nil {
			return err
		}
		m.Meter.Retrievals("pruned", len(answer.Old))
	}
}

// tend forgets what is old, now and then, and keeps the counts that limits go by.
func (s *Service) tend(ctx context.Context) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	var pruned, counted time.Time
	var learned model
	for {
		if now := s.Now(); now.Sub(counted) >= countEvery {
			counted = now
			if err := s.countBacklog(ctx); err != nil && ctx.Err() == nil {
				s.Log.Debug("the backlog can't be counted now", "error", err)
			}
		}
		if now, err := readModel(ctx, s.read); err == nil {
			s.noteIfNew(learned, now)
			s.noteModel(now) // another replica may have learned
			learned = now
			s.tendWeights(ctx, now)
		} else if ctx.Err() == nil {
			s.Log.Debug("the model can't be read now", "error", err)
		}
		if now := s.Now(); now.Sub(pruned) >= pruneEvery {
			pruned = now
			if err := s.memory.prune(ctx); err != nil && ctx.Err() == nil {
				s.Log.Warn("old retrievals can't be forgotten now", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}
