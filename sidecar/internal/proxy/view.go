package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
)

// view is what a caller may see: the schema, and the relations' labels.
type view struct {
	schema graph.Schema
	labels map[string]string // by predicate; a predicate that has none is its own label
}

// label is a predicate's text for relevance and display.
func (v view) label(predicate string) string {
	if l, ok := v.labels[predicate]; ok {
		return l
	}
	if predicate == graph.ShortcutPredicate {
		return graph.ShortcutLabel
	}
	return predicate
}

// single tells the relations that hold at most one node, which Dgraph shows as an object.
func (v view) single(r graph.Relation) bool {
	return !r.Inverse && !v.schema.Predicates[r.Predicate].List
}

// viewAge bounds how long a view is used: an alter through the front drops it at once, one
// around the front is seen after this long. Data is always read with the caller's own
// credentials, so an old view hides nothing and shows nothing.
const viewAge = 2 * time.Second

// schemaCache holds one view per caller.
type schemaCache struct {
	mu    sync.Mutex
	now   func() time.Time
	drops int // how often all views were dropped
	views map[[sha256.Size]byte]agedView
}

type agedView struct {
	view
	read time.Time
}

// SchemaChanged drops what is remembered of the schema.
func (p *Proxy) SchemaChanged() {
	p.schemas.mu.Lock()
	defer p.schemas.mu.Unlock()
	p.schemas.views = nil
	p.schemas.drops++
}

func (p *Proxy) schema(ctx context.Context, c graph.Call) (view, error) {
	key := callerKey(c.Credentials)
	s := &p.schemas
	s.mu.Lock()
	known, ok := s.views[key]
	drops, read := s.drops, s.now()
	s.mu.Unlock()
	if ok && read.Sub(known.read) < viewAge {
		return known.view, nil
	}
	v, err := p.readView(ctx, c)
	if err != nil {
		return view{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drops != drops { // v may be what was there before
		return v, nil
	}
	for k, old := range s.views { // callers' tokens change all the time: keep only those in use
		if s.now().Sub(old.read) >= viewAge {
			delete(s.views, k)
		}
	}
	if s.views == nil {
		s.views = map[[sha256.Size]byte]agedView{}
	}
	s.views[key] = agedView{v, read}
	return v, nil
}

func (p *Proxy) readView(ctx context.Context, c graph.Call) (view, error) {
	a, err := p.Engine.Query(ctx, graph.Call{Query: "schema {}", ReadOnly: true, Credentials: c.Credentials})
	if err != nil {
		return view{}, err
	}
	var v view
	if v.schema, err = graph.ParseSchema(a.JSON); err != nil {
		return view{}, err
	}
	if err := p.forbidBackward(ctx, c.Credentials, v.schema); err != nil {
		return view{}, err
	}
	_, shown := v.schema.Predicates["evorag.predicate"]
	if !shown && len(c.Credentials["accessjwt"]) == 0 { // with access control others don't see it
		p.Dropped()
	}
	v.labels, err = p.labels(ctx, c, v.schema, shown)
	return v, err
}

var errNotOwn = errors.New("the caller's namespace is not the sidecar's own")

// labels reads the relations' labels. State under evorag. is for administrators, a label is
// not: it is read as the sidecar, and given to whoever may see its predicate. In another
// namespace than the sidecar's own the caller reads, if he may.
func (p *Proxy) labels(ctx context.Context, c graph.Call, seen graph.Schema, readable bool) (map[string]string, error) {
	call := graph.Call{Query: queries.Text("relations"), ReadOnly: true, Credentials: c.Credentials}
	var a graph.Answer
	err := errNotOwn
	if p.Own != nil && namespace(c.Credentials) == p.Namespace {
		a, err = p.Own.OwnQuery(ctx, call)
	}
	if err != nil && readable {
		a, err = p.Engine.Query(ctx, call)
	} else if err != nil {
		return nil, ctx.Err() // predicates are their own labels then
	}
	if err != nil {
		return nil, err
	}
	var rows struct {
		Relations []struct {
			Predicate string `json:"predicate"`
			Label     string `json:"label"`
		} `json:"relations"`
	}
	if err := json.Unmarshal(a.JSON, &rows); err != nil {
		return nil, fmt.Errorf("the engine's relation labels are not readable: %w", err)
	}
	labels := map[string]string{}
	for _, r := range rows.Relations {
		if _, ok := seen.Predicates[strings.TrimPrefix(r.Predicate, "~")]; ok && r.Label != "" {
			labels[r.Predicate] = r.Label
		}
	}
	return labels, nil
}

// callerKey tells callers apart by all that they present.
func callerKey(c graph.Credentials) [sha256.Size]byte {
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "%q%q", k, c[k])
	}
	return sha256.Sum256([]byte(b.String()))
}

// namespace reads the namespace out of the caller's access token. The engine checks the
// token; here it only says under which namespace a retrieval is filed. Without one: 0.
func namespace(c graph.Credentials) uint64 {
	for _, token := range c["accessjwt"] {
		parts := strings.Split(token, ".")
		if len(parts) != 3 {
			continue
		}
		payload, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil {
			continue
		}
		var claims struct {
			Namespace uint64 `json:"namespace"`
		}
		if json.Unmarshal(payload, &claims) == nil {
			return claims.Namespace
		}
	}
	return 0
}
