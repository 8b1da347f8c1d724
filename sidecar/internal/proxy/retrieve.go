package proxy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/entity"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
)

// RetrieveRequest asks for ranked paths without writing DQL. Zero fields mean the defaults.
type RetrieveRequest struct {
	Question    string            `json:"question"`
	Entities    []string          `json:"entities,omitempty"` // start nodes, by uid or name, at most MostEntities; empty: linked from the question
	EntityCount int               `json:"entity_count,omitempty"`
	Hops        int               `json:"hops,omitempty"`
	Paths       int               `json:"paths,omitempty"`
	Instances   int               `json:"instances,omitempty"`
	Fanout      int               `json:"fanout,omitempty"`
	Alpha       *float64          `json:"alpha,omitempty"`
	Bundle      *bool             `json:"bundle,omitempty"`
	Via         []string          `json:"via,omitempty"` // "pred" or "~pred"
	Hidden      bool              `json:"hidden,omitempty"`
	Explain     bool              `json:"explain,omitempty"`
	Credentials graph.Credentials `json:"-"`
}

// MostEntities is how many start nodes a request may give.
const MostEntities = dql.MaxEntities

// ErrNothingLinked is returned when no start node is found.
var ErrNothingLinked = errors.New("nothing to start from: " + nothingLinked)

// ErrBadRequest is in the chain of every error that the request itself causes.
var ErrBadRequest = errors.New("bad request")

// Retrieve answers with the ranked paths for a question. It writes the DQL that a user
// would and runs it, so what holds for Query holds here. Errors: ErrBadRequest, ErrNothingLinked,
// ErrNoNameIndex and the engine's own.
func (p *Proxy) Retrieve(ctx context.Context, r RetrieveRequest) (*graph.Retrieval, error) {
	if strings.TrimSpace(r.Question) == "" {
		return nil, fmt.Errorf(`%w: question is empty; send {"question": "..."}`, ErrBadRequest)
	}
	if len(r.Entities) > MostEntities {
		return nil, fmt.Errorf("%w: entities holds %d start nodes; write at most %d, or start from more with a DQL query", ErrBadRequest, len(r.Entities), MostEntities)
	}
	for _, v := range r.Via {
		if v == "" || strings.ContainsAny(v, "<>\"{}|^`\\ \t\r\n") {
			return nil, fmt.Errorf("%w: via holds %q, which is not a predicate; write one like directed_by or ~directed_by", ErrBadRequest, v)
		}
	}
	root, given, err := p.root(ctx, r)
	if err != nil {
		return nil, err
	}
	text := "query retrieve($q: string) {\n  paths(func: " + root + ") @evorag(" + r.arguments() + ") { uid }\n}"
	answer, err := p.Query(ctx, Request{Call: graph.Call{
		Query: text, Vars: map[string]string{"$q": r.Question}, ReadOnly: true, Credentials: r.Credentials,
	}, given: given})
	var at *dql.Error
	if errors.As(err, &at) { // a place in a text that the caller did not write helps nobody
		return nil, fmt.Errorf("%w: %s", ErrBadRequest, at.Msg)
	}
	if err != nil {
		return nil, err
	}
	if len(answer.Retrieval.Entities) == 0 {
		return nil, ErrNothingLinked
	}
	return answer.Retrieval, nil
}

// root spells the root function, with the nodes that names in the request stand for.
func (p *Proxy) root(ctx context.Context, r RetrieveRequest) (string, []graph.Entity, error) {
	if len(r.Entities) == 0 {
		return plan.EntitiesFunc + "(query: $q)", nil, nil
	}
	var uids []graph.UID
	var linked []graph.Entity
	met := map[graph.UID]bool{}
	add := func(e graph.Entity) {
		if !met[e.UID] {
			met[e.UID] = true
			uids, linked = append(uids, e.UID), append(linked, e)
		}
	}
	lookedUp := map[string]bool{}
	for _, e := range r.Entities {
		if lookedUp[e] {
			continue
		}
		lookedUp[e] = true
		if strings.HasPrefix(e, "0x") {
			u, err := graph.ParseUID(e)
			if err != nil {
				return "", nil, fmt.Errorf("%w: entities: %w", ErrBadRequest, err)
			}
			add(graph.Entity{Node: graph.Node{UID: u}, Score: 1, Reason: graph.ByCaller, Why: "given"})
			continue
		}
		found, err := p.named(ctx, e, r.Credentials)
		if err != nil {
			return "", nil, err
		}
		if len(found) == 0 {
			return "", nil, fmt.Errorf("%w (no node is named %q)", ErrNothingLinked, e)
		}
		for _, f := range found {
			add(f)
		}
	}
	return plan.UIDFunc(uids), linked, nil
}

// named finds the nodes of one name.
func (p *Proxy) named(ctx context.Context, name string, c graph.Credentials) ([]graph.Entity, error) {
	q := &query{Proxy: p, call: graph.Call{ReadOnly: true, Credentials: c}}
	var err error
	if q.view, err = p.schema(ctx, q.call); err != nil {
		return nil, err
	}
	names := p.Defaults.NamesIn(q.view.schema)
	if !entity.Findable(name) {
		return q.called(ctx, names, name)
	}
	return q.entities(ctx, names, name, nil)
}

// arguments spells the directive's arguments.
func (r RetrieveRequest) arguments() string {
	a := []string{"query: $q"}
	for _, n := range []struct {
		name  string
		value int
	}{{"hops", r.Hops}, {"paths", r.Paths}, {"instances", r.Instances}, {"fanout", r.Fanout}} {
		if n.value != 0 {
			a = append(a, n.name+": "+strconv.Itoa(n.value))
		}
	}
	if r.EntityCount != 0 && len(r.Entities) == 0 {
		a = append(a, "entities: "+strconv.Itoa(r.EntityCount))
	}
	if r.Alpha != nil {
		a = append(a, "alpha: "+strconv.FormatFloat(*r.Alpha, 'f', -1, 64))
	}
	if r.Bundle != nil {
		a = append(a, "bundle: "+strconv.FormatBool(*r.Bundle))
	}
	if len(r.Via) > 0 {
		iris := make([]string, len(r.Via))
		for i, v := range r.Via {
			iris[i] = "<" + v + ">"
		}
		a = append(a, "via: ["+strings.Join(iris, ", ")+"]")
	}
	if r.Hidden {
		a = append(a, "hidden: true")
	}
	if r.Explain {
		a = append(a, "explain: true")
	}
	return strings.Join(a, ", ")
}
