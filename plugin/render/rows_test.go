package render

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

func TestRows(t *testing.T) {
	type row struct {
		uid           graph.UID
		name, members string
	}
	for _, c := range []struct {
		name, text string
		want       []row
	}{
		{"as the engine writes them", `[{"evorag.u":"0x1","name":"Eva"},{"evorag.u":"0x2","title":"Böb"}]`, []row{{1, "Eva", `"name":"Eva"`}, {2, "Böb", `"title":"Böb"`}}},
		{"one in place of a list", ` {"evorag.u":"0x1"} `, []row{{1, "", ""}}},
		{"the first of the names counts, wherever it stands", `[{"title":"t","evorag.u":"0x1","name":"n"}]`, []row{{1, "n", `"title":"t","name":"n"`}}},
		{"a name that is no text is none", `[{"evorag.u":"0x1","name":7,"title":"t"}]`, []row{{1, "t", `"name":7,"title":"t"`}}},
		{"names may be escaped", `[{"evorag.u":"0x1","name":"a \"b\" \u00e9"}]`, []row{{1, `a "b" é`, `"name":"a \"b\" \u00e9"`}}},
		{"what is within a node stays as it is", `[{"evorag.u":"0x1", "boss": {"evorag.u":"0x9","name":"z"} , "of":[{"x":1},[]]}]`, []row{{1, "", `"boss": {"evorag.u":"0x9","name":"z"} , "of":[{"x":1},[]]`}}},
		{"what a plan has put there is left out wherever it stands", `[{"a":1,"evorag.u":"0x1","b":2,"evorag.s":5,"c":3}]`, []row{{1, "", `"a":1,"b":2,"c":3`}}},
		{"what has no uid is no node", `[{"count":3},{},7,null,{"evorag.u":"0x3"}]`, []row{{3, "", ""}}},
		{"none", `[]`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []row
			take := func(r Row) { got = append(got, row{r.UID, string(r.Name), string(r.Members)}) }
			require.NoError(t, Reread{Names: []string{"name", "title"}, Node: take}.Read([]byte(`{"nodes":`+c.text+`}`)))
			require.Equal(t, c.want, got)
			got = nil
			require.NoError(t, Reread{Names: []string{"name", "title"}, Named: take}.Read([]byte(`{"nodes":`+c.text+`,"names":`+c.text+`}`)))
			require.Equal(t, c.want, got)
		})
	}
}

func TestABrokenAnswer(t *testing.T) {
	whole := `{"nodes":[{"evorag.u":"0x1","name":"Eva","of":[{"x":1}]},{"evorag.u":"0x2"}],"e0":[{"u":"0x1","e":[{"u":"0x2"}]}]}`
	all := Reread{[]string{"name"}, func(Row) {}, func(Row) {}, func(int, graph.UID, graph.UID, graph.Contribution) {}}
	require.NoError(t, all.Read([]byte(whole)))
	for n := range whole {
		require.ErrorIs(t, all.Read([]byte(whole[:n])), ErrJSON, whole[:n])
	}
}
