package search

import "slices"

// count walks a metapath without scoring and counts the candidates that follow it. atLeast
// tells that the budget ended the walk, n being what it had seen.
func (s *search) count(metapath []Rel) (n int, atLeast bool) {
	c := counter{search: s, metapath: metapath, left: s.budget.Count}
	c.nodes[0] = s.q.Start
	c.from(0)
	return c.n, c.left < 0
}

type counter struct {
	*search
	metapath []Rel
	nodes    [MaxHops + 1]Node // of the path walked at the moment
	n, left  int
}

// from counts below the node at the given depth.
func (c *counter) from(depth int) {
	path := c.nodes[:depth+1]
	steps := ofRelation(c.adj.Steps(path[depth]), c.metapath[depth])
	goesOn := depth+1 < len(c.metapath)
	var h *hub
	if goesOn && c.q.Hubs.takes(steps) {
		h = c.q.Hubs.get(path[depth], steps, c.adj, c.scorer)
	}
	for i, step := range steps {
		if slices.Contains(path, step.To) {
			continue
		}
		if c.left--; c.left < 0 {
			return
		}
		c.nodes[depth+1] = step.To
		switch {
		case goesOn && (h != nil && !h.leads(i, c.metapath[depth+1]) || h == nil && !c.leads(step.To, c.metapath[depth+1])): // it ends there
		case goesOn:
			c.from(depth + 1)
		case c.complete(depth + 1):
			c.n++
		}
	}
}

// leads tells whether a path may go on from a node under a relation.
func (c *counter) leads(n Node, r Rel) bool {
	return c.local == nil || c.local.Relations(n)&BucketOf(r) != 0
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
