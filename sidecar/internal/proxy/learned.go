package proxy

import (
	"context"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/mutation"
)

// Learned reads what was learned about the edges that a caller's mutation sets. c.Query is
// that of an upsert, c.StartTS and c.Hash are those of an open transaction. The mutation
// must run in the transaction that is returned: then whoever changes one of the edges in
// between makes it abort, and nothing is lost.
//
// Edges between uids are read as the sidecar itself, where the namespace is its own: a
// caller may be allowed to write what he can't read. He never sees what is added for him.
func (p *Proxy) Learned(ctx context.Context, c graph.Call, edges []mutation.Edge) (mutation.Learned, graph.Txn, error) {
	l, err := mutation.NewLookup(c.Query, edges)
	if err != nil {
		return mutation.Learned{}, graph.Txn{}, err
	}
	c.Query = l.Text
	var answer graph.Answer
	err = errNotOwn
	if p.Own != nil && !l.Upsert && namespace(c.Credentials) == p.Namespace {
		answer, err = p.Own.OwnQuery(ctx, c)
	}
	if err != nil {
		answer, err = p.Engine.Query(ctx, c)
	}
	if err != nil {
		return mutation.Learned{}, graph.Txn{}, err
	}
	learned, err := l.Read(answer.JSON)
	return learned, answer.Txn, err
}
