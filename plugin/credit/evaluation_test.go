package credit_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// owners is a studio's owners, one of them of today: a bundle of two and a single path.
func owners() graph.Retrieval {
	studio := graph.Node{UID: 1, Name: "20th Century Studios"}
	line := func(label string, uid graph.UID, name string) graph.Instance {
		return graph.Instance{
			Nodes:    []graph.Node{studio, {UID: uid, Name: name}},
			Triplets: []graph.ScoredTriplet{{Triplet: graph.Triplet{Head: 1, Predicate: label, Object: uid}, Label: label, Score: 100, Sr: .7, Sc: .5}},
		}
	}
	return graph.Retrieval{
		Question: "Who is 20th Century Studios owned by?", Alpha: .5,
		Entities: []graph.Entity{{Node: studio}},
		Results: []graph.Result{
			{N: 1, Start: studio, Total: 2, Instances: []graph.Instance{line("owned by", 2, "21st Century Fox"), line("owned by", 3, "The Walt Disney Company")}},
			{N: 2, Start: studio, Total: 1, Instances: []graph.Instance{line("located in", 4, "Los Angeles")}},
		},
	}
}

func TestEmbeddingBelievesNamesThenWords(t *testing.T) {
	e, err := credit.NewEmbedding()
	require.NoError(t, err)
	for _, c := range []struct {
		name, response string
		want           []float64
		within         float64
	}{
		{"a name in the response is a whole contribution", "It is owned by THE WALT DISNEY COMPANY.", []float64{1, 0}, .2},
		{"the topic's own name proves nothing", "I know nothing of 20th Century Studios", []float64{.5, .5}, .5},
		{"words in another order are no name", "century 21st fox", []float64{.5, 0}, .5},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := e.Evaluate(t.Context(), credit.Answer{Response: c.response}, owners())
			require.NoError(t, err)
			for i, x := range got {
				require.InDelta(t, c.want[i], x.Support, c.within)
				require.Equal(t, x.Support, x.Fidelity)
				require.Zero(t, x.Conflict)
			}
		})
	}
	got, err := e.Evaluate(t.Context(), credit.Answer{Response: "I know nothing of 20th Century Studios"}, owners())
	require.NoError(t, err)
	require.Less(t, got[0].Support, 1.0)
	_, err = e.Evaluate(t.Context(), credit.Answer{Response: " "}, owners())
	require.ErrorIs(t, err, credit.ErrNoResponse)
}

func TestGoldComparesFarEndsWithReferences(t *testing.T) {
	got, err := credit.Gold{}.Evaluate(t.Context(), credit.Answer{Gold: []string{"the walt disney company"}}, owners())
	require.NoError(t, err)
	require.InDelta(t, 2*2./3-1, got[0].Support, 1e-12, "one of two ends, all of the gold: F1 is 2/3")
	require.Equal(t, credit.Evaluation{Support: -1, Fidelity: 1}, got[1])
	_, err = credit.Gold{}.Evaluate(t.Context(), credit.Answer{Gold: []string{"?"}}, owners())
	require.ErrorIs(t, err, credit.ErrNoGold)
}

func TestUtilitiesAreValueTimesSupportBehindTheGate(t *testing.T) {
	got, err := credit.Utilities(-1, credit.DefaultGate(), owners(), []credit.Evaluation{{Support: .8, Fidelity: .3}, {Support: .8, Fidelity: .29}})
	require.NoError(t, err)
	require.Equal(t, []float64{-.8, 0}, got, "a result that did not contribute is neutral")
	got, err = credit.Utilities(1, credit.DefaultGate(), owners(), []credit.Evaluation{{Support: .8, Fidelity: 1, Conflict: .1}, {Support: .5, Fidelity: 1}})
	require.NoError(t, err)
	require.Equal(t, []float64{0, .5}, got, "a result that contradicts is neutral")

	for name, evaluations := range map[string][]credit.Evaluation{
		"too few evaluations":     {{}},
		"a NaN":                   {{Support: math.NaN()}, {}},
		"a number out of range":   {{}, {Fidelity: 1.01}},
		"an infinity as conflict": {{Conflict: math.Inf(-1)}, {}},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			_, err := credit.Utilities(1, credit.DefaultGate(), owners(), evaluations)
			require.Error(t, err)
		})
	}
	_, err = credit.Utilities(math.NaN(), credit.DefaultGate(), owners(), make([]credit.Evaluation, 2))
	require.Error(t, err)
}

func TestARatingIsAValueAroundThree(t *testing.T) {
	for rating, want := range map[float64]float64{1: -1, 3: 0, 4: .5, 5: 1} {
		v, err := credit.Value(rating)
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	for _, bad := range []float64{0, 5.1, math.NaN(), math.Inf(1)} {
		_, err := credit.Value(bad)
		require.ErrorContains(t, err, "from 1 to 5")
	}
}

func TestANameIsFoundInAResponse(t *testing.T) {
	r := graph.Retrieval{Entities: []graph.Entity{{Node: graph.Node{UID: 1, Name: "Start"}}}}
	names := []string{"Hungary", "Kingdom of Hungary", "EightBreeders", "L'Ágora", "?", "Titanic (1997 film)", "The Walt Disney Company", "東京"}
	for i, name := range names {
		r.Results = append(r.Results, graph.Result{Start: graph.Node{UID: 1, Name: "Start"}, Instances: []graph.Instance{{
			Nodes:    []graph.Node{{UID: 1, Name: "Start"}, {UID: graph.UID(i + 2), Name: name}},
			Triplets: []graph.ScoredTriplet{{}},
		}}})
	}
	judge, err := credit.NewEmbedding()
	require.NoError(t, err)
	for response, want := range map[string][]string{
		"It lay in the Kingdom of Hungary.":                     {"Kingdom of Hungary"},
		"the kingdom of hungary, later Hungary":                 {"Hungary", "Kingdom of Hungary"},
		"Start, EightBreeders, Kiss_+_Swallow":                  {"EightBreeders"},
		"eightbreeders":                                         {"EightBreeders"},
		"They met in L’Agora":                                   {"L'Ágora"},
		"Kingdom of the Netherlands? Of Hungary's sons, nobody": {"Hungary"},
		"the Start": nil,
	} {
		var ends []string
		for i, m := range credit.Mentions(r, response) {
			if m[0].End {
				ends = append(ends, names[i])
			}
		}
		require.Equal(t, want, ends, response)
		evaluations, err := judge.Evaluate(t.Context(), credit.Answer{Response: response}, r)
		require.NoError(t, err)
		for i, e := range evaluations {
			require.Equal(t, slices.Contains(want, names[i]), e.Support == 1, "%s: %s", response, names[i])
		}
	}
}

func TestABundlesInstancesAreJudgedByTheirOwnObjects(t *testing.T) {
	r := owners()
	require.Equal(t, [][]credit.Mention{{{}, {End: true, Some: true, Own: true}}, {{}}}, credit.Mentions(r, "The Walt Disney Company owns it"))

	learn := func(rule credit.Rule, u float64, response string) map[graph.UID]float64 {
		step, err := rule.NewLearner("x").Learn(credit.Lesson{Retrieval: r, Utilities: []float64{u, 0}, Mentions: credit.Mentions(r, response), Rate: 1})
		require.NoError(t, err)
		out := map[graph.UID]float64{}
		for _, s := range step.Scores {
			out[s.Object] = s.Delta
		}
		return out
	}
	good := learn(smallSteps, 1, "The Walt Disney Company")
	require.Positive(t, good[3])
	require.Negative(t, good[2], "its sibling makes room")
	bad := learn(smallSteps, -1, "21st Century Fox")
	require.Negative(t, bad[2])
	require.Positive(t, bad[3])
	neither := learn(smallSteps, 1, "somebody")
	require.Equal(t, neither[2], neither[3], "where the response names none, all inherit alike")

	best := smallSteps
	best.Best = true
	one := learn(best, 1, "The Walt Disney Company")
	require.NotContains(t, one, graph.UID(3), "only the best instance stands for its result")
	require.Positive(t, one[2])
}
