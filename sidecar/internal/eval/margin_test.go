package eval

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

// withMargin is the default learner with a margin of its own.
func withMargin(m rank.Margin) variant {
	v := variants[0]
	v.change = func(o *offline) { o.margin = m }
	return v
}

// TestStudyOfMargins prints that table of docs/LEARNING.md, of two seeds.
func TestStudyOfMargins(t *testing.T) {
	if *study == "" {
		t.Skip("a study takes minutes; run it with -study default")
	}
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	size := Sizes{Train: 300, Test: 300}
	for _, m := range []rank.Margin{0, .1, .15, rank.DefaultMargin, .25, .3} {
		var mrr, points, n float64
		fmt.Printf("margin %.2f:", m)
		for _, name := range developed {
			set, g := developmentSet(t, name, hash)
			var tokens, splits float64
			for _, kind := range []Kind{Paraphrase, Unseen} {
				if x := learned(t, set, g, kind, withMargin(m), size, 6, 2, hash); x.Seeds > 0 {
					mrr, points, n = mrr+x.MRR.Mean, points+100*x.Within.Mean, n+1
					tokens, splits = tokens+x.After.Tokens, splits+1
				}
			}
			fmt.Printf(" %s %.0f tokens,", name, tokens/splits)
		}
		fmt.Printf(" MRR %+.3f, %+.1f points; irrelevant gone", mrr/n, points/n)
		for _, name := range faulty {
			for _, c := range sown(t, name, withMargin(m), size, 6, 2, hash) {
				if c.Fault == Irrelevant {
					fmt.Printf(" %s %.2f", name, c.Gone)
				}
			}
		}
		fmt.Println()
	}
}

// TestStudyOfRecovery prints that table of docs/LEARNING.md: what two iterations of inverted ratings
// do, and how four of right ones mend it.
func TestStudyOfRecovery(t *testing.T) {
	if *study == "" {
		t.Skip("a study takes minutes; run it with -study default")
	}
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	blind := withMargin(rank.DefaultMargin)
	blind.change = func(o *offline) { o.blind = true }
	for _, name := range developed {
		set, g := developmentSet(t, name, hash)
		split, err := NewSplit(Unseen, set, nil, 6, Sizes{Train: 300, Test: 300}, 1)
		require.NoError(t, err)
		fmt.Printf("%-12s", name)
		for _, v := range []variant{withMargin(0), withMargin(rank.DefaultMargin), blind} {
			o := v.over(t, g, set.Hops, hash)
			for phase, arm := range []Arm{{Inverted: 1, Evolve: true}, {Evolve: true}, {Evolve: true}} {
				before, after, err := o.trial(split, arm, 2, uint64(phase+1), nil) //nolint:gosec // small
				require.NoError(t, err)
				if phase == 0 {
					fmt.Printf(" | %.2f", mean(before).MRR)
				}
				fmt.Printf(" %.2f", mean(after).MRR)
			}
		}
		fmt.Println()
	}
}
