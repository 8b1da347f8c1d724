package load

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/load/triplefile"
)

func statement(head, relation triplefile.Term, object triplefile.Term) triplefile.Statement {
	return triplefile.Statement{Head: head, Relation: relation, Object: object}
}

func nameTerm(s string) triplefile.Term  { return triplefile.Term{Value: s} }
func iriTerm(s string) triplefile.Term   { return triplefile.Term{Kind: triplefile.IRI, Value: s} }
func blankTerm(s string) triplefile.Term { return triplefile.Term{Kind: triplefile.Blank, Value: s} }
func literal(s, datatype string) triplefile.Term {
	return triplefile.Term{Kind: triplefile.Literal, Value: s, Datatype: datatype}
}

func TestTableSaysEachThingOnce(t *testing.T) {
	table := newTable("name")
	for _, object := range []string{"b", "c", "b", "b"} {
		require.NoError(t, table.add("f", statement(nameTerm("a"), nameTerm("r"), nameTerm(object))))
	}
	withFacets := statement(nameTerm("c"), nameTerm("r"), nameTerm("a"))
	withFacets.Facets = "w=1"
	require.NoError(t, table.add("f", withFacets))
	withFacets.Facets = "w=2"
	require.NoError(t, table.add("f", withFacets))
	table.finish()
	require.Len(t, table.entities, 3)
	require.Len(t, table.edges, 3)
	require.Equal(t, 3, table.doubles)
	require.Equal(t, "w=1", table.facets[table.edges[2].facets], "the first line's facets stay")
}

func TestTableTellsNodesApart(t *testing.T) {
	table := newTable("name")
	for _, file := range []string{"dir/a.nq", "b.nq", "other/a.nq"} {
		require.NoError(t, table.add(file, statement(blankTerm("x"), iriTerm("p"), iriTerm("http://a/x"))))
	}
	require.NoError(t, table.add("c.tsv", statement(nameTerm("x"), nameTerm("p"), nameTerm("http://a/x"))))
	require.Len(t, table.entities, 5, "x of two files, the IRI, and two names")
	require.Len(t, table.relations, 1, "<p> and p are one relation")
}

func TestTableNamesNodes(t *testing.T) {
	table := newTable("name")
	label := triplefile.Term{Kind: triplefile.Literal, Value: "Éva", Lang: "fr"}
	require.NoError(t, table.add("f", statement(iriTerm("http://a/eva"), iriTerm("http://a/knows"), iriTerm("http://a#x"))))
	require.Equal(t, "eva", table.entities[0].name)
	require.Equal(t, "x", table.entities[1].name)
	require.NoError(t, table.add("f", statement(iriTerm("http://a/eva"), iriTerm(rdfsLabel), label)))
	require.Equal(t, "Éva", table.entities[0].name)
	label.Value, label.Lang = "Eva", "en"
	require.NoError(t, table.add("f", statement(iriTerm("http://a/eva"), iriTerm(rdfsLabel), label)))
	label.Value, label.Lang = "Ева", "ru"
	require.NoError(t, table.add("f", statement(iriTerm("http://a/eva"), iriTerm(rdfsLabel), label)))
	require.Equal(t, "Eva", table.entities[0].name, "English before other languages")
	require.NoError(t, table.add("f", statement(iriTerm("http://a/eva"), iriTerm("name"), literal("E.", ""))))
	require.Equal(t, "E.", table.entities[0].name)
	require.Len(t, table.relations, 1)
}

func TestTableFindsTheTypeOfValues(t *testing.T) {
	const xsd = "http://www.w3.org/2001/XMLSchema#"
	for name, c := range map[string]struct {
		values []triplefile.Term
		want   Relation
	}{
		"integers":              {[]triplefile.Term{literal("1", xsd+"integer"), literal("2", "xs:int")}, Relation{Label: "v", Type: "int"}},
		"integers and decimals": {[]triplefile.Term{literal("1", xsd+"int"), literal("2.5", xsd+"decimal")}, Relation{Label: "v", Type: "float"}},
		"dates":                 {[]triplefile.Term{literal("2006-01-02", xsd+"date"), literal("2006-01-02T15:04:05Z", xsd+"dateTime")}, Relation{Label: "v", Type: "datetime"}},
		"truths":                {[]triplefile.Term{literal("true", xsd+"boolean")}, Relation{Label: "v", Type: "bool"}},
		"a mixture":             {[]triplefile.Term{literal("true", xsd+"boolean"), literal("1", xsd+"int")}, Relation{Label: "v", Type: "string"}},
		"text":                  {[]triplefile.Term{literal("1", ""), literal("P1Y", xsd+"duration")}, Relation{Label: "v", Type: "string"}},
	} {
		t.Run(name, func(t *testing.T) {
			table := newTable("name")
			for i, v := range c.values {
				require.NoError(t, table.add("f", statement(nameTerm(string(rune('a'+i))), nameTerm("v"), v)))
			}
			require.Equal(t, []Relation{c.want}, table.relations)
		})
	}
	table := newTable("name")
	require.NoError(t, table.add("f", statement(nameTerm("a"), nameTerm("v"), literal("1", ""))))
	require.NoError(t, table.add("f", statement(nameTerm("a"), nameTerm("v"), literal("1", ""))))
	require.False(t, table.relations[0].List)
	require.NoError(t, table.add("f", statement(nameTerm("a"), nameTerm("v"), literal("2", ""))))
	require.True(t, table.relations[0].List)
}

func TestTableRefusesValuesThatAreNotOfTheirType(t *testing.T) {
	for text, datatype := range map[string]string{"one": "xs:int", "99999999999999999999": "xs:int", "NaN": "xs:double", "INF": "xs:float", "perhaps": "xs:boolean", "yesterday": "xs:dateTime"} {
		require.Error(t, newTable("name").add("f", statement(nameTerm("a"), nameTerm("v"), literal(text, datatype))), text)
	}
	require.ErrorContains(t, newTable("name").add("f", statement(nameTerm("a"), nameTerm("name"), literal("", ""))), "name is empty")
	s := statement(nameTerm("a"), nameTerm("v"), literal("x", ""))
	s.Facets = "a=1"
	require.ErrorContains(t, newTable("name").add("f", s), "facets on a value")
}

func TestMeterTellsRateAndRemainingTime(t *testing.T) {
	now := time.Unix(0, 0)
	var told []Progress
	m := &meter{tell: func(p Progress) { told = append(told, p) }, now: func() time.Time { return now }}
	m.begin(PhaseEdges, 100)
	now = now.Add(tick / 2)
	m.set(1) // too soon to be told
	now = now.Add(2*time.Second - tick/2)
	m.set(20)
	m.end()
	require.Equal(t, []Progress{
		{Phase: PhaseEdges, Total: 100},
		{Phase: PhaseEdges, Done: 20, Total: 100, Rate: 10, Remaining: 8 * time.Second},
		{Phase: PhaseEdges, Done: 20, Total: 100, Rate: 10, Remaining: 8 * time.Second},
	}, told)
}
