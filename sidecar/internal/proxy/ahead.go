package proxy

import (
	"slices"

	"github.com/evorag/dgraph-evorag/plugin/graph"
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
// start nodes. It guesses what these are: they are linked, or stand in the query as a rule. What it
// gives waits for that of one block, and has nothing the second time: whoever takes it gives it back.
func (q *query) ready(starts map[string][]graph.UID) func(*plan.Block) readied {
	made := map[*plan.Block]chan readied{}
	of := namespace(q.call.Credentials)
	for _, b := range q.plan.Blocks {
		if q.Resident == nil || q.fixed || q.modelled() || b.Form != plan.Search || b.Hidden || b.Embedding != nil {
			continue
		}
		c := make(chan readied, 1)
		made[b] = c
		go func() {
			g, ok := q.Resident.Graph(of)
			if !ok {
				c <- readied{}
				return
			}
			topics := slices.Clone(b.Texts)
			for _, u := range slices.Concat(b.UIDs, starts[b.Key]) {
				if n, known := g.Node(u); known {
					topics = append(topics, g.Name(n))
				}
			}
			asked := q.hash.Ask(b.Question, topics...)
			c <- readied{g, asked, g.Relevance(asked)}
		}()
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
// same graph, and the same is left of the question without the start nodes' names.
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
