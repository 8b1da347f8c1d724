package search

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/evorag/dgraph-evorag/plugin/rank"
)

// found is a candidate: a prefix and its last step.
type found struct {
	key    rank.Key
	meta   int32
	prefix int32
	step   Step
}

// kept is the best candidates so far, in rank order; with distinct only the best of each
// relation sequence. A candidate that has fallen out need not be remembered: the floor never
// sinks, so what comes later and passes it is better.
type kept struct {
	list     []found
	limit    int
	distinct bool
}

// floor is the z below which a candidate cannot enter.
func (k *kept) floor() float64 {
	if len(k.list) < k.limit {
		return math.Inf(-1)
	}
	return k.list[len(k.list)-1].key.Z
}

// keep offers a candidate to s.best.
func (s *search) keep(f found) {
	k := &s.best
	if len(k.list) == k.limit && s.compare(f, k.list[len(k.list)-1]) >= 0 {
		return
	}
	if k.distinct {
		if i := slices.IndexFunc(k.list, func(g found) bool { return g.meta == f.meta }); i >= 0 {
			if s.compare(f, k.list[i]) >= 0 {
				return
			}
			k.list = slices.Delete(k.list, i, i+1)
		}
	}
	i := sort.Search(len(k.list), func(i int) bool { return s.compare(f, k.list[i]) <= 0 })
	if i < len(k.list) && s.compare(f, k.list[i]) == 0 {
		return // the best path of a bundle, met again while the bundle is filled
	}
	if len(k.list) == k.limit {
		k.list = k.list[:k.limit-1]
	}
	k.list = slices.Insert(k.list, i, f)
}

// compare orders candidates: rank.Compare, then the sequence of predicates and uids, then
// the edges' ids. It is 0 only for the same path.
func (s *search) compare(a, b found) int {
	if c := rank.Compare(a.key, b.key); c != 0 {
		return c
	}
	var bufA, bufB [MaxHops]Step
	as, bs := s.walk(a, &bufA), s.walk(b, &bufB)
	for i := range as {
		if as[i] == bs[i] {
			continue
		}
		if c := s.adj.CompareRels(as[i].Rel, bs[i].Rel); c != 0 {
			return c
		}
		if c := s.adj.CompareNodes(as[i].To, bs[i].To); c != 0 {
			return c
		}
	}
	for i := range as {
		if c := cmp.Compare(as[i].Edge, bs[i].Edge); c != 0 {
			return c
		}
	}
	return 0
}

// walk writes the steps of a candidate into buf, first one first.
func (s *search) walk(f found, buf *[MaxHops]Step) []Step {
	steps := buf[:f.key.Hops]
	steps[len(steps)-1] = f.step
	id := f.prefix
	for i := len(steps) - 2; i >= 0; i-- {
		steps[i] = s.prefixes[id].step
		id = s.prefixes[id].parent
	}
	return steps
}

func (s *search) metapath(f found) []Rel {
	var buf [MaxHops]Step
	rels := make([]Rel, 0, f.key.Hops)
	for _, step := range s.walk(f, &buf) {
		rels = append(rels, step.Rel)
	}
	return rels
}
