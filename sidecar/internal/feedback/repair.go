package feedback

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

// kindRepaired is the journal's word for a score that an edge had lost: somebody set the edge
// again, around the sidecar, and Dgraph dropped its facets.
const kindRepaired = "repaired"

// repairEvery is the time between looks at all edges of the journal.
const repairEvery = time.Hour

// last is what the journal knows of an edge: its newest change, or that it went missing.
type last struct {
	Change
	there bool
}

// newest goes through batches in order and keeps what each says last of each edge.
func newest(batches []Batch, into map[graph.Triplet]last) {
	for _, b := range batches {
		for _, e := range b.Entries {
			for _, c := range e.Steps {
				into[b.Edges[c.Edge]] = last{c, true}
			}
			for _, i := range e.Void {
				into[b.Edges[i]] = last{}
			}
		}
	}
}

// lost gives the edges that are there without a score although the journal knows one, as they
// should be. Edges that were missing since, and made anew, begin anew.
func lost(edges map[graph.Triplet]facet.Edge, known map[graph.Triplet]last) []facet.Edge {
	var out []facet.Edge
	for t, k := range known {
		e, there := edges[t]
		if there && !e.Learned && k.there && (k.After != graph.NeutralScore || k.N != 0) {
			e.Score, e.Updates = k.After, k.N
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b facet.Edge) int { return strings.Compare(fmt.Sprint(a.Triplet), fmt.Sprint(b.Triplet)) })
	return out
}

// knownOf asks the journal about those of the edges that have no score. The index tells which of
// them ever had one; of these, which are few, the newest batches of their heads tell the last.
func knownOf(ctx context.Context, query facet.Query, edges map[graph.Triplet]facet.Edge, reset int) (map[graph.Triplet]last, error) {
	prints := map[int64]graph.Triplet{}
	for t, e := range edges {
		if !e.Learned {
			prints[fingerprint(t.Head, t.Predicate, t.Object)] = t
		}
	}
	if len(prints) == 0 {
		return nil, nil
	}
	data, err := query(ctx, numbered("journal_edges", maps.Keys(prints)), map[string]string{"$reset": strconv.Itoa(reset)})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Batches []struct {
			Edges []int64 `json:"edges"`
		} `json:"batches"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("asking the journal about edges: %w", err)
	}
	wanted := map[graph.Triplet]bool{}
	for _, b := range answer.Batches {
		for _, print := range b.Edges {
			if t, ok := prints[print]; ok {
				wanted[t] = true
			}
		}
	}
	return newestOf(ctx, query, wanted, reset)
}

// newestOf goes back through the batches of the edges' heads until each edge is found.
func newestOf(ctx context.Context, query facet.Query, wanted map[graph.Triplet]bool, reset int) (map[graph.Triplet]last, error) {
	known := map[graph.Triplet]last{}
	for before := math.MaxInt; len(wanted) > 0; {
		heads := map[graph.UID]bool{}
		for t := range wanted {
			heads[t.Head] = true
		}
		batches, err := batchesOf(ctx, query, maps.Keys(heads), reset, before)
		if err != nil || len(batches) == 0 {
			return known, err
		}
		before = batches[0].Number
		said := map[graph.Triplet]last{}
		newest(batches, said)
		for t, l := range said {
			if wanted[t] {
				known[t] = l
				delete(wanted, t)
			}
		}
	}
	return known, nil
}

// batchesOf gives, in order, the newest batches of some heads after the number reset and below before;
// none where there are no more.
func batchesOf(ctx context.Context, query facet.Query, heads iter.Seq[graph.UID], reset, before int) ([]Batch, error) {
	prints := func(yield func(int64) bool) {
		for h := range heads {
			if !yield(fingerprint(h)) {
				return
			}
		}
	}
	data, err := query(ctx, numbered("journal_heads", prints), map[string]string{"$reset": strconv.Itoa(reset), "$before": strconv.Itoa(before)})
	if err != nil {
		return nil, err
	}
	return readBatches(data)
}

// numbered is the query of that name with the list of numbers filled in.
func numbered(name string, numbers iter.Seq[int64]) string {
	var list []string
	for n := range numbers {
		list = append(list, strconv.FormatInt(n, 10))
	}
	return strings.Replace(queries.Text(name), "[0]", "["+strings.Join(list, ", ")+"]", 1)
}

// keepRepaired repairs now and then until ctx ends: batches repair what they meet, this is for the rest. It
// may take minutes, which nothing else waits for.
func (s *Service) keepRepaired(ctx context.Context) {
	every := time.NewTicker(repairEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if err := s.repair(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("lost scores can't be looked for now", "error", err)
		}
	}
}

// repair looks at every edge that the journal knows and gives back the scores that were lost.
func (s *Service) repair(ctx context.Context) error {
	m, err := readModel(ctx, s.read)
	if err != nil {
		return err
	}
	known := map[graph.Triplet]last{}
	for from := m.Reset; ; {
		data, err := s.read(ctx, queries.Text("journal"), map[string]string{"$from": strconv.Itoa(from)})
		if err != nil {
			return err
		}
		batches, err := readBatches(data)
		if err != nil {
			return err
		}
		if len(batches) == 0 {
			break
		}
		newest(batches, known)
		from = batches[len(batches)-1].Number
	}
	for part := range slices.Chunk(slices.Collect(maps.Keys(known)), scoresAtOnce) {
		edges, err := facet.Read(ctx, s.read, part)
		if err != nil {
			return err
		}
		if len(lost(edges, known)) == 0 {
			continue
		}
		if err := s.restore(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// restore repairs some edges in a transaction of its own.
func (s *Service) restore(ctx context.Context, part []graph.Triplet) error {
	var found []facet.Edge
	err := s.Store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		m, err := readModel(ctx, tx.Query)
		if err != nil {
			return err
		}
		edges, err := facet.Read(ctx, tx.Query, part)
		if err != nil {
			return err
		}
		known, err := knownOf(ctx, tx.Query, edges, m.Reset)
		if err != nil {
			return err
		}
		if found = lost(edges, known); len(found) == 0 {
			return nil
		}
		m.Batches++
		alpha := m.alpha(s.Alpha)
		fresh := map[graph.Triplet]bool{}
		batch := Batch{Number: m.Batches, Time: s.Now(), Entries: []Entry{{Kind: kindRepaired, Alpha: [2]float64{alpha, alpha}}}}
		nquads := m.appendTo(nil)
		for i, e := range found {
			batch.Edges, fresh[e.Triplet] = append(batch.Edges, e.Triplet), true
			batch.Entries[0].Steps = append(batch.Entries[0].Steps, Change{i, graph.NeutralScore, e.Score, e.Updates})
		}
		if nquads, err = batch.appendTo(nquads, fresh); err != nil {
			return err
		}
		return facet.Commit(ctx, tx, s.read, found, nquads)
	})
	if err == nil && len(found) > 0 {
		repaired := make([]graph.Triplet, len(found))
		for i, e := range found {
			repaired[i] = e.Triplet
		}
		s.Changed(repaired)
		s.Meter.Edges(kindRepaired, len(found))
		s.Log.Info("scores that edges had lost are given back", "edges", len(found))
	}
	return err
}
