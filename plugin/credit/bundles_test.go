package credit_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/rank"
)

// way is one path of films from node 1 along relations ("~" for inverse) over nodes.
func way(relations []string, nodes ...graph.UID) graph.Instance {
	in := graph.Instance{Nodes: []graph.Node{{UID: 1, Name: "Start"}}}
	for i, n := range nodes {
		r, from := graph.ParseRelation(relations[i]), in.Nodes[i].UID
		t := graph.Triplet{Head: from, Predicate: r.Predicate, Object: n}
		if r.Inverse {
			t.Head, t.Object = n, from
		}
		in.Triplets = append(in.Triplets, graph.ScoredTriplet{Triplet: t, Inverse: r.Inverse, Sr: .6, Sc: .5})
		in.Nodes = append(in.Nodes, graph.Node{UID: n, Name: "Node " + string(rune('A'+n-2))})
	}
	return in
}

// films has a bundle of one hop to B, one of two hops to B and C, and one of two to D.
func films() graph.Retrieval {
	bundle := func(total int, relations []string, ways ...[]graph.UID) graph.Result {
		r := graph.Result{Start: graph.Node{UID: 1, Name: "Start"}, Metapath: relations, Total: total}
		for _, w := range ways {
			r.Instances = append(r.Instances, way(relations, w...))
		}
		return r
	}
	return graph.Retrieval{Alpha: .5, Entities: []graph.Entity{{Node: graph.Node{UID: 1, Name: "Start"}}}, Results: []graph.Result{
		bundle(1, []string{"directed_by"}, []graph.UID{2}),
		bundle(2, []string{"directed_by", "~directed_by"}, []graph.UID{2, 3}, []graph.UID{2, 4}),
		bundle(1, []string{"genre", "~genre"}, []graph.UID{5, 6}),
	}}
}

func taught(t *testing.T, rule credit.BundleRule, r graph.Retrieval, value float64, response string) (weights map[rank.WeightOf]float64, scores map[graph.UID]float64) {
	embedding, err := credit.NewEmbedding()
	require.NoError(t, err)
	evaluations, err := embedding.Evaluate(t.Context(), credit.Answer{Response: response}, r)
	require.NoError(t, err)
	utilities, err := credit.Utilities(value, credit.DefaultGate(), r, evaluations)
	require.NoError(t, err)
	step, err := rule.NewLearner("x").Learn(credit.Lesson{Retrieval: r, Utilities: utilities, Mentions: credit.Mentions(r, response), Rate: 1})
	require.NoError(t, err)
	weights, scores = map[rank.WeightOf]float64{}, map[graph.UID]float64{}
	for _, w := range step.Weights {
		weights[w.Of] = w.Delta
	}
	for _, s := range step.Scores {
		scores[s.Head*100+s.Object] = s.Delta
	}
	return weights, scores
}

func TestTheBundleThatEndsAtTheResponseIsWanted(t *testing.T) {
	w, s := taught(t, credit.DefaultBundleRule(), films(), 1, "Node C")
	require.Positive(t, w[rank.WeightOf{Hops: 2}])
	require.Negative(t, w[rank.WeightOf{Hops: 1}])
	require.Positive(t, w[rank.WeightOf{Relation: "~directed_by"}], "a relation has a vector for each direction")
	require.Negative(t, w[rank.WeightOf{Relation: "~genre"}])
	require.InDelta(t, 0, w[rank.WeightOf{Hops: 1}]+w[rank.WeightOf{Hops: 2}], 1e-12, "what one gains the others lose")
	require.Negative(t, s[600+5]+s[100+5], "the edges of the other way lose")
}

func TestABadRatingOfTheOnlyOneShownBringsTheOthersBack(t *testing.T) {
	r := films()
	r.Results, r.Beyond = r.Results[:1], r.Results[2:]
	w, s := taught(t, credit.DefaultBundleRule(), r, -1, "Node A")
	require.Negative(t, w[rank.WeightOf{Hops: 1}])
	require.Positive(t, w[rank.WeightOf{Hops: 2}])
	require.Positive(t, w[rank.WeightOf{Relation: "~genre"}])
	require.Negative(t, s[100+2])
	require.NotContains(t, s, graph.UID(100+5), "what wasn't shown was not rated")

	r.Beyond = nil
	w, s = taught(t, credit.DefaultBundleRule(), r, -1, "Node A")
	require.Empty(t, w, "there is nothing to tell it from")
	require.Empty(t, s)
}

func TestAnInstanceIsToldFromItsSiblings(t *testing.T) {
	_, s := taught(t, credit.DefaultBundleRule(), films(), 1, "Node C")
	require.Greater(t, s[4*100+2], s[3*100+2], "of two films of one director the one that was named gains on the other")
}

// The director is one end of two and named; on the way to the other films he is shared. What a path
// to a name earns, another bundle can't take.
func TestThePathToANameDoesNotLoseByAGoodRating(t *testing.T) {
	r := films()
	r.Results[0].Total, r.Results[0].Instances = 2, append(r.Results[0].Instances, way([]string{"directed_by"}, 7))
	_, s := taught(t, credit.DefaultBundleRule(), r, 1, "Node F, Node B")
	require.Positive(t, s[100+7], "one director was named")
	require.NotContains(t, s, graph.UID(100+2), "the other led to a film that was")
	require.Positive(t, s[300+2])

	_, s = taught(t, credit.DefaultBundleRule(), r, -1, "Node F, Node B")
	require.Negative(t, s[100+7])
	require.NotContains(t, s, graph.UID(100+2), "nor does it gain by a bad one")
	require.Negative(t, s[300+2])
}

func TestAShortcutSaysNothingOfTheLengthOfAnswers(t *testing.T) {
	r := films()
	r.Results[0] = graph.Result{Start: r.Results[0].Start, Total: 1, Instances: []graph.Instance{way([]string{graph.ShortcutPredicate}, 3)}}
	w, _ := taught(t, credit.DefaultBundleRule(), r, 1, "Node B")
	require.NotContains(t, w, rank.WeightOf{Hops: 1})
	require.NotZero(t, w[rank.WeightOf{Hops: 2}])
	require.NotZero(t, w[rank.WeightOf{Relation: graph.ShortcutPredicate}])
}

func TestABundleThatOnlyPassesThroughTheResponseIsWantedLess(t *testing.T) {
	w, _ := taught(t, credit.DefaultBundleRule(), films(), 1, "Node A")
	require.Positive(t, w[rank.WeightOf{Hops: 1}])
	require.Negative(t, w[rank.WeightOf{Hops: 2}])

	all := credit.DefaultBundleRule()
	all.Inside = 1
	same, _ := taught(t, all, films(), 1, "Node A")
	require.Less(t, same[rank.WeightOf{Hops: 1}], w[rank.WeightOf{Hops: 1}])
}

func TestABadRatingTurnsTheStepAroundAndCountsLess(t *testing.T) {
	good, _ := taught(t, credit.DefaultBundleRule(), films(), 1, "Node A")
	bad, _ := taught(t, credit.DefaultBundleRule(), films(), -1, "Node A")
	one := rank.WeightOf{Hops: 1}
	require.Negative(t, bad[one])
	require.Less(t, math.Abs(bad[one]), 1.5*good[one])

	deaf := credit.DefaultBundleRule()
	deaf.Negative = 0
	nothing, scores := taught(t, deaf, films(), -1, "Node A")
	require.Empty(t, nothing)
	require.Empty(t, scores)
}

// The weights' gradient is the loss's own: the step of w_r is that of all Sc of its relation at
// once, the step of c_h that of all biases of its hop count.
func TestStepsOfWeightsAreTheExactGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := films()
		for i := range r.Results {
			r.Results[i].Bias = rapid.Float64Range(-.05, .05).Draw(t, "bias")
			r.Results[i].Instances = r.Results[i].Instances[:1]
			for j := range r.Results[i].Instances[0].Triplets {
				x := &r.Results[i].Instances[0].Triplets[j]
				x.Sr, x.Sc = rapid.Float64Range(.4, .9).Draw(t, "Sr"), rapid.Float64Range(.3, .7).Draw(t, "Sc")
				x.Asked = rapid.Float64Range(-.2, .2).Draw(t, "asked")
			}
		}
		// The loss reads a triplet walked twice once: the same edge has the same numbers.
		r.Results[1].Instances[0].Triplets[0] = r.Results[0].Instances[0].Triplets[0]
		u := []float64{rapid.Float64Range(-1, 1).Draw(t, "U"), rapid.Float64Range(-1, 1).Draw(t, "U"), rapid.Float64Range(-1, 1).Draw(t, "U")}
		rule := credit.BundleRule{Weights: 1, Hops: 1, WeightCap: 1e9, Cap: 1e9, Delta: .2, Negative: 1, Inside: 1, Temperature: .1}

		// the loss with every term of one weight vector moved by h
		loss := func(of rank.WeightOf, h float64) float64 {
			z := make([]float64, len(r.Results))
			for i, result := range r.Results {
				in := result.Instances[0]
				p := make([]float64, len(in.Triplets))
				for j, x := range in.Triplets {
					asked := x.Asked
					if (graph.Relation{Predicate: x.Predicate, Inverse: x.Inverse}).String() == of.Relation {
						asked += h
					}
					p[j] = rank.P(r.Alpha, x.Sr, rank.Shifted(x.Sc, asked))
				}
				bias := result.Bias
				if len(in.Triplets) == of.Hops {
					bias += h
				}
				z[i] = rank.Z(p, bias) / rule.Temperature
			}
			var mean float64
			for i, p := range rank.Softmax(nil, z) {
				mean += p * u[i]
			}
			return -math.Log((1 + mean + rule.Delta) / 2)
		}
		step, err := rule.NewLearner("x").Learn(credit.Lesson{Retrieval: r, Utilities: u, Rate: 1})
		require.NoError(t, err)
		got := map[rank.WeightOf]float64{}
		for _, w := range step.Weights {
			got[w.Of] = w.Delta
		}
		for _, of := range []rank.WeightOf{{Relation: "directed_by"}, {Relation: "~directed_by"}, {Relation: "genre"}, {Relation: "~genre"}, {Hops: 1}, {Hops: 2}} {
			const h = 1e-4
			slope := (8*(loss(of, h)-loss(of, -h)) - (loss(of, 2*h) - loss(of, -2*h))) / (12 * h)
			// Weights are raw points, 200 to the unit; the loss counts times the temperature.
			want := -graph.MaxScore * rule.Temperature * slope
			require.InDelta(t, want, got[of], 1e-5*max(1, math.Abs(want)), "%+v", of)
		}
	})
}

func TestNoStepIsLongerThanItsCap(t *testing.T) {
	rule := credit.DefaultBundleRule()
	rule.Weights, rule.Hops, rule.WeightCap, rule.Between, rule.Cap = 100, 100, 2, 100, 1
	w, s := taught(t, rule, films(), 1, "Node C")
	require.Equal(t, 2.0, w[rank.WeightOf{Hops: 2}])
	for _, d := range s {
		require.LessOrEqual(t, math.Abs(d), 1.0)
	}
	_, err := rule.NewLearner("x").Learn(credit.Lesson{Rate: math.NaN()})
	require.ErrorIs(t, err, credit.ErrNotFinite)
}
