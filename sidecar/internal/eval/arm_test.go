package eval

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

// answeredRight are n examples with the right response, and as many with a wrong one.
func answeredRight(n int) []example {
	var out []example
	for i := range 2 * n {
		e := example{question: Question{Answers: []string{"Ottawa"}}, found: shown("Canada", []string{"capital", "Ottawa"}, []string{"city", "Toronto"}), response: []string{"Ottawa"}}
		if i%2 == 1 {
			e.response = []string{"Toronto"}
		}
		e.text = e.response[0]
		out = append(out, e)
	}
	return out
}

func TestRatings(t *testing.T) {
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	rate := func(a Arm) (examples []example, mean, right float64) {
		examples = answeredRight(200)
		a.rated(examples, hash, rand.New(rand.NewPCG(1, 1)))
		agree := 0
		for _, e := range examples {
			require.GreaterOrEqual(t, e.score, 1.0)
			require.LessOrEqual(t, e.score, 5.0)
			mean += e.score / float64(len(examples))
			if (e.score > 3) == (e.text == "Ottawa") {
				agree++
			}
		}
		return examples, mean, float64(agree) / float64(len(examples))
	}
	_, average, right := rate(Arm{})
	require.InDeltaSlice(t, []float64{3, 1}, []float64{average, right}, 1e-9, "F1 is 1 or 0")
	_, _, right = rate(Arm{Source: Embedding})
	require.Equal(t, 1.0, right)
	_, _, right = rate(Arm{Inverted: .3})
	require.InDelta(t, .7, right, .06)
	_, average, right = rate(Arm{Shuffled: true})
	require.InDelta(t, 3, average, 1e-9, "shuffling keeps the ratings")
	require.InDelta(t, .5, right, .08, "and cuts them off from what was answered")
}

// A model answers in sentences and cites what it used, as it is told to. It is not to be punished for that.
func TestARightAnswerInASentenceIsRatedAsRight(t *testing.T) {
	examples := []example{
		{question: Question{Answers: []string{"Ottawa"}}, text: "The capital of Canada is the city of Ottawa [1]."},
		{question: Question{Answers: []string{"Ottawa"}}, text: "The capital of Canada is Toronto [2]."},
		{question: Question{Answers: []string{"Upper Canada"}}, text: "Canada [1]"},
	}
	Arm{}.rated(examples, nil, rand.New(rand.NewPCG(1, 1)))
	require.InDelta(t, 5, examples[0].score, 0)
	require.InDelta(t, 1, examples[1].score, 0)
	require.InDelta(t, 1+4*2./3, examples[2].score, 1e-9, "half of the words, and no others")
}

func TestARatingCarriesReferenceAnswersOnlyWhereAsked(t *testing.T) {
	e := answeredRight(1)[0]
	require.Empty(t, Arm{}.rating(e, "id").Answer)
	require.Equal(t, []string{"Ottawa"}, Arm{Judge: "gold"}.rating(e, "id").Answer)
}
