package eval

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

// sown runs a variant over seeds on a graph with planted faults, and counts them: by fault, with
// the mean recall before and after.
func sown(t testing.TB, name string, s variant, size Sizes, iterations, seeds int, hash *relevance.Hash) (all []PlantedCases) {
	set, _ := developmentSet(t, name, hash)
	triples, err := set.Triples()
	require.NoError(t, err)
	for seed := uint64(1); seed <= uint64(seeds); seed++ { //nolint:gosec // small
		split, err := NewSplit(Paraphrase, set, nil, iterations, size, seed)
		require.NoError(t, err)
		changed, by := plant(triples, split.Test, rand.New(rand.NewPCG(seed, 0x91a))) //nolint:gosec // reproducible on purpose
		s.arm.Evolve = true
		b, a, err := s.over(t, newSmall(changed, hash), set.Hops, hash).trial(split, s.arm, iterations, seed, by)
		require.NoError(t, err)
		trial := &Trial{Points: []Point{{Outcomes: b, Score: mean(b)}, {Outcomes: a, Score: mean(a), Iteration: iterations}}}
		for i, c := range countPlanted(name, split.Test, by, trial) {
			if i == len(all) {
				all = append(all, PlantedCases{Set: name, Fault: c.Fault})
			}
			x := &all[i]
			x.Cases, x.Before, x.Left = x.Cases+c.Cases, x.Before+c.Before, x.Left+c.Left
			x.Recall, x.After = x.Recall+c.Recall/float64(seeds), x.After+c.After/float64(seeds)
		}
	}
	for i := range all {
		all[i].Gone = 1 - float64(all[i].Left)/float64(max(1, all[i].Before))
	}
	return all
}

// faulty are the sets around whose questions triplets can be planted.
var faulty = []string{"pq-2h", "pql-2h"}

// TestStudyOfPlantedFaults prints that table of docs/LEARNING.md.
func TestStudyOfPlantedFaults(t *testing.T) {
	if *study == "" {
		t.Skip("a study takes minutes; run it with -study default, -study all, or the name of a variant")
	}
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	for _, s := range variants {
		if !s.named(*study) {
			continue
		}
		for _, size := range []int{100, 300} {
			for _, name := range faulty {
				for _, c := range sown(t, name, s, Sizes{Train: size, Test: size}, 6, 5, hash) {
					fmt.Printf("%-14s %3d rated %-7s %-11s %4d of %4d left, gone %.2f; recall %.3f %+.1f points\n", s.name, size, name, c.Fault, c.Left, c.Before, c.Gone, c.Recall, 100*(c.After-c.Recall))
				}
			}
		}
	}
}

// TestPlantedFaultsGo holds the default learner to the share of planted triplets that must be
// gone, with nothing lost of what is found.
func TestPlantedFaultsGo(t *testing.T) {
	if os.Getenv("EVORAG_LONG") == "" {
		t.Skip("takes minutes with the race detector; make test-learning runs it")
	}
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	var before, left int
	for _, name := range faulty {
		cases := sown(t, name, variants[0], Sizes{Train: 100, Test: 100}, 6, 3, hash)
		for _, c := range cases {
			before, left = before+c.Before, left+c.Left
			t.Logf("%-7s %-11s %3d of %3d left; recall %.3f, then %.3f", name, c.Fault, c.Left, c.Before, c.Recall, c.After)
		}
		require.True(t, slices.ContainsFunc(cases, func(c PlantedCases) bool { return c.Before > 0 }), name)
		require.GreaterOrEqual(t, cases[0].After, cases[0].Recall-.001, "%s: recall", name)
	}
	require.GreaterOrEqual(t, 1-float64(left)/float64(before), .83, "share of the planted triplets that are gone")
}
