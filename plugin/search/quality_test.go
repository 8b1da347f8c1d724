package search_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// shape is one way to retain results.
type shape struct {
	name string
	with func(*search.Query)
}

var shapes = []shape{
	{"bundles", func(q *search.Query) {}},
	{"bundles, maximal", func(q *search.Query) { q.Rule = search.Maximal }},
	{"paths", func(q *search.Query) { q.Single = true }},
	{"paths, maximal", func(q *search.Query) { q.Single, q.Rule = true, search.Maximal }},
}

// answered is the share of questions that have a gold answer on a path of the ten results
// retained for a topic entity (2 hops, 20 instances a bundle), and the share whose first
// result has one.
func answered(t testing.TB, g *resident, questions []question, ask func(question) *relevance.Question, template relevance.Template, with shape) (inTen, first float64) {
	t.Helper()
	for _, q := range questions {
		scorer := g.scorer(template, ask(q))
		ten, one := false, false
		for _, topic := range q.Topics {
			query := search.Query{Start: g.ids[topic], Hops: 2, Paths: 10, Instances: 20}
			with.with(&query)
			result, err := search.Top(context.Background(), g, scorer, query)
			require.NoError(t, err)
			for i, b := range result.Bundles {
				hit := slices.ContainsFunc(b.Paths, func(p search.Path) bool {
					return slices.ContainsFunc(p.Steps, func(s search.Step) bool { return slices.Contains(q.Answers, g.names[s.To]) })
				})
				ten = ten || hit
				one = one || hit && i == 0
			}
		}
		if ten {
			inTen++
		}
		if one {
			first++
		}
	}
	n := float64(len(questions))
	return inTen / n, first / n
}

// sample is every few questions of those with the given hops (0: any) and known topics.
func sample(g *resident, all []question, hops, n int) []question {
	var fit []question
	for _, q := range all {
		known := !slices.ContainsFunc(q.Topics, func(s string) bool { _, ok := g.ids[s]; return !ok })
		if known && (hops == 0 || q.Hops == hops) {
			fit = append(fit, q)
		}
	}
	var some []question
	for i := 0; i < n && i*len(fit)/n < len(fit); i++ {
		some = append(some, fit[i*len(fit)/n])
	}
	return some
}

// sets with the least share of answers among ten, as bundles and as single paths.
var sets = []struct {
	name           string
	hops           int // 0: any
	bundles, paths float64
}{
	{"pq-2h", 2, .93, .85},
	{"metaqa", 2, .99, .92},
	{"pql-2h", 2, .72, .66},
	{"webqsp-lite", 0, .80, .72},
}

func TestAnswersAreAmongTheRetained(t *testing.T) {
	for _, set := range sets {
		t.Run(set.name, func(t *testing.T) {
			g, all := readSet(t, set.name)
			hash, err := relevance.NewHash(relevance.DefaultDim)
			require.NoError(t, err)
			ask := func(q question) *relevance.Question { return hash.Ask(q.Question, q.Topics...) }
			questions := sample(g, all, set.hops, 500)
			var table strings.Builder
			for _, with := range shapes {
				ten, one := answered(t, g, questions, ask, relevance.DefaultTemplate, with)
				fmt.Fprintf(&table, "\n%-12s %-18s %7.3f %7.3f", set.name, with.name, ten, one)
				least := set.bundles
				if strings.HasPrefix(with.name, "paths") {
					least = set.paths
				}
				require.GreaterOrEqual(t, ten, least, with.name)
			}
			t.Logf("share of %d questions with a gold answer in ten results and in the first,\nstatic scores, 2 hops, topic entities given:%s", len(questions), table.String())
		})
	}
}
