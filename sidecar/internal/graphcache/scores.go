package graphcache

import (
	"sync"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// ScoreBounds are the upper ends of a Distribution's parts. Edges that no rating has moved are
// in a narrow one of their own, around 100.
var ScoreBounds = []float64{10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 101, 105, 110, 120, 130, 140, 150, 160, 170, 180, 190, graph.MaxScore}

// Distribution is how raw scores are distributed: Below[i] edges have at most ScoreBounds[i].
type Distribution struct {
	Below []uint64
	Count uint64
	Sum   float64
}

// Distribution counts every edge, the hidden ones left out.
func (g *Graph) Distribution() Distribution {
	d := Distribution{Below: make([]uint64, len(ScoreBounds))}
	for n := range g.nodes {
		for _, s := range g.pages[n/nodesPerPage][n%nodesPerPage].steps {
			if s.Rel%2 == 1 { // the same edge, walked back
				continue
			}
			score := g.Score(s.Edge)
			d.Count++
			d.Sum += score
			for i := len(ScoreBounds) - 1; i >= 0 && score <= ScoreBounds[i]; i-- {
				d.Below[i]++
			}
		}
	}
	return d
}

// distributionAge is how old a Distribution may be: it takes some 10 ms for a million edges.
const distributionAge = 15 * time.Second

// distributed remembers the last Distribution.
type distributed struct {
	mu   sync.Mutex
	at   time.Time
	last Distribution
}

// Distribution is that of the graph in memory, at most 15 s old; empty while there is none.
func (c *Cache) Distribution() Distribution {
	c.scores.mu.Lock()
	defer c.scores.mu.Unlock()
	g := c.current.Load()
	if g == nil {
		return Distribution{Below: make([]uint64, len(ScoreBounds))}
	}
	if now := c.Now(); c.scores.at.IsZero() || now.Sub(c.scores.at) >= distributionAge {
		c.scores.at, c.scores.last = now, g.Distribution()
	}
	return c.scores.last
}
