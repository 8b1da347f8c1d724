package llm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
)

func TestTheJudgeRates(t *testing.T) {
	r := films()
	for _, c := range []struct {
		name string
		give llm.Case
		want []string
		not  []string
	}{
		{"against a reference", llm.Case{Question: "Who?", Response: "Ridley", Reference: "Ridley Scott", Retrieval: &r},
			[]string{`Question: "Who?"`, `Reference, the right answer: "Ridley Scott"`, `Response: "Ridley"`}, []string{"<paths>"}},
		{"by the paths", llm.Case{Question: "Who?", Response: "Ridley", Retrieval: &r},
			[]string{"<paths>", "Question: Who?", `Response: "Ridley"`}, []string{"Reference"}},
		{"by what it knows", llm.Case{Question: "Who?", Response: "Ridley"},
			[]string{`Question: "Who?"`, `Response: "Ridley"`}, []string{"<paths>", "Reference"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := script(t, says(`{"reason":"It  is\nright.","score":5}`))
			k, _ := client(t, s, nil)
			got, err := llm.NewJudge(k).Rate(t.Context(), c.give)
			require.NoError(t, err)
			require.Equal(t, llm.Rating{Score: 5, Reason: "It is right."}, got)
			content := s.Sent(t, 0)[1].Content
			for _, w := range c.want {
				require.Contains(t, content, w)
			}
			for _, n := range c.not {
				require.NotContains(t, content, n)
			}
		})
	}
}

func TestARatingIsAWholeNumberFromOneToFive(t *testing.T) {
	for text, fault := range map[string]string{
		`{"reason":"r","score":0}`:         "0 is not between 1 and 5",
		`{"reason":"r","score":6}`:         "6 is not between 1 and 5",
		`{"reason":"r","score":3.5}`:       "3.5 is not a whole number",
		`{"reason":"r","score":"5"}`:       `"5" is not a number`,
		`{"reason":"r"}`:                   `"score" is missing`,
		`{"reason":7,"score":5}`:           `"reason" is not a string`,
		`{"reason":"r","score":5,"a":1}`:   `"a" was not asked for`,
		`{"Bewertung":5,"Begründung":"r"}`: `"reason" is missing`,
		`5`:                                "it holds no JSON object",
	} {
		t.Run(text, func(t *testing.T) {
			s := script(t, says(text))
			k, _ := client(t, s, nil)
			_, err := llm.NewJudge(k).Rate(t.Context(), llm.Case{Question: "q", Response: "r"})
			require.ErrorIs(t, err, llm.ErrOutput)
			require.ErrorContains(t, err, fault)
			require.Equal(t, 2, s.Calls())
		})
	}
}

func TestThereIsNoRatingWithoutAResponse(t *testing.T) {
	s := script(t, says("x"))
	k, _ := client(t, s, nil)
	_, err := llm.NewJudge(k).Rate(t.Context(), llm.Case{Question: "q"})
	require.ErrorIs(t, err, llm.ErrNoResponse)
	require.Zero(t, s.Calls())
}
