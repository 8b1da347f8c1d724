package dql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const declared = `query ask($q: string, $d: string = "default", $v: float32vector, $h: int, $a: float, $b: bool!, $n: int = 4) `

// read parses "paths(func: uid(1)) @evorag<args> { name }" under the declarations above.
func read(t *testing.T, args string, vars map[string]string) (*EvoRAG, error) {
	t.Helper()
	q, err := Parse(declared + "{\n paths(func: uid(1)) @evorag" + args + " { name } }")
	if err != nil {
		return nil, err
	}
	return ReadEvoRAG(q, q.Directive(q.Blocks[0]), vars)
}

func TestDirectiveArgumentsAreRead(t *testing.T) {
	yes, no, third, one := true, false, 0.3, 1.0
	vars := map[string]string{"$q": "who", "$v": "[0.1, 0.2]", "$h": "3", "$a": "0.3", "$b": "true"}
	cases := []struct {
		name, args string
		want       EvoRAG
	}{
		{"none", "", EvoRAG{}},
		{"empty parentheses", "()", EvoRAG{}},
		{"a question", `(query: "who is \"Eva\"?")`, EvoRAG{Query: Operand{Text: `who is "Eva"?`, Set: true}}},
		{"a question from a variable", `(query: $q)`, EvoRAG{Query: Operand{Text: "who", Var: "$q", Set: true}}},
		{"a question from a default", `(query: $d)`, EvoRAG{Query: Operand{Text: "default", Var: "$d", Set: true}}},
		{"an embedding", `(embedding: $v)`, EvoRAG{Embedding: Operand{Text: "[0.1, 0.2]", Var: "$v", Set: true}}},
		{"an embedding as text", `(embedding: "[1]")`, EvoRAG{Embedding: Operand{Text: "[1]", Set: true}}},
		{"numbers", `(hops: 6, paths: 1000, instances: 1, entities: 100, fanout: 7)`, EvoRAG{Hops: 6, Paths: 1000, Instances: 1, Entities: 100, Fanout: 7}},
		{"numbers from variables", `(hops: $h, paths: $n, alpha: $a, bundle: $b)`, EvoRAG{Hops: 3, Paths: 4, Alpha: &third, Bundle: &yes}},
		{"switches", `(bundle: false, hidden: true, explain: true)`, EvoRAG{Bundle: &no, Hidden: true, Explain: true}},
		{"alpha as a whole number", `(alpha: 1)`, EvoRAG{Alpha: &one}},
		{"predicates", `(via: [a, ~b, made-by, x.y, <http://x#y>, <~http://x>, ~<http://z>])`, EvoRAG{Via: []string{"a", "~b", "made-by", "x.y", "http://x#y", "~http://x", "~http://z"}}},
		{"keys in capitals", `(Hops: 2)`, EvoRAG{Hops: 2}},
		{"comments between", "(hops: # two\n 2)", EvoRAG{Hops: 2}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e, err := read(t, c.args, vars)
			require.NoError(t, err)
			require.NotZero(t, e.Span)
			e.Span = Span{}
			require.Equal(t, c.want, *e)
		})
	}
}

func TestRefusedArgumentsSayWhatToWrite(t *testing.T) {
	vars := map[string]string{"$h": "9", "$b": "maybe", "$a": "x"}
	cases := []struct {
		name, args string
		column     int
		says       string
	}{
		{"an unknown argument", "(hop: 2)", 30, "did you mean hops?"},
		{"another unknown argument", "(question: \"x\")", 30, "It takes query, embedding, hops, paths"},
		{"an argument twice", "(hops: 2, hops: 3)", 39, "write it once"},
		{"a number in quotes", `(hops: "2")`, 36, "without quotes"},
		{"a number that is none", `(hops: two)`, 36, "two is not a number; write a whole number from 1 to 6"},
		{"a fraction", `(paths: 1.5)`, 37, "whole number from 1 to 1000"},
		{"too many hops", `(hops: 7)`, 36, "out of range; write a whole number from 1 to 6"},
		{"a negative number", `(paths: -1)`, 37, "-1 is out of range"},
		{"zero instances", `(instances: 0)`, 41, "out of range"},
		{"too many entities", `(entities: 101)`, 40, "1 to 100"},
		{"alpha above one", `(alpha: 1.1)`, 37, "from 0"},
		{"alpha that is no number", `(alpha: NaN)`, 37, "not a number"},
		{"alpha in quotes", `(alpha: "0.5")`, 37, "without quotes"},
		{"a switch that is none", `(bundle: 1)`, 38, "write true or false"},
		{"a switch in quotes", `(hidden: "true")`, 38, "without quotes"},
		{"a question without quotes", `(query: who)`, 37, `write query: "the question"`},
		{"a question of several words without quotes", `(query: who is it)`, 37, `write query: "the question"`},
		{"an empty question", `(query: " ")`, 37, "query is empty"},
		{"a list as embedding", `(embedding: [0.1, 0.2])`, 41, "write embedding: $v"},
		{"question and embedding", `(query: "a", embedding: "[1]")`, 22, "has query and embedding"},
		{"an undeclared variable", `(query: $who)`, 37, "start the text with query ask($who: string)"},
		{"a variable without value", `(query: $q)`, 37, "$q has no value"},
		{"a variable of another type", `(hops: $q)`, 36, "declare $q: int"},
		{"a variable out of range", `(hops: $h)`, 36, "hops: 9 is out of range"},
		{"a variable that does not parse", `(bundle: $b)`, 38, "write true or false"},
		{"a float variable that does not parse", `(alpha: $a)`, 37, "x is not a number"},
		{"one predicate without brackets", `(via: friend)`, 35, "write a list of predicates"},
		{"no predicates", `(via: [])`, 36, "not a predicate"},
		{"predicates in quotes", `(via: ["friend"])`, 36, "not a predicate"},
		{"a predicate twice", `(via: [a, a])`, 39, "twice"},
		{"a predicate without name", `(via: [~])`, 36, "has no name"},
		{"predicates without comma", `(via: [a b])`, 38, "expected , or ]"},
		{"words after the list", `(via: [a] b)`, 39, "follows the list"},
		{"a list that is open", `(via: [a)`, 37, "expected , or ]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(t, c.args, vars)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Contains(t, e.Msg, c.says)
			require.Equal(t, [2]int{2, c.column}, [2]int{e.Line, e.Column}, e.Msg)
		})
	}
}

func TestEntitiesTakesTheQuestion(t *testing.T) {
	entities := func(args string) (Operand, error) {
		q := mustParse(t, `query ask($q: string) { p(func: evorag.Entities(`+args+`)) @evorag(query: $q) { name } }`)
		f, ok := RootFunc(q, q.Blocks[0])
		require.True(t, ok)
		require.Equal(t, "evorag.entities", f.Name)
		return ReadEntities(q, f, map[string]string{"$q": "who"})
	}
	o, err := entities("query: $q")
	require.NoError(t, err)
	require.Equal(t, Operand{Text: "who", Var: "$q", Set: true}, o)

	for _, args := range []string{"", "$q", "name, \"x\"", "query: $q, hops: 2"} {
		_, err := entities(args)
		require.ErrorContains(t, err, "write evorag.entities(query: $q)")
	}
	_, err = entities("query: 3")
	require.ErrorContains(t, err, "not a string")
}
