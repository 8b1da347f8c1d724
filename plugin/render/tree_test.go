package render

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// path reads "1 knows 2 ~likes 3": uids and relations in turn.
func path(start graph.UID, steps ...any) graph.Path {
	p := graph.Path{Start: start}
	from := start
	for i := 0; i < len(steps); i += 2 {
		r := graph.ParseRelation(steps[i].(string))
		to := graph.UID(steps[i+1].(int))
		p.Steps = append(p.Steps, Step(r, from, to, nil, nil))
		from = to
	}
	return p
}

func hang(tree *Tree, p graph.Path) {
	for _, s := range p.Steps {
		tree.Add(s)
	}
}

func values(t *testing.T, rows string) func(graph.UID) []byte {
	m := map[graph.UID][]byte{}
	require.NoError(t, Reread{Node: func(r Row) { m[r.UID] = r.Members }}.Read([]byte(`{"nodes":`+rows+`}`)))
	return func(u graph.UID) []byte { return m[u] }
}

func TestTree(t *testing.T) {
	single := func(r graph.Relation) bool { return r.Predicate == "boss" && !r.Inverse }
	for _, c := range []struct {
		name   string
		starts []graph.UID
		paths  []graph.Path
		want   string
	}{
		{
			"paths share their beginnings, best first",
			[]graph.UID{1},
			[]graph.Path{path(1, "knows", 2, "likes", 3), path(1, "likes", 3), path(1, "knows", 2, "likes", 4)},
			`[{"name":"n1","knows":[{"name":"n2","likes":[{"name":"n3"},{"name":"n4"}]}],"likes":[{"name":"n3"}]}]`,
		},
		{
			"a node has its values where a reader first meets it, be it down the tree or level by level with keys in order",
			[]graph.UID{1},
			[]graph.Path{path(1, "likes", 2, "likes", 3, "knows", 4), path(1, "~likes", 4), path(1, "knows", 3, "likes", 2)},
			`[{"name":"n1","likes":[{"name":"n2","likes":[{"name":"n3","knows":[{"name":"n4"}],"likes":[{"uid":"0x2"}]}]}],"~likes":[{"name":"n4"}],"knows":[{"name":"n3"}]}]`,
		},
		{
			"an edge stands once, whichever way it was walked",
			[]graph.UID{1, 2},
			[]graph.Path{path(1, "knows", 2), path(2, "~knows", 1, "likes", 3)},
			`[{"name":"n1","knows":[{"name":"n2"}],"likes":[{"name":"n3"}]},{"name":"n2"}]`,
		},
		{
			"a node is expanded at its first place only",
			[]graph.UID{1},
			[]graph.Path{path(1, "knows", 2), path(1, "likes", 2, "likes", 3)},
			`[{"name":"n1","knows":[{"name":"n2","likes":[{"name":"n3"}]}],"likes":[{"uid":"0x2"}]}]`,
		},
		{
			"a relation that holds one node is an object, as Dgraph writes it",
			[]graph.UID{1},
			[]graph.Path{path(1, "boss", 2), path(1, "~boss", 3)},
			`[{"name":"n1","boss":{"name":"n2"},"~boss":[{"name":"n3"}]}]`,
		},
		{
			"a node without values is its uid",
			[]graph.UID{9},
			[]graph.Path{path(9, "knows", 8)},
			`[{"uid":"0x9","knows":[{"uid":"0x8"}]}]`,
		},
		{"a start without paths stands alone", []graph.UID{1}, nil, `[{"name":"n1"}]`},
		{"no start, no node", nil, nil, `[]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := NewTree(c.starts, values(t, `[{"evorag.u":"0x1","name":"n1"},{"evorag.u":"0x2","name":"n2"},{"evorag.u":"0x3","name":"n3"},{"evorag.u":"0x4","name":"n4"}]`), single)
			for _, p := range c.paths {
				hang(tree, p)
			}
			require.Equal(t, c.want, string(tree.Value().AppendTo(nil)))
		})
	}
}

func TestTreeShowsScoresBesideTheEdge(t *testing.T) {
	tree := NewTree([]graph.UID{1}, func(graph.UID) []byte { return nil }, func(graph.Relation) bool { return false })
	tree.ShowScores()
	hang(tree, path(1, "~knows", 2))
	require.Equal(t, `[{"uid":"0x1","~knows":[{"uid":"0x2","~knows|evorag.score":100}]}]`, string(tree.Value().AppendTo(nil)))
}

func TestContext(t *testing.T) {
	node := func(u graph.UID, name string) graph.Node { return graph.Node{UID: u, Name: name} }
	out, in := graph.ScoredTriplet{Label: "directed by"}, graph.ScoredTriplet{Label: "directed by", Inverse: true}
	alien, scott := node(1, "Alien"), node(2, "Ridley\nScott")
	got := Context([]graph.Result{
		{N: 1, Start: alien, Total: 1, Instances: []graph.Instance{{Nodes: []graph.Node{alien, scott}, Triplets: []graph.ScoredTriplet{out}}}},
		{N: 2, Start: alien, Total: 5, Instances: []graph.Instance{
			{Nodes: []graph.Node{alien, scott, node(3, "Gladiator")}, Triplets: []graph.ScoredTriplet{out, in}},
			{Nodes: []graph.Node{alien, scott, node(4, "")}, Triplets: []graph.ScoredTriplet{out, in}},
		}},
		{N: 3, Start: alien, Total: 2, Instances: []graph.Instance{
			{Nodes: []graph.Node{alien, node(5, "Tom")}, Triplets: []graph.ScoredTriplet{out}},
			{Nodes: []graph.Node{alien, node(6, "Ann")}, Triplets: []graph.ScoredTriplet{out}},
		}},
	})
	require.Equal(t, `[1] Alien -[directed by]-> Ridley Scott
[2] Alien -[directed by]-> ? <-[directed by]- ?: Ridley Scott: Gladiator, 0x4; and 3 more
[3] Alien -[directed by]-> ?: Tom, Ann
`, got)
}

func TestDisplayIsOnOneLine(t *testing.T) {
	for name, want := range map[string]string{
		"Ridley Scott": "Ridley Scott", "Ridley\nScott": "Ridley Scott", " Ridley": "Ridley", "Ridley ": "Ridley", "Ridley  Scott": "Ridley Scott",
		"Ridley\u00a0Scott": "Ridley Scott", "Böb": "Böb", "": "0x7", " ": "",
	} {
		require.Equal(t, want, Display(graph.Node{UID: 7, Name: name}), "%q", name)
	}
}
