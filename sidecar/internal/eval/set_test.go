package eval_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/eval"
)

// companies is a made-up set: firms with a founder who has a birthplace, and wordings of what one
// may ask about them.
func companies(t testing.TB, firms int) *eval.Set {
	dir := filepath.Join(t.TempDir(), "companies")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	var triples, questions strings.Builder
	for i := range firms {
		firm, founder, town := fmt.Sprintf("Firm %d", i), fmt.Sprintf("Person %d", i), fmt.Sprintf("Town %d", i%7)
		fmt.Fprintf(&triples, "%s\tfounded_by\t%s\n%s\tborn_in\t%s\n%s\tmarried_to\tSpouse %d\n%s\tlocated_in\tTown %d\n", firm, founder, founder, town, founder, i, firm, (i+3)%7)
		for n, wording := range []string{"Where does the founder of %s come from?", "What is the home of the founder of %s?", "Which place did the founder of %s first see?"} {
			fmt.Fprintf(&questions, `{"id": "q%d-%d", "question": %q, "topic_entities": [%q], "answers": [%q], "hops": 2, "group": %d, "relation_path": ["founded_by", "born_in"]}`+"\n",
				i, n, fmt.Sprintf(wording, firm), firm, town, i)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "triples.tsv"), []byte(triples.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "questions.jsonl"), []byte(questions.String()), 0o600))
	s, err := eval.ReadSet(dir)
	require.NoError(t, err)
	return s
}

func TestASetIsReadOrSaysWhatIsMissing(t *testing.T) {
	s := companies(t, 10)
	require.Equal(t, "companies", s.Name)
	require.Equal(t, 2, s.Hops)
	require.Len(t, s.Questions, 30)
	triples, err := s.Triples()
	require.NoError(t, err)
	require.Len(t, triples, 40)
	require.Equal(t, eval.Triple{"Firm 0", "founded_by", "Person 0"}, triples[0])

	write := func(name, text string) string {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "triples.tsv"), []byte("a\tb\tc\n"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return dir
	}
	for name, c := range map[string]struct{ dir, says string }{
		"no graph":         {t.TempDir(), "no triples.tsv"},
		"broken line":      {write("questions.jsonl", `{"id": "1", "question": "q", "topic_entities": ["a"], "answers": ["c"]}`+"\n{"), "questions.jsonl:2"},
		"nothing to ask":   {write("questions.jsonl", `{"id": "1", "question": "q", "topic_entities": [], "answers": ["c"]}`), "no question with"},
		"question unnamed": {write("questions.jsonl", `{"question": "q"}`), "id or question is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := eval.ReadSet(c.dir)
			require.ErrorContains(t, err, c.says)
		})
	}
	_, err = eval.ReadSets(t.TempDir(), nil)
	require.ErrorContains(t, err, "no question set")
	sets, err := eval.ReadSets(filepath.Dir(s.Dir), nil)
	require.NoError(t, err)
	require.Len(t, sets, 1)
}

func TestSplitsKeepApartWhatTheySay(t *testing.T) {
	s := companies(t, 90)
	triples, err := s.Triples()
	require.NoError(t, err)
	size := eval.Sizes{Train: 100, Test: 40}
	ids := func(questions []eval.Question) map[string]bool {
		out := map[string]bool{}
		for _, q := range questions {
			out[q.ID] = true
		}
		return out
	}
	topics := func(questions []eval.Question) map[string]bool {
		out := map[string]bool{}
		for _, q := range questions {
			out[q.Topics[0]] = true
		}
		return out
	}
	for _, kind := range eval.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			split, err := eval.NewSplit(kind, s, triples, 2, size, 1)
			require.NoError(t, err)
			again, err := eval.NewSplit(kind, s, triples, 2, size, 1)
			require.NoError(t, err)
			require.Equal(t, split, again, "the same seed makes the same split")
			other, err := eval.NewSplit(kind, s, triples, 2, size, 2)
			require.NoError(t, err)
			require.NotEqual(t, ids(split.Test), ids(other.Test))
			require.LessOrEqual(t, len(split.Test), size.Test)
			require.LessOrEqual(t, len(split.Round(1, 2)), size.Train)
			train, test := ids(split.Train), ids(split.Test)
			for id := range test {
				require.NotContains(t, train, id)
			}
			switch kind {
			case eval.Paraphrase:
				rated := topics(split.Train)
				for topic := range topics(split.Test) {
					require.Contains(t, rated, topic, "each held-out wording is of a fact that is rated")
				}
			case eval.Unseen:
				rated := topics(split.Train)
				for topic := range topics(split.Test) {
					require.NotContains(t, rated, topic)
				}
			case eval.Chronological:
				require.Equal(t, slices.Concat(split.Round(1, 2), split.Round(2, 2)), split.Train, "each is rated once")
				for _, q := range split.Test {
					at := slices.IndexFunc(s.Questions, func(o eval.Question) bool { return o.ID == q.ID })
					require.GreaterOrEqual(t, at, len(s.Questions)*2/3)
				}
			case eval.Protocol:
				held := map[string][]string{}
				for _, q := range split.Test {
					held[q.Topics[0]] = q.Answers
				}
				for _, q := range split.Train {
					require.Contains(t, held, q.Topics[0], "it begins in the subgraph of a held-out question")
					require.LessOrEqual(t, len(q.Steps), 2)
					require.NotEqual(t, []string{"founded_by", "born_in"}, q.Steps, "and asks something else")
				}
				require.Contains(t, split.Train[0].Text, split.Train[0].Topics[0])
			}
		})
	}
	_, err = eval.NewSplit(eval.Paraphrase, companies(t, 5), nil, 2, size, 1)
	require.ErrorIs(t, err, eval.ErrNoSplit)
	_, err = eval.NewSplit("other", s, nil, 2, size, 1)
	require.ErrorContains(t, err, "paraphrase")
}
