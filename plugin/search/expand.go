package search

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/evorag/dgraph-evorag/plugin/rank"
)

// slack covers the rounding of logarithms where a bound is compared with a z.
const slack = 1e-12

// prefix is a simple path from the start node that may be continued.
type prefix struct {
	step   Step    // the last one; for the root only To is set
	parent int32   // index of the prefix before it, -1 for the root
	meta   int32   // its relation sequence
	hops   int32   // steps so far
	sum    float64 // of ln P
	sc     float64 // of Sc
}

// span is the range of hop counts that candidates have.
type span struct{ least, most int }

// search is the state of one call of Top.
type search struct {
	ctx    context.Context
	adj    Adjacency
	scorer Scorer
	q      Query
	budget Budget

	bias  [MaxHops + 1]float64
	ahead [MaxHops + 1]float64 // by hop count: the sum of the greatest ln P that each of the hops can have
	nodes NodeScorer           // nil: the scorer is none
	group GroupScorer          // likewise
	rest  RestScorer           // likewise
	local LocalScorer          // likewise
	hops  span
	only  []Rel // the one metapath to follow; nil: any

	prefixes []prefix
	streams  []stream
	frontier frontier
	columns  Columns
	chosen   []found // room for the best of the search, and of a bundle
	filled   []found
	metas    map[metaStep]int32
	best     kept

	work  Work
	limit Budget // on work, for the current run
	cut   string // why the search ended early
}

// metaStep is one step in the tree of relation sequences.
type metaStep struct {
	parent int32
	rel    Rel
}

var pool = sync.Pool{New: func() any { return &search{metas: make(map[metaStep]int32)} }}

func borrow(ctx context.Context, adj Adjacency, scorer Scorer, q Query) *search {
	s := pool.Get().(*search)
	*s = search{
		ctx: ctx, adj: adj, scorer: scorer, q: q, budget: q.Budget,
		prefixes: s.prefixes[:0], streams: s.streams[:0], frontier: s.frontier[:0], metas: s.metas, columns: s.columns,
		chosen: s.chosen, filled: s.filled,
	}
	clear(s.metas)
	copy(s.bias[1:], q.HopBias[min(1, len(q.HopBias)):])
	s.budget.Expansions = orDefault(s.budget.Expansions, DefaultExpansions)
	s.budget.Edges = orDefault(s.budget.Edges, DefaultEdges)
	s.budget.Count = orDefault(s.budget.Count, DefaultCount)
	s.nodes, _ = scorer.(NodeScorer)
	s.group, _ = scorer.(GroupScorer)
	s.rest, _ = scorer.(RestScorer)
	s.local, _ = scorer.(LocalScorer)
	return s
}

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// release gives the scratch memory back and lets go of everything of the caller's.
func (s *search) release() {
	clear(s.streams)
	*s = search{prefixes: s.prefixes, streams: s.streams, frontier: s.frontier, metas: s.metas, columns: s.columns, chosen: s.chosen, filled: s.filled}
	pool.Put(s)
}

// run expands prefixes, most promising first, until none left can enter s.best.
func (s *search) run(hops span, limit Budget) {
	s.hops, s.limit = hops, limit
	relations, _ := s.scorer.(RelScorer)
	for h := range hops.most {
		p := s.scorer.Max()
		if s.only != nil && relations != nil {
			p = relations.BoundOf(s.only[h])
		}
		s.ahead[h+1] = s.ahead[h] + math.Log(p)
	}
	s.frontier = s.frontier[:0]
	root := int32(len(s.prefixes))
	s.prefixes = append(s.prefixes, prefix{step: Step{To: s.q.Start}, parent: -1, meta: -1})
	s.frontier.push(promise{bound: math.Inf(1), prefix: root})
	for len(s.frontier) > 0 && !s.spent() {
		next := s.frontier.pop()
		if next.bound+slack < s.best.floor() {
			return
		}
		if next.stream {
			s.resume(next.prefix)
		} else {
			s.expand(next.prefix)
		}
	}
}

// spent reports whether a budget is used up, and notes which.
func (s *search) spent() bool {
	switch {
	case s.work.Expansions >= s.limit.Expansions:
		s.cut = fmt.Sprintf("the budget of %d expansions was used up", s.budget.Expansions)
	case s.work.Edges >= s.limit.Edges:
		s.cut = fmt.Sprintf("the budget of %d edges was used up", s.budget.Edges)
	case s.ctx.Err() != nil:
		s.cut = "time was up: " + context.Cause(s.ctx).Error()
	default:
		return false
	}
	return true
}

// expand scores the steps from the end of a prefix, relation by relation: each is a
// candidate and the beginning of longer ones. Relations none of whose steps can matter are
// passed over whole.
func (s *search) expand(id int32) {
	s.work.Expansions++
	p := s.prefixes[id]
	from, hops := p.step.To, int(p.hops)+1
	steps := s.adj.Steps(from)
	if s.deadEnd(id, steps) {
		s.keep(s.asCandidate(id))
		return
	}
	if s.only != nil {
		steps = ofRelation(steps, s.only[p.hops])
	}
	floor := s.best.floor()
	least := s.leastP(p.sum, hops, floor)
	for len(steps) > 0 {
		n := groupLen(steps)
		group := steps[:n]
		steps = steps[n:]
		rel := group[0].Rel
		if !s.allowed(rel) {
			continue
		}
		if s.bound(from, group[0]) < least {
			s.work.Skipped++
			continue
		}
		if !s.score(id, group) {
			return
		}
		if f := s.best.floor(); f > floor {
			floor, least = f, s.leastP(p.sum, hops, f)
		}
	}
}

// bound is at least the P of a step, and of those behind it under its relation.
func (s *search) bound(from Node, st Step) float64 {
	if s.rest == nil {
		return s.scorer.Bound(from, st.Rel)
	}
	return s.rest.BoundRest(from, st)
}

// perPart is how many steps of a group are scored at first, before it is asked whether one of the
// others can matter; then as many again, and so on.
const perPart = 16

// score takes in one group of steps of one relation, as far as they can matter; false when a
// budget ended it.
func (s *search) score(id int32, group []Step) bool {
	if s.q.Hubs.takes(group) {
		return s.scoreHub(id, group)
	}
	t := s.take(id, group[0].Rel)
	from := t.p.step.To
	for n, done := perPart, 0; len(group) > 0; n = done {
		part := group
		if s.rest != nil && n < len(group) {
			part = group[:n]
		}
		if done > 0 && s.bound(from, part[0]) < t.least {
			return true
		}
		done += len(part)
		group = group[len(part):]
		p, sc := s.scores(from, part)
		for i, step := range part {
			if s.visited(id, step.To) {
				continue
			}
			if s.work.Edges >= s.limit.Edges || (s.work.Edges&1023 == 1023 && s.ctx.Err() != nil) {
				return !s.spent()
			}
			s.work.Edges++
			if p[i] >= t.least {
				t.step(step, p[i], sc[i])
			}
		}
	}
	return true
}

// scores gives P and Sc of steps of one relation; they stay as they are until the next call.
func (s *search) scores(from Node, group []Step) (p, sc []float64) {
	s.columns.score(s.scorer, s.group, from, group)
	return s.columns.P, s.columns.Sc
}

// deadEnd tells whether a prefix is a maximal path, and with that a candidate.
func (s *search) deadEnd(id int32, steps []Step) bool {
	hops := int(s.prefixes[id].hops)
	return s.q.Rule == Maximal && hops > 0 && hops >= s.hops.least && !slices.ContainsFunc(steps, func(next Step) bool {
		return s.allowed(next.Rel) && !s.visited(id, next.To)
	})
}

// asCandidate is a prefix as a candidate.
func (s *search) asCandidate(id int32) found {
	p := s.prefixes[id]
	hops := float64(p.hops)
	return found{rank.Key{Z: p.sum/hops + s.bias[p.hops], MeanSc: p.sc / hops, Hops: int(p.hops)}, p.meta, p.parent, p.step}
}

// leastP is a P below which the hop-th triplet, after others whose logarithms sum to sum,
// keeps every candidate under the floor: ceiling solved for P, which saves taking logarithms.
func (s *search) leastP(sum float64, hop int, floor float64) float64 {
	need := math.Inf(1)
	for h := max(hop, s.hops.least); h <= s.hops.most; h++ {
		need = min(need, float64(h)*(floor-s.bias[h]-slack)-(s.ahead[h]-s.ahead[hop])-sum)
	}
	return math.Exp(need)
}

// ceiling is at least the z of every candidate of `hops` or more hops whose first `hops`
// triplets have logarithms that sum to at most sum.
func (s *search) ceiling(sum float64, hops int) float64 {
	best := math.Inf(-1)
	for h := max(hops, s.hops.least); h <= s.hops.most; h++ {
		best = max(best, (sum+s.ahead[h]-s.ahead[hops])/float64(h)+s.bias[h])
	}
	return best
}

// visited reports whether the prefix goes through the node.
func (s *search) visited(id int32, n Node) bool {
	for ; id >= 0; id = s.prefixes[id].parent {
		if s.prefixes[id].step.To == n {
			return true
		}
	}
	return false
}

// candidate applies the rule to the prefix continued to a node.
func (s *search) candidate(id int32, hops int, end Node) bool {
	if s.q.Rule != Maximal || hops == s.q.Hops {
		return true
	}
	for _, next := range s.adj.Steps(end) {
		if s.allowed(next.Rel) && next.To != end && !s.visited(id, next.To) {
			return false
		}
	}
	return true
}

func (s *search) allowed(r Rel) bool {
	return s.q.Via == nil || int(r) < len(s.q.Via) && s.q.Via[r]
}

// meta gives a relation sequence its number.
func (s *search) meta(parent int32, r Rel) int32 {
	key := metaStep{parent, r}
	id, ok := s.metas[key]
	if !ok {
		id = int32(len(s.metas))
		s.metas[key] = id
	}
	return id
}

// groupLen is the length of the leading group of steps of one relation.
func groupLen(steps []Step) int {
	rel, end := steps[0].Rel, 1
	for end < len(steps) && steps[end].Rel == rel {
		end *= 2
	}
	low := end / 2
	return low + sort.Search(min(end, len(steps))-low, func(i int) bool { return steps[low+i].Rel != rel })
}

// ofRelation is the group of steps of one relation.
func ofRelation(steps []Step, r Rel) []Step {
	i := sort.Search(len(steps), func(i int) bool { return steps[i].Rel >= r })
	if i == len(steps) || steps[i].Rel != r {
		return nil
	}
	return steps[i : i+groupLen(steps[i:])]
}
