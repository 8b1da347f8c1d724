package proxy_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/search"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// question is one line of a question set's questions.jsonl.
type question struct {
	Question string   `json:"question"`
	Topics   []string `json:"topic_entities"`
	Answers  []string `json:"answers"`
	Hops     int      `json:"hops"`
}

// TestRecallOnQuestionSets measures, with static scores, the share of questions whose gold
// answer is the end of one of the ten results kept for each topic entity. EVORAG_DATA names
// the folder of the sets, EVORAG_QUESTIONS how many to ask of each (200; 0 for all).
func TestRecallOnQuestionSets(t *testing.T) {
	folder := os.Getenv("EVORAG_DATA")
	if folder == "" {
		t.Skip("EVORAG_DATA names no folder of question sets")
	}
	limit := 200
	if s := os.Getenv("EVORAG_QUESTIONS"); s != "" {
		var err error
		limit, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	for _, set := range []struct {
		name             string
		bundles, singles float64 // what must be reached at least: the measured share less a margin
	}{{"pq-2h", .90, .80}, {"metaqa", .97, .89}} {
		t.Run(set.name, func(t *testing.T) {
			asked := questions(t, filepath.Join(folder, set.name, "questions.jsonl"), 2, limit)
			c := newCluster(t)
			o := c.Options
			o.Rule = search.All // the product's default
			p, err := proxy.New(o)
			require.NoError(t, err)
			c.Proxy = p
			c.loadFile(t, filepath.Join(folder, set.name, "triples.tsv"))
			bundles, singles := c.recall(t, asked, true), c.recall(t, asked, false)
			fmt.Printf("recall %s 2 hops, %d questions: %.3f as bundles, %.3f as single paths\n", set.name, len(asked), bundles, singles)
			require.Greater(t, bundles, set.bundles)
			require.Greater(t, singles, set.singles)
		})
	}
}

func (c *cluster) recall(t *testing.T, asked []question, bundle bool) float64 {
	hits := 0
	for _, q := range asked {
		var names string
		for i, topic := range q.Topics {
			names += map[bool]string{true: "", false: ", "}[i == 0] + graph.Quote(topic)
		}
		_, r := c.query(t, fmt.Sprintf("query ask($q: string) { paths(func: eq(name, [%s])) @evorag(query: $q, hops: 2, paths: 10, bundle: %t) { name } }", names, bundle), "$q", q.Question)
		require.Empty(t, r.Reason, q.Question)
		hit := false
		for _, result := range r.Results {
			for _, in := range result.Instances {
				hit = hit || slices.Contains(q.Answers, in.Nodes[len(in.Nodes)-1].Name)
			}
		}
		if hit {
			hits++
		}
	}
	return float64(hits) / float64(len(asked))
}

// questions reads those of the given hops, evenly spread over the file when there are more
// than the limit.
func questions(t *testing.T, file string, hops, limit int) []question {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Skipf("no question set: %v", err)
	}
	defer f.Close()
	var all []question
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var q question
		require.NoError(t, json.Unmarshal(lines.Bytes(), &q))
		if q.Hops == hops {
			all = append(all, q)
		}
	}
	require.NoError(t, lines.Err())
	if limit == 0 || len(all) <= limit {
		return all
	}
	var some []question
	for i := range limit {
		some = append(some, all[i*len(all)/limit])
	}
	return some
}
