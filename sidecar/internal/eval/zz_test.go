package eval

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
	"github.com/stretchr/testify/require"
)

func TestMargins(t *testing.T) {
	hash, _ := relevance.NewHash(relevance.DefaultDim)
	for _, m := range []rank.Margin{0, .1, .15, .2, .25, .3} {
		sum, n, pts := 0., 0., 0.
		line := ""
		for _, name := range developed {
			set, g := developmentSet(t, name, hash)
			res, tok, k := 0., 0., 0.
			for _, kind := range []Kind{Paraphrase, Unseen} {
				var before, after [][]Outcome
				for seed := uint64(1); seed <= 2; seed++ {
					split, err := NewSplit(kind, set, nil, 6, Sizes{Train: 300, Test: 300}, seed)
					if err != nil {
						continue
					}
					o, err := newOffline(g, set.Hops, search.All, variants[0].learner(), hash)
					require.NoError(t, err)
					o.margin = m
					b, a, err := o.trial(split, Arm{}, 6, seed)
					require.NoError(t, err)
					before, after = append(before, b), append(after, a)
					tok += mean(a).Tokens
					r := 0.
					for _, q := range split.Test {
						x, _ := o.retrieve(q)
						r += float64(len(x.Results))
					}
					res += r / float64(len(split.Test))
					k++
				}
				if len(before) == 0 {
					continue
				}
				x := gain(key{set.Name, kind, "x"}, static, before, after)
				sum, pts, n = sum+x.MRR.Mean, pts+100*x.Within.Mean, n+1
			}
			line += fmt.Sprintf(" | %.1f, %.0f", res/k, tok/k)
		}
		gone := ""
		for _, name := range []string{"pq-2h", "pql-2h"} {
			set, _ := developmentSet(t, name, hash)
			triples, err := set.Triples()
			require.NoError(t, err)
			split, err := NewSplit(Paraphrase, set, triples, 6, Sizes{Train: 300, Test: 300}, 1)
			require.NoError(t, err)
			changed, by := plant(triples, split.Test, rand.New(rand.NewPCG(1, 0x91a)))
			o, err := newOffline(newSmall(changed, hash), set.Hops, search.All, variants[0].learner(), hash)
			require.NoError(t, err)
			count := func() (c float64) {
				for _, q := range split.Test {
					r, _ := o.retrieve(q)
					for j, s := range shows(r, by[q.ID]) {
						if s && by[q.ID][j].fault == Irrelevant {
							c++
						}
					}
				}
				return c
			}
			o.margin = m
			before := count()
			_, _, err = o.trial(split, Arm{}, 6, 1)
			require.NoError(t, err)
			gone += fmt.Sprintf(" %.2f", 1-count()/before)
		}
		fmt.Printf("| %.2f | %+.3f | %+.1f%s |%s |\n", m, sum/n, pts/n, line, gone)
	}
}
