package proxy

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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
	if p.Own != nil && !l.Upsert && len(c.Credentials) > 0 && namespace(c.Credentials) == p.Namespace {
		// The transaction is the caller's: so the engine looks at his token first, and what it says
		// about a bad one is what he will read.
		his := c
		his.Query, his.Vars = "{ q(func: uid(1)) { uid } }", nil
		begun, refused := p.Engine.Query(ctx, his)
		if refused != nil {
			return mutation.Learned{}, graph.Txn{}, refused
		}
		c.StartTS, c.Hash = begun.Txn.StartTS, begun.Txn.Hash
		answer, err = p.Own.OwnQuery(ctx, c)
		answer.Txn = begun.Txn
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

// Passing tells errors of Learned that lie in the engine's state and not in the request: the engine
// can't be asked now.
func Passing(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return true
	}
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "not ready") || strings.Contains(text, "retry")
}

// Named finds the nodes of one name as the sidecar itself, for administrators.
func (p *Proxy) Named(ctx context.Context, name string) ([]graph.Node, error) {
	own := &Proxy{Options: p.Options, hash: p.hash, schemas: schemaCache{now: p.Now}}
	own.Engine = ownEngine{p.Own}
	found, err := own.named(ctx, name, nil)
	nodes := make([]graph.Node, len(found))
	for i, f := range found {
		nodes[i] = f.Node
	}
	return nodes, err
}

// ownEngine answers every read as the sidecar itself.
type ownEngine struct{ Own }

// Query is OwnQuery.
func (o ownEngine) Query(ctx context.Context, c graph.Call) (graph.Answer, error) {
	return o.OwnQuery(ctx, c)
}
