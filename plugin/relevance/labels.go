package relevance

// edgeLabels let each edge of a relation, in either direction, count by a label of its own, as
// shortcuts do.
type edgeLabels struct {
	relations [2]uint32
	vectors   Vectors           // nil: no edge has a label
	row       map[uint32]uint32 // by edge
	cos       []float32
	greatest  float64
}

// LabelEdges makes the edges of a relation and its inverse count by the vectors of their own
// labels, row by edge; an edge without one goes on counting by its relation's. It takes effect
// with the next Ask. row must not change meanwhile.
func (c *Composed) LabelEdges(relation, inverse uint32, labels Vectors, row map[uint32]uint32) {
	c.labels = edgeLabels{relations: [2]uint32{relation, inverse}, vectors: labels, row: row}
}

func (l *edgeLabels) ask(q *Question) {
	if l.vectors == nil {
		return
	}
	var greatest float32
	l.cos, greatest = l.vectors.Products(l.cos, q)
	l.greatest = float64(greatest)
}

func (l *edgeLabels) has(relation uint32) bool {
	return l.vectors != nil && (relation == l.relations[0] || relation == l.relations[1])
}

func (l *edgeLabels) of(edge uint32, otherwise float64) float64 {
	if row, ok := l.row[edge]; ok {
		return at(l.cos, row)
	}
	return otherwise
}
