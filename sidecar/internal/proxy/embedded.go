package proxy

import (
	"cmp"
	"context"
	"slices"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// Model gives vectors of an embeddings model. What its errors say is shown to every caller.
type Model interface {
	// Name is that of all that the vectors depend on.
	Name() string
	// Dim is the number of numbers of each vector; 0 while none is known.
	Dim() int
	// Embed gives a question's vector; it may call the model's server, once, and waits for it.
	Embed(ctx context.Context, question string) (relevance.Dense, error)
	// Rows gives the rows of texts, in their order, with the vectors that they are of; NoRow for
	// a text without one. It doesn't call the server.
	Rows(texts []string) (relevance.Rows, []uint32, error)
	// Want names texts without a vector. It doesn't wait.
	Want(texts []string)
}

// embedded is what a query's questions became.
type embedded struct {
	of     map[string]relevance.Dense
	reason string // why there is none
}

// modelled tells whether Sr comes from a model.
func (q *query) modelled() bool { return q.Model != nil && q.way() != relevance.ByHash }

func (q *query) way() relevance.Way { return cmp.Or(q.Way, relevance.ByHash) }

// embed gives a question's vector, none where the model can't be asked: the query is answered all
// the same.
func (q *query) embed(ctx context.Context, question string) relevance.Dense {
	if d, known := q.embedded.of[question]; known {
		return d
	}
	d, err := q.Model.Embed(ctx, question)
	if err != nil {
		q.embedded.reason = err.Error()
	}
	if q.embedded.of == nil {
		q.embedded.of = map[string]relevance.Dense{}
	}
	q.embedded.of[question] = d
	return d
}

// dense rounds a vector that a plan has read.
func dense(x []float32) relevance.Dense {
	d, err := relevance.NewDense(x)
	if err != nil {
		panic(err) // a plan's is finite and has a direction
	}
	return d
}

// texted are the texts that were read for a query, by dense id, and their hashed vectors. What a
// model has no use for is not spelled out.
type texted struct {
	entities, relations relevance.List
	labels              []string
	edges               edgeLabels
	names, triplets     func() []string
}

// edgeLabels are what edges of one relation are called, each by itself.
type edgeLabels struct {
	forward, inverse int // the relation; -1: not there
	labels           []string
	hashed           relevance.List
	row              map[uint32]uint32 // into labels, by edge
}

// give lets the edges count by their labels.
func (l edgeLabels) give(c *relevance.Composed, vectors relevance.Vectors) *relevance.Composed {
	if len(l.labels) > 0 {
		c.LabelEdges(uint32(l.forward), uint32(l.inverse), vectors, l.row)
	}
	return c
}

// relevanceOf gives Sr for the question over texts that were read for it.
func (q *query) relevanceOf(asked *relevance.Question, t texted) search.Relevance {
	hashed := t.edges.give(relevance.NewComposed(relevance.DefaultTemplate, t.entities, t.relations), t.edges.hashed)
	if asked.Model.None() {
		hashed.Ask(asked)
		return hashed
	}
	if q.way() == relevance.ByTriplet {
		rows, of := q.rowsOf(t.triplets())
		sr := relevance.NewTriplets(hashed, rows, of)
		sr.Ask(asked)
		return sr
	}
	_, ofRelation := q.rowsOf(t.labels)
	_, ofEdge := q.rowsOf(t.edges.labels)
	rows, ofEntity := q.rowsOf(t.names()) // the later Rows hold the earlier ones
	if rows.Dim() != len(asked.Model.Weight) {
		hashed.Ask(asked.Hashed())
		return hashed
	}
	sr := t.edges.give(relevance.NewComposed(relevance.DefaultTemplate,
		relevance.Modelled{Hashed: t.entities, Rows: rows, Of: ofEntity}, relevance.Modelled{Hashed: t.relations, Rows: rows, Of: ofRelation}),
		relevance.Modelled{Hashed: t.edges.hashed, Rows: rows, Of: ofEdge})
	sr.Ask(asked)
	return sr
}

// rowsOf is Model.Rows; texts whose vectors can't be read count by their hashed words.
func (q *query) rowsOf(texts []string) (relevance.Rows, []uint32) {
	rows, of, err := q.Model.Rows(texts)
	if err != nil {
		q.embedded.reason = err.Error()
	}
	return rows, of
}

// embedder names all that Sr of this query depends on.
func (q *query) embedder() string {
	if !q.modelled() || q.embedded.reason != "" {
		return relevance.DefaultTemplate.Name(q.hash.Name())
	}
	if q.way() == relevance.ByTriplet {
		return q.Model.Name() + "/triplet"
	}
	return relevance.DefaultTemplate.Name(q.Model.Name() + "/composed")
}

// relevance tells how Sr of the results came about, counts their texts that have no vector, and
// wants them embedded.
func (q *query) relevance(results []graph.Result) graph.Relevance {
	r := graph.Relevance{Way: string(q.way())}
	if q.Model == nil {
		return r
	}
	r.Model, r.Reason = q.Model.Name(), q.embedded.reason
	if !q.modelled() {
		return r
	}
	texts := q.textsOf(results)
	_, of := q.rowsOf(texts)
	var without []string
	for i, row := range of {
		if row == relevance.NoRow {
			without = append(without, texts[i])
		}
	}
	q.Model.Want(without)
	r.Fallback = len(without)
	if r.Reason != "" {
		r.Fallback = len(texts)
	}
	return r
}

// textsOf are the different texts that Sr of the results is made from.
func (q *query) textsOf(results []graph.Result) []string {
	var texts []string
	for _, r := range results {
		for _, in := range r.Instances {
			for i, t := range in.Triplets {
				from, to, label := in.Nodes[i].Name, in.Nodes[i+1].Name, q.view.label(t.Predicate)
				if t.Predicate == graph.ShortcutPredicate {
					label = t.Label
				}
				switch {
				case q.way() == relevance.ByComposed:
					texts = append(texts, from, label, to)
				case t.Inverse:
					texts = append(texts, relevance.TripletText(to, label, from))
				default:
					texts = append(texts, relevance.TripletText(from, label, to))
				}
			}
		}
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if len(texts) > 0 && texts[0] == "" {
		texts = texts[1:] // a node without a name
	}
	return texts
}
