package eval

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// world has firms in towns of countries: two relations that fit together.
func world(n int) (triples []Triple, questions []Question) {
	for i := range n {
		firm, town, country := fmt.Sprintf("Firm %d", i), fmt.Sprintf("Town %d", i%20), fmt.Sprintf("Country %d", i%20%4)
		triples = append(triples, Triple{firm, "in", town}, Triple{town, "of", country})
		questions = append(questions, Question{
			ID: fmt.Sprint(i), Text: "q", Topics: []string{firm}, Answers: []string{country}, Hops: 2,
			Path: []Triple{{firm, "in", town}, {town, "of", country}}, Steps: []string{"in", "of"},
		})
	}
	return triples, questions
}

func TestFaultsArePlantedWhereTheQuestionLooks(t *testing.T) {
	triples, questions := world(40)
	inverse := Question{ID: "inverse", Topics: []string{"Country 0"}, Answers: []string{"Town 0"}, Path: []Triple{{"Town 0", "of", "Country 0"}}, Steps: []string{"~of"}}
	all, by := plant(triples, append(questions, inverse, Question{ID: "no path", Topics: []string{"Firm 1"}}), rand.New(rand.NewPCG(1, 1)))
	require.Equal(t, triples, all[:len(triples)], "nothing is taken away")
	require.NotContains(t, by, "no path")
	had, n := map[Triple]bool{}, 0
	for _, x := range triples {
		had[x] = true
	}
	for _, q := range append(questions, inverse) {
		for _, p := range by[q.ID] {
			n++
			require.False(t, had[p.triple], "%v is in the graph already", p)
			require.NotContains(t, q.Answers, p.triple[2])
			switch {
			case p.fault == Irrelevant:
				require.Equal(t, q.Topics[0], p.triple[0])
				require.NotContains(t, q.Steps, p.triple[1])
			case q.ID == "inverse":
				require.Equal(t, []string{"of", "Country 0"}, p.triple[1:])
			default:
				require.Equal(t, q.Path[1][:2], p.triple[:2])
			}
		}
	}
	require.Len(t, all, len(triples)+n)
	require.GreaterOrEqual(t, n, 40)
}

func TestAPlantedTripletIsSeenOnAResult(t *testing.T) {
	found := shown("Firm 1", []string{"in", "Town 1", "Moon"}, []string{"Owned By", "Nobody"})
	found.Results[1].Instances[0].Triplets[0].Inverse = true
	cases := []planted{{Wrong, Triple{"Firm 1", "in", "Moon"}}, {Irrelevant, Triple{"Nobody", "owned_by", "Firm 1"}}, {Irrelevant, Triple{"Firm 1", "owned_by", "Nobody"}}, {Wrong, Triple{"Firm 2", "in", "Moon"}}}
	require.Equal(t, []bool{true, true, false, false}, shows(found, cases))
	found.Results[0].Instances[0].Triplets[0] = graph.ScoredTriplet{Triplet: graph.Triplet{Predicate: "evorag.shortcut"}, Label: "in in"}
	require.True(t, shows(found, []planted{{Wrong, Triple{"x", "in", "Town 1"}}})[0], "a shortcut to its object stands for it")
}

func TestPlantedCasesAreCountedAgainstTheStaticSystem(t *testing.T) {
	test := []Question{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	by := map[string][]planted{"a": {{fault: Wrong}}, "b": {{fault: Wrong}, {fault: Outdated}}, "c": {{fault: Wrong}}}
	points := func(found float64, seen ...[]bool) Point {
		p := Point{}
		for _, s := range seen {
			p.Outcomes = append(p.Outcomes, Outcome{Found: found, planted: s})
		}
		p.Score = mean(p.Outcomes)
		return p
	}
	probe := func(i int, found float64) Point {
		p := points(found, nil, nil, nil)
		p.Iteration, p.Probe = i, string(LongPath)
		return p
	}
	last := points(1, []bool{false}, []bool{true, true}, []bool{true})
	last.Iteration = 6
	got := countPlanted("s", test, by, &Trial{
		Points: []Point{points(1, []bool{true}, []bool{true, true}, []bool{false}), last}, Probes: []Point{probe(0, 0), probe(6, 1)},
	})
	require.Equal(t, PlantedCases{Set: "s", Fault: Wrong, Cases: 3, Before: 2, Left: 1, Gone: .5, Recall: 1, After: 1, Results: resultsAsked}, got[0])
	require.Equal(t, 0., got[1].Gone)
	require.Equal(t, PlantedCases{Set: "s", Fault: LongPath, Cases: 3, Before: 3, Left: 0, Gone: 1, Recall: 0, After: 1, Results: resultsAsked}, got[3])
}

func TestTransETellsFactsFromChance(t *testing.T) {
	triples, _ := world(200)
	m := newTransE(triples, 1)
	better, n := 0, 0
	r := rand.New(rand.NewPCG(1, 2))
	for _, x := range triples[:100] {
		y := x
		y[2] = triples[r.IntN(len(triples))][2]
		if y[2] == x[2] {
			continue
		}
		if n++; m.score(x) > m.score(y) {
			better++
		}
	}
	require.Greater(t, float64(better)/float64(n), .8)
	require.Equal(t, m.score(triples[0]), newTransE(triples, 1).score(triples[0]), "the same seed, the same embedding")
}
