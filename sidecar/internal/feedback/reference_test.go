package feedback_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
)

// exactness is how far two scores may lie apart that should be the same.
const exactness = 1e-9

type reader interface {
	Read(ctx context.Context, text string, vars map[string]string) ([]byte, error)
}

// requireReference goes through the journal in order and learns each rating again from what
// was stored, one at a time, by itself: the scores in the cluster must be the very same.
func requireReference(t testing.TB, c reader) (applied int) {
	ctx := context.Background()
	retrievals, ratings := map[string]graph.Retrieval{}, map[string]feedback.Event{}
	var weights *rank.Weights
	weighed := map[string][]rank.Change{} // by rating
	var stored struct {
		Retrievals []struct{ ID, Body string }
		Ratings    []struct{ UID, Status, Body string }
	}
	read(t, c, `{ retrievals(func: has(evorag.retrieval.id)) { id: evorag.retrieval.id body: evorag.retrieval.body }
		ratings(func: has(evorag.feedback.id)) { uid status: evorag.feedback.status body: evorag.feedback.body } }`, &stored)
	for _, r := range stored.Retrievals {
		var body struct {
			graph.Retrieval
			X        graph.Features
			Template string
		}
		require.NoError(t, json.Unmarshal([]byte(r.Body), &body))
		body.Retrieval.Features, body.Retrieval.Template = body.X, body.Template
		retrievals[r.ID] = body.Retrieval
	}
	status := map[string]string{}
	for _, r := range stored.Ratings {
		var e feedback.Event
		require.NoError(t, json.Unmarshal([]byte(r.Body), &e))
		ratings[r.UID], status[r.UID] = e, r.Status
	}

	scores, counts, effects := map[graph.Triplet]float64{}, map[graph.Triplet]int{}, map[string]map[graph.Triplet]float64{}
	score := func(t graph.Triplet) float64 {
		if s, ok := scores[t]; ok {
			return s
		}
		return graph.NeutralScore
	}
	move := func(t graph.Triplet, by float64) float64 {
		before := score(t)
		scores[t] = graph.RoundScore(max(0, min(200, before+by)))
		return scores[t] - before
	}
	alpha, alphas := .5, map[string]float64{}
	learner := credit.DefaultBundleRule().NewLearner("default")
	embedding, err := credit.NewEmbedding()
	require.NoError(t, err)
	seen := map[string]int{}
	for number := 0; ; {
		var journal struct{ Batches []struct{ Body string } }
		read(t, c, `{ batches(func: gt(evorag.batch.number, `+text(number)+`), orderasc: evorag.batch.number, first: 100) { body: evorag.batch.body } }`, &journal)
		if len(journal.Batches) == 0 {
			break
		}
		for _, raw := range journal.Batches {
			var b feedback.Batch
			require.NoError(t, json.Unmarshal([]byte(raw.Body), &b))
			require.Equal(t, number+1, b.Number, "the journal has no gap and no double")
			number = b.Number
			for _, entry := range b.Entries {
				switch entry.Kind {
				case "reversed":
					for edge, by := range effects[entry.Feedback] {
						move(edge, -by)
						counts[edge]--
					}
					require.NotNil(t, effects[entry.Feedback], "only what took effect is taken back, once")
					delete(effects, entry.Feedback)
					for _, change := range weighed[entry.Feedback] {
						change.Delta = -change.Delta
						weights = weights.With(credit.Template, []rank.Change{change})
					}
					alpha = graph.RoundScore(max(.1, min(.9, alpha-alphas[entry.Feedback])))
				case "repaired":
					require.Fail(t, "a score was lost", "batch %d: %+v", b.Number, entry)
				case "applied":
					seen[entry.Feedback]++
					e := ratings[entry.Feedback]
					r := retrievals[e.Retrieval]
					v, err := credit.Value(e.Rating)
					require.NoError(t, err)
					effect := map[graph.Triplet]float64{}
					effects[entry.Feedback] = effect
					before := alpha
					if v != 0 {
						evaluations, err := embedding.Evaluate(ctx, credit.Answer{Question: r.Question, Response: e.Response}, r)
						require.NoError(t, err)
						utilities, err := credit.Utilities(v, credit.DefaultGate(), r, evaluations)
						require.NoError(t, err)
						step, err := learner.Learn(credit.Lesson{Retrieval: r, Utilities: utilities, Mentions: credit.Mentions(r, e.Response), Rate: 1})
						require.NoError(t, err)
						void := map[graph.Triplet]bool{}
						for _, i := range entry.Void {
							void[b.Edges[i]] = true
						}
						for _, s := range step.Scores {
							if !void[s.Triplet] {
								effect[s.Triplet] = move(s.Triplet, graph.RoundScore(s.Delta))
								counts[s.Triplet]++
							}
						}
						for _, w := range step.Weights {
							change := rank.Change{Of: w.Of, Delta: graph.RoundScore(w.Delta), X: r.Features}
							weighed[entry.Feedback] = append(weighed[entry.Feedback], change)
							weights = weights.With(credit.Template, []rank.Change{change})
						}
						alpha = graph.RoundScore(max(.1, min(.9, alpha+graph.RoundScore(step.Alpha))))
					}
					alphas[entry.Feedback] = alpha - before
				}
			}
		}
	}
	for uid, n := range seen {
		require.Equal(t, 1, n, "the rating %s took effect once", uid)
		if effects[uid] != nil {
			require.Equal(t, "applied", status[uid])
		} else {
			require.Equal(t, "superseded", status[uid])
		}
	}
	for uid, s := range status {
		require.Contains(t, []string{"applied", "superseded", "void"}, s, "nothing is pending")
		if s == "applied" {
			require.Equal(t, 1, seen[uid])
		}
	}
	var edges []graph.Triplet
	for e := range scores {
		edges = append(edges, e)
	}
	got, err := facet.Read(ctx, c.Read, edges)
	require.NoError(t, err)
	for _, e := range edges {
		if is, there := got[e]; there {
			require.InDelta(t, scores[e], is.Score, exactness, "%v", e)
			require.Equal(t, counts[e], is.Updates, "%v", e)
		}
	}
	learned, err := feedback.ReadWeights(ctx, c.Read)
	require.NoError(t, err)
	for _, of := range weights.Of() {
		require.InDeltaSlice(t, weights.Vector(of), learned.Vector(of), 1e-4, "the weights of %+v", of) // 32 bits where they are written down
	}
	var model struct{ M []struct{ Alpha float64 } }
	read(t, c, `{ m(func: has(evorag.model.name)) { alpha: evorag.model.alpha } }`, &model)
	if len(seen) > 0 {
		require.InDelta(t, alpha, model.M[0].Alpha, exactness)
	}
	return len(seen)
}

func read(t testing.TB, c reader, query string, into any) {
	data, err := c.Read(context.Background(), query, nil)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into))
}
