// Package scale makes graphs of any size to measure with: the same options always give the
// same graph. Degrees follow a power law, as those of real graphs do.
package scale

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
)

// Options say what graph to make.
type Options struct {
	Nodes      int     // at least 2
	Edges      int     // lines; a few of them say the same
	Predicates int     // at least 1
	Scored     float64 // share of edges with a learned score, 0..1
	Hub        int     // edges that lead to the first node, besides those that chance brings; 0 for none
	Seed       uint64
}

// Check tells what is wrong with options, and what to write instead.
func (o Options) Check() error {
	switch {
	case o.Nodes < 2:
		return fmt.Errorf("nodes is %d; write 2 or more", o.Nodes)
	case o.Edges < 0:
		return fmt.Errorf("edges is %d; write 0 or more", o.Edges)
	case o.Predicates < 1:
		return fmt.Errorf("predicates is %d; write 1 or more", o.Predicates)
	case !(o.Scored >= 0 && o.Scored <= 1):
		return fmt.Errorf("scored is %v; write a share from 0 to 1", o.Scored)
	case o.Hub < 0 || o.Hub > o.Edges:
		return fmt.Errorf("hub is %d; write a number from 0 to edges, %d", o.Hub, o.Edges)
	}
	return nil
}

// Exponents of the power laws: of how often a node is an edge's object, and of how often a
// predicate is used. With 1,000,000 edges the greatest node has some 10^4.
const (
	objectExponent, objectShift       = 1.3, 20
	predicateExponent, predicateShift = 1.2, 4
)

var words = []string{
	"river", "queen", "film", "north", "stone", "garden", "castle", "music", "island", "winter", "letter", "engine", "summer", "bridge",
}

// Edge is one line of the graph, by the numbers of nodes and predicates.
type Edge struct {
	Head, Predicate, Object int
	Score                   float64 // raw, in [0,200]
	Scored                  bool
}

// Graph is a generator. Its methods may be called again and give the same.
type Graph struct {
	Options
	names []string
}

// New makes the generator; it draws the names.
func New(o Options) (*Graph, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	g := &Graph{Options: o, names: make([]string, o.Nodes)}
	random := rand.New(rand.NewPCG(o.Seed, 1)) //nolint:gosec // reproducible by design
	for i := range g.names {
		g.names[i] = words[random.IntN(len(words))] + " " + words[random.IntN(len(words))] + " " + strconv.Itoa(i)
	}
	return g, nil
}

// Name is what a node is called; no two nodes have one name.
func (g *Graph) Name(node int) string { return g.names[node] }

// Predicate is a predicate's name, such as "queen_stone_1".
func (g *Graph) Predicate(p int) string {
	return words[p%len(words)] + "_" + words[(p/len(words)+3)%len(words)] + "_" + strconv.Itoa(p)
}

// Each yields every edge.
func (g *Graph) Each(yield func(Edge) bool) {
	random := rand.New(rand.NewPCG(g.Seed, 2)) //nolint:gosec // likewise
	object := rand.NewZipf(random, objectExponent, objectShift, uint64(g.Nodes-1))
	predicate := rand.NewZipf(random, predicateExponent, predicateShift, uint64(g.Predicates-1))
	for i := range g.Edges {
		e := Edge{Head: random.IntN(g.Nodes), Predicate: int(predicate.Uint64()), Object: int(object.Uint64())}
		if i < g.Hub {
			e.Predicate, e.Object = 0, 0
		}
		if random.Float64() < g.Scored {
			e.Scored, e.Score = true, float64(random.IntN(2001))/10
		}
		if !yield(e) {
			return
		}
	}
}

// WriteTSV writes "head, relation, object" lines, as dgraph-evorag load reads them. Scores
// have no place in it.
func (g *Graph) WriteTSV(w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<16)
	for e := range g.Each {
		fmt.Fprintf(b, "%s\t%s\t%s\n", g.names[e.Head], g.Predicate(e.Predicate), g.names[e.Object])
	}
	return b.Flush()
}

// WriteRDF writes N-Quads with names, types and scores, as dgraph bulk and dgraph live read
// them together with Schema. An edge that is drawn twice has the score of one of the two.
func (g *Graph) WriteRDF(w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<16)
	for i, name := range g.names {
		fmt.Fprintf(b, "_:n%d <name> %q .\n_:n%d <dgraph.type> \"Entity\" .\n", i, name, i)
	}
	for e := range g.Each {
		fmt.Fprintf(b, "_:n%d <%s> _:n%d", e.Head, g.Predicate(e.Predicate), e.Object)
		if e.Scored {
			fmt.Fprintf(b, " (evorag.score=%.1f)", e.Score)
		}
		fmt.Fprint(b, " .\n")
	}
	return b.Flush()
}

// WriteSchema writes the schema of the RDF.
func (g *Graph) WriteSchema(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, "name: string @index(exact, term) .\n")
	for p := range g.Predicates {
		fmt.Fprintf(b, "<%s>: [uid] @reverse .\n", g.Predicate(p))
	}
	fmt.Fprint(b, "type Entity {\n  name\n}\n")
	return b.Flush()
}
