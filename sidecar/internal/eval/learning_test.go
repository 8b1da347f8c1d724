package eval

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/credit"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

var study = flag.String("study", "", "print tables of docs/LEARNING.md: of the ways to learn that are named, or of all")

// variant is one way to learn, with a run of evolution after each iteration.
type variant struct {
	name    string
	rule    search.Rule
	learner func() credit.Learner
	arm     Arm
	change  func(*offline) // nil: none
}

// over is the product that learns so, before any rating.
func (v variant) over(t testing.TB, g *small, hops int, hash *relevance.Hash) *offline {
	o, err := newOffline(g, hops, v.rule, v.learner(), hash)
	require.NoError(t, err)
	if v.change != nil {
		v.change(o)
	}
	return o
}

// named tells whether a list of names, or "all", has the variant.
func (v variant) named(list string) bool {
	return list == "all" || strings.Contains(","+list+",", ","+v.name+",")
}

func bundles(change func(*credit.BundleRule)) func() credit.Learner {
	r := credit.DefaultBundleRule()
	if change != nil {
		change(&r)
	}
	return func() credit.Learner { return r.NewLearner("default") }
}

var variants = []variant{
	{"default", search.All, bundles(nil), Arm{}, nil},
	{"shuffled", search.All, bundles(nil), Arm{Shuffled: true}, nil},
	{"inverted 10%", search.All, bundles(nil), Arm{Inverted: .1}, nil},
	{"inverted 20%", search.All, bundles(nil), Arm{Inverted: .2}, nil},
	{"maximal", search.Maximal, bundles(nil), Arm{}, nil},
	{"temperature 1", search.All, bundles(func(r *credit.BundleRule) { r.Temperature = 1 }), Arm{}, nil},
	{"inside 1", search.All, bundles(func(r *credit.BundleRule) { r.Inside = 1 }), Arm{}, nil},
	{"negative 1", search.All, bundles(func(r *credit.BundleRule) { r.Negative = 1 }), Arm{}, nil},
	{"negative 0.3", search.All, bundles(func(r *credit.BundleRule) { r.Negative = .3 }), Arm{}, nil},
	{"between 0", search.All, bundles(func(r *credit.BundleRule) { r.Between = 0 }), Arm{}, nil},
	{"between 0.5", search.All, bundles(func(r *credit.BundleRule) { r.Between = .5 }), Arm{}, nil},
	{"hops 1", search.All, bundles(func(r *credit.BundleRule) { r.Hops = 1 }), Arm{}, nil},
	{"late", search.All, bundles(nil), Arm{}, late},
	{"hops 1 late", search.All, bundles(func(r *credit.BundleRule) { r.Hops = 1 }), Arm{}, late},
	{"weights 0.5", search.All, bundles(func(r *credit.BundleRule) { r.Weights = .5 }), Arm{}, nil},
	{"weights 2", search.All, bundles(func(r *credit.BundleRule) { r.Weights = 2 }), Arm{}, nil},
	{"small steps", search.All, bundles(func(r *credit.BundleRule) { r.Within, r.Cap = .5, 3 }), Arm{}, nil},
	{"scores alone", search.All, bundles(func(r *credit.BundleRule) { r.Weights = 0 }), Arm{}, nil},
	{"paper", search.All, func() credit.Learner { return credit.PaperRule().NewLearner("paper") }, Arm{}, nil},
	{"paper, small steps", search.All, func() credit.Learner {
		return credit.Rule{Eta: .5, EtaAlpha: .05, Cap: 3, Delta: .2, Negative: .3}.NewLearner("small")
	}, Arm{}, nil},
}

// late has all questions of an iteration asked before the first is rated: what a rating teaches was
// worked out before any other one was learned from.
func late(o *offline) { o.batch = math.MaxInt }

// developed are the sets that the learner was chosen on.
var developed = []string{"pq-2h", "pql-2h", "webqsp-lite", "metaqa"}

// developmentSet is one of them.
func developmentSet(t testing.TB, name string, hash *relevance.Hash) (*Set, *small) {
	root := os.Getenv("EVORAG_DATA")
	if root == "" {
		t.Skip("EVORAG_DATA is not set; set it to the folder of question sets to learn on them")
	}
	set, err := ReadSet(filepath.Join(root, name))
	if errors.Is(err, os.ErrNotExist) || err != nil && strings.Contains(err.Error(), "has no triples") {
		t.Skipf("no question set here: %v", err)
	}
	require.NoError(t, err)
	triples, err := set.Triples()
	require.NoError(t, err)
	return set, newSmall(triples, hash)
}

// learned runs a variant over seeds of a split and gives what was gained.
func learned(t testing.TB, set *Set, g *small, kind Kind, s variant, size Sizes, iterations, seeds int, hash *relevance.Hash) Gain {
	var before, after [][]Outcome
	for seed := uint64(1); seed <= uint64(seeds); seed++ { //nolint:gosec // small
		split, err := NewSplit(kind, set, nil, iterations, size, seed)
		if errors.Is(err, ErrNoSplit) {
			return Gain{}
		}
		require.NoError(t, err)
		s.arm.Evolve = true
		b, a, err := s.over(t, g, set.Hops, hash).trial(split, s.arm, iterations, seed, nil)
		require.NoError(t, err)
		before, after = append(before, b), append(after, a)
	}
	return gain(key{set.Name, kind, s.name}, static, before, after)
}

// TestStudyOfLearners prints the tables of docs/LEARNING.md.
func TestStudyOfLearners(t *testing.T) {
	if *study == "" {
		t.Skip("a study takes minutes; run it with -study default, -study all, or the name of a variant")
	}
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	for _, s := range variants {
		if !s.named(*study) {
			continue
		}
		fmt.Printf("\n%-14s %-12s %-13s %7s %22s %7s %22s\n", s.name, "set", "split", "MRR", "gain (95%)", "within", "gain (95%), points")
		sum := map[Kind][3]float64{}
		for _, name := range developed {
			set, g := developmentSet(t, name, hash)
			for _, kind := range []Kind{Paraphrase, Unseen} {
				x := learned(t, set, g, kind, s, Sizes{Train: 300, Test: 300}, 6, 5, hash)
				if x.Seeds == 0 {
					continue
				}
				fmt.Printf("%-14s %-12s %-13s %7.3f %+7.3f [%+.3f %+.3f] %7.3f %+7.1f [%+.1f %+.1f]\n", "", name, kind, x.Before.MRR, x.MRR.Mean, x.MRR.Low, x.MRR.High,
					x.Before.Within, 100*x.Within.Mean, 100*x.Within.Low, 100*x.Within.High)
				a := sum[kind]
				sum[kind] = [3]float64{a[0] + x.MRR.Mean, a[1] + x.Within.Mean, a[2] + 1}
			}
		}
		p, u := sum[Paraphrase], sum[Unseen]
		fmt.Printf("%-14s mean: MRR %+.3f paraphrase, %+.3f unseen; within %+.1f points\n", "", p[0]/p[2], u[0]/u[2], 100*(p[1]+u[1])/(p[2]+u[2]))
	}
}

// TestLearningNeverHurts holds the default learner to the static system on every set: what it
// gains there may not fall below it by more than noise. Late ratings may gain less, and no less than
// nothing.
func TestLearningNeverHurts(t *testing.T) {
	if os.Getenv("EVORAG_LONG") == "" {
		t.Skip("takes minutes with the race detector; make test-learning runs it")
	}
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	var sum, n float64
	for _, name := range developed {
		set, g := developmentSet(t, name, hash)
		for _, kind := range []Kind{Paraphrase, Unseen} {
			x := learned(t, set, g, kind, variants[0], Sizes{Train: 200, Test: 150}, 3, 1, hash)
			if x.Seeds == 0 {
				continue
			}
			t.Logf("%-12s %-11s MRR %.3f %+.3f [%+.3f %+.3f], within %d tokens %.3f %+.3f [%+.3f %+.3f]", name, kind, x.Before.MRR, x.MRR.Mean, x.MRR.Low, x.MRR.High,
				Budget, x.Before.Within, x.Within.Mean, x.Within.Low, x.Within.High)
			require.Greater(t, x.MRR.High, 0., "%s, %s: MRR", name, kind)
			require.GreaterOrEqual(t, x.MRR.Mean, -.01, "%s, %s: MRR", name, kind)
			require.GreaterOrEqual(t, x.Within.Mean, -.01, "%s, %s: answers within the budget", name, kind)
			sum, n = sum+x.MRR.Mean, n+1
			v := variants[0]
			v.change = late
			x = learned(t, set, g, kind, v, Sizes{Train: 200, Test: 150}, 3, 1, hash)
			t.Logf("%-12s %-11s MRR %.3f %+.3f when rated late", name, kind, x.Before.MRR, x.MRR.Mean)
			require.GreaterOrEqual(t, x.MRR.Mean, 0., "%s, %s: MRR, rated late", name, kind)
		}
	}
	require.Greater(t, sum/n, .15, "mean MRR gained")
}
