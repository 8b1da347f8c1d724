package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
)

var schema = graph.Schema{Predicates: map[string]graph.PredicateSchema{
	"name":            {Name: "name", Type: "string", Tokenizers: []string{"exact", "term"}},
	"title":           {Name: "title", Type: "string"},
	"age":             {Name: "age", Type: "int"},
	"knows":           {Name: "knows", Type: "uid", List: true, Reverse: true},
	"boss":            {Name: "boss", Type: "uid"},
	"film.director":   {Name: "film.director", Type: "uid", List: true},
	"evorag.shortcut": {Name: "evorag.shortcut", Type: "uid", List: true, Reverse: true},
}}

var defaults = plan.Defaults{Hops: 2, Paths: 10, Instances: 20, Entities: 10, Alpha: 0.5, Names: []string{"name", "label", "title"}}

func build(t *testing.T, text string, vars map[string]string) (*plan.Plan, error) {
	t.Helper()
	q, err := dql.Parse(text)
	require.NoError(t, err)
	return plan.Build(q, vars, schema, defaults)
}

func TestWhatTheEngineIsSent(t *testing.T) {
	const (
		marks = ` evorag.u: uid evorag.n0: <name> evorag.n1: <title> `
		fetch = ` @facets(evorag.s: evorag.score, evorag.h: evorag.hidden) `
	)
	for _, c := range []struct{ name, text, want string }{
		{
			"a written block gets names, uids and facets; the rest stays as it was",
			`{ q(func: eq(name, "Eva")) @evorag(query: "x") { age # comment }
  knows { age } } other(func: has(age)) { age } }`,
			`{ q(func: eq(name, "Eva"))  {` + marks + ` age # comment }
  knows ` + fetch + `{` + marks + ` age } } other(func: has(age)) { age } }`,
		},
		{
			"a name that the user reads is not read twice, unless it is not the plain name",
			`{ q(func: uid(1)) @evorag(query: "x") { name knows { called: name title @filter(has(age)) knows { name@en title } } } }`,
			`{ q(func: uid(1))  { evorag.u: uid evorag.n1: <title>  name knows ` + fetch + `{ evorag.u: uid evorag.n1: <title>  called: name title @filter(has(age)) knows ` +
				fetch + `{ evorag.u: uid evorag.n0: <name>  name@en title } } } }`,
		},
		{
			"facets of the user's own share their fetch",
			`{ q(func: uid(1)) @evorag(query: "x") { f: knows @facets(since) @facets(eq(ok, true)) { uid } } }`,
			`{ q(func: uid(1))  {` + marks + ` f: knows @facets(since, evorag.s: evorag.score, evorag.h: evorag.hidden) @facets(eq(ok, true)) {` + marks + ` uid } } }`,
		},
		{
			"all facets are all facets",
			`{ q(func: uid(1)) @evorag(query: "x") { knows @facets { uid } } }`,
			`{ q(func: uid(1))  {` + marks + ` knows @facets {` + marks + ` uid } } }`,
		},
		{
			"a score that the user asks for is fetched once, under the user's name",
			`{ q(func: uid(1)) @evorag(query: "x") { knows @facets(s: evorag.score) { uid } } }`,
			`{ q(func: uid(1))  {` + marks + ` knows @facets(s: evorag.score, evorag.h: evorag.hidden) {` + marks + ` uid } } }`,
		},
		{
			"paging moves behind the ranking",
			`{ q(func: uid(1)) @evorag(query: "x") { knows (first: 3, offset: 1) @filter(has(age)) { uid } } }`,
			`{ q(func: uid(1))  {` + marks + ` knows  @filter(has(age)) ` + fetch + `{` + marks + ` uid } } }`,
		},
		{
			"with an order of the user's the engine pages, but never by offset",
			`{ q(func: uid(1)) @evorag(query: "x") { knows (orderasc: age, first: 3, offset: 2) { uid } } }`,
			`{ q(func: uid(1))  {` + marks + ` knows  (orderasc: age, first: 5) ` + fetch + `{` + marks + ` uid } } }`,
		},
		{
			"with after the engine pages by uid",
			`{ q(func: uid(1)) @evorag(query: "x") { knows (first: 3, after: 0x5) { uid } } }`,
			`{ q(func: uid(1))  {` + marks + ` knows (first: 3, after: 0x5) ` + fetch + `{` + marks + ` uid } } }`,
		},
		{
			"an order by a value variable moves behind the ranking",
			`{ v as var(func: has(age)) { x as age } q(func: uid(v)) @evorag(query: "x") { knows (orderdesc: val(x), first: 2) { uid } } }`,
			`{ v as var(func: has(age)) { x as age } q(func: uid(v))  {` + marks + ` knows  ` + fetch + `{` + marks + " uid \nevorag.o: val(x) } } }",
		},
		{
			"fanout bounds every list without a page of its own",
			`{ q(func: uid(1)) @evorag(query: "x", fanout: 50) { knows { uid } } }`,
			`{ q(func: uid(1))  {` + marks + ` knows (first: 50) ` + fetch + `{` + marks + ` uid } } }`,
		},
		{
			"@cascade keeps names out of the block, they would drop nodes that have none",
			`{ q(func: uid(1)) @cascade @evorag(query: "x") { knows { uid } } }`,
			`{ q(func: uid(1)) @cascade  { evorag.u: uid  knows ` + fetch + `{ evorag.u: uid  uid } } }`,
		},
		{
			"a fragment is written out, so that other blocks don't see the marks",
			"{ q(func: uid(1)) @evorag(query: \"x\") { ...f } p(func: uid(2)) { ...f } }\nfragment f { knows { uid } # end\n}",
			"{ q(func: uid(1))  {" + marks + "   knows " + fetch + "{" + marks + " uid } # end\n\n } p(func: uid(2)) { ...f } }\nfragment f { knows { uid } # end\n}",
		},
		{
			"a flat block only finds its start nodes",
			`query a($q: string) { q(func: eq(name, "Eva"), first: 2) @filter(has(age)) @evorag(query: $q, hops: 3) { uid name } }`,
			`query a($q: string) { q(func: eq(name, "Eva"), first: 2) @filter(has(age))  { evorag.u: uid } }`,
		},
		{
			"a block without a body gets one that finds its start nodes",
			`{ q(func: uid(1)) @evorag(query: "x") p(func: uid(2)) { uid } }`,
			`{ q(func: uid(1))  { evorag.u: uid } p(func: uid(2)) { uid } }`,
		},
		{
			"an empty list of facets has no first comma",
			`{ q(func: uid(1)) @evorag(query: "x") { knows @facets() { uid } } }`,
			`{ q(func: uid(1))  {` + marks + ` knows @facets(evorag.s: evorag.score, evorag.h: evorag.hidden) {` + marks + ` uid } } }`,
		},
		{
			"a value with a body is no edge",
			`{ q(func: uid(1)) @evorag(query: "x") { age { uid } knows { uid } } }`,
			`{ q(func: uid(1))  {` + marks + ` age { uid } knows ` + fetch + `{` + marks + ` uid } } }`,
		},
		{
			"@recurse becomes a search",
			`{ q(func: uid(1)) @recurse(depth: 3) @evorag(query: "x") { name knows ~knows } }`,
			`{ q(func: uid(1))   { evorag.u: uid } }`,
		},
		{
			"evorag.entities becomes the linked uids",
			`query a($q: string) { q(func: evorag.entities(query: $q)) @evorag(query: $q) { name } }`,
			`query a($q: string) { q(func: uid(0x1,0x2a))  { evorag.u: uid } }`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := build(t, c.text, map[string]string{"$q": "who?"})
			require.NoError(t, err)
			got, err := p.Text(map[string][]graph.UID{"q": {1, 42}})
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			_, err = dql.Parse(got)
			require.NoError(t, err)
		})
	}
}

func TestWhatABlockMeans(t *testing.T) {
	p, err := build(t, `query a($q: string, $n: int = 4) {
  w(func: uid(1)) @evorag(query: $q, alpha: 0.25, paths: 3, explain: true) { knows (first: -2) { boss { uid } expand(_all_) { uid } } }
  s(func: evorag.entities(query: "Eva")) @evorag(query: "x", via: [knows, ~knows], bundle: false, hidden: true) { name ...f }
  r(func: uid(1)) @recurse(depth: $n) @evorag(query: "y") { name boss }
}
fragment f { title age }`, map[string]string{"$q": "who?"})
	require.NoError(t, err)
	require.Len(t, p.Blocks, 3)

	w := p.Blocks[0]
	require.Equal(t, plan.Written, w.Form)
	require.Equal(t, "who?", w.Question)
	require.Equal(t, []any{0.25, 3, true, 20, true, true}, []any{w.Alpha, w.Paths, w.Prune, w.Instances, w.Bundle, w.Explain})
	knows := w.Tree.Children[0]
	require.Equal(t, []any{plan.ScoreKey, -2, true}, []any{knows.Score, knows.First, knows.HasFirst})
	require.Equal(t, "boss", knows.Children[0].Relation.String())
	require.NotNil(t, knows.Any)

	s := p.Blocks[1]
	require.Equal(t, plan.Search, s.Form)
	require.Equal(t, []any{2, 10, false, false, true, 10, "Eva"}, []any{s.Hops, s.Paths, s.Prune, s.Bundle, s.Hidden, s.Entities, s.Linked})
	require.Equal(t, []graph.Relation{{Predicate: "knows"}, {Predicate: "knows", Inverse: true}}, s.Via)
	require.Equal(t, []string{"name", "title"}, s.Names)
	reread := p.ReRead(s, []graph.UID{1, 2})
	_, err = dql.Parse(reread)
	require.NoError(t, err)
	for _, part := range []string{"$q: string, $n: int = 4", "uid(0x1,0x2)", "name\n...f", "fragment f { title age }"} {
		require.Contains(t, reread, part)
	}

	r := p.Blocks[2]
	require.Equal(t, 3, r.Hops)
	require.Equal(t, []graph.Relation{{Predicate: "boss"}, {Predicate: graph.ShortcutPredicate}}, r.Via)
	require.Equal(t, "name", r.Values)
}

func TestEveryRelationOfTheSchemaIsFollowedByDefault(t *testing.T) {
	p, err := build(t, `{ q(func: uid(1)) @evorag(query: "x") { uid } }`, nil)
	require.NoError(t, err)
	var got []string
	for _, r := range p.Blocks[0].Via {
		got = append(got, r.String())
	}
	require.Equal(t, "boss evorag.shortcut film.director knows ~knows", strings.Join(got, " "))
}

func TestWhatMakesNoSenseIsRefusedWithWhatToWrite(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"@normalize", `{ q(func: uid(1)) @normalize @evorag(query: "x") { knows { n: name } } }`, "read extensions.evorag.paths"},
		{"@groupby below", `{ q(func: uid(1)) @evorag(query: "x") { knows @groupby(age) { count(uid) } } }`, "group in a block of its own"},
		{"a var block", `{ var(func: uid(1)) @evorag(query: "x") { a as age } q(func: uid(a)) { uid } }`, "give the block a name"},
		{"no question", `{ q(func: uid(1)) @evorag(hops: 2) { uid } }`, `write @evorag(query: "...")`},
		{"hops beside written paths", `{ q(func: uid(1)) @evorag(query: "x", hops: 2) { knows { uid } } }`, "leave hops out"},
		{"via beside written paths", `{ q(func: uid(1)) @evorag(query: "x", via: [knows]) { knows { uid } } }`, "leave via out"},
		{"entities without the function", `{ q(func: uid(1)) @evorag(query: "x", entities: 3) { uid } }`, "leave entities out"},
		{"an unknown predicate in via", `{ q(func: uid(1)) @evorag(query: "x", via: [nope]) { uid } }`, "nope, which is not in the schema"},
		{"a value predicate in via", `{ q(func: uid(1)) @evorag(query: "x", via: [age]) { uid } }`, "holds values (int)"},
		{"an inverse that isn't there", `{ q(func: uid(1)) @evorag(query: "x", via: [~boss]) { uid } }`, "migrate up --reverse boss"},
		{"@recurse without an end", `{ q(func: uid(1)) @recurse @evorag(query: "x") { knows } }`, "@recurse(depth: 3)"},
		{"@recurse too deep", `{ q(func: uid(1)) @recurse(depth: 8) @evorag(query: "x") { knows } }`, "from 2 to 7"},
		{"@recurse with loops", `{ q(func: uid(1)) @recurse(depth: 3, loop: true) @evorag(query: "x") { knows } }`, "leave loop out"},
		{"@recurse without edges", `{ q(func: uid(1)) @recurse(depth: 3) @evorag(query: "x") { name } }`, "leave @recurse out"},
		{"@cascade on a search", `{ q(func: uid(1)) @cascade @evorag(query: "x") { name } }`, "@filter(has(...))"},
		{"a variable defined by a search", `{ q(func: uid(1)) @evorag(query: "x") { a as age } p(func: uid(a)) { uid } }`, "define it in a block of its own"},
		{"facets on a searched edge", `{ q(func: uid(1)) @evorag(query: "x") { name knows @facets(since) } }`, "write the path out"},
		{"an alias that is the extension's own", `{ q(func: uid(1)) @evorag(query: "x") { knows @facets(since, evorag.h: ok) { uid } } }`, "give the facet another alias"},
		{"two blocks of one name", `{ q(func: uid(1)) @evorag(query: "x") { uid } q(func: uid(2)) @evorag(query: "x") { uid } }`, "a name of its own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := build(t, c.text, nil)
			var at *dql.Error
			require.ErrorAs(t, err, &at)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, 1, at.Line)
			require.Greater(t, at.Column, 1)
		})
	}
}

func TestAnUpsertIsReadWithAllItsVariablesUsed(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{
			"no variables",
			`{ q(func: uid(1)) @evorag(query: "x", hops: 1) { name } }`,
			`{ q(func: uid(1))  { evorag.u: uid } }`,
		},
		{
			"variables of blocks, fields, facets and fragments",
			"{ a as q(func: uid(1)) @evorag(query: \"x\") { knows @facets(s as since) { f as uid } ...g } v(func: uid(a)) { n as name } }\nfragment g { m as age }\nfragment unused { u as age }",
			"{ var(func: uid(a, s, f, m, n)) { uid }\na as q(func: uid(1))  { evorag.u: uid evorag.n0: <name> evorag.n1: <title>  knows @facets(s as since, evorag.s: evorag.score, evorag.h: evorag.hidden) " +
				"{ evorag.u: uid evorag.n0: <name> evorag.n1: <title>  f as uid }   m as age \n } v(func: uid(a)) { n as name } }\nfragment g { m as age }\nfragment unused { u as age }",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := build(t, c.text, nil)
			require.NoError(t, err)
			got, err := p.UpsertRead(nil)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			_, err = dql.Parse(got)
			require.NoError(t, err)
		})
	}
}

func TestWhereTheScoreOfAnEdgeStands(t *testing.T) {
	for facets, want := range map[string]string{
		"":                            plan.ScoreKey,
		"@facets(since)":              plan.ScoreKey,
		"@facets()":                   plan.ScoreKey,
		"@facets(eq(ok, true))":       plan.ScoreKey,
		"@facets":                     "k|evorag.score",
		"@facets(evorag.score)":       "k|evorag.score",
		"@facets(mine: evorag.score)": "mine",
	} {
		p, err := build(t, `{ q(func: uid(1)) @evorag(query: "x") { k: knows `+facets+` { uid } } }`, nil)
		require.NoError(t, err, facets)
		require.Equal(t, want, p.Blocks[0].Tree.Children[0].Score, facets)
	}
}

// What stands in a root function may tell which start nodes it will find.
func TestARootFunctionsTextsAndUIDsAreKept(t *testing.T) {
	for root, want := range map[string][]any{
		`eq(name, "Eva \"E.\" Rot")`:      {[]string{`Eva "E." Rot`}, []graph.UID(nil)},
		`eq(name, ["Eva", $n, "Bo", $x])`: {[]string{"Eva", "Cy", "Bo"}, []graph.UID(nil)},
		`anyofterms(name, $n)`:            {[]string{"Cy"}, []graph.UID(nil)},
		`uid(0x1, 0x2a)`:                  {[]string(nil), []graph.UID{1, 42}},
		`uid(v, 0x2)`:                     {[]string(nil), []graph.UID{2}},
		`eq(age, 7)`:                      {[]string(nil), []graph.UID(nil)},
		`has(name)`:                       {[]string(nil), []graph.UID(nil)},
	} {
		p, err := build(t, `query a($q: string, $n: string, $x: string) { v as var(func: has(name)) q(func: `+root+`) @evorag(query: $q) { name } }`, map[string]string{"$q": "who?", "$n": "Cy"})
		require.NoError(t, err, root)
		require.Equal(t, want, []any{p.Blocks[0].Texts, p.Blocks[0].UIDs}, root)
	}
}
