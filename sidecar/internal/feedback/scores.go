package feedback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

const (
	scannedHeads = 1000 // nodes read by one query of a scan
	scoresAtOnce = 500  // edges written in one transaction
)

// Line is one line of exported scores: an edge, alpha, or a weight vector.
type Line struct {
	Alpha *float64 `json:"alpha,omitempty"`

	Weight   *rank.WeightOf `json:"weight,omitempty"`
	Template string         `json:"template,omitempty"` // what the vector's questions are made by
	Vector   []float64      `json:"vector,omitempty"`

	Head      graph.UID `json:"head,omitempty"`
	Predicate string    `json:"predicate,omitempty"`
	Object    graph.UID `json:"object,omitempty"`
	Score     *float64  `json:"score,omitempty"`
	N         int       `json:"n,omitempty"`
	Low       int       `json:"low,omitempty"`
	Hidden    bool      `json:"hidden,omitempty"`
}

// Export hands on alpha, where it was learned, the weights, and every edge that was scored, by predicate.
func Export(ctx context.Context, store Store, predicates []string, each func(Line) error) error {
	query := reader(store)
	m, err := readModel(ctx, query)
	if err != nil {
		return err
	}
	if m.Alpha != nil {
		if err := each(Line{Alpha: m.Alpha}); err != nil {
			return err
		}
	}
	weights, err := ReadWeights(ctx, query)
	if err != nil {
		return err
	}
	for _, of := range weights.Of() {
		if err := each(Line{Weight: &of, Template: weights.Template, Vector: asKept(weights.Vector(of))}); err != nil {
			return err
		}
	}
	for _, p := range predicates {
		if err := scan(ctx, query, p, func(t graph.Triplet, c graph.Contribution) error {
			return each(Line{Head: t.Head, Predicate: t.Predicate, Object: t.Object, Score: &c.Score, N: c.Updates, Low: c.Low, Hidden: c.Hidden})
		}); err != nil {
			return err
		}
	}
	return nil
}

// reader reads as the sidecar, at fresh timestamps.
func reader(store Store) facet.Query {
	return func(ctx context.Context, text string, vars map[string]string) ([]byte, error) {
		a, err := store.OwnQuery(ctx, graph.Call{Query: text, Vars: vars, ReadOnly: true})
		return a.JSON, err
	}
}

// scan goes through the scored edges of one predicate.
func scan(ctx context.Context, query facet.Query, predicate string, each func(graph.Triplet, graph.Contribution) error) error {
	for after := graph.UID(0); ; {
		text := fmt.Sprintf(`{ heads(func: has(<%s>), first: %d, after: 0x%x) { uid
  evorag.e: <%[1]s> @facets(evorag.score, evorag.n, evorag.low, evorag.hidden) @facets(ge(evorag.score, "0.0")) { uid } } }`, predicate, scannedHeads, uint64(after))
		data, err := query(ctx, text, nil)
		if err != nil {
			return err
		}
		var answer struct {
			Heads []struct {
				UID   graph.UID       `json:"uid"`
				Edges json.RawMessage `json:"evorag.e"`
			} `json:"heads"`
		}
		if err := json.Unmarshal(data, &answer); err != nil {
			return fmt.Errorf("reading the scores of %s: %w", predicate, err)
		}
		if len(answer.Heads) == 0 {
			return nil
		}
		for _, h := range answer.Heads {
			after = h.UID
			edges, err := scored(h.Edges)
			if err != nil {
				return fmt.Errorf("reading the scores of %s: %w", predicate, err)
			}
			for _, e := range edges {
				c := graph.Contribution{Score: e.Score, Updates: e.N, Low: e.Low, Hidden: e.Hidden}
				if err := each(graph.Triplet{Head: h.UID, Predicate: predicate, Object: e.UID}, c); err != nil {
					return err
				}
			}
		}
	}
}

type scoredEdge struct {
	UID    graph.UID `json:"uid"`
	Score  float64   `json:"evorag.e|evorag.score"`
	N      int       `json:"evorag.e|evorag.n"`
	Low    int       `json:"evorag.e|evorag.low"`
	Hidden bool      `json:"evorag.e|evorag.hidden"`
}

// scored reads a list of edges, or the one of a predicate that holds at most one.
func scored(raw json.RawMessage) (edges []scoredEdge, err error) {
	switch {
	case len(raw) == 0:
		return nil, nil
	case raw[0] == '[':
		return edges, json.Unmarshal(raw, &edges)
	}
	edges = make([]scoredEdge, 1)
	return edges, json.Unmarshal(raw, &edges[0])
}

// Imported tells what an import did.
type Imported struct {
	Edges   int // that have their score now
	Missing int // that are not in the graph; they are not made
}

// Import gives edges the scores that Export has written; all other facets stay. Uids are
// those of the cluster that was exported. Errors name the line; what came before it stays.
func Import(ctx context.Context, store Store, in io.Reader) (done Imported, err error) {
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	var part []Line
	vectors := map[rank.WeightOf][]float64{}
	flush := func() error {
		if len(part) == 0 {
			return nil
		}
		n, err := importPart(ctx, store, part)
		done.Edges, done.Missing = done.Edges+n, done.Missing+len(part)-n
		part = part[:0]
		return err
	}
	for n := 1; ; n++ {
		var l Line
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			if err := flush(); err != nil || len(vectors) == 0 {
				return done, err
			}
			return done, importWeights(ctx, store, vectors) // all at once: they belong together
		} else if err != nil {
			return done, fmt.Errorf("line %d: %w", n, err)
		}
		if l.Weight != nil {
			if err := l.checkWeight(); err != nil {
				return done, fmt.Errorf("line %d: %w", n, err)
			}
			vectors[*l.Weight] = l.Vector
			continue
		}
		if l.Alpha != nil {
			if err := importAlpha(ctx, store, *l.Alpha); err != nil {
				return done, fmt.Errorf("line %d: %w", n, err)
			}
			continue
		}
		if err := l.check(); err != nil {
			return done, fmt.Errorf("line %d: %w", n, err)
		}
		if part = append(part, l); len(part) == scoresAtOnce {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
}

func (l Line) check() error {
	switch {
	case l.Head == 0 || l.Object == 0 || l.Predicate == "" || l.Score == nil:
		return errors.New(`write {"head": "0x1", "predicate": "p", "object": "0x2", "score": 100.0}`)
	case strings.ContainsAny(l.Predicate, "<>\"{}|^`\\ \t\r\n~"):
		return fmt.Errorf("%q is not a predicate", l.Predicate)
	case !(*l.Score >= 0 && *l.Score <= graph.MaxScore):
		return fmt.Errorf("the score %v is not from 0 to 200", *l.Score)
	case l.N < 0 || l.Low < 0:
		return errors.New("n and low count from 0 on")
	}
	return nil
}

func (l Line) triplet() graph.Triplet {
	return graph.Triplet{Head: l.Head, Predicate: l.Predicate, Object: l.Object}
}

func importPart(ctx context.Context, store Store, part []Line) (n int, err error) {
	triplets := make([]graph.Triplet, len(part))
	for i, l := range part {
		triplets[i] = l.triplet()
	}
	err = store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		edges, err := facet.Read(ctx, tx.Query, triplets)
		if err != nil {
			return err
		}
		var changed []facet.Edge
		for _, l := range part {
			if e, there := edges[l.triplet()]; there {
				e.Contribution = graph.Contribution{Score: graph.RoundScore(*l.Score), Updates: l.N, Low: l.Low, Hidden: l.Hidden}
				changed = append(changed, e)
			}
		}
		if n = len(changed); n == 0 {
			return nil
		}
		return facet.Commit(ctx, tx, reader(store), changed, nil)
	})
	return n, err
}

// mostDimensions is the longest weight vector that there can be.
const mostDimensions = 1 << 16

func (l Line) checkWeight() error {
	switch {
	case l.Template != credit.Template:
		return fmt.Errorf("these weights are over questions made by %q; today's are made by %q", l.Template, credit.Template)
	case (l.Weight.Relation == "") == (l.Weight.Hops < 1):
		return errors.New(`a weight is of a relation or of a hop count; write {"weight": {"relation": "p"}, ...} or {"weight": {"hops": 2}, ...}`)
	case len(l.Vector) == 0 || len(l.Vector) > mostDimensions:
		return fmt.Errorf("the vector has %d numbers; it has from 1 to %d", len(l.Vector), mostDimensions)
	}
	return nil
}

// importWeights puts vectors in the place of all weights. It takes a number of the journal, so
// that every replica notices.
func importWeights(ctx context.Context, store Store, vectors map[rank.WeightOf][]float64) error {
	return store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		m, err := readModel(ctx, tx.Query)
		if err != nil {
			return err
		}
		if err := dropVectors(ctx, tx); err != nil {
			return err
		}
		m.Batches++
		if _, err := tx.Set(ctx, m.appendTo(nil)); err != nil {
			return err
		}
		if m, err = readModel(ctx, tx.Query); err != nil { // it has a uid now
			return err
		}
		m.Folded = m.Batches
		return writeVectors(ctx, tx, m, rank.NewWeights(credit.Template, vectors))
	})
}

func importAlpha(ctx context.Context, store Store, alpha float64) error {
	if !(alpha >= rank.MinAlpha && alpha <= rank.MaxAlpha) {
		return fmt.Errorf("alpha %v is not from %g to %g", alpha, rank.MinAlpha, rank.MaxAlpha)
	}
	err := store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		m, err := readModel(ctx, tx.Query)
		if err != nil {
			return err
		}
		m.Alpha = new(graph.RoundScore(alpha))
		_, err = tx.Set(ctx, m.appendTo(nil))
		return err
	})
	return err
}

// Reset takes what was learned off every edge, alpha and the weights; the users' facets and the journal
// stay. It returns the number of edges. Ratings from before are not taken back any more when a
// newer one replaces them.
func Reset(ctx context.Context, store Store, predicates []string) (n int, err error) {
	query := reader(store)
	for _, p := range predicates {
		var edges []graph.Triplet
		err := scan(ctx, query, p, func(t graph.Triplet, _ graph.Contribution) error {
			edges = append(edges, t)
			return nil
		})
		if err != nil {
			return n, err
		}
		for part := range slices.Chunk(edges, scoresAtOnce) {
			if err := resetPart(ctx, store, part); err != nil {
				return n, err
			}
			n += len(part)
		}
	}
	err = store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		m, err := readModel(ctx, tx.Query)
		if err != nil || m.UID == 0 {
			return err
		}
		m.Batches++ // every replica notices
		m.Alpha, m.Reset, m.Folded = nil, m.Batches, m.Batches
		if err := dropVectors(ctx, tx); err != nil {
			return err
		}
		if err := tx.Delete(ctx, fmt.Appendf(nil, "<%s> <evorag.model.alpha> * .\n", m.UID)); err != nil {
			return err
		}
		_, err = tx.Set(ctx, m.appendFolded(m.appendTo(nil)))
		return err
	})
	return n, err
}

func resetPart(ctx context.Context, store Store, part []graph.Triplet) error {
	err := store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		edges, err := facet.Read(ctx, tx.Query, part)
		if err != nil {
			return err
		}
		if len(edges) == 0 {
			return nil
		}
		var changed []facet.Edge
		for _, e := range edges {
			e.Contribution = graph.Neutral()
			changed = append(changed, e)
		}
		return facet.Commit(ctx, tx, reader(store), changed, nil)
	})
	return err
}
