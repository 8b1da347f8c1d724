package feedback

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

func triplet(i int) graph.Triplet {
	return graph.Triplet{Head: 1, Predicate: "p", Object: graph.UID(i + 2)}
}

func neutral(n int) map[graph.Triplet]facet.Edge {
	edges := map[graph.Triplet]facet.Edge{}
	for i := range n {
		edges[triplet(i)] = facet.Edge{Triplet: triplet(i), Contribution: graph.Neutral()}
	}
	return edges
}

func rated(uid int, rater string, at int, steps ...credit.ScoreDelta) lesson {
	return lesson{
		stored: stored{uid: fmt.Sprintf("0x%x", uid), received: time.Unix(int64(at), 0), Event: Event{Retrieval: "r", Rater: rater, Source: Human, Rating: 5}},
		steps:  steps, alpha: .001,
	}
}

func step(i int, delta float64) credit.ScoreDelta {
	return credit.ScoreDelta{Triplet: triplet(i), Delta: delta}
}

func fresh(lessons []lesson) state {
	st := state{status: map[string]string{}, applied: map[string]effect{}}
	for _, l := range lessons {
		st.status[l.uid] = statusPending
	}
	return st
}

func TestABatchIsCarriedOut(t *testing.T) {
	t.Run("a rating moves its edges, and is counted on each", func(t *testing.T) {
		lessons := []lesson{rated(1, "ann", 1, step(0, 3), step(1, -2))}
		l := carryOut(fresh(lessons), neutral(2), nil, lessons, nil, .5, time.Now())
		require.Equal(t, 103.0, l.edges[triplet(0)].Score)
		require.Equal(t, 98.0, l.edges[triplet(1)].Score)
		require.Equal(t, 1, l.edges[triplet(0)].Updates)
		require.Equal(t, .501, l.alpha)
		require.Equal(t, map[string]string{"0x1": statusApplied}, l.status)
	})
	t.Run("a newer rating of the same rater replaces the older exactly", func(t *testing.T) {
		lessons := []lesson{rated(1, "ann", 1, step(0, 3), step(1, -2)), rated(2, "ann", 2, step(1, 1))}
		l := carryOut(fresh(lessons), neutral(2), nil, lessons, nil, .5, time.Now())
		require.Equal(t, graph.Contribution{Score: 100}, l.edges[triplet(0)].Contribution)
		require.Equal(t, graph.Contribution{Score: 101, Updates: 1}, l.edges[triplet(1)].Contribution)
		require.Equal(t, map[string]string{"0x1": statusSuperseded, "0x2": statusApplied}, l.status)
		require.Equal(t, []string{kindApplied, kindReversed, kindApplied}, kinds(l))
	})
	t.Run("an older rating that comes late has no effect", func(t *testing.T) {
		lessons := []lesson{rated(1, "ann", 2, step(0, 3)), rated(2, "ann", 1, step(0, 1))}
		l := carryOut(fresh(lessons), neutral(1), nil, lessons, nil, .5, time.Now())
		require.Equal(t, 103.0, l.edges[triplet(0)].Score)
		require.Equal(t, map[string]string{"0x1": statusApplied, "0x2": statusSuperseded}, l.status)
	})
	t.Run("another rater adds his own", func(t *testing.T) {
		lessons := []lesson{rated(1, "ann", 1, step(0, 3)), rated(2, "bob", 2, step(0, 1))}
		l := carryOut(fresh(lessons), neutral(1), nil, lessons, nil, .5, time.Now())
		require.Equal(t, 104.0, l.edges[triplet(0)].Score)
	})
	t.Run("a rating that is applied already is left alone", func(t *testing.T) {
		lessons := []lesson{rated(1, "ann", 1, step(0, 3))}
		st := fresh(lessons)
		st.status["0x1"] = statusApplied
		l := carryOut(st, neutral(1), nil, lessons, nil, .5, time.Now())
		require.Empty(t, l.batch.Entries)
		require.Empty(t, l.changed)
	})
	t.Run("a missing edge is journaled void and not made", func(t *testing.T) {
		lessons := []lesson{rated(1, "ann", 1, step(0, 3), step(7, 3))}
		l := carryOut(fresh(lessons), neutral(1), nil, lessons, nil, .5, time.Now())
		require.NotContains(t, l.edges, triplet(7))
		require.Equal(t, []int{1}, l.batch.Entries[0].Void)
		require.Equal(t, []graph.Triplet{triplet(0)}, l.batch.written())
	})
	t.Run("what was cut at the end of the range is taken back as it was", func(t *testing.T) {
		edges := neutral(1)
		e := edges[triplet(0)]
		e.Score = 199
		edges[triplet(0)] = e
		lessons := []lesson{rated(1, "ann", 1, step(0, 3)), rated(2, "ann", 2)}
		l := carryOut(fresh(lessons), edges, nil, lessons, nil, .5, time.Now())
		require.Equal(t, 199.0, l.edges[triplet(0)].Score)
	})
	t.Run("what a reset has forgotten is not taken back", func(t *testing.T) {
		lessons := []lesson{rated(2, "ann", 2, step(0, 1))}
		st := fresh(lessons)
		st.model = model{Batches: 4, Reset: 3}
		st.applied[lessons[0].Key()] = effect{"0x1", time.Unix(1, 0), 3, Entry{Kind: kindApplied, Feedback: "0x1", Steps: []Change{{0, 100, 103, 1}}}, []graph.Triplet{triplet(0)}}
		l := carryOut(st, neutral(1), nil, lessons, nil, .5, time.Now())
		require.Equal(t, 101.0, l.edges[triplet(0)].Score)
		require.Equal(t, 5, l.batch.Number)
	})
	t.Run("facets of others stay", func(t *testing.T) {
		edges := neutral(1)
		e := edges[triplet(0)]
		e.Low, e.Hidden = 2, true
		edges[triplet(0)] = e
		lessons := []lesson{rated(1, "ann", 1, step(0, 3))}
		l := carryOut(fresh(lessons), edges, nil, lessons, nil, .5, time.Now())
		require.Equal(t, graph.Contribution{Score: 103, Updates: 1, Low: 2, Hidden: true}, l.edges[triplet(0)].Contribution)
	})
}

func kinds(l *ledger) (out []string) {
	for _, e := range l.batch.Entries {
		out = append(out, e.Kind)
	}
	return out
}

func TestHoweverRatingsAreBatchedOnlyTheNewestOfEachRaterCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const edgesN = 4
		n := rapid.IntRange(1, 25).Draw(t, "ratings")
		lessons := make([]lesson, n)
		want := make([]float64, edgesN)
		newest := map[string]lesson{}
		for i := range lessons {
			var steps []credit.ScoreDelta
			for e := range edgesN {
				if rapid.Bool().Draw(t, "moves") {
					steps = append(steps, step(e, graph.RoundScore(rapid.Float64Range(-2, 2).Draw(t, "by"))))
				}
			}
			lessons[i] = rated(i+1, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "rater"), rapid.IntRange(1, 9).Draw(t, "received"), steps...)
			if old, ok := newest[lessons[i].Rater]; !ok || lessons[i].later(old.received, old.uid) {
				newest[lessons[i].Rater] = lessons[i]
			}
		}
		for e := range want {
			want[e] = 100
		}
		for _, l := range newest {
			for _, s := range l.steps {
				want[s.Object-2] += s.Delta
			}
		}

		edges, st := neutral(edgesN), fresh(lessons)
		alpha := .5
		for i := 0; i < n; {
			size := rapid.IntRange(1, n-i).Draw(t, "batch")
			l := carryOut(st, edges, nil, lessons[i:i+size], nil, .5, time.Now())
			for uid, s := range l.status {
				st.status[uid] = s
			}
			st.model.Batches, st.model.Alpha, alpha = l.batch.Number, &l.alpha, l.alpha
			i += size
		}
		for e := range want {
			require.InDelta(t, want[e], edges[triplet(e)].Score, 1e-9)
		}
		require.InDelta(t, .5+.001*float64(len(newest)), alpha, 1e-9)
		applied := 0
		for _, s := range st.status {
			if s == statusApplied {
				applied++
			}
		}
		require.Equal(t, len(newest), applied)
	})
}

func TestTheJournalIsReadBackAsItWasWritten(t *testing.T) {
	lessons := []lesson{rated(1, "ann", 1, step(0, math.Pi), step(9, 1)), rated(2, "ann", 2, step(1, -1e-9))}
	l := carryOut(fresh(lessons), neutral(2), nil, lessons, nil, .5, time.Unix(5, 0).UTC())
	body, err := json.Marshal(l.batch)
	require.NoError(t, err)
	var back Batch
	require.NoError(t, json.Unmarshal(body, &back))
	require.Equal(t, l.batch, back)
	_, err = back.entryOf("0x3")
	require.ErrorContains(t, err, "0x3")
}

// Somebody's import may have left such a row behind: it must not hold up everything that is read after it.
func TestStepsOfWeightsWithoutTheirQuestionAreSetAside(t *testing.T) {
	of := func(relation string) []Weighed {
		return []Weighed{{Of: rank.WeightOf{Relation: relation}, Delta: 1.5}}
	}
	b := Batch{Entries: []Entry{
		{Kind: kindApplied, Weights: of("owned_by"), Template: credit.Template},
		{Kind: kindApplied, Weights: of("seat"), X: &graph.Features{Index: []uint16{3}, Weight: []float32{1}}, Template: credit.Template},
	}}
	require.Len(t, b.changes(), 1)
	require.Equal(t, "seat", b.changes()[0].Of.Relation)
}
