package search

import "slices"

// count walks a metapath without scoring and counts the candidates that follow it. atLeast
// tells that the budget ended the walk, n being what it had seen.
func (s *search) count(metapath []Rel) (n int, atLeast bool) {
	c := counter{search: s, metapath: metapath, left: s.budget.Count}
	c.local, _ = s.scorer.(LocalScorer)
	c.nodes[0] = s.q.Start
	c.from(0)
	return c.n, c.left < 0
}

type counter struct {
	*search
	metapath []Rel
	local    LocalScorer       // nil: the scorer is none
	nodes    [MaxHops + 1]Node // of the path walked at the moment
	n, left  int
}

// from counts below the node at the given depth.
func (c *counter) from(depth int) {
	path := c.nodes[:depth+1]
	for _, step := range ofRelation(c.adj.Steps(path[depth]), c.metapath[depth]) {
		if slices.Contains(path, step.To) {
			continue
		}
		if c.left--; c.left < 0 {
			return
		}
		c.nodes[depth+1] = step.To
		switch {
		case depth+1 < len(c.metapath) && c.local != nil && c.local.Relations(step.To)&BucketOf(c.metapath[depth+1]) == 0: // it ends there
		case depth+1 < len(c.metapath):
			c.from(depth + 1)
		case c.complete(depth + 1):
			c.n++
		}
	}
}

// complete applies the rule to the path of the given number of hops.
func (c *counter) complete(hops int) bool {
	if c.q.Rule != Maximal || hops == c.q.Hops {
		return true
	}
	path := c.nodes[:hops+1]
	return !slices.ContainsFunc(c.adj.Steps(path[hops]), func(next Step) bool {
		return c.allowed(next.Rel) && !slices.Contains(path, next.To)
	})
}
