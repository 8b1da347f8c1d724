package eval

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/render"
)

// shown is a retrieval with results from one start, each given as relation and ends.
func shown(starts string, results ...[]string) *graph.Retrieval {
	r := &graph.Retrieval{ID: "r"}
	for n, ends := range results {
		result := graph.Result{N: n + 1, Start: graph.Node{UID: 1, Name: starts}, Total: len(ends) - 1}
		for i, end := range ends[1:] {
			result.Instances = append(result.Instances, graph.Instance{
				Nodes:    []graph.Node{result.Start, {UID: graph.UID(10*n + i + 2), Name: end}},
				Triplets: []graph.ScoredTriplet{{Triplet: graph.Triplet{Head: 1, Predicate: ends[0], Object: graph.UID(10*n + i + 2)}, Label: ends[0]}},
			})
		}
		r.Results = append(r.Results, result)
	}
	r.Context = render.Context(r.Results)
	return r
}

func TestAnAnswerIsFoundWhereItsWholeNameStands(t *testing.T) {
	found := shown("Canada", []string{"bank", "Bank of Canada"}, []string{"capital", "Toronto", "Ottawa, Ontario"}, []string{"leader of [old]", "Trudeau"})
	for _, c := range []struct {
		name, answer string
		rank         int
		there        bool
	}{
		{"the end of the best result", "bank of canada", 1, true},
		{"part of a longer name proves nothing, nor does the start", "Canada", 0, false},
		{"a name with a comma", "Ottawa, Ontario", 2, true},
		{"a name inside a bundle", "Toronto", 2, true},
		{"behind a relation with brackets", "Trudeau", 3, true},
		{"a relation is no answer", "capital", 0, false},
		{"two neighbours are not one name", "Toronto Ottawa", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := read(Question{Answers: []string{c.answer}}, found)
			require.Equal(t, c.rank, r.Rank)
			require.Equal(t, c.there, r.First != never)
			if c.there {
				require.Equal(t, []string{c.answer}, r.Seen)
				end := strings.Index(strings.ToLower(found.Context), strings.ToLower(c.answer)) + len(c.answer)
				require.Equal(t, tokens(end), r.First, "up to the name's end")
			}
		})
	}
	require.Equal(t, []string{"Bank of Canada"}, read(Question{}, found).Top)
}

func TestAnAnswerBehindTheBudgetIsNotSeen(t *testing.T) {
	found := shown("A", []string{"r", strings.Repeat("x", Budget*bytesPerToken), "Here"})
	r := read(Question{Answers: []string{"Here"}}, found)
	require.Equal(t, 1, r.Rank)
	require.Empty(t, r.Seen)
	require.Greater(t, r.First, Budget)
	require.Equal(t, r.Top, respond(r), "the reader takes the best result for it")
	o := outcome(Question{Answers: []string{"Here"}}, r, "Here")
	require.Zero(t, o.Within)
	require.Equal(t, 1.0, o.MRR)
}

func TestResponsesAreComparedAsThePaperDoes(t *testing.T) {
	for _, c := range []struct {
		name, response string
		gold           []string
		acc, em, f1    float64
	}{
		{"the answer itself", "The Ottawa.", []string{"Ottawa"}, 1, 1, 1},
		{"a sentence around it", "It is Ottawa", []string{"Ottawa"}, 1, 0, .5},
		{"one of several", "Ottawa", []string{"Ottawa", "Toronto"}, 1, 1, 1},
		{"all of several, in another order", "Toronto, Ottawa", []string{"Ottawa", "Toronto"}, 1, 1, 1},
		{"part of a word is no answer", "Ottawans", []string{"Ottawa"}, 0, 0, 0},
		{"silence", "", []string{"Ottawa"}, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			acc, em, f1 := Text(c.response, c.gold)
			require.InDeltaSlice(t, []float64{c.acc, c.em, c.f1}, []float64{acc, em, f1}, 1e-12)
		})
	}
	require.InDelta(t, 2./3, F1([]string{"a", "B"}, []string{"b"}), 1e-12)
	require.Zero(t, F1(nil, []string{"b"}))
}

func TestABootstrapIntervalHoldsTheMean(t *testing.T) {
	one := []float64{0, 1, 1, 0, 1, 0, 1, 1}
	i := bootstrap([][]float64{one, one}, 1)
	require.InDelta(t, .625, i.Mean, 1e-12)
	require.Less(t, i.Low, i.Mean)
	require.Greater(t, i.High, i.Mean)
	require.Equal(t, 16, i.N)
	require.Equal(t, Interval{Mean: 2, Low: 2, High: 2, N: 3}, bootstrap([][]float64{{2, 2, 2}}, 1), "no spread, no width")
	require.Zero(t, bootstrap(nil, 1))
	wide := bootstrap([][]float64{{0, 0, 0, 0}, {1, 1, 1, 1}}, 1)
	require.Equal(t, []float64{0, 1}, []float64{wide.Low, wide.High}, "seeds that differ as wholes count as few")
}

func TestTheFewestTokensForARecall(t *testing.T) {
	outcomes := []Outcome{{First: 50}, {First: never}, {First: 10}, {First: 400}}
	require.Equal(t, .5, within(outcomes, Budget))
	require.Equal(t, 50, enough(outcomes, .5))
	require.Equal(t, 400, enough(outcomes, .75))
	require.Zero(t, enough(outcomes, .9))
}
