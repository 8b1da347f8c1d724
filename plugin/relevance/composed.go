package relevance

import (
	"fmt"
	"math"
	"sync"
)

// Template weighs the parts of a triplet. Both of its entities weigh the same, so Sr
// belongs to the triplet and not to the direction in which a path walks it.
type Template struct{ Entity, Relation float64 }

// DefaultTemplate did well on all question sets measured in plugin/search.
var DefaultTemplate = Template{Entity: 0.4, Relation: 1}

// Name identifies everything that Sr depends on: the embedder's name with the template.
func (t Template) Name(embedder string) string {
	return fmt.Sprintf("%s/entity=%g,relation=%g", embedder, t.Entity, t.Relation)
}

// Vectors gives the products of many vectors with a question: a Table, or several as one.
type Vectors interface {
	// Products gives the cosine of the question with every vector by dense id, in [-1,1], and
	// a number that is at least all of them and 0. dst is used when it is large enough.
	Products(dst []float32, q *Question) (cos []float32, greatest float32)
}

// Composed gives Sr from the vectors of entities and relations, without a vector for each
// triplet. With the parts' vectors taken as orthogonal, which hashed texts nearly are,
//
//	cos = (Entity*(x.head + x.object) + Relation*(x.relation)) / sqrt(2*Entity^2 + Relation^2)
//
// so that after one pass over the tables every Sr is the sum of three numbers. A model's vectors
// are far from orthogonal; for a question that has one the norm is 2*Entity + Relation, that of
// three vectors in one direction: cos is the weighted mean of the three cosines, which no sum
// can lift above 1. It serves one question at a time; between two calls of Ask any number of
// readers may share it.
type Composed struct {
	template               Template
	entities, relations    Vectors
	entity, relation       float64   // weights over the norm
	ofEntity, ofRelation   []float32 // cosines with the question
	maxEntity, maxRelation float64
	labels                 edgeLabels
}

// NewComposed is ready after Ask.
func NewComposed(t Template, entities, relations Vectors) *Composed {
	return &Composed{template: t, entities: entities, relations: relations}
}

// Ask turns to another question. Later changes of the tables are not seen until the next.
func (c *Composed) Ask(q *Question) {
	norm := math.Sqrt(2*c.template.Entity*c.template.Entity + c.template.Relation*c.template.Relation)
	if !q.Model.None() {
		norm = 2*c.template.Entity + c.template.Relation
	}
	c.entity, c.relation = c.template.Entity/norm, c.template.Relation/norm
	var entity, relation float32
	if c.ofEntity == nil {
		c.ofEntity = *rooms.Get().(*[]float32)
	}
	c.ofEntity, entity = c.entities.Products(c.ofEntity, q)
	c.ofRelation, relation = c.relations.Products(c.ofRelation, q)
	c.maxEntity, c.maxRelation = float64(entity), float64(relation)
	c.labels.ask(q)
	c.maxRelation = max(c.maxRelation, c.labels.greatest)
}

// rooms are for cosines of entities: there may be hundreds of thousands of them.
var rooms = sync.Pool{New: func() any { return new([]float32) }}

// Release gives the memory of the last question back; nothing may be read until the next.
func (c *Composed) Release() {
	room := c.ofEntity
	rooms.Put(&room)
	c.ofEntity = nil
}

// Sr is the relevance of the triplet between two entities under a relation, by the ids of
// the tables, in [MinSr,1]. The edge's own id counts only where edges have labels of their own.
// An id without a vector counts as unrelated to the question.
func (c *Composed) Sr(from, relation, to, edge uint32) float64 {
	label := at(c.ofRelation, relation)
	if c.labels.has(relation) {
		label = c.labels.of(edge, label)
	}
	return c.sum(at(c.ofEntity, from)+at(c.ofEntity, to), label)
}

// sum is Sr of the cosines of both entities, added, and of the relation. The conversions keep every
// machine from fusing the multiplications with the addition: a bound and what it bounds round alike.
func (c *Composed) sum(entities, relation float64) float64 {
	return Sr(float64(c.entity*entities) + float64(c.relation*relation))
}

// Srs is Sr of many triplets of one relation at an entity, to the last bit; dst is as long as
// to.
func (c *Composed) Srs(dst []float64, from, relation uint32, to, edge []uint32) {
	if c.labels.has(relation) {
		for i, id := range to {
			dst[i] = c.Sr(from, relation, id, edge[i])
		}
		return
	}
	head, label := at(c.ofEntity, from), float64(c.relation*at(c.ofRelation, relation))
	for i, id := range to {
		dst[i] = Sr(float64(c.entity*(head+at(c.ofEntity, id))) + label)
	}
}

// Bound is at least the Sr of every triplet of the relation at the entity.
func (c *Composed) Bound(from, relation uint32) float64 {
	return c.sum(at(c.ofEntity, from)+c.maxEntity, c.Pull(relation))
}

// BoundFrom is at least the Sr of every triplet at the entity.
func (c *Composed) BoundFrom(from uint32) float64 {
	return c.sum(at(c.ofEntity, from)+c.maxEntity, c.maxRelation)
}

// BoundOf is at least the Sr of every triplet of the relation.
func (c *Composed) BoundOf(relation uint32) float64 {
	return c.sum(c.maxEntity+c.maxEntity, c.Pull(relation))
}

// Pull is the relation's own cosine with the question; where its edges have labels, at least that
// of each.
func (c *Composed) Pull(relation uint32) float64 {
	pull := at(c.ofRelation, relation)
	if c.labels.has(relation) {
		pull = max(pull, c.labels.greatest)
	}
	return pull
}

// Max is at least every Sr for the question.
func (c *Composed) Max() float64 {
	return c.sum(c.maxEntity+c.maxEntity, c.maxRelation)
}

func at(cos []float32, id uint32) float64 {
	if int(id) >= len(cos) {
		return 0
	}
	return float64(cos[id])
}
