package proxy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
	"github.com/evorag/dgraph-evorag/plugin/render"
	"github.com/evorag/dgraph-evorag/plugin/search"
	"github.com/evorag/dgraph-evorag/queries"
)

// Sizes of the reads that make up one level of a neighbourhood.
const (
	nodesPerRead     = 1000
	relationsPerRead = 500
	namesPerRead     = 5000
	readsAtOnce      = 4
)

// neighbourhood is the part of the graph within reach of some start nodes, as one caller
// sees it at one timestamp. Nodes and relations have dense ids in the order of discovery.
type neighbourhood struct {
	relations []graph.Relation
	uids      []graph.UID
	names     []string
	ids       map[graph.UID]search.Node
	steps     [][]search.Step
	edges     []graph.Step // by edge id, as first met
	edgeIDs   map[graph.Triplet]uint32
	shortcuts map[uint32]string // labels of shortcuts, by edge id
}

func newNeighbourhood(relations []graph.Relation) *neighbourhood {
	return &neighbourhood{relations: relations, ids: map[graph.UID]search.Node{}, edgeIDs: map[graph.Triplet]uint32{}, shortcuts: map[uint32]string{}}
}

// Steps, CompareNodes and CompareRels make it a search.Adjacency.
func (n *neighbourhood) Steps(node search.Node) []search.Step { return n.steps[node] }

func (n *neighbourhood) CompareNodes(a, b search.Node) int { return cmp.Compare(n.uids[a], n.uids[b]) }

func (n *neighbourhood) CompareRels(a, b search.Rel) int {
	x, y := n.relations[a], n.relations[b]
	if c := strings.Compare(x.Predicate, y.Predicate); c != 0 || x.Inverse == y.Inverse {
		return c
	}
	if x.Inverse {
		return 1
	}
	return -1
}

// node gives a uid its dense id.
func (n *neighbourhood) node(u graph.UID) search.Node {
	id, ok := n.ids[u]
	if !ok {
		id = search.Node(len(n.uids))
		n.ids[u] = id
		n.uids = append(n.uids, u)
		n.names = append(n.names, "")
		n.steps = append(n.steps, nil)
	}
	return id
}

// add takes in one edge as it can be walked from a node, and gives its id.
func (n *neighbourhood) add(from search.Node, rel search.Rel, s graph.Step) uint32 {
	id, ok := n.edgeIDs[s.Triplet]
	if !ok {
		id = uint32(len(n.edges))
		n.edgeIDs[s.Triplet] = id
		n.edges = append(n.edges, s)
	}
	to := n.node(s.To())
	n.steps[from] = append(n.steps[from], search.Step{Rel: rel, To: to, Edge: id})
	return id
}

// Node, UID, Name, Relation and Score make it a Graph.
func (n *neighbourhood) Node(u graph.UID) (search.Node, bool) {
	id, ok := n.ids[u]
	return id, ok
}

// UID is a node's uid.
func (n *neighbourhood) UID(id search.Node) graph.UID { return n.uids[id] }

// Name is what a node is called.
func (n *neighbourhood) Name(id search.Node) string { return n.names[id] }

// Relation is a relation by its id.
func (n *neighbourhood) Relation(r search.Rel) graph.Relation { return n.relations[r] }

// Score is an edge's raw score.
func (n *neighbourhood) Score(edge uint32) float64 { return n.edges[edge].Score }

// explore reads what lies within b.Hops of the start nodes, level by level. The budget of
// edges or the context cuts it short, which makes the query partial.
func (q *query) explore(ctx context.Context, b *plan.Block, starts []graph.UID) (*neighbourhood, error) {
	n := newNeighbourhood(b.Via)
	var level []search.Node
	for _, u := range starts {
		if _, ok := n.ids[u]; !ok {
			level = append(level, n.node(u))
		}
	}
	for hop := 0; hop < b.Hops && len(level) > 0 && len(b.Via) > 0; hop++ {
		known := len(n.uids)
		more, err := q.level(ctx, b, n, level)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		level = level[:0]
		for id := known; id < len(n.uids); id++ {
			level = append(level, search.Node(id))
		}
	}
	for i := range n.steps {
		slices.SortFunc(n.steps[i], func(a, b search.Step) int {
			return cmp.Or(cmp.Compare(a.Rel, b.Rel), n.CompareNodes(a.To, b.To))
		})
	}
	return n, q.readNames(ctx, b, n)
}

// level reads every edge of the nodes; false when a budget ended it.
func (q *query) level(ctx context.Context, b *plan.Block, n *neighbourhood, nodes []search.Node) (bool, error) {
	type read struct {
		first int // relation id of the text's first relation
		text  string
		uids  string
	}
	var reads []read
	for first := 0; first < len(n.relations); first += relationsPerRead {
		text := neighboursText(n.relations[first:min(first+relationsPerRead, len(n.relations))], b.Fanout)
		for chunk := range slices.Chunk(nodes, nodesPerRead) {
			reads = append(reads, read{first, text, n.list(chunk)})
		}
	}
	for group := range slices.Chunk(reads, readsAtOnce) {
		if q.edges >= q.Budget.Edges {
			q.reason = fmt.Sprintf("more than %d edges lie within reach; narrow it with via, fewer hops or fanout", q.Budget.Edges)
			return false, nil
		}
		if ctx.Err() != nil {
			q.reason = "time was up while the neighbourhood was read"
			return false, nil
		}
		answers := make([]*render.Value, len(group))
		g, gctx := errgroup.WithContext(ctx)
		for i, r := range group {
			q.trips++
			g.Go(func() (err error) {
				answers[i], err = q.rows(gctx, graph.Call{Query: r.text, Vars: map[string]string{"$nodes": r.uids}})
				return err
			})
		}
		if err := g.Wait(); err != nil {
			if ctx.Err() != nil {
				q.reason = "time was up while the neighbourhood was read"
				return false, nil
			}
			return false, err
		}
		for i, r := range group {
			q.take(b, n, r.first, answers[i])
		}
	}
	return true, nil
}

// take moves the rows of a neighbours read into the neighbourhood.
func (q *query) take(b *plan.Block, n *neighbourhood, first int, rows *render.Value) {
	ids := make(map[string]search.Rel)
	for i := first; i < min(first+relationsPerRead, len(n.relations)); i++ {
		ids[n.relations[i].String()] = search.Rel(i)
	}
	for _, row := range rows.Items {
		from, ok := uidOf(row)
		if !ok {
			continue
		}
		for _, m := range row.Members {
			rel, ok := ids[m.Key]
			if !ok {
				continue
			}
			targets := m.Value.Items
			if m.Value.IsObject() {
				targets = []*render.Value{m.Value}
			}
			for _, t := range targets {
				to, ok := uidOf(t)
				if !ok {
					continue
				}
				q.edges++
				s := render.Step(n.relations[rel], from, to, t.Get(m.Key+"|evorag.score"), t.Get(m.Key+"|evorag.hidden"))
				if s.Hidden && !b.Hidden {
					continue
				}
				id := n.add(n.node(from), rel, s)
				if label, ok := t.Get(m.Key + "|" + graph.LabelFacet).Text(); ok && s.Predicate == graph.ShortcutPredicate {
					n.shortcuts[id] = label
				}
			}
		}
	}
}

func uidOf(v *render.Value) (graph.UID, bool) { return uidUnder(plan.UIDKey, v) }

func uidUnder(key string, v *render.Value) (graph.UID, bool) {
	text, ok := v.Get(key).Text()
	if !ok {
		return 0, false
	}
	u, err := graph.ParseUID(text)
	return u, err == nil
}

// list spells the uids of some nodes as the value of a uid variable.
func (n *neighbourhood) list(nodes []search.Node) string {
	uids := make([]graph.UID, len(nodes))
	for i, id := range nodes {
		uids[i] = n.uids[id]
	}
	return uidList(uids)
}

func uidList(uids []graph.UID) string {
	return strings.Replace(strings.Replace(plan.UIDFunc(uids), "uid(", "[", 1), ")", "]", 1)
}

// rows runs a read whose answer is one list under "nodes".
func (q *query) rows(ctx context.Context, c graph.Call) (*render.Value, error) {
	a, err := q.Engine.Query(ctx, q.asCaller(c))
	if err != nil {
		return nil, err
	}
	v, err := render.Parse(a.JSON)
	if err != nil {
		return nil, err
	}
	if rows := v.Get("nodes"); rows.IsArray() {
		return rows, nil
	}
	return render.Array(), nil
}

// readNames fills in what the nodes are called.
func (q *query) readNames(ctx context.Context, b *plan.Block, n *neighbourhood) error {
	names, err := q.namesOf(ctx, b.Names, n.uids)
	for i, u := range n.uids {
		n.names[i] = names[u]
	}
	return err
}

// namesOf reads the display names of nodes: the first of the predicates that a node has.
// A name that can't be read in time is left out, which makes the query partial.
func (q *query) namesOf(ctx context.Context, predicates []string, uids []graph.UID) (map[graph.UID]string, error) {
	names := make(map[graph.UID]string, len(uids))
	if len(predicates) == 0 {
		return names, nil
	}
	var lines strings.Builder
	for i, p := range predicates {
		lines.WriteString(plan.NameKey(i) + ": <" + p + ">\n")
	}
	text := strings.Replace(queries.Text("names"), "#names", lines.String(), 1)
	for chunk := range slices.Chunk(uids, namesPerRead) {
		q.trips++
		rows, err := q.rows(ctx, graph.Call{Query: text, Vars: map[string]string{"$nodes": uidList(chunk)}})
		if ctx.Err() != nil {
			q.reason = "time was up while names were read"
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		for _, row := range rows.Items {
			u, ok := uidOf(row)
			for i := 0; ok && i < len(predicates); i++ {
				if name, has := row.Get(plan.NameKey(i)).Text(); has {
					names[u] = name
					break
				}
			}
		}
	}
	return names, nil
}

// neighboursText is the query for every edge of some nodes over the relations.
func neighboursText(relations []graph.Relation, fanout int) string {
	var lines strings.Builder
	for _, r := range relations {
		lines.WriteString("<" + r.String() + ">")
		if fanout > 0 {
			lines.WriteString(" (first: " + strconv.Itoa(fanout) + ")")
		}
		label := ""
		if r.Predicate == graph.ShortcutPredicate {
			label = ", " + graph.LabelFacet
		}
		lines.WriteString(" @facets(evorag.score, evorag.hidden" + label + ") { " + plan.UIDKey + ": uid }\n")
	}
	return strings.Replace(queries.Text("neighbours"), "#relations", lines.String(), 1)
}

// items are the members of a list, or the one object that stands in its place.
func items(v *render.Value) []*render.Value {
	switch {
	case v.IsObject():
		return []*render.Value{v}
	case v.IsArray():
		return v.Items
	}
	return nil
}
