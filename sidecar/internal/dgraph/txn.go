package dgraph

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/dgraph-io/dgo/v230"
	"github.com/dgraph-io/dgo/v230/protos/api"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Pauses between attempts, full jitter: the n-th is random in [0, firstPause*2^n], at most maxPause.
const (
	firstPause = 5 * time.Millisecond
	maxPause   = time.Second
)

// RunTx runs fn in a transaction of the sidecar's own and commits it. Where the engine
// aborts for a conflict, fn runs again in a new transaction, until ctx ends. Any other
// error of fn or of the commit ends the transaction and is returned; fn must hold its
// effects back until RunTx returns nil.
func (c *Client) RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error {
	return retry(ctx, c.conflict, func() error {
		t := &tx{txn: c.own.NewTxn()}
		defer func() { _ = t.txn.Discard(context.WithoutCancel(ctx)) }() // a no-op after the commit
		if err := fn(ctx, t); err != nil || t.committed {
			return err
		}
		return t.txn.Commit(ctx)
	})
}

// Upsert runs a query and the mutations whose conditions hold, as one committed request: one
// round trip. Aborts are retried until ctx ends. It returns the uids of the blank nodes of
// those that were carried out, keyed without "_:".
func (c *Client) Upsert(ctx context.Context, query string, mutations []graph.Conditional) (map[string]graph.UID, error) {
	req := &api.Request{Query: query, CommitNow: true}
	for _, m := range mutations {
		req.Mutations = append(req.Mutations, &api.Mutation{Cond: m.If, SetNquads: m.Set})
	}
	var resp *api.Response
	err := retry(ctx, c.conflict, func() (err error) {
		resp, err = c.own.NewTxn().Do(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return uidsOf(resp)
}

// Alter changes the schema. The engine refuses while another change or a transaction is in
// its way: that is retried until ctx ends.
func (c *Client) Alter(ctx context.Context, schema string) error {
	return c.alter(ctx, &api.Operation{Schema: schema})
}

// DropPredicate removes the predicate, its values on every node and its schema.
func (c *Client) DropPredicate(ctx context.Context, name string) error {
	return c.alter(ctx, &api.Operation{DropOp: api.Operation_ATTR, DropValue: name})
}

// DropType removes the type's definition; nodes keep their dgraph.type.
func (c *Client) DropType(ctx context.Context, name string) error {
	return c.alter(ctx, &api.Operation{DropOp: api.Operation_TYPE, DropValue: name})
}

func (c *Client) alter(ctx context.Context, op *api.Operation) error {
	return retry(ctx, busy, func() error { return c.own.Alter(ctx, op) })
}

// tx is graph.Tx over dgo.
type tx struct {
	txn       *dgo.Txn
	committed bool
}

func (t *tx) Query(ctx context.Context, text string, vars map[string]string) ([]byte, error) {
	resp, err := t.txn.QueryWithVars(ctx, text, vars)
	if err != nil {
		return nil, err
	}
	return resp.GetJson(), nil
}

func (t *tx) Set(ctx context.Context, nquads []byte) (map[string]graph.UID, error) {
	resp, err := t.txn.Mutate(ctx, &api.Mutation{SetNquads: nquads})
	if err != nil {
		return nil, err
	}
	return uidsOf(resp)
}

func (t *tx) Delete(ctx context.Context, nquads []byte) error {
	_, err := t.txn.Mutate(ctx, &api.Mutation{DelNquads: nquads})
	return err
}

func (t *tx) Commit(ctx context.Context, deletes, sets, last []byte) (map[string]graph.UID, error) {
	req := &api.Request{Mutations: []*api.Mutation{{DelNquads: deletes, SetNquads: sets}}, CommitNow: true}
	if len(last) > 0 {
		req.Mutations = append(req.Mutations, &api.Mutation{DelNquads: last})
	}
	resp, err := t.txn.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	t.committed = true
	return uidsOf(resp)
}

// retry runs try until it succeeds, fails for good, or ctx ends; then the last error of
// try is returned, joined with ctx's.
func retry(ctx context.Context, again func(error) bool, try func() error) error {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || !again(err) {
			return errors.Join(ctx.Err(), err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(rand.N(pause)): //nolint:gosec // jitter, not a secret
		}
	}
}

// conflict is aborted, told to whoever counts it.
func (c *Client) conflict(err error) bool {
	if !aborted(err) {
		return false
	}
	c.aborted()
	return true
}

// aborted tells conflicts with another transaction. Under @count the engine finds some of them while it
// carries out a mutation, and has no code for that.
func aborted(err error) bool {
	return errors.Is(err, dgo.ErrAborted) || status.Code(err) == codes.Aborted ||
		err != nil && strings.Contains(err.Error(), "Transaction is too old")
}

// busy tells the engine's "try later" answers to Alter, which have no status code of their own.
func busy(err error) bool {
	return aborted(err) || strings.Contains(strings.ToLower(err.Error()), "retry")
}

// uidsOf are the uids that a mutation gave to its blank nodes.
func uidsOf(resp *api.Response) (map[string]graph.UID, error) {
	uids := make(map[string]graph.UID, len(resp.GetUids()))
	for name, text := range resp.GetUids() {
		uid, err := graph.ParseUID(text)
		if err != nil {
			return nil, fmt.Errorf("the engine's answer to a mutation: %w", err)
		}
		uids[name] = uid
	}
	return uids, nil
}
