package triplefile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/load/triplefile"
)

func iri(s string) triplefile.Term   { return triplefile.Term{Kind: triplefile.IRI, Value: s} }
func blank(s string) triplefile.Term { return triplefile.Term{Kind: triplefile.Blank, Value: s} }
func text(s string) triplefile.Term  { return triplefile.Term{Kind: triplefile.Literal, Value: s} }

// Each production of the W3C grammar of N-Triples and N-Quads has its line here.
func TestNQuadsThatAreTaken(t *testing.T) {
	const xsd = "http://www.w3.org/2001/XMLSchema#"
	for line, want := range map[string]triplefile.Statement{
		`<http://a/s> <http://a/p> <http://a/o> .`:                     {Head: iri("http://a/s"), Relation: iri("http://a/p"), Object: iri("http://a/o")},
		`<http://a/s><http://a/p><http://a/o>.`:                        {Head: iri("http://a/s"), Relation: iri("http://a/p"), Object: iri("http://a/o")},
		`<s> <p> <o> <http://graph> .`:                                 {Head: iri("s"), Relation: iri("p"), Object: iri("o")},
		`<s> <p> <o> _:g .`:                                            {Head: iri("s"), Relation: iri("p"), Object: iri("o")},
		"  <s>\t<p> <o> . # a comment":                                 {Head: iri("s"), Relation: iri("p"), Object: iri("o")},
		`<http://a/\u00e9> <p\U0001F600> <o> .`:                        {Head: iri("http://a/é"), Relation: iri("p😀"), Object: iri("o")},
		`_:a <p> _:b.c .`:                                              {Head: blank("a"), Relation: iri("p"), Object: blank("b.c")},
		`_:0 <p> _:x-1.`:                                               {Head: blank("0"), Relation: iri("p"), Object: blank("x-1")},
		`<s> <p> "chat" .`:                                             {Head: iri("s"), Relation: iri("p"), Object: text("chat")},
		`<s> <p> "" .`:                                                 {Head: iri("s"), Relation: iri("p"), Object: text("")},
		`<s> <p> "a\"b\\c\t\n\r\b\f\'\u0041\U00000042#.>" .`:           {Head: iri("s"), Relation: iri("p"), Object: text("a\"b\\c\t\n\r\b\f'AB#.>")},
		`<s> <p> "chat"@fr-be .`:                                       {Head: iri("s"), Relation: iri("p"), Object: triplefile.Term{Kind: triplefile.Literal, Value: "chat", Lang: "fr-be"}},
		`<s> <p> "1"^^<` + xsd + `integer> .`:                          {Head: iri("s"), Relation: iri("p"), Object: triplefile.Term{Kind: triplefile.Literal, Value: "1", Datatype: xsd + "integer"}},
		`<s> <p> "1"^^<xs:int> <g> .`:                                  {Head: iri("s"), Relation: iri("p"), Object: triplefile.Term{Kind: triplefile.Literal, Value: "1", Datatype: "xs:int"}},
		`<s> <p> <o> (since=2006-01-02, w=0.5,x="a, \"b)") .`:          {Head: iri("s"), Relation: iri("p"), Object: iri("o"), Facets: `since=2006-01-02, w=0.5, x="a, \"b)"`},
		`<s> <p> <o> <g> ( close=true, evorag.score = 120.5 ) .`:       {Head: iri("s"), Relation: iri("p"), Object: iri("o"), Facets: `close=true, evorag.score=120.5`},
		`<s> <p> <o> (note="\U0001F600\n", at=2006-01-02T15:04:05Z) .`: {Head: iri("s"), Relation: iri("p"), Object: iri("o"), Facets: `note="😀\n", at=2006-01-02T15:04:05Z`},
	} {
		t.Run(line, func(t *testing.T) {
			r, err := triplefile.NewReader(strings.NewReader(line), "a.nq", triplefile.NQuads)
			require.NoError(t, err)
			s, err := r.Next()
			require.NoError(t, err)
			require.Equal(t, want, s)
		})
	}
}

func TestNQuadsThatAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		`<s> <p> <o>`:                 "full stop is missing before the end",
		`<s> <p> .`:                   "the object cannot be",
		`<s> .`:                       "the relation cannot be",
		`"s" <p> <o> .`:               "the head cannot be",
		`<s> _:p <o> .`:               "the relation cannot be",
		`<s> "p" <o> .`:               "the relation cannot be",
		`<s> <p> o .`:                 `"o ."; write <iri>, _:label or "value"`,
		`<s> <p> "o .`:                "no closing quote",
		`<s> <p> "o\" .`:              "no closing quote",
		`<s> <p <o> .`:                "may not stand in an IRI",
		`<s> <p> <o .`:                "no closing >",
		`<s p> <p> <o> .`:             "may not stand in an IRI",
		`<> <p> <o> .`:                "the head is empty",
		`_ <p> <o> .`:                 "write _:label",
		`_: <p> <o> .`:                "no label",
		`_:-a <p> <o> .`:              "no label",
		`<s> <p> "a\x" .`:             `\x is no escape`,
		`<s> <p> "\uD800" .`:          "is not a character",
		`<s> <p> "\u00g0" .`:          "is not a character",
		`<s> <p> "\u00" .`:            "is no escape",
		`<s\n> <p> <o> .`:             "is no escape",
		`<s> <p> "o"@ .`:              "is not a language",
		`<s> <p> "o"^^xs:int .`:       "in brackets",
		`<s> <p> <o> . <s> <p> <o> .`: "one triplet a line",
		`<s> <p> <o> <g> <h> .`:       "full stop",
		`<s> <p> <o> () .`:            "facets",
		`<s> <p> <o> (since) .`:       "facets",
		`<s> <p> <o> (a=1 .`:          "facets",
		`<s> <p> <o> (a=1, a=2) .`:    "stands twice",
		`<s> <p> <o> (a=word) .`:      "write text in quotes",
		`<s> <p> <o> (a=NaN) .`:       "finite number",
		`<s> <p> <o> (a=Inf) .`:       "finite number",
		`<s> <p> <o> (a=1e400) .`:     "finite number",
		`<s> <p> 'o' .`:               "the object cannot be",
		"<s> <p> <" + "o\x01" + "> .": "may not stand in an IRI",
		`@prefix a: <http://a> .`:     "the head cannot be",
	} {
		t.Run(line, func(t *testing.T) {
			r, err := triplefile.NewReader(strings.NewReader(line), "a.nq", triplefile.NQuads)
			require.NoError(t, err)
			_, err = r.Next()
			bad := (*triplefile.LineError)(nil)
			require.ErrorAs(t, err, &bad)
			require.Contains(t, bad.Msg, want)
			require.Equal(t, 1, bad.Line)
		})
	}
}
