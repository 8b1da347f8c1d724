package search_test

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/search"
)

// pruned is a world with only the n best steps of each relation at each node.
func (w *world) pruned(n int) *world {
	v := *w
	v.steps = make([][]search.Step, len(w.steps))
	for from, steps := range w.steps {
		byRel := map[search.Rel][]search.Step{}
		for _, s := range steps {
			byRel[s.Rel] = append(byRel[s.Rel], s)
		}
		for r := range search.Rel(len(w.name)) {
			group := byRel[r]
			slices.SortFunc(group, func(a, b search.Step) int {
				pa, sa := w.Score(search.Node(from), a)
				pb, sb := w.Score(search.Node(from), b)
				return cmp.Or(cmp.Compare(pb, pa), cmp.Compare(sb, sa), w.CompareNodes(a.To, b.To), cmp.Compare(a.Edge, b.Edge))
			})
			v.steps[from] = append(v.steps[from], group[:min(n, len(group))]...)
		}
	}
	return &v
}

func TestFanoutKeepsTheBestStepsOfARelation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		q := drawQuery(t, w)
		n := rapid.IntRange(1, 4).Draw(t, "fanout")
		want := w.pruned(n).reference(q)
		got, err := search.Top(context.Background(), search.Fanout(w, w, n), w, q)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want, got.Bundles) {
			t.Fatalf("want %s\n got %s", show(want), show(got.Bundles))
		}
	})
}
