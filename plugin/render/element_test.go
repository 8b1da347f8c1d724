package render

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
)

func knows(children ...*plan.Node) *plan.Node {
	return &plan.Node{
		Key: "knows", Relation: graph.Relation{Predicate: "knows"}, Score: "knows|evorag.score", Hidden: "knows|evorag.hidden",
		Keep: map[string]bool{}, Names: []string{"evorag.n0"}, Children: children,
	}
}

func written(t *testing.T, text string, tree *plan.Node) *Written {
	t.Helper()
	tree.Key = "q"
	v, err := ParseAnswer([]byte(`{"p":[1],"q":`+text+`,"r":2}`), only("q", tree), func(p string) bool { return p == "knows" })
	require.NoError(t, err)
	require.Equal(t, "[1] 2", string(v.Get("p").Raw)+" "+string(v.Get("r").Raw))
	return v.Get("q").Written()
}

// only is the one written block of an answer.
func only(key string, tree *plan.Node) func(string) *plan.Block {
	return func(k string) *plan.Block {
		if k != key {
			return nil
		}
		return &plan.Block{Key: key, Tree: tree, Names: []string{"name"}}
	}
}

func closed(w *Written) string {
	w.Close()
	return string((&Value{by: w}).AppendTo(nil))
}

const three = `[{"evorag.u":"0x1","name":"Eva","knows":[` +
	`{"evorag.u":"0x2","evorag.n0":"Bob","name":"Bob","knows|since":2006},` +
	`{"evorag.u":"0x3","name":"Ann","knows|evorag.score":150.5},` +
	`{"evorag.u":"0x4","name":"Old","knows|evorag.hidden":true}]}]`

func TestAWrittenAnswerHasItsEdges(t *testing.T) {
	w := written(t, three, &plan.Node{Children: []*plan.Node{knows()}})
	ends := w.Chains()
	require.Len(t, ends, 2, "the hidden edge is left out")
	require.Equal(t, "Bob", string(ends[0].Name))
	require.Equal(t, graph.Triplet{Head: 1, Predicate: "knows", Object: 2}, ends[0].Step().Triplet)
	require.Equal(t, graph.NeutralScore, ends[0].Score)
	require.Equal(t, 150.5, ends[1].Score)
}

func TestListsComeBackInRankOrderWithoutTheMarks(t *testing.T) {
	w := written(t, three, &plan.Node{Children: []*plan.Node{knows()}})
	ends := w.Chains()
	require.True(t, ends[1].Rank())
	require.True(t, ends[0].Rank())
	require.False(t, ends[1].Rank(), "it has its place")
	require.Equal(t, `[{"name":"Eva","knows":[{"name":"Ann"},{"name":"Bob","knows|since":2006}]}]`, closed(w))
}

func TestWhatIsNotRankedStandsLastInTheEnginesOrder(t *testing.T) {
	w := written(t, `[{"evorag.u":"0x1","knows":[{"evorag.u":"0x2","a":1},{"evorag.u":"0x3","a":2},{"evorag.u":"0x4","a":3},{"evorag.u":"0x5","a":4}]}]`,
		&plan.Node{Children: []*plan.Node{knows()}})
	ends := w.Chains()
	ends[3].Rank()
	ends[1].Rank()
	ends[0].Drop = true
	require.Equal(t, `[{"knows":[{"a":4},{"a":2},{"a":3}]}]`, closed(w))
}

func TestElementsNeedNotHaveTheirKeysInOneOrder(t *testing.T) {
	n := knows()
	n.Names = []string{"name"}
	w := written(t, `[{"evorag.u":"0x1","knows":[{"evorag.u":"0x2","name":"a","knows|evorag.score":7},`+
		`{"name":"b","knows|evorag.score":8,"evorag.u":"0x3"},{ "evorag.u" : "0xABC","other":[1],"name" :"c"},{"evorag.u":"0x1_0"},`+
		`{"evorag.u":"ffffffffffffffff","name":"no uid"},{"evorag.u":"0xffffffffffffffff","name":"d","na\u006de":"e"}]}]`,
		&plan.Node{Children: []*plan.Node{n}})
	var uids []graph.UID
	var names []string
	var scores []float64
	for _, e := range w.Chains() {
		uids, names, scores = append(uids, e.UID), append(names, string(e.Name)), append(scores, e.Score)
	}
	require.Equal(t, []graph.UID{2, 3, 0xabc, 1<<64 - 1}, uids, "what is without a uid is no node, what shows nothing is not shown")
	require.Equal(t, []string{"a", "b", "c", "d"}, names)
	require.Equal(t, []float64{7, 8, 100, 100}, scores)
	require.Equal(t, `[{"knows":[{"evorag.u":"ffffffffffffffff","name":"no uid"},{"name":"a"},{"name":"b"},{"other":[1],"name":"c"},{"name":"d","na\u006de":"e"}]}]`, closed(w))
}

func TestPagingComesAfterTheRanking(t *testing.T) {
	for _, c := range []struct {
		name string
		node plan.Node
		want string
	}{
		{"first", plan.Node{HasFirst: true, First: 1}, `[{"name":"Ann"}]`},
		{"offset", plan.Node{Offset: 1}, `[{"name":"Bob","knows|since":2006}]`},
		{"the last", plan.Node{HasFirst: true, First: -1}, `[{"name":"Bob","knows|since":2006}]`},
		{"more than there are", plan.Node{HasFirst: true, First: 9, Offset: 0}, `[{"name":"Ann"},{"name":"Bob","knows|since":2006}]`},
		{"the user's own order stays", plan.Node{Ordered: true}, `[{"name":"Bob","knows|since":2006},{"name":"Ann"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := knows()
			n.HasFirst, n.First, n.Offset, n.Ordered = c.node.HasFirst, c.node.First, c.node.Offset, c.node.Ordered
			w := written(t, three, &plan.Node{Children: []*plan.Node{n}})
			w.Chains()[1].Rank()
			require.Equal(t, `[{"name":"Eva","knows":`+c.want+`}]`, closed(w))
		})
	}
}

func TestWhatDgraphWouldNotShowIsNotShown(t *testing.T) {
	w := written(t, `[{"evorag.u":"0x1","knows":[{"count":2},{"evorag.u":"0x2"},{"evorag.u":"0x3","age":9007199254740993}]},{"evorag.u":"0x9"}]`,
		&plan.Node{Children: []*plan.Node{knows()}})
	require.Len(t, w.Roots, 1, "a root of which the user's fields say nothing")
	require.Len(t, w.Chains(), 1)
	require.Equal(t, `[{"knows":[{"count":2},{"age":9007199254740993}]}]`, closed(w))
}

func TestAListThatIsPrunedAwayTakesItsOwnerWithIt(t *testing.T) {
	w := written(t, `[{"evorag.u":"0x1","name":"Eva","knows":[{"evorag.u":"0x2","knows":[{"evorag.u":"0x3","name":"Ann"}]}]}]`,
		&plan.Node{Children: []*plan.Node{knows(knows())}})
	w.Chains()[0].Drop = true
	require.Equal(t, `[{"name":"Eva"}]`, closed(w))
}

func TestAChainNeverComesBackToItsOwnNodes(t *testing.T) {
	w := written(t, `[{"evorag.u":"0x1","name":"Eva","knows":[{"evorag.u":"0x2","name":"Bob","knows":[{"evorag.u":"0x1","name":"Eva"}]}]}]`,
		&plan.Node{Children: []*plan.Node{knows(knows())}})
	ends := w.Chains()
	require.Len(t, ends, 1)
	require.Equal(t, graph.UID(2), ends[0].UID)
	require.Len(t, ends[0].Line(), 2)
}

func TestExpandFollowsWhatTheSchemaCallsAnEdge(t *testing.T) {
	w := written(t, `[{"evorag.u":"0x1","name":"Eva","knows":[{"evorag.u":"0x2","name":"Bob","knows|evorag.score":7,"knows|since":1}],"address":[{"city":"x"}]}]`,
		&plan.Node{Any: &plan.Node{}})
	ends := w.Chains()
	require.Len(t, ends, 1)
	require.Equal(t, 7.0, ends[0].Score)
	require.Equal(t, `[{"name":"Eva","knows":[{"name":"Bob","knows|since":1}],"address":[{"city":"x"}]}]`, closed(w))
}

func TestALearnedFacetThatTheUserAskedForStays(t *testing.T) {
	n := knows()
	n.Keep["knows|evorag.score"] = true
	w := written(t, three, &plan.Node{Children: []*plan.Node{n}})
	require.Contains(t, closed(w), `{"name":"Ann","knows|evorag.score":150.5}`)
}

func TestAnOrderByAValueVariableIsMadeHere(t *testing.T) {
	const text = `[{"evorag.u":"0x1","name":"Eva","knows":[` +
		`{"evorag.u":"0x2","name":"a","evorag.o":9007199254740993},{"evorag.u":"0x3","name":"b"},` +
		`{"evorag.u":"0x4","name":"c","evorag.o":9007199254740992},{"evorag.u":"0x5","name":"d","evorag.o":-1.5}]}]`
	for order, want := range map[string]string{
		"orderasc":  `[{"name":"d"},{"name":"c"}]`,
		"orderdesc": `[{"name":"a"},{"name":"c"}]`,
	} {
		n := knows()
		n.Ordered, n.ByValue, n.HasFirst, n.First = true, order, true, 2
		w := written(t, text, &plan.Node{Children: []*plan.Node{n}})
		require.Equal(t, `[{"name":"Eva","knows":`+want+`}]`, closed(w))
	}
}

func TestAScoreIsReadToTheBit(t *testing.T) {
	exact := func(t require.TestingT, text string) {
		want, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(want) || math.IsInf(want, 0) {
			want = graph.NeutralScore
		}
		require.Equal(t, min(max(want, 0), graph.MaxScore), number([]byte(text)), "%q", text)
	}
	for _, text := range []string{"", ".", "5.", ".5", "1..2", "-1", "-0.5", "1e2", "NaN", "Inf", "100.5", "99.99999999999999", "123456789012345", "1234567890123456", "0.000000000000001", "null", `"7"`, "12x"} {
		exact(t, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		exact(t, rapid.OneOf(rapid.StringMatching(`[0-9]{0,4}\.?[0-9]{0,14}`), rapid.Map(rapid.Float64Range(0, 200), func(f float64) string {
			return strconv.FormatFloat(f, 'f', 6, 64)
		})).Draw(t, "text"))
	})
}
