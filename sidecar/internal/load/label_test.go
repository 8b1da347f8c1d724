package load

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

func TestSlug(t *testing.T) {
	for label, want := range map[string]string{
		"directed_by":            "directed_by",
		"directed by":            "directed_by",
		"  was - born (in)?  ":   "was_born_in",
		"music.recording.artist": "music.recording.artist",
		"знает":                  "знает",
		"e\u0301tait":            "\u00e9tait", // composed, so that it looks and is the same
		"日本 語":                   "日本_語",
		"4th of":                 "_4th_of",
		"uid":                    "uid_",
		"Count":                  "Count_",
		"!!!":                    "relation",
		"dgraph.type":            "dgraph_type",
		"evorag.predicate":       "evorag_predicate",
		"~inverse":               "inverse",
		"a@en":                   "a_en",
		".a.":                    "a",
		"__people__x":            "__people__x",
	} {
		require.Equal(t, want, slug(label), label)
	}
	require.Len(t, slug(strings.Repeat("é", 300)), maxPredicate)
}

func edgesOf(labels ...string) []Relation {
	out := make([]Relation, len(labels))
	for i, l := range labels {
		out[i] = Relation{Label: l, Type: "uid"}
	}
	return out
}

func predicates(relations []Relation) []string {
	out := make([]string, len(relations))
	for i, r := range relations {
		out[i] = r.Predicate
	}
	return out
}

func TestAssign(t *testing.T) {
	schema := graph.Schema{Predicates: map[string]graph.PredicateSchema{
		"age":     {Name: "age", Type: "int"},
		"boss":    {Name: "boss", Type: "uid"},
		"follows": {Name: "follows", Type: "uid", List: true},
		"title":   {Name: "title", Type: "string", Lang: true},
		"knows_2": {Name: "knows_2", Type: "uid", List: true},
	}}
	for name, c := range map[string]struct {
		relations []Relation
		known     []recorded
		want      []string
	}{
		"a label that is a predicate is itself, whatever comes before it": {edgesOf("directed by", "directed-by", "directed_by"), nil, []string{"directed_by_2", "directed_by_3", "directed_by"}},
		"a predicate of values, of one edge or of names is avoided":       {edgesOf("age", "boss", "name", "iri"), nil, []string{"age_2", "boss_2", "name_2", "iri_2"}},
		"an edge predicate of the user's is used":                         {edgesOf("follows"), nil, []string{"follows"}},
		"a label that was recorded keeps its predicate":                   {edgesOf("knows", "knows_2"), []recorded{{Predicate: "knows_2", Label: "knows"}, {Predicate: "knows", Label: "Knows!"}}, []string{"knows_2", "knows_2_2"}},
		"what was recorded for another label is avoided":                  {edgesOf("directed by"), []recorded{{Predicate: "directed_by", Label: "directed_by"}}, []string{"directed_by_2"}},
		"IRIs of one local name are told apart": {
			[]Relation{{Label: "by", IRI: "http://b/by", Type: "uid"}, {Label: "by", IRI: "http://a/by", Type: "uid"}}, nil, []string{"by_2", "by"},
		},
		"edges and values of one label are told apart": {[]Relation{{Label: "year", Type: "int"}, {Label: "year", Type: "uid"}}, nil, []string{"year_2", "year"}},
		"recorded edges and values of one label are told apart by the schema": {
			[]Relation{{Label: "age", Type: "int"}, {Label: "age", Type: "uid"}},
			[]recorded{{Predicate: "age", Label: "age"}, {Predicate: "follows", Label: "age"}}, []string{"age", "follows"},
		},
		"a value that does not fit the type goes elsewhere":    {[]Relation{{Label: "age", Type: "string"}}, nil, []string{"age_2"}},
		"several values do not fit a predicate of one":         {[]Relation{{Label: "age", Type: "int", List: true}}, nil, []string{"age_2"}},
		"a predicate with languages is the user's own to fill": {[]Relation{{Label: "title", Type: "string"}}, nil, []string{"title_2"}},
	} {
		t.Run(name, func(t *testing.T) {
			assign(c.relations, schema, c.known, "name", "iri")
			require.Equal(t, c.want, predicates(c.relations))
		})
	}
}

func TestAssignIsInjectiveStableAndIndependentOfOrder(t *testing.T) {
	label := rapid.StringMatching(`[ab_ .-]{1,3}|uid|é[0-9]`)
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOfNDistinct(label, 1, 12, rapid.ID).Draw(t, "labels")
		relations := edgesOf(labels...)
		assign(relations, graph.Schema{}, nil, "name")
		byLabel, seen := map[string]string{}, map[string]bool{}
		var known []recorded
		for _, r := range relations {
			require.False(t, seen[r.Predicate], "two labels became %s", r.Predicate)
			seen[r.Predicate] = true
			byLabel[r.Label] = r.Predicate
			known = append(known, recorded{Predicate: r.Predicate, Label: r.Label})
		}
		again := edgesOf(rapid.Permutation(labels).Draw(t, "order")...)
		assign(again, graph.Schema{}, nil, "name")
		for _, r := range again {
			require.Equal(t, byLabel[r.Label], r.Predicate)
		}
		more := append(edgesOf(rapid.SliceOfNDistinct(label, 1, 6, rapid.ID).Filter(func(s []string) bool {
			for _, l := range s {
				if _, ok := byLabel[l]; ok {
					return false
				}
			}
			return true
		}).Draw(t, "more")...), edgesOf(labels...)...)
		assign(more, graph.Schema{}, known, "name")
		seen = map[string]bool{}
		for _, r := range more {
			require.False(t, seen[r.Predicate])
			seen[r.Predicate] = true
			if p, ok := byLabel[r.Label]; ok {
				require.Equal(t, p, r.Predicate, "a later load maps a label as the first did")
			}
		}
	})
}
