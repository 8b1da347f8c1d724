package proxy

import (
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// readied is a question that has been compared with all names of a graph in memory.
type readied struct {
	graph ResidentGraph
	asked *relevance.Question
	sr    search.Relevance
}

// ready compares the questions of searches with the graph in memory while the engine looks for their
// start nodes. What it gives waits for that of one block, and has nothing the second time: whoever
// takes it gives it back.
func (q *query) ready() func(*plan.Block) readied {
	made := map[*plan.Block]chan readied{}
	if q.Resident != nil && !q.fixed && !q.modelled() {
		if g, ok := q.Resident.Graph(namespace(q.call.Credentials)); ok {
			for _, b := range q.plan.Blocks {
				if b.Form == plan.Search && b.Embedding == nil {
					c := make(chan readied, 1)
					made[b] = c
					go func() {
						asked := q.hash.Ask(b.Question)
						c <- readied{g, asked, g.Relevance(asked)}
					}()
				}
			}
		}
	}
	return func(b *plan.Block) readied {
		if c, ok := made[b]; ok {
			delete(made, b)
			return <-c
		}
		return readied{}
	}
}

// relevanceTo compares a question with a graph, or takes what was made ready where that is the same: of the
// same graph, and the question has none of the start nodes' names in it.
func (r readied) relevanceTo(g ResidentGraph, asked *relevance.Question) search.Relevance {
	if r.sr != nil && r.graph == g && r.asked.Text == asked.Text && asked.Model.None() {
		return r.sr
	}
	r.release()
	return g.Relevance(asked)
}

// release gives back what was made ready in vain.
func (r readied) release() {
	if sr, ok := r.sr.(interface{ Release() }); ok { // it holds a number for every node
		sr.Release()
	}
}
