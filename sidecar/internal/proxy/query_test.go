package proxy_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

const films = `Alien, directed by, Ridley Scott
Gladiator, directed by, Ridley Scott
Alien, starring, Sigourney Weaver
Avatar, starring, Sigourney Weaver
Avatar, directed by, James Cameron
Ridley Scott, born in, South Shields
James Cameron, born in, Kapuskasing
Amélie, directed by, Jean-Pierre Jeunet`

func metapaths(r *graph.Retrieval) []string {
	var out []string
	for _, x := range r.Results {
		out = append(out, x.Start.Name+" "+strings.Join(x.Metapath, " "))
	}
	return out
}

// ends are the names at which a result's paths end.
func ends(r graph.Result) []string {
	var out []string
	for _, in := range r.Instances {
		out = append(out, in.Nodes[len(in.Nodes)-1].Name)
	}
	return out
}

func TestTheThreeFormsFindTheSamePath(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	const q = "Where was the director of Alien born?"

	data, r := c.query(t, `query a($q: string) { paths(func: evorag.entities(query: $q)) @evorag(query: $q, paths: 1) { name } }`, "$q", q)
	require.Equal(t, `{"paths":[{"name":"Alien","directed_by":[{"name":"Ridley Scott","born_in":[{"name":"South Shields"}]}]}]}`, data)
	require.Equal(t, []string{"Alien directed_by born_in"}, metapaths(r))
	require.Equal(t, `"Alien" in the question is its name`, r.Entities[0].Why)
	require.Equal(t, "[1] Alien -[directed by]-> Ridley Scott -[born in]-> South Shields\n", r.Context)
	require.Equal(t, 1.0, r.Results[0].P)

	data, _ = c.query(t, `query a($q: string) { paths(func: eq(name, "Alien")) @recurse(depth: 3) @evorag(query: $q, paths: 1) { name directed_by born_in } }`, "$q", q)
	require.Equal(t, `{"paths":[{"name":"Alien","directed_by":[{"name":"Ridley Scott","born_in":[{"name":"South Shields"}]}]}]}`, data)

	data, r = c.query(t, `query a($q: string) {
  paths(func: eq(name, "Alien")) @evorag(query: $q, paths: 1) { n: name starring { name } directed_by { name born_in { name } } }
  other(func: eq(name, "Avatar")) { name }
}`, "$q", q)
	require.Equal(t, `{"paths":[{"n":"Alien","directed_by":[{"name":"Ridley Scott","born_in":[{"name":"South Shields"}]}]}],"other":[{"name":"Avatar"}]}`, data)
	require.Equal(t, []string{"Alien directed_by born_in"}, metapaths(r))
}

func TestALearnedScoreDecidesAmongEqualsAndAHiddenEdgeIsLeftOut(t *testing.T) {
	c := newCluster(t)
	c.set(t, `_:a <name> "Studio" .
_:b <name> "Owner one" .
_:c <name> "Owner two" .
_:d <name> "Owner six" .
_:a <owned_by> _:b (since=1990) .
_:a <owned_by> _:c (evorag.score=140.0, evorag.n=3) .
_:a <owned_by> _:d (evorag.score=150.0, evorag.hidden=true) .`)
	require.NoError(t, c.client.Alter(t.Context(), "owned_by: [uid] @reverse .\nname: string @index(exact) ."))
	c.SchemaChanged()

	text := func(args string) string {
		return `{ q(func: eq(name, "Studio")) @evorag(query: "who owns it", bundle: false` + args + `) { name owned_by @facets(since) { name } } }`
	}
	data, r := c.query(t, text(""))
	require.Equal(t, `{"q":[{"name":"Studio","owned_by":[{"name":"Owner two"},{"name":"Owner one","owned_by|since":1990}]}]}`, data)
	require.Equal(t, 140.0, r.Results[0].Instances[0].Triplets[0].Score)
	require.Equal(t, 0.7, r.Results[0].Instances[0].Triplets[0].Sc)
	require.Greater(t, r.Results[0].P, r.Results[1].P)
	require.InDelta(t, 1, r.Results[0].P+r.Results[1].P, 1e-12)

	data, _ = c.query(t, text(", hidden: true"))
	require.Contains(t, data, `"owned_by":[{"name":"Owner six"},{"name":"Owner two"}`)

	flat := `{ q(func: eq(name, "Studio")) @evorag(query: "who owns it", hops: 1, bundle: false%) { name } }`
	data, _ = c.query(t, strings.Replace(flat, "%", "", 1))
	require.Equal(t, `{"q":[{"name":"Studio","owned_by":[{"name":"Owner two"},{"name":"Owner one"}]}]}`, data)
	data, r = c.query(t, strings.Replace(flat, "%", ", explain: true, hidden: true", 1))
	require.Contains(t, data, `{"name":"Owner six","owned_by|evorag.score":150}`)
	parts := r.Results[0].Instances[0].Parts
	require.Greater(t, parts["contribution"], graph.Float(0))
	require.InDelta(t, r.Results[0].Z, float64(parts["relevance"]+parts["contribution"]+parts["question"]+parts["hops"]), 1e-5)
}

func TestEqualResultsAlwaysComeInTheSameOrder(t *testing.T) {
	c := newCluster(t)
	var lines []string
	for _, x := range "abcdefghij" {
		lines = append(lines, "Hub, knows, node "+string(x))
	}
	c.load(t, strings.Join(lines, "\n"))
	first, r := c.query(t, `{ q(func: eq(name, "Hub")) @evorag(query: "zzz", hops: 1, bundle: false, paths: 5) { name } }`)
	require.Len(t, r.Results, 5)
	for range 5 {
		again, _ := c.query(t, `{ q(func: eq(name, "Hub")) @evorag(query: "zzz", hops: 1, bundle: false, paths: 5) { name } }`)
		require.Equal(t, first, again)
	}
	for i := 1; i < 5; i++ {
		a, b := r.Results[i-1].Instances[0].Nodes[1].UID, r.Results[i].Instances[0].Nodes[1].UID
		require.True(t, r.Results[i-1].Z > r.Results[i].Z || a < b, "ties by uid")
	}
}

func TestNamesInTheQuestion(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	for question, want := range map[string][]string{
		"who directed alien?":                 {"Alien"},
		"AMELIE's director":                   {"Amélie"},
		"Did Ridley Scott know James Cameron": {"James Cameron", "Ridley Scott"},
	} {
		_, r := c.query(t, `query a($q: string) { q(func: evorag.entities(query: $q)) @evorag(query: $q) { name } }`, "$q", question)
		var got []string
		for _, e := range r.Entities {
			got = append(got, e.Name)
		}
		require.ElementsMatch(t, want, got, question)
	}
	data, r := c.query(t, `query a($q: string) { q(func: evorag.entities(query: $q)) @evorag(query: $q) { name } }`, "$q", "who knows?")
	require.Equal(t, `{"q":[]}`, data)
	require.Empty(t, r.Results)
	require.Contains(t, r.Reason, "no name in the question")
	require.False(t, r.Partial)
}

func TestAQueryInATransactionSeesItsOwnWrites(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	err := c.client.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
		_, err := tx.Query(ctx, `{ q(func: eq(name, "Alien")) { uid } }`, nil)
		return err
	})
	require.NoError(t, err)
	// The start timestamp of an earlier read shows the graph as it was then.
	before, err := c.Query(t.Context(), proxy.Request{Call: graph.Call{Query: `{ q(func: eq(name, "Alien")) @evorag(query: "x", hops: 1, via: [starring]) { name } }`}})
	require.NoError(t, err)
	c.load(t, "Alien, starring, Tom Skerritt")
	then, err := c.Query(t.Context(), proxy.Request{Call: graph.Call{
		Query: `{ q(func: eq(name, "Alien")) @evorag(query: "x", hops: 1, via: [starring]) { name } }`, StartTS: before.Txn.StartTS,
	}})
	require.NoError(t, err)
	require.Equal(t, string(before.JSON), string(then.JSON))
	data, _ := c.query(t, `{ q(func: eq(name, "Alien")) @evorag(query: "x", hops: 1, via: [starring]) { name } }`)
	require.Contains(t, data, "Tom Skerritt")
}

func TestABudgetMakesTheAnswerPartialNotWrong(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	small := newProxy(t, c.client, proxy.Budget{Edges: 1, Steps: 1000, Time: 10 * time.Second})
	r, err := small.Query(t.Context(), proxy.Request{Call: graph.Call{Query: `{ q(func: eq(name, "Alien")) @evorag(query: "x", hops: 3) { name } }`}})
	require.NoError(t, err)
	require.True(t, r.Retrieval.Partial)
	require.Contains(t, r.Retrieval.Reason, "more than 1 edges")
	require.NotEmpty(t, r.Retrieval.Results, "what was found until then is shown")
}

func TestRetrieve(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	r, err := c.Retrieve(t.Context(), proxy.RetrieveRequest{Question: "Where was the director born?", Entities: []string{"Alien"}, Paths: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"South Shields"}, ends(r.Results[0]))
	require.Equal(t, "Alien", r.Entities[0].Name)
	require.Len(t, r.ID, 64)

	uid := r.Entities[0].UID.String()
	r, err = c.Retrieve(t.Context(), proxy.RetrieveRequest{Question: "born?", Entities: []string{uid}, Via: []string{"starring", "~starring"}, Hops: 2})
	require.NoError(t, err)
	require.Equal(t, []string{"Alien starring ~starring"}, metapaths(r))

	for _, bad := range []struct {
		name string
		req  proxy.RetrieveRequest
		is   error
	}{
		{"an empty question", proxy.RetrieveRequest{Question: " "}, proxy.ErrBadRequest},
		{"a question that links to nothing", proxy.RetrieveRequest{Question: "who knows?"}, proxy.ErrNothingLinked},
		{"a name that nothing has", proxy.RetrieveRequest{Question: "x", Entities: []string{"Nobody"}}, proxy.ErrNothingLinked},
		{"a uid that is none", proxy.RetrieveRequest{Question: "x", Entities: []string{"0xzz"}}, proxy.ErrBadRequest},
		{"DQL smuggled in by via", proxy.RetrieveRequest{Question: "x", Via: []string{"a>]) { uid } } #"}}, proxy.ErrBadRequest},
	} {
		_, err := c.Retrieve(t.Context(), bad.req)
		require.ErrorIs(t, err, bad.is, bad.name)
	}
	_, err = c.Retrieve(t.Context(), proxy.RetrieveRequest{Question: "Alien", Hops: 9})
	require.ErrorIs(t, err, proxy.ErrBadRequest)
	require.ErrorContains(t, err, "from 1 to 6")
}

// counted counts the reads that an engine answers.
type counted struct {
	proxy.Engine
	reads atomic.Int32
}

func (c *counted) Query(ctx context.Context, call graph.Call) (graph.Answer, error) {
	c.reads.Add(1)
	return c.Engine.Query(ctx, call)
}

func TestStartNodesThatARequestGives(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	engine := &counted{Engine: c.client}
	var remembered []graph.Retrieval
	p := newProxyOf(t, proxy.Options{Engine: engine, Remember: func(r *graph.Retrieval) { remembered = append(remembered, *r) }})

	r, err := p.Retrieve(t.Context(), proxy.RetrieveRequest{Question: "born?", Entities: []string{"Alien", "Avatar"}, Hops: 1})
	require.NoError(t, err)
	require.Len(t, r.Entities, 2)
	require.Equal(t, r.Entities, remembered[0].Entities, "what is stored holds them too")

	once := engine.reads.Load()
	many := make([]string, proxy.MostEntities)
	for i := range many {
		many[i] = []string{"Alien", "Avatar"}[i%2]
	}
	again, err := p.Retrieve(t.Context(), proxy.RetrieveRequest{Question: "born?", Entities: many, Hops: 1})
	require.NoError(t, err)
	require.Equal(t, r.Entities, again.Entities, "each counts once")
	require.LessOrEqual(t, engine.reads.Load()-once, once, "and is looked up once")

	uid := strings.TrimPrefix(r.Entities[0].UID.String(), "0x")
	one, err := p.Retrieve(t.Context(), proxy.RetrieveRequest{Question: "born?", Entities: []string{"0x" + uid, "Alien", "0x0" + strings.ToUpper(uid), "alien"}, Hops: 1})
	require.NoError(t, err)
	require.Len(t, one.Entities, 1, "a node counts once, however it is spelled")

	_, err = p.Retrieve(t.Context(), proxy.RetrieveRequest{Question: "born?", Entities: append(many, "Alien")})
	require.ErrorIs(t, err, proxy.ErrBadRequest)
	require.ErrorContains(t, err, "write at most 100")
}

func TestAStartNodeThatAQueryNamesTwiceIsSearchedOnce(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	alien := strings.Trim(uidOf(t, c, "Alien"), "<>")
	const text = `query a($q: string) { q(func: uid(%s)) @evorag(query: $q, hops: 2) { name } }`
	once, r := c.query(t, fmt.Sprintf(text, alien), "$q", "who directed it")
	twice, again := c.query(t, fmt.Sprintf(text, alien+", 0x0"+alien[2:]+", "+alien), "$q", "who directed it")
	require.NotEmpty(t, r.Results)
	require.JSONEq(t, once, twice)
	require.Len(t, again.Results, len(r.Results))
}

func TestAStartNodeThatAWrittenBlockNamesTwiceIsRankedOnce(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	alien := strings.Trim(uidOf(t, c, "Alien"), "<>")
	for _, paths := range []string{"", ", paths: 1"} {
		text := `query a($q: string) { q(func: uid(%s)) @evorag(query: $q` + paths + `) { name directed_by { name born_in { name } } } }`
		once, r := c.query(t, fmt.Sprintf(text, alien), "$q", "who directed it")
		twice, again := c.query(t, fmt.Sprintf(text, alien+", 0x0"+alien[2:]), "$q", "who directed it")
		require.NotEmpty(t, r.Results)
		require.Equal(t, r.Results, again.Results)
		row := strings.TrimSuffix(strings.TrimPrefix(once, `{"q":[`), `]}`)
		require.Equal(t, `{"q":[`+row+","+row+`]}`, twice, "the rows are as the engine gives them")
	}
}

func TestAnAnswerToSeveralQuestionsIsNotStored(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	var remembered []*graph.Retrieval
	p := &cluster{newProxyOf(t, proxy.Options{Engine: c.client, Remember: func(r *graph.Retrieval) { remembered = append(remembered, r) }}), c.client}
	const text = `query a($q: string) {
  a(func: eq(name, "Alien")) @evorag(query: $q, hops: 1) { name }
  b(func: eq(name, "Avatar")) @evorag(query: %s, hops: 1) { name }
}`
	_, r := p.query(t, fmt.Sprintf(text, "$q"), "$q", "who directed it")
	require.Len(t, remembered, 1)
	require.Equal(t, "who directed it", r.Question)
	require.Empty(t, r.Reason)
	for _, other := range []string{`"who starred in it"`, "$q, alpha: 0.9"} {
		_, r = p.query(t, fmt.Sprintf(text, other), "$q", "who directed it")
		require.Len(t, remembered, 1, other)
		require.NotEmpty(t, r.Results)
		require.Empty(t, r.ID+r.Question, other)
		require.Contains(t, r.Reason, "can't be rated", other)
		require.False(t, r.Partial)
	}
}

func TestAnEmptyGraph(t *testing.T) {
	c := newCluster(t)
	_, err := c.Retrieve(t.Context(), proxy.RetrieveRequest{Question: "who directed Alien?"})
	require.ErrorContains(t, err, "load data")
	data, r := c.query(t, `{ q(func: uid(0x999)) @evorag(query: "x") { name } }`)
	require.Equal(t, `{"q":[{"uid":"0x999"}]}`, data)
	require.Empty(t, r.Results)
}

func TestErrorsOfTheEngineComeAsTheyAre(t *testing.T) {
	c := newCluster(t)
	c.load(t, films)
	_, err := c.Query(t.Context(), proxy.Request{Call: graph.Call{Query: `{ q(func: gibberish(name, "x")) @evorag(query: "x") { name } }`}})
	_, direct := c.client.Query(t.Context(), graph.Call{Query: `{ q(func: gibberish(name, "x")) { name } }`})
	require.Equal(t, direct.Error(), err.Error())
	_, err = c.Query(t.Context(), proxy.Request{RDF: true, Call: graph.Call{Query: `{ q(func: uid(1)) @evorag(query: "x") { name } }`}})
	require.ErrorIs(t, err, proxy.ErrRDF)
}

func TestUserDataComesBackAsItIs(t *testing.T) {
	c := newCluster(t)
	require.NoError(t, c.client.Alter(t.Context(), "name: string @index(exact) @lang .\nbig: int .\nratio: float .\nknows: [uid] @reverse .\nboss: uid .\ntype Person {\n name\n big\n knows\n}"))
	c.set(t, `_:a <name> "Eva \"x\"" .
_:a <name> "Ева"@ru .
_:a <dgraph.type> "Person" .
_:a <big> "9007199254740993" .
_:a <ratio> "1.0" .
_:b <name> "Bob" .
_:b <big> "1" .
_:a <knows> _:b (since=2006-01-02T00:00:00, weight=0.5) .
_:a <boss> _:b (evorag.score=20.0) .`)
	c.SchemaChanged()
	const text = `{ q(func: eq(name, "Eva \"x\""))%s { name@ru big ratio boss { name } b2: boss @facets(s: evorag.score) { n: name } ...f count(knows) } } fragment f { k: knows (first: 5) @facets @filter(has(big)) { name } }`
	data, _ := c.query(t, fmt.Sprintf(text, ` @evorag(query: "x")`))
	direct, err := c.client.Query(t.Context(), graph.Call{Query: fmt.Sprintf(text, "")})
	require.NoError(t, err)
	require.Equal(t, string(direct.JSON), data)
	for _, part := range []string{"9007199254740993", `"Ева"`, `"s":20`, `"k|weight":0.5`} {
		require.Contains(t, data, part)
	}

	data, _ = c.query(t, `{ q(func: eq(name, "Eva \"x\"")) @evorag(query: "x") { expand(_all_) { name } } }`)
	require.Contains(t, data, `"big":9007199254740993`)
	require.NotContains(t, data, "evorag")
}

func TestFacetsStayWithTheirEdgesUnderEveryOrderAndPage(t *testing.T) {
	c := newCluster(t)
	require.NoError(t, c.client.Alter(t.Context(), "name: string @index(exact) .\nage: int .\nknows: [uid] ."))
	c.set(t, `_:h <name> "H" .
_:a <name> "a" .
_:a <age> "5" .
_:b <name> "b" .
_:c <name> "c" .
_:c <age> "3" .
_:h <knows> _:a (since=1, evorag.score=150.0) .
_:h <knows> _:b (since=2) .
_:h <knows> _:c (since=3, evorag.score=200.0) .`)
	c.SchemaChanged()
	const a, b, cc = `{"name":"a","knows|since":1}`, `{"name":"b","knows|since":2}`, `{"name":"c","knows|since":3}`
	for args, want := range map[string]string{
		"":                             cc + "," + a + "," + b,
		"(first: 1)":                   cc,
		"(offset: 1)":                  a + "," + b,
		"(first: -1)":                  b,
		"(orderasc: age)":              cc + "," + a + "," + b,
		"(orderasc: age, offset: 1)":   a + "," + b,
		"(orderdesc: age, first: 1)":   a,
		"(orderasc: val(x))":           cc + "," + a,
		"(orderdesc: val(x))":          a + "," + cc,
		"(orderasc: val(x), first: 1)": cc,
	} {
		data, _ := c.query(t, `{ var(func: has(age)) { x as age y as math(x + 1) } q(func: eq(name, "H")) @evorag(query: "zzz") { knows `+args+` @facets(since) { name } } z(func: has(nothing)) { val(y) val(x) } }`)
		require.Equal(t, `{"q":[{"knows":[`+want+`]}],"z":[]}`, data, args)
	}
}
