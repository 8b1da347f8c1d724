package evolve_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// On real questions about films the good paths go against an edge and then along one: who
// starred in the films that X directed? Every gold path is praised once, and what else leads
// from the topic is blamed a little, as feedback does.
func TestGoodPathsOfAFilmQuestionSetBecomeShortcuts(t *testing.T) {
	root := os.Getenv("EVORAG_DATA")
	if root == "" {
		t.Skip("EVORAG_DATA is not set; set it to the folder of question sets")
	}
	ids := map[string]graph.UID{}
	id := func(name string) graph.UID {
		if ids[name] == 0 {
			ids[name] = graph.UID(len(ids) + 1)
		}
		return ids[name]
	}
	at := map[graph.UID][]graph.Triplet{}
	s := evolve.Snapshot{Inverse: map[string]bool{}}
	read(t, filepath.Join(root, "metaqa", "triples.tsv"), func(line string) {
		f := strings.Split(line, "\t")
		tr := graph.Triplet{Head: id(f[0]), Predicate: f[1], Object: id(f[2])}
		at[tr.Head], at[tr.Object] = append(at[tr.Head], tr), append(at[tr.Object], tr)
		s.Inverse[tr.Predicate] = true
		s.Total++
	})
	scores := map[graph.Triplet]float64{}
	move := func(tr graph.Triplet, by float64) {
		if _, known := scores[tr]; !known {
			scores[tr] = graph.NeutralScore
		}
		scores[tr] = min(max(scores[tr]+by, 0), graph.MaxScore)
	}
	questions := 0
	read(t, filepath.Join(root, "metaqa", "questions.jsonl"), func(line string) {
		var q struct {
			Topics []string    `json:"topic_entities"`
			Path   [][3]string `json:"gold_path"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &q))
		if len(q.Path) < 2 {
			return
		}
		questions++
		var gold []graph.Triplet
		for _, p := range q.Path {
			gold = append(gold, graph.Triplet{Head: id(p[0]), Predicate: p[1], Object: id(p[2])})
		}
		for _, tr := range gold {
			move(tr, 12)
		}
		for _, topic := range q.Topics {
			for _, tr := range at[id(topic)] {
				if !slices.Contains(gold, tr) {
					move(tr, -2)
				}
			}
		}
	})
	for tr, score := range scores {
		s.Edges = append(s.Edges, evolve.Edge{Triplet: tr, Contribution: graph.Contribution{Score: score, Updates: 1}})
	}
	p, err := evolve.Propose(s, evolve.DefaultRules(), "run")
	require.NoError(t, err)
	c := p.Build(nil)
	mixed := 0
	for _, sc := range c.Shortcuts {
		back := 0
		for _, st := range sc.Path.Steps {
			if st.Inverse {
				back++
			}
		}
		if back > 0 && back < sc.Path.Hops() {
			mixed++
		}
	}
	t.Logf("%d questions, %d of %d triplets touched, good above %.1f, low below %.1f: %d shortcuts, %d of them mix directions, %d low",
		questions, c.Touched, s.Total, c.High, c.Thresholds.Low, len(c.Shortcuts), mixed, len(c.Changes))
	require.NotZero(t, mixed)
}

func read(t *testing.T, file string, each func(string)) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		each(lines.Text())
	}
	require.NoError(t, lines.Err())
}
