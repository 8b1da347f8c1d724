package search_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/plugin/search"
)

// resident is a whole graph in memory, as compact rows: what a cache would hold.
type resident struct {
	start     []uint32 // by node, into steps; one more at the end
	steps     []search.Step
	names     []string
	labels    []string // by predicate; relation 2p walks it from head to object, 2p+1 back
	entities  *relevance.Table
	relations *relevance.Table
	ids       map[string]search.Node
}

func (g *resident) Steps(n search.Node) []search.Step {
	return g.steps[g.start[n]:g.start[n+1]]
}
func (g *resident) CompareNodes(a, b search.Node) int { return cmp.Compare(a, b) }
func (g *resident) CompareRels(a, b search.Rel) int   { return cmp.Compare(a, b) }

// neutral is a graph without feedback.
type neutral struct{}

func (neutral) Sc(uint32) float64        { return .5 }
func (neutral) MaxSc(search.Rel) float64 { return .5 }
func (neutral) Scs(dst []float64, _ []uint32) {
	for i := range dst {
		dst[i] = .5
	}
}

type triple struct {
	head   search.Node
	rel    uint32
	object search.Node
}

// assemble sorts triples into rows, both directions each, and embeds names and labels.
func assemble(triples []triple, names, labels []string, hash *relevance.Hash) *resident {
	g := &resident{names: names, labels: labels, entities: &relevance.Table{}, relations: &relevance.Table{}}
	g.start = make([]uint32, len(names)+1)
	for _, t := range triples {
		g.start[t.head+1]++
		g.start[t.object+1]++
	}
	for i := range names {
		g.start[i+1] += g.start[i]
	}
	next := slices.Clone(g.start)
	g.steps = make([]search.Step, 2*len(triples))
	for e, t := range triples {
		g.steps[next[t.head]] = search.Step{Rel: search.Rel(2 * t.rel), To: t.object, Edge: uint32(e)}
		next[t.head]++
		g.steps[next[t.object]] = search.Step{Rel: search.Rel(2*t.rel + 1), To: t.head, Edge: uint32(e)}
		next[t.object]++
	}
	for n := range names {
		slices.SortStableFunc(g.steps[g.start[n]:g.start[n+1]], func(a, b search.Step) int { return cmp.Compare(a.Rel, b.Rel) })
	}
	g.embed(hash)
	return g
}

func (g *resident) embed(hash *relevance.Hash) {
	g.entities, g.relations = &relevance.Table{}, &relevance.Table{}
	for i, n := range g.names {
		g.entities.Set(uint32(i), hash.Embed(n))
	}
	for i, l := range g.labels {
		g.relations.Set(uint32(2*i), hash.Embed(l))
		g.relations.Set(uint32(2*i+1), hash.Embed(l))
	}
	g.entities.Pack()
	g.relations.Pack()
}

// scorer is equation (2) over the graph, without feedback.
func (g *resident) scorer(template relevance.Template, q *relevance.Question) *search.Hybrid {
	composed := relevance.NewComposed(template, g.entities, g.relations)
	composed.Ask(q)
	return search.NewHybrid(.5, composed, neutral{}, 2*len(g.labels), nil)
}

// question is a line of questions.jsonl.
type question struct {
	ID       string   `json:"id"`
	Question string   `json:"question"`
	Topics   []string `json:"topic_entities"`
	Answers  []string `json:"answers"`
	Hops     int      `json:"hops"`
}

// readSet reads a question set from the folder that EVORAG_DATA names.
func readSet(t testing.TB, name string) (*resident, []question) {
	t.Helper()
	root := os.Getenv("EVORAG_DATA")
	if root == "" {
		t.Skip("EVORAG_DATA is not set; set it to the folder of question sets to measure on them")
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no question set here: %v", err)
	}
	ids := map[string]search.Node{}
	rels := map[string]uint32{}
	var names, labels []string
	node := func(s string) search.Node {
		n, ok := ids[s]
		if !ok {
			n = search.Node(len(names))
			ids[s] = n
			names = append(names, s)
		}
		return n
	}
	var triples []triple
	seen := map[triple]bool{}
	eachLine(t, filepath.Join(dir, "triples.tsv"), func(line string) {
		f := strings.Split(line, "\t")
		if len(f) != 3 {
			return
		}
		rel, ok := rels[f[1]]
		if !ok {
			rel = uint32(len(labels))
			rels[f[1]] = rel
			labels = append(labels, f[1])
		}
		x := triple{node(f[0]), rel, node(f[2])}
		if !seen[x] {
			seen[x] = true
			triples = append(triples, x)
		}
	})
	var questions []question
	eachLine(t, filepath.Join(dir, "questions.jsonl"), func(line string) {
		var q question
		require.NoError(t, json.Unmarshal([]byte(line), &q))
		questions = append(questions, q)
	})
	hash, err := relevance.NewHash(relevance.DefaultDim)
	require.NoError(t, err)
	g := assemble(triples, names, labels, hash)
	g.ids = ids
	return g, questions
}

// eachLine reads a text file, or the same with .gz.
func eachLine(t testing.TB, path string, line func(string)) {
	t.Helper()
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		f, err = os.Open(path + ".gz")
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	var r io.Reader = f
	if strings.HasSuffix(f.Name(), ".gz") {
		r, err = gzip.NewReader(f)
		require.NoError(t, err)
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line(lines.Text())
	}
	require.NoError(t, lines.Err())
}

// zipf makes a deterministic graph whose degrees follow a power law: edges/5 nodes, one
// hundred predicates.
func zipf(edges int) *resident {
	const predicates = 100
	nodes := edges / 5
	random := rand.New(rand.NewPCG(1, 2))
	heavy := rand.NewZipf(random, 1.3, 20, uint64(nodes-1))
	words := []string{"river", "queen", "film", "north", "stone", "garden", "castle", "music", "island", "winter", "letter", "engine", "summer", "bridge"}
	names := make([]string, nodes)
	for i := range names {
		names[i] = words[random.IntN(len(words))] + " " + words[random.IntN(len(words))] + " " + strconv.Itoa(i)
	}
	labels := make([]string, predicates)
	for i := range labels {
		labels[i] = words[i%len(words)] + "_" + words[(i/len(words)+3)%len(words)] + "_" + strconv.Itoa(i)
	}
	relation := rand.NewZipf(random, 1.2, 4, predicates-1)
	triples := make([]triple, edges)
	for i := range triples {
		triples[i] = triple{search.Node(random.IntN(nodes)), uint32(relation.Uint64()), search.Node(heavy.Uint64())}
	}
	hash, err := relevance.NewHash(relevance.DefaultDim)
	if err != nil {
		panic(err)
	}
	return assemble(triples, names, labels, hash)
}
