package graphcache

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// Vectors are an embeddings model's, of texts.
type Vectors interface {
	// Rows gives the rows of texts, in their order, with the vectors that they are of; NoRow for
	// a text without one. It must not call the model.
	Rows(texts []string) (relevance.Rows, []uint32, error)
	// Changed is another number once there may be more vectors than before.
	Changed() uint64
}

// rowsOf is Vectors.Rows whose failures are told elsewhere.
type rowsOf func(texts []string) (relevance.Rows, []uint32)

// modelled are the rows of a graph's texts. It never changes.
type modelled struct {
	way       relevance.Way
	rows      relevance.Rows
	nodes     []uint32 // by node
	relations []uint32
	shortcuts []uint32 // by row of edgeLabels
	edges     []uint32 // by edge, of triplets; nil in other ways
}

func (m *modelled) bytes() int64 {
	if m == nil {
		return 0
	}
	return 4 * int64(cap(m.nodes)+cap(m.relations)+cap(m.shortcuts)+cap(m.edges))
}

// Relevance gives Sr for one question.
func (g *Graph) Relevance(q *relevance.Question) search.Relevance {
	m := g.model
	if m == nil || m.way == relevance.ByHash || m.rows.Dim() != len(q.Model.Weight) {
		c := g.hashed()
		c.Ask(q.Hashed())
		return c
	}
	if m.way == relevance.ByTriplet {
		t := relevance.NewTriplets(g.hashed(), m.rows, m.edges)
		t.Ask(q)
		return t
	}
	c := relevance.NewComposed(relevance.DefaultTemplate,
		relevance.Modelled{Hashed: g.vectors, Rows: m.rows, Of: m.nodes}, relevance.Modelled{Hashed: g.relations, Rows: m.rows, Of: m.relations})
	if g.shortcuts != nil {
		g.labelShortcuts(c, relevance.Modelled{Hashed: g.shortcuts.table, Rows: m.rows, Of: m.shortcuts})
	}
	c.Ask(q)
	return c
}

// hashed is the way without a model.
func (g *Graph) hashed() *relevance.Composed {
	c := relevance.NewComposed(relevance.DefaultTemplate, g.vectors, g.relations)
	if g.shortcuts != nil {
		g.labelShortcuts(c, g.shortcuts.table)
	}
	return c
}

// Nearest are the n nodes whose names' vectors are nearest to x, of those with a cosine of at least
// least, nearest first; ties by uid. None where there are no vectors.
func (g *Graph) Nearest(x relevance.Dense, n int, least float64) (nodes []search.Node, cosines []float64) {
	m := g.model
	if m == nil || n < 1 || x.None() || len(x.Weight) != m.rows.Dim() {
		return nil, nil
	}
	for node, cos := range m.rows.Cosines(m.nodes, x) {
		cos := float64(cos)
		if m.nodes[node] == relevance.NoRow || cos < least {
			continue
		}
		at := sort.Search(len(nodes), func(i int) bool {
			return cosines[i] < cos || cosines[i] == cos && g.CompareNodes(nodes[i], search.Node(node)) > 0
		})
		if at < n {
			nodes, cosines = slices.Insert(nodes, at, search.Node(node)), slices.Insert(cosines, at, cos)
			nodes, cosines = nodes[:min(len(nodes), n)], cosines[:min(len(cosines), n)]
		}
	}
	return nodes, cosines
}

// label is a relation's text for a model.
func (g *Graph) label(predicate int) string {
	name := g.predicates[predicate].name
	return RelationText(name, g.labels)
}

// RelationText is the text that a predicate's vector is of.
func RelationText(predicate string, labels map[string]string) string {
	if labels[predicate] == "" && predicate == graph.ShortcutPredicate {
		return graph.ShortcutLabel
	}
	return cmp.Or(labels[predicate], predicate)
}

// textsAtOnce is how many texts are looked up at once.
const textsAtOnce = 20_000

// lookup gathers texts and what to do with their rows.
type lookup struct {
	of    rowsOf
	texts []string
	into  []*uint32
	rows  relevance.Rows
}

func (l *lookup) add(text string, into *uint32) {
	l.texts, l.into = append(l.texts, text), append(l.into, into)
	if len(l.texts) == textsAtOnce {
		l.flush()
	}
}

func (l *lookup) flush() relevance.Rows {
	rows, of := l.of(l.texts)
	for i, row := range of {
		*l.into[i] = row
	}
	l.rows, l.texts, l.into = rows, l.texts[:0], l.into[:0]
	return rows
}

// modelled looks up all texts; with before, those that it has no rows for.
func (g *Graph) modelled(before *modelled, of rowsOf) *modelled {
	if g.model != nil && before == nil {
		before = &modelled{way: g.model.way}
	}
	if before == nil {
		return nil
	}
	m := &modelled{way: before.way, nodes: make([]uint32, g.nodes), relations: make([]uint32, g.Relations())}
	copy(m.nodes, before.nodes)
	copy(m.relations, before.relations)
	l := &lookup{of: of}
	calls := g.shortcuts.names()
	m.shortcuts = make([]uint32, len(calls))
	for i, label := range calls {
		l.add(label, &m.shortcuts[i])
	}
	for i := range m.relations {
		if m.relations[i] == relevance.NoRow {
			l.add(g.label(i/2), &m.relations[i])
		}
	}
	for i := range m.nodes {
		if m.nodes[i] == relevance.NoRow {
			l.add(g.Name(search.Node(i)), &m.nodes[i])
		}
	}
	if m.way == relevance.ByTriplet {
		m.edges = make([]uint32, g.scored)
		copy(m.edges, before.edges)
		for i := range g.nodes {
			for _, s := range g.Steps(search.Node(i)) {
				if s.Rel%2 == 0 && m.edges[s.Edge] == relevance.NoRow {
					g.tripletText(search.Node(i), s, calls, m.edges, l)
				}
			}
		}
	}
	m.rows = l.flush()
	return m
}

// tripletText looks up the triplet of a step from a node; calls are the labels of shortcuts.
func (g *Graph) tripletText(from search.Node, s search.Step, calls []string, edges []uint32, l *lookup) {
	label, head, object := g.label(int(s.Rel/2)), from, s.To
	if g.shortcuts != nil {
		if row, ok := g.shortcuts.row[s.Edge]; ok {
			label = calls[row]
		}
	}
	if s.Rel%2 == 1 {
		head, object = object, head
	}
	l.add(relevance.TripletText(g.Name(head), label, g.Name(object)), &edges[s.Edge])
}

// remodelled looks up what a change has brought: the names of some nodes, and edges.
func (e *editor) remodelled(renamed []search.Node, of rowsOf) *modelled {
	if len(renamed) == 0 && (e.model.edges == nil || len(e.added) == 0) {
		return e.model
	}
	m := *e.model
	l := &lookup{of: of}
	if len(renamed) > 0 {
		m.nodes = append(slices.Clone(m.nodes), make([]uint32, e.nodes-len(m.nodes))...)
		for _, n := range renamed {
			l.add(e.Name(n), &m.nodes[n])
		}
	}
	if m.edges != nil {
		m.edges = append(slices.Clone(m.edges), make([]uint32, e.scored-len(m.edges))...)
		calls := e.shortcuts.names()
		for n, added := range e.added {
			for _, s := range added {
				e.tripletText(n, s, calls, m.edges, l)
			}
		}
		for _, n := range renamed {
			for _, s := range e.Steps(n) {
				e.tripletText(n, s, calls, m.edges, l)
			}
		}
	}
	m.rows = l.flush()
	return &m
}

// recalled looks up what shortcuts are called that have got another label.
func (e *editor) recalled(of rowsOf) *modelled {
	m := *e.model
	m.edges = slices.Clone(m.edges)
	for edge := range e.called {
		if int(edge) < len(m.edges) {
			m.edges[edge] = relevance.NoRow
		}
	}
	return e.Graph.modelled(&m, of)
}

// vectorsMet is when vectors were last looked up for all texts.
type vectorsMet struct {
	changed uint64
	at      time.Time
	took    time.Duration
}

// leastBetween two look-ups of vectors that have come.
const leastBetween = time.Second

// moreVectors tells whether it is time to look for vectors that have come.
func (k *keeper) moreVectors(now time.Time) bool {
	return k.Vectors != nil && k.Vectors.Changed() != k.met.changed && now.Sub(k.met.at) >= max(leastBetween, fillShare*k.met.took)
}

// embed gives a graph that nobody has seen yet its rows; before are those that are known.
func (k *keeper) embed(g *Graph, before *modelled) vectorsMet {
	began := k.Now()
	changed := k.Vectors.Changed()
	if before == nil {
		before = &modelled{way: cmp.Or(k.Way, relevance.ByHash)}
	}
	g.model = g.modelled(before, k.rowsOf)
	return vectorsMet{changed, k.Now(), k.Now().Sub(began)}
}

// rowsOf is Rows of the Vectors; a failure is logged, and the texts have no rows for now.
func (c *Cache) rowsOf(texts []string) (relevance.Rows, []uint32) {
	rows, of, err := c.Vectors.Rows(texts)
	if err != nil {
		c.Log.Warn("vectors can't be read; texts count by their hashed words", "error", err)
	}
	return rows, of
}

// Texts reads all texts of a graph that a model embeds, and gives each once or more: the relations'
// labels, the nodes' names, with triplets those too. names are the predicates that hold a name, best
// first.
func Texts(ctx context.Context, from Reader, names []string, triplets bool, progress func(edges int)) ([]string, error) {
	const unbounded = 1 << 62
	b, _, err := fill(ctx, from, names, func(s graph.Schema, labels map[string]string) *builder {
		return newBuilder(s, names, labels, nil, unbounded)
	}, progress)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, p := range b.predicates {
		texts = append(texts, RelationText(p.name, b.labels))
	}
	texts = append(texts, b.called...)
	texts = slices.AppendSeq(texts, maps.Values(b.shortcut))
	if triplets {
		for _, e := range b.edges {
			label := RelationText(b.predicates[e.predicate].name, b.labels)
			if b.predicates[e.predicate].name == graph.ShortcutPredicate {
				label = cmp.Or(b.shortcut[[2]graph.UID{b.uids[e.head], b.uids[e.object]}], label)
			}
			texts = append(texts, relevance.TripletText(b.called[e.head], label, b.called[e.object]))
		}
	}
	return texts, nil
}
