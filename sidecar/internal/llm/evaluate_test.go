package llm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
)

const (
	good   = `{"1":{"support":1,"fidelity":0.9,"conflict":-1},"2":{"support":-0.5,"fidelity":0,"conflict":0.25}}`
	first  = `"1":{"support":1,"fidelity":0.9,"conflict":-1}`
	second = `"2":{"support":-0.5,"fidelity":0,"conflict":0.25}`
)

var judged = []credit.Evaluation{{Support: 1, Fidelity: 0.9, Conflict: -1}, {Support: -0.5, Fidelity: 0, Conflict: 0.25}}

var about = credit.Answer{Question: "Who directed Alien?", Response: "Ridley Scott", Gold: []string{"Sir Ridley Scott"}}

func TestOneCallEvaluatesAllPaths(t *testing.T) {
	for name, text := range map[string]string{
		"as asked":                 good,
		"in another order":         "{" + second + "," + first + "}",
		"in a fence":               "```json\n" + good + "\n```",
		"with words around it":     "Certainly! Here it is:\n" + good + "\nI hope this helps.",
		"after thinking aloud":     "<think>Line {1} says so.</think>" + good,
		"with numbers of any kind": strings.Replace(good, `0.9`, `9e-1`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			s := script(t, says(text))
			k, _ := client(t, s, nil)
			got, err := llm.NewEvaluator(k).Evaluate(t.Context(), about, films())
			require.NoError(t, err)
			require.Equal(t, judged, got)
			require.Equal(t, 1, s.Calls())
			task := s.Sent(t, 0)[1].Content
			require.Contains(t, task, `"Ridley Scott"`)
			require.Contains(t, task, `"Sir Ridley Scott"`)
		})
	}
}

func TestInvalidOutputIsRetriedOnceWithItsFaultAndNeverGuessed(t *testing.T) {
	for _, c := range []struct{ name, text, fault string }{
		{"half JSON", good[:len(good)-20], "it is not JSON"},
		{"half JSON in a fence", "```json\n{" + first + ",\n```", "it is not JSON"},
		{"no JSON", "Line 1 supports the response fully.", "it holds no JSON object"},
		{"an array", `[1,2]`, "it holds no JSON object"},
		{"a missing path", "{" + first + "}", `"2" is missing`},
		{"an extra path", strings.TrimSuffix(good, "}") + `,"3":{"support":0,"fidelity":0,"conflict":0}}`, `"3" was not asked for`},
		{"a path twice", "{" + first + "," + first + "," + second + "}", `"1" stands in it twice`},
		{"a number out of range", strings.Replace(good, "0.9", "1.5", 1), `in "1" "fidelity": 1.5 is not between -1 and 1`},
		{"a huge number", strings.Replace(good, "0.9", "1e999", 1), `1e999 is not a number`},
		{"NaN in a string", strings.Replace(good, "0.9", `"NaN"`, 1), `"NaN" is not a number`},
		{"a bare NaN", strings.Replace(good, "0.9", `NaN`, 1), "it is not JSON"},
		{"a number in a string", strings.Replace(good, "0.9", `"0.9"`, 1), `"0.9" is not a number`},
		{"null", strings.Replace(good, "0.9", `null`, 1), `null is not a number`},
		{"a missing number", strings.Replace(good, `"fidelity":0.9,`, "", 1), `in "1" "fidelity" is missing`},
		{"an extra word", strings.Replace(good, `"fidelity":0.9,`, `"fidelity":0.9,"why":"x",`, 1), `"why" was not asked for`},
		{"another language", strings.NewReplacer("support", "soutien", "fidelity", "fidélité", "conflict", "contradiction").Replace(good), `in "1" "support" is missing`},
		{"two objects", good + good, "there is more behind the JSON object"},
		{"nothing", "", "it was empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Run("mended at the second try", func(t *testing.T) {
				s := script(t, says(c.text), says(good))
				k, _ := client(t, s, nil)
				got, err := llm.NewEvaluator(k).Evaluate(t.Context(), about, films())
				require.NoError(t, err)
				require.Equal(t, judged, got)
				again := s.Sent(t, 1)
				require.Len(t, again, 4)
				require.Equal(t, s.Sent(t, 0), again[:2])
				require.Equal(t, "assistant", again[2].Role)
				require.Contains(t, again[3].Content, c.fault)
			})
			t.Run("the same again", func(t *testing.T) {
				s := script(t, says(c.text))
				k, _ := client(t, s, nil)
				got, err := llm.NewEvaluator(k).Evaluate(t.Context(), about, films())
				require.Nil(t, got)
				require.ErrorIs(t, err, llm.ErrOutput)
				require.ErrorIs(t, err, llm.ErrWait)
				require.ErrorIs(t, err, credit.ErrUnusable)
				require.ErrorContains(t, err, c.fault)
				require.ErrorContains(t, err, "wait")
				require.Equal(t, 2, s.Calls())
			})
		})
	}
}

func TestOutputThatIsCutOffIsInvalid(t *testing.T) {
	s := script(t, chooses(map[string]any{"content": good[:len(good)-1]}, "length"))
	k, _ := client(t, s, nil)
	_, err := llm.NewEvaluator(k).Evaluate(t.Context(), about, films())
	require.ErrorIs(t, err, llm.ErrOutput)
	require.ErrorContains(t, err, "cut off")
}

// Held to a schema, small models end the object and go on with blank lines until they have no more tokens.
func TestAnObjectThatIsWholeIsNotCutOff(t *testing.T) {
	s := script(t, chooses(map[string]any{"content": good + strings.Repeat("\n", 500)}, "length"))
	k, _ := client(t, s, nil)
	got, err := llm.NewEvaluator(k).Evaluate(t.Context(), about, films())
	require.NoError(t, err)
	require.Equal(t, judged, got)
	require.Equal(t, 1, s.Calls())
}

func TestAnEvaluationThatCannotBeHadWaits(t *testing.T) {
	for name, turn := range map[string]turn{
		"a refusal":      chooses(map[string]any{"refusal": "no"}, "stop"),
		"a failure":      fails(500, "x"),
		"a wrong key":    fails(401, "x"),
		"no choices":     answersJSON(200, map[string]any{"choices": []any{}}),
		"half an answer": answersText(`{"choices":[`),
	} {
		t.Run(name, func(t *testing.T) {
			s := script(t, turn)
			k, _ := client(t, s, nil)
			got, err := llm.NewEvaluator(k).Evaluate(t.Context(), about, films())
			require.Nil(t, got)
			require.ErrorIs(t, err, llm.ErrWait)
			require.Equal(t, name == "a refusal" || name == "no choices", errors.Is(err, credit.ErrUnusable), "a server that is away says nothing about the rating")
		})
	}
}

func TestNothingToEvaluateCostsNothing(t *testing.T) {
	s := script(t, says(good))
	k, _ := client(t, s, nil)
	e := llm.NewEvaluator(k)
	got, err := e.Evaluate(t.Context(), about, graph.Retrieval{})
	require.NoError(t, err)
	require.Empty(t, got)
	_, err = e.Evaluate(t.Context(), credit.Answer{Question: "q", Response: " "}, films())
	require.ErrorIs(t, err, llm.ErrNoResponse)
	require.NotErrorIs(t, err, llm.ErrWait)
	require.Zero(t, s.Calls())
}
