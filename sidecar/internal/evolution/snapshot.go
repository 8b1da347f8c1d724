package evolution

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

// Sizes of the reads of a snapshot.
const (
	page        = 10_000 // nodes; the first: of the page queries
	headsAtOnce = 1_000
	partsAtOnce = 20  // reads of edges in one query
	linesAtOnce = 500 // predicates in one query
)

// reader reads the cluster at one timestamp: the one that its first read was given.
type reader struct {
	cluster Cluster
	startTS uint64
	hash    string
}

// query is a facet.Query.
func (r *reader) query(ctx context.Context, text string, vars map[string]string) ([]byte, error) {
	a, err := r.cluster.OwnQuery(ctx, graph.Call{Query: text, Vars: vars, StartTS: r.startTS, Hash: r.hash, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	if r.startTS == 0 {
		r.startTS, r.hash = a.Txn.StartTS, a.Txn.Hash
	}
	return a.JSON, nil
}

func read(ctx context.Context, query facet.Query, into any, text string, vars map[string]string) error {
	data, err := query(ctx, text, vars)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("the engine's answer is not readable: %w", err)
	}
	return nil
}

// snapshot reads what a run looks at: the edges that feedback has touched, and all shortcuts.
// Its cost follows their number, not the size of the graph, unless all triplets are to count.
func (r *reader) snapshot(ctx context.Context, all bool) (evolve.Snapshot, graph.Schema, error) {
	var s evolve.Snapshot
	data, err := r.query(ctx, "schema {}", nil)
	if err != nil {
		return s, graph.Schema{}, err
	}
	schema, err := graph.ParseSchema(data)
	if err != nil {
		return s, schema, err
	}
	s.Inverse = map[string]bool{}
	for _, p := range append(schema.UIDPredicates(), graph.ShortcutPredicate) {
		s.Inverse[p] = schema.Predicates[p].Reverse
	}
	heads, err := r.touched(ctx)
	if err != nil {
		return s, schema, err
	}
	var parts []part
	for _, p := range schema.UIDPredicates() {
		for some := range slices.Chunk(heads[p], headsAtOnce) {
			parts = append(parts, part{p, some})
		}
	}
	for some := range slices.Chunk(parts, partsAtOnce) {
		if err := r.edges(ctx, some, &s); err != nil {
			return s, schema, err
		}
	}
	if err := r.shortcuts(ctx, &s); err != nil {
		return s, schema, err
	}
	if all {
		s.Total, err = r.total(ctx, schema)
	}
	return s, schema, err
}

// touched lists the nodes with touched edges, by predicate.
func (r *reader) touched(ctx context.Context) (map[string][]graph.UID, error) {
	out := map[string][]graph.UID{}
	for after := graph.UID(0); ; {
		var answer struct {
			Nodes []struct {
				UID        graph.UID `json:"uid"`
				Predicates []string  `json:"predicates"`
			} `json:"nodes"`
		}
		if err := read(ctx, r.query, &answer, queries.Text("evolution_touched"), map[string]string{"$after": after.String()}); err != nil {
			return nil, err
		}
		for _, n := range answer.Nodes {
			for _, p := range n.Predicates {
				out[p] = append(out[p], n.UID)
			}
			after = n.UID
		}
		if len(answer.Nodes) < page {
			return out, nil
		}
	}
}

// row is a node with some of its edges.
type row struct {
	UID   graph.UID `json:"uid"`
	Edges targets   `json:"edges"`
}

type target struct {
	UID    graph.UID `json:"uid"`
	Score  *float64  `json:"score"`
	N      int       `json:"n"`
	Low    int       `json:"low"`
	Hidden bool      `json:"hidden"`
	Via    string    `json:"via"`
}

func (t target) edge(head graph.UID, predicate string) evolve.Edge {
	e := evolve.Edge{Triplet: graph.Triplet{Head: head, Predicate: predicate, Object: t.UID}}
	e.Contribution = graph.Contribution{Score: graph.NeutralScore, Updates: t.N, Low: t.Low, Hidden: t.Hidden}
	if t.Score != nil {
		e.Score = min(max(*t.Score, 0), graph.MaxScore)
	}
	return e
}

// targets are a list, or one object where the predicate holds one node.
type targets []target

// UnmarshalJSON reads both.
func (t *targets) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		*t = make([]target, 1)
		return json.Unmarshal(b, &(*t)[0])
	}
	return json.Unmarshal(b, (*[]target)(t))
}

const edgeFacets = "@facets(score: evorag.score, n: evorag.n, low: evorag.low, hidden: evorag.hidden)"

// part is some nodes with touched edges under one predicate.
type part struct {
	predicate string
	heads     []graph.UID
}

// edges adds the touched edges of some nodes.
func (r *reader) edges(ctx context.Context, parts []part, s *evolve.Snapshot) error {
	var text strings.Builder
	for i, p := range parts {
		fmt.Fprintf(&text, "p%d(func: uid(%s)) { uid edges: <%s> @facets(gt(evorag.n, 0)) %s { uid } }\n", i, uids(p.heads), p.predicate, edgeFacets)
	}
	var answer map[string][]row
	if err := read(ctx, r.query, &answer, "{\n"+text.String()+"}", nil); err != nil {
		return err
	}
	for i, p := range parts {
		for _, n := range answer["p"+strconv.Itoa(i)] {
			for _, t := range n.Edges {
				s.Edges = append(s.Edges, t.edge(n.UID, p.predicate))
			}
		}
	}
	return nil
}

// shortcuts adds all shortcuts, and finds out whose path is gone. One whose facet evorag.via
// doesn't say what it stands for is somebody else's, and left alone.
func (r *reader) shortcuts(ctx context.Context, s *evolve.Snapshot) error {
	var all []graph.Triplet
	for after := graph.UID(0); ; {
		var answer struct {
			Nodes []row `json:"nodes"`
		}
		if err := read(ctx, r.query, &answer, queries.Text("evolution_shortcuts"), map[string]string{"$after": after.String()}); err != nil {
			return err
		}
		for _, n := range answer.Nodes {
			after = n.UID
			for _, t := range n.Edges {
				e := t.edge(n.UID, graph.ShortcutPredicate)
				path, err := graph.ParsePath(t.Via)
				if err != nil || path.Start != e.Head || path.End() != e.Object {
					continue
				}
				s.Edges = append(s.Edges, e)
				s.Shortcuts = append(s.Shortcuts, evolve.Standing{Shortcut: evolve.Shortcut{Path: path, Score: e.Score}})
				for _, st := range path.Steps {
					all = append(all, st.Triplet)
				}
			}
		}
		if len(answer.Nodes) < page {
			break
		}
	}
	there, err := facet.Exist(ctx, r.query, all)
	if err != nil {
		return err
	}
	for i, sc := range s.Shortcuts {
		s.Shortcuts[i].Gone = slices.ContainsFunc(sc.Path.Steps, func(st graph.Step) bool { return !there[st.Triplet] })
	}
	return nil
}

// total counts all of the user's edges.
func (r *reader) total(ctx context.Context, schema graph.Schema) (int, error) {
	sum := 0
	for part := range slices.Chunk(schema.UIDPredicates(), linesAtOnce) {
		var text strings.Builder
		for i, p := range part {
			fmt.Fprintf(&text, "var(func: has(<%s>)) { c%d as count(<%s>) }\nt%d() { total: sum(val(c%d)) }\n", p, i, p, i, i)
		}
		var answer map[string][]struct {
			Total int `json:"total"`
		}
		if err := read(ctx, r.query, &answer, "{\n"+text.String()+"}", nil); err != nil {
			return 0, err
		}
		for _, rows := range answer {
			for _, t := range rows {
				sum += t.Total
			}
		}
	}
	return sum, nil
}

// joined tells which pairs an edge of any predicate joins, from head to object.
func joined(ctx context.Context, query facet.Query, schema graph.Schema, pairs []evolve.Pair) (map[evolve.Pair]bool, error) {
	objects := map[graph.UID][]graph.UID{}
	for _, p := range pairs {
		objects[p.Head] = append(objects[p.Head], p.Object)
	}
	predicates := append(schema.UIDPredicates(), graph.ShortcutPredicate)
	out := map[evolve.Pair]bool{}
	for heads := range slices.Chunk(slices.Sorted(maps.Keys(objects)), headsAtOnce) {
		var to []graph.UID
		for _, h := range heads {
			to = append(to, objects[h]...)
		}
		slices.Sort(to)
		among := uids(slices.Compact(to))
		for part := range slices.Chunk(predicates, linesAtOnce) {
			var text strings.Builder
			for i, p := range part {
				fmt.Fprintf(&text, "e%d: <%s> @filter(uid(%s)) { uid }\n", i, p, among)
			}
			var answer struct {
				Nodes []map[string]json.RawMessage `json:"nodes"`
			}
			if err := read(ctx, query, &answer, "{ nodes(func: uid("+uids(heads)+")) { uid\n"+text.String()+"} }", nil); err != nil {
				return nil, err
			}
			for _, n := range answer.Nodes {
				if err := mark(out, n); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
}

// mark adds a node's edges, under whatever keys.
func mark(out map[evolve.Pair]bool, node map[string]json.RawMessage) error {
	var head graph.UID
	if err := json.Unmarshal(node["uid"], &head); err != nil {
		return fmt.Errorf("the engine's answer is not readable: %w", err)
	}
	for key, raw := range node {
		if key == "uid" {
			continue
		}
		var to targets
		if err := json.Unmarshal(raw, &to); err != nil {
			return fmt.Errorf("the engine's answer is not readable: %w", err)
		}
		for _, t := range to {
			out[evolve.Pair{Head: head, Object: t.UID}] = true
		}
	}
	return nil
}

// labels reads what relations are called, by predicate.
func labels(ctx context.Context, query facet.Query) (map[string]string, error) {
	var answer struct {
		Relations []struct {
			Predicate string `json:"predicate"`
			Label     string `json:"label"`
		} `json:"relations"`
	}
	if err := read(ctx, query, &answer, queries.Text("relations"), nil); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, r := range answer.Relations {
		if r.Label != "" {
			out[r.Predicate] = r.Label
		}
	}
	return out, nil
}

// names reads what nodes are called: the first of the predicates that a node has.
func names(ctx context.Context, query facet.Query, predicates []string, nodes []graph.UID) (map[graph.UID]string, error) {
	var lines strings.Builder
	for i, p := range predicates {
		fmt.Fprintf(&lines, "evorag.n%d: <%s>\n", i, p)
	}
	text := strings.Replace(queries.Text("names"), "#names", lines.String(), 1)
	out := map[graph.UID]string{}
	for part := range slices.Chunk(nodes, page) {
		var answer struct {
			Nodes []map[string]any `json:"nodes"`
		}
		if err := read(ctx, query, &answer, text, map[string]string{"$nodes": "[" + uids(part) + "]"}); err != nil {
			return nil, err
		}
		for _, n := range answer.Nodes {
			text, _ := n["evorag.u"].(string)
			u, err := graph.ParseUID(text)
			for i := 0; err == nil && i < len(predicates); i++ {
				if name, ok := n["evorag.n"+strconv.Itoa(i)].(string); ok {
					out[u] = name
					break
				}
			}
		}
	}
	return out, nil
}

// uids spells the arguments of uid(); without any it matches nothing.
func uids(list []graph.UID) string {
	if len(list) == 0 {
		return "0x0"
	}
	text := make([]string, len(list))
	for i, u := range list {
		text[i] = u.String()
	}
	return strings.Join(text, ",")
}
