package graphcache

import (
	"maps"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// edgeLabels are what shortcuts are called, each by itself. They never change: with makes others.
type edgeLabels struct {
	row   map[uint32]uint32 // by edge id
	rows  map[string]uint32 // by label
	table *relevance.Table
}

// with is the labels after some edges were given theirs, "" for none.
func (l *edgeLabels) with(given map[uint32]string, hash *relevance.Hash) *edgeLabels {
	next := &edgeLabels{row: map[uint32]uint32{}, rows: map[string]uint32{}, table: &relevance.Table{}}
	if l != nil {
		next = &edgeLabels{maps.Clone(l.row), maps.Clone(l.rows), l.table.Clone()}
	}
	for edge, label := range given {
		if label == "" {
			delete(next.row, edge)
			continue
		}
		row, known := next.rows[label]
		if !known {
			row = uint32(len(next.rows))
			next.rows[label] = row
			next.table.Set(row, hash.Embed(label))
		}
		next.row[edge] = row
	}
	next.table.Pack()
	return next
}

// has tells whether an edge is called so, "" for one without a label.
func (l *edgeLabels) has(edge uint32, label string) bool {
	if l == nil {
		return label == ""
	}
	row, labelled := l.row[edge]
	if label == "" {
		return !labelled
	}
	known, ok := l.rows[label]
	return ok && labelled && row == known
}

func (l *edgeLabels) bytes() int64 {
	if l == nil {
		return 0
	}
	return int64(len(l.row))*idBytes + int64(l.table.Bytes())
}

// names are the labels by row.
func (l *edgeLabels) names() []string {
	if l == nil {
		return nil
	}
	names := make([]string, len(l.rows))
	for label, row := range l.rows {
		names[row] = label
	}
	return names
}

// labelShortcuts lets shortcuts count by their own labels.
func (g *Graph) labelShortcuts(c *relevance.Composed, labels relevance.Vectors) {
	if p, ok := g.predicate(graph.ShortcutPredicate); ok {
		c.LabelEdges(uint32(2*p), uint32(2*p+1), labels, g.shortcuts.row)
	}
}

// callShortcut notes what an edge is called, where it is a shortcut.
func (e *editor) callShortcut(edge uint32, predicate search.Rel, label string) {
	if e.predicates[predicate].name == graph.ShortcutPredicate && !e.shortcuts.has(edge, label) {
		e.called[edge] = label
	}
}
