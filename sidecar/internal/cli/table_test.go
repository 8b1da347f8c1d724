package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

func node(uid graph.UID, name string) graph.Node { return graph.Node{UID: uid, Name: name} }

func film() graph.Retrieval {
	step := func(h graph.UID, p string, o graph.UID, inverse bool, score float64) graph.ScoredTriplet {
		return graph.ScoredTriplet{Triplet: graph.Triplet{Head: h, Predicate: p, Object: o}, Label: strings.ReplaceAll(p, "_", " "), Inverse: inverse, Score: score}
	}
	eva, royale, martin := node(1, "Eva Green"), node(2, "Casino Royale"), node(3, "Martin Campbell")
	others := []graph.Instance{
		{Nodes: []graph.Node{eva, node(4, "The Dreamers"), node(5, "Bernardo Bertolucci")}},
		{Nodes: []graph.Node{eva, node(6, ""), node(7, "")}},
		{Nodes: []graph.Node{eva, node(8, "Another"), martin}},
	}
	return graph.Retrieval{
		ID: "r1", Alpha: 0.5, Partial: true, Reason: "budget of edges",
		Entities: []graph.Entity{{Node: eva, Why: "its name is in the question"}},
		Results: []graph.Result{{
			N: 1, Start: eva, Z: -0.2514, P: 0.75, Total: 14,
			Instances: append([]graph.Instance{{
				Nodes:    []graph.Node{eva, royale, martin},
				Triplets: []graph.ScoredTriplet{step(2, "starring", 1, true, 100), step(2, "directed_by", 3, false, 120.25)},
				Parts:    map[string]graph.Float{"relevance": -0.25, "contribution": 0},
			}}, others...),
		}, {N: 2, Start: eva, Metapath: []string{"~starring"}, Z: -1, P: 0.25, Total: 1}},
	}
}

func TestTheTable(t *testing.T) {
	require.Equal(t, `from  Eva Green (its name is in the question)
  #        z      p  path, each edge with its score of 200
  1   -0.251  0.750  Eva Green <-[starring 100]- Casino Royale
                     -[directed by 120.2]-> Martin Campbell
                     contribution 0, relevance -0.25
                     also Bernardo Bertolucci, 0x7 +11 more
  2   -1.000  0.250  Eva Green ~starring
alpha 0.5, 2 results
retrieval r1
partial: budget of edges
`, table(film(), 80))
	r := film()
	r.LeftOut = 3
	require.Contains(t, table(r, 80), "alpha 0.5, 2 results\nfeedback has put 3 more far behind; --hidden shows them\n")
}

func TestATableWithoutResultsSaysSo(t *testing.T) {
	require.Equal(t, "from  Eva\nno path leads on from there\n", table(graph.Retrieval{Entities: []graph.Entity{{Node: node(1, "Eva")}}}, 80))
}

func TestNamesCannotSteerTheTerminal(t *testing.T) {
	require.Equal(t, "red [31m alert", shown(node(1, "red\x1b\u202e [31m\r\n\talert")))
	require.Equal(t, "0x1", shown(node(1, "\x00\u200b")))
}

func TestLinesOfTheTableFitWhereThePiecesDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(60, 200).Draw(t, "width")
		r := film()
		names := rapid.SliceOfN(rapid.StringMatching(`[\p{L} ]{0,12}`), 3, 3).Draw(t, "names")
		for i := range r.Results[0].Instances[0].Nodes {
			r.Results[0].Instances[0].Nodes[i].Name = names[i]
		}
		text := table(r, width)
		for line := range strings.SplitSeq(text, "\n") {
			require.LessOrEqual(t, utf8.RuneCountInString(line), width)
		}
		flat := strings.Join(strings.Fields(text), " ")
		for _, n := range names {
			require.Contains(t, flat, printable(n), "nothing is cut away")
		}
	})
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		require.Equal(t, want, grouped(n))
	}
	require.Equal(t, "1 result", counted(1, "result"))
	require.Equal(t, "0 results", counted(0, "result"))
}
