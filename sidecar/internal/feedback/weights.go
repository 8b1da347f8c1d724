package feedback

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/queries"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

// Weights are changed by the journal itself: a batch's entries hold the steps, so a rating's
// weights are committed with its scores and cost the transaction no read. What they sum up to is
// kept in memory, and now and then written down as vectors, after which the batches before need
// not be read again.

// foldEvery is how many batches may stand after the vectors that are written down.
const foldEvery = 256

// Weighed is the step of one weight vector along the features of the rating's question, in raw
// points.
type Weighed credit.WeightDelta

// MarshalJSON writes ["relation", step], or [hops, step].
func (w Weighed) MarshalJSON() ([]byte, error) {
	if w.Of.Relation == "" {
		return json.Marshal([2]float64{float64(w.Of.Hops), w.Delta})
	}
	return json.Marshal([2]any{w.Of.Relation, w.Delta})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (w *Weighed) UnmarshalJSON(b []byte) error {
	var parts [2]json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	*w = Weighed{}
	if json.Unmarshal(parts[0], &w.Of.Hops) != nil {
		if err := json.Unmarshal(parts[0], &w.Of.Relation); err != nil {
			return err
		}
	}
	return json.Unmarshal(parts[1], &w.Delta)
}

// weighed takes a step's weights as the journal keeps them, in steps of a millionth.
func weighed(deltas []credit.WeightDelta) []Weighed {
	var out []Weighed
	for _, d := range deltas {
		if d.Delta = graph.RoundScore(d.Delta); d.Delta != 0 {
			out = append(out, Weighed(d))
		}
	}
	return out
}

// back takes steps back.
func back(steps []Weighed) []Weighed {
	out := slices.Clone(steps)
	for i := range out {
		out[i].Delta = -out[i].Delta
	}
	return out
}

// changes are the steps of weights that a batch has made. Those along features of another
// template, or of a question that is not told, are set aside.
func (b Batch) changes() []rank.Change {
	var out []rank.Change
	for _, e := range b.Entries {
		if e.X == nil || e.Template != credit.Template {
			continue
		}
		for _, w := range e.Weights {
			out = append(out, rank.Change{Of: w.Of, Delta: w.Delta, X: *e.X})
		}
	}
	return out
}

// learnedWeights are the weights after the batch of that number.
type learnedWeights struct {
	number int
	*rank.Weights
}

// LearnedWeights are the question-dependent weights of the namespace; nil where none were learned,
// or the namespace is not this sidecar's.
func (s *Service) LearnedWeights(namespace uint64) *rank.Weights {
	if w := s.weights.Load(); w != nil && namespace == s.Namespace {
		return w.Weights
	}
	return nil
}

// ReadWeights reads the weights as they stand in the cluster.
func ReadWeights(ctx context.Context, query facet.Query) (*rank.Weights, error) {
	w, err := readFolded(ctx, query)
	if err != nil {
		return nil, err
	}
	w, err = w.after(ctx, query)
	return w.Weights, err
}

// vectorName is a weight vector's name in the cluster: its relation, or " " and its hop count.
func vectorName(of rank.WeightOf) string {
	if of.Relation == "" {
		return " " + strconv.Itoa(of.Hops)
	}
	return of.Relation
}

func ofVector(name string) rank.WeightOf {
	if hops, ok := strings.CutPrefix(name, " "); ok {
		n, _ := strconv.Atoi(hops) //nolint:errcheck // the sidecar's own writing
		return rank.WeightOf{Hops: n}
	}
	return rank.WeightOf{Relation: name}
}

// readFolded reads the vectors that are written down. Those over another template are set aside.
func readFolded(ctx context.Context, query facet.Query) (learnedWeights, error) {
	data, err := query(ctx, queries.Text("weights"), nil)
	if err != nil {
		return learnedWeights{}, err
	}
	var answer struct {
		Model   []model `json:"model"`
		Vectors []struct {
			Name     string    `json:"name"`
			Template string    `json:"template"`
			Vector   []float64 `json:"vector"`
		} `json:"vectors"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return learnedWeights{}, fmt.Errorf("reading the weights: %w", err)
	}
	var w learnedWeights
	if len(answer.Model) > 0 {
		w.number = answer.Model[0].Folded
	}
	vectors := map[rank.WeightOf][]float64{}
	for _, v := range answer.Vectors {
		if v.Template == credit.Template {
			vectors[ofVector(v.Name)] = v.Vector
		}
	}
	w.Weights = rank.NewWeights(credit.Template, vectors)
	return w, nil
}

// after adds what later batches have changed.
func (w learnedWeights) after(ctx context.Context, query facet.Query) (learnedWeights, error) {
	for {
		data, err := query(ctx, queries.Text("journal"), map[string]string{"$from": strconv.Itoa(w.number)})
		if err != nil {
			return w, err
		}
		batches, err := readBatches(data)
		if err != nil || len(batches) == 0 {
			return w, err
		}
		for _, b := range batches {
			w.number = b.Number
			if changes := b.changes(); len(changes) > 0 {
				w.Weights = w.With(credit.Template, changes)
			}
		}
	}
}

// loadWeights brings the weights that rankings use up to date with the model; they are read anew
// where what is written down is newer than they, as after a reset, or the journal begins anew.
func (s *Service) loadWeights(ctx context.Context, m model) error {
	s.weighing.Lock()
	defer s.weighing.Unlock()
	now := s.weights.Load()
	if now != nil && now.number == m.Batches {
		return nil
	}
	var w learnedWeights
	var err error
	if now == nil || now.number < m.Folded || now.number > m.Batches {
		w, err = readFolded(ctx, s.read)
	} else {
		w = *now
	}
	if err == nil {
		w, err = w.after(ctx, s.read)
	}
	if err == nil {
		s.weights.Store(&w)
	}
	return err
}

// weigh adds a batch of our own, unless others came between: loadWeights fetches those.
func (s *Service) weigh(b Batch) {
	s.weighing.Lock()
	defer s.weighing.Unlock()
	now := s.weights.Load()
	if now == nil || now.number != b.Number-1 {
		return
	}
	w := *now
	w.number = b.Number
	if changes := b.changes(); len(changes) > 0 {
		w.Weights = w.With(credit.Template, changes)
	}
	s.weights.Store(&w)
}

// fold writes the weights down, in a transaction of its own, once many batches stand after the
// last time. Of replicas that do so at once one is aborted, and finds it done.
func (s *Service) fold(ctx context.Context, m model) error {
	if m.Batches-m.Folded < foldEvery {
		return nil
	}
	return Fold(ctx, s.Store)
}

// Fold writes down the weights as the journal has them by now.
func Fold(ctx context.Context, store Store) error {
	return store.RunTx(ctx, func(ctx context.Context, tx graph.Tx) error {
		before, err := readFolded(ctx, tx.Query)
		if err != nil {
			return err
		}
		w, err := before.after(ctx, tx.Query)
		if err != nil || w.number == before.number {
			return err
		}
		m, err := readModel(ctx, tx.Query)
		if err != nil {
			return err
		}
		m.Folded = w.number
		return writeVectors(ctx, tx, m, w.Weights)
	})
}

// writeVectors puts vectors in the place of those that are written down.
func writeVectors(ctx context.Context, tx graph.Tx, m model, w *rank.Weights) error {
	uids, err := vectorUIDs(ctx, tx.Query)
	if err != nil {
		return err
	}
	nquads := m.appendFolded(nil)
	for i, of := range w.Of() {
		subject := fmt.Sprintf("_:w%d", i)
		if uid, known := uids[vectorName(of)]; known {
			subject = "<" + uid.String() + ">"
		}
		nquads = fmt.Appendf(nquads, `%[1]s <dgraph.type> "evorag.Weight" .
%[1]s <evorag.weight.of> %[2]s .
%[1]s <evorag.weight.template> %[3]s .
%[1]s <evorag.weight.vector> "%[4]s" .
`, subject, graph.Quote(vectorName(of)), graph.Quote(w.Template), vectorText(w.Vector(of)))
	}
	_, err = tx.Set(ctx, nquads)
	return err
}

// asKept is a vector as the cluster keeps it, in 32 bits a number.
func asKept(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i], _ = strconv.ParseFloat(strconv.FormatFloat(x, 'f', -1, 32), 64) //nolint:errcheck // just formatted
	}
	return out
}

// vectorText spells a vector as Dgraph reads it.
func vectorText(v []float64) string {
	b := []byte{'['}
	for i, x := range v {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendFloat(b, x, 'f', -1, 32)
	}
	return string(append(b, ']'))
}

// vectorUIDs are the nodes of the vectors that are written down, by name.
func vectorUIDs(ctx context.Context, query facet.Query) (map[string]graph.UID, error) {
	data, err := query(ctx, "{ vectors(func: has(evorag.weight.of)) { uid name: evorag.weight.of } }", nil)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Vectors []struct {
			UID  graph.UID `json:"uid"`
			Name string    `json:"name"`
		} `json:"vectors"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("reading the weights: %w", err)
	}
	out := map[string]graph.UID{}
	for _, v := range answer.Vectors {
		out[v.Name] = v.UID
	}
	return out, nil
}

// dropVectors takes all vectors away.
func dropVectors(ctx context.Context, tx graph.Tx) error {
	uids, err := vectorUIDs(ctx, tx.Query)
	if err != nil || len(uids) == 0 {
		return err
	}
	var nquads []byte
	for _, uid := range uids {
		for _, p := range []string{"dgraph.type", "evorag.weight.of", "evorag.weight.template", "evorag.weight.vector"} {
			nquads = fmt.Appendf(nquads, "<%s> <%s> * .\n", uid, p)
		}
	}
	return tx.Delete(ctx, nquads)
}

// tendWeights loads the weights, and writes them down when it is time.
func (s *Service) tendWeights(ctx context.Context, m model) {
	if err := s.loadWeights(ctx, m); err != nil && ctx.Err() == nil {
		s.Log.Debug("the weights can't be read now", "error", err)
	}
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := s.fold(limited, m); err != nil && ctx.Err() == nil {
		s.Log.Warn("the weights can't be written down now", "error", err)
	}
}
