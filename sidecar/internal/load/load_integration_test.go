package load_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/load"
)

func file(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func run(t *testing.T, c load.Cluster, opts load.Options) load.Report {
	opts.Now = time.Now
	r, err := load.Run(t.Context(), c, opts, nil)
	require.NoError(t, err)
	return r
}

// read runs a query and gives its block q as JSON text.
func read(t *testing.T, c *dgraph.Client, query string) string {
	data, err := c.Read(t.Context(), query, nil)
	require.NoError(t, err)
	var answer struct{ Q json.RawMessage }
	require.NoError(t, json.Unmarshal(data, &answer))
	return string(answer.Q)
}

const films = "Casino Royale\tdirected by\tMartin Campbell\n" +
	"Casino Royale\tstarring\tEva Green\n" +
	"Eva \"E.\" Green\tknows\tÉva Зелёная\n" +
	"Casino Royale\tstarring\tEva Green\n" +
	"broken line\n"

func TestLoadingWritesEdgesLabelsAndTypes(t *testing.T) {
	c := cluster(t)
	r := run(t, c, load.Options{Files: []string{file(t, "films.tsv", films)}})
	require.Equal(t, 4, r.Triplets)
	require.Equal(t, 1, r.Doubles)
	require.Equal(t, 1, r.Bad)
	require.ErrorContains(t, r.FirstBad[0], "films.tsv:5: 1 columns")
	require.Equal(t, load.Count{New: 5}, r.Entities)
	require.Equal(t, load.Count{New: 3}, r.Edges)

	require.JSONEq(t, `[{"name":"Casino Royale","dgraph.type":["Entity"],"directed_by":[{"name":"Martin Campbell"}],"starring":[{"name":"Eva Green"}]}]`,
		read(t, c, `{ q(func: anyofterms(name, "casino")) { name dgraph.type directed_by { name } starring { name } } }`))
	require.JSONEq(t, `[{"~knows":[{"name":"Eva \"E.\" Green"}]}]`, read(t, c, `{ q(func: eq(name, "Éva Зелёная")) { ~knows { name } } }`))
	require.JSONEq(t, `[{"evorag.predicate":"directed_by","evorag.relation.label":"directed by"}]`,
		read(t, c, `{ q(func: eq(evorag.predicate, "directed_by")) { evorag.predicate evorag.relation.label } }`))
	require.JSONEq(t, `[{"name":"Casino Royale","directed_by":[{"name":"Martin Campbell"}],"starring":[{"name":"Eva Green"}]}]`,
		read(t, c, `{ q(func: eq(name, "Casino Royale")) { expand(_all_) { name } } }`), "expand finds every field")
}

func TestLoadingTwiceChangesNothingAndKeepsFacets(t *testing.T) {
	c := cluster(t)
	path := file(t, "films.tsv", films)
	run(t, c, load.Options{Files: []string{path}})
	require.NoError(t, c.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
		data, err := tx.Query(ctx, `{ q(func: has(starring)) { uid starring { uid } } }`, nil)
		require.NoError(t, err)
		var answer struct {
			Q []struct {
				UID      graph.UID
				Starring []struct{ UID graph.UID }
			}
		}
		require.NoError(t, json.Unmarshal(data, &answer))
		_, err = tx.Set(ctx, fmt.Appendf(nil, "<%s> <starring> <%s> (since=2006, evorag.score=120.5) .\n", answer.Q[0].UID, answer.Q[0].Starring[0].UID))
		return err
	}))
	everything := `{ q(func: type(Entity)) { uid name directed_by @facets { uid } starring @facets { uid } knows @facets { uid } } }`
	before, schema := read(t, c, everything), schemaText(t, c)
	r := run(t, c, load.Options{Files: []string{path}})
	require.Equal(t, load.Count{Existing: 5}, r.Entities)
	require.Equal(t, load.Count{Existing: 3}, r.Edges)
	require.JSONEq(t, before, read(t, c, everything))
	require.Contains(t, before, `"starring|evorag.score":120.5`)
	require.Equal(t, schema, schemaText(t, c))
	require.JSONEq(t, `[{"count":3}]`, read(t, c, `{ q(func: has(evorag.predicate)) { count(uid) } }`))
}

func schemaText(t *testing.T, c *dgraph.Client) string {
	s, err := c.OwnSchema(t.Context())
	require.NoError(t, err)
	return fmt.Sprint(s)
}

func TestADryRunWritesNothingAndTellsWhatWouldBe(t *testing.T) {
	c := cluster(t)
	before := schemaText(t, c)
	path := file(t, "films.tsv", films)
	r := run(t, c, load.Options{Files: []string{path}, DryRun: true})
	require.Equal(t, load.Count{New: 5}, r.Entities)
	require.Equal(t, load.Count{New: 3}, r.Edges)
	require.Equal(t, "directed_by", r.Relations[0].Predicate)
	require.Equal(t, before, schemaText(t, c))
	require.JSONEq(t, `[{"count":0}]`, read(t, c, `{ q(func: has(evorag.predicate)) { count(uid) } }`))

	run(t, c, load.Options{Files: []string{path}})
	more := file(t, "more.tsv", films+"Eva Green\tknows\tSomebody New\n")
	r = run(t, c, load.Options{Files: []string{more}, DryRun: true})
	require.Equal(t, load.Count{New: 1, Existing: 5}, r.Entities)
	require.Equal(t, load.Count{New: 1, Existing: 3}, r.Edges)
	require.Equal(t, "[]", read(t, c, `{ q(func: eq(name, "Somebody New")) { uid } }`))
}

func TestLabelsThatCollideStayApartAcrossLoads(t *testing.T) {
	c := cluster(t)
	run(t, c, load.Options{Files: []string{file(t, "a.tsv", "a\tdirected by\tb\n")}})
	r := run(t, c, load.Options{Files: []string{file(t, "b.tsv", "a\tdirected_by\tb\na\tdirected by\tc\na\tuid\tb\na\tname\tb\na\tdgraph.x\tb\n")}})
	got := map[string]string{}
	for _, relation := range r.Relations {
		got[relation.Label] = relation.Predicate
	}
	require.Equal(t, map[string]string{"directed by": "directed_by", "directed_by": "directed_by_2", "uid": "uid_", "name": "name_2", "dgraph.x": "dgraph_x"}, got)
	require.JSONEq(t, `[{"directed_by":[{"name":"b"},{"name":"c"}],"directed_by_2":[{"name":"b"}],"uid_":[{"name":"b"}],"name_2":[{"name":"b"}],"dgraph_x":[{"name":"b"}]}]`,
		read(t, c, `{ q(func: eq(name, "a")) { directed_by(orderasc: name) { name } directed_by_2 { name } uid_ { name } name_2 { name } dgraph_x { name } } }`))
}

func TestTheUsersSchemaIsKept(t *testing.T) {
	c := cluster(t)
	require.NoError(t, c.Alter(t.Context(), `
name: string @index(hash, trigram) @lang .
knows: [uid] @count .
age: int @index(int) .
type Entity {
  age
}`))
	run(t, c, load.Options{Files: []string{file(t, "a.tsv", "a\tknows\tb\na\tage\told\n")}})
	s, err := c.OwnSchema(t.Context())
	require.NoError(t, err)
	require.Equal(t, "<knows>: [uid] @count .", s.Predicates["knows"].String())
	require.Equal(t, "<age>: int @index(int) .", s.Predicates["age"].String())
	require.Equal(t, "<age_2>: [uid] @reverse .", s.Predicates["age_2"].String())
	require.Subset(t, s.Predicates["name"].Tokenizers, []string{"hash", "trigram", "exact", "term"})
	require.True(t, s.Predicates["name"].Lang && s.Predicates["name"].Upsert)
	require.ElementsMatch(t, []string{"age", "age_2", "knows", "name"}, s.Types["Entity"])
}

func TestANamePredicateThatHoldsNoNamesIsRefused(t *testing.T) {
	c := cluster(t)
	require.NoError(t, c.Alter(t.Context(), "name: int ."))
	opts := load.Options{Files: []string{file(t, "a.tsv", "a\tr\tb\n")}, Now: time.Now}
	_, err := load.Run(t.Context(), c, opts, nil)
	require.ErrorContains(t, err, "--name-predicate")
	opts.NamePredicate, opts.EntityType = "title", "Thing"
	run(t, c, opts)
	require.JSONEq(t, `[{"title":"a","r":[{"title":"b"}]}]`, read(t, c, `{ q(func: eq(title, "a")) @filter(type(Thing)) { title r { title } } }`))
}

func TestOfSeveralNodesOfOneNameTheLowestOfTheTypeIsTaken(t *testing.T) {
	c := cluster(t)
	require.NoError(t, c.Alter(t.Context(), "name: string @index(exact) ."))
	var uids map[string]graph.UID
	require.NoError(t, c.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) (err error) {
		uids, err = tx.Set(ctx, []byte(`
_:other <name> "a" .
_:x <name> "a" .
_:x <dgraph.type> "Entity" .
_:y <name> "a" .
_:y <dgraph.type> "Entity" .`))
		return err
	}))
	r := run(t, c, load.Options{Files: []string{file(t, "a.tsv", "a\tr\tb\n")}})
	require.Equal(t, 1, r.Ambiguous)
	require.JSONEq(t, fmt.Sprintf(`[{"uid":%q}]`, min(uids["x"], uids["y"])), read(t, c, `{ q(func: has(r)) { uid } }`))
}

func TestRDFBringsIRIsNamesValuesAndFacets(t *testing.T) {
	c := cluster(t)
	path := file(t, "a.nq", `
<http://f/casino> <http://f/starring> <http://f/eva> (since=2006-01-02, role="Vesper \"V\"") .
<http://f/casino> <http://f/year> "2006"^^<http://www.w3.org/2001/XMLSchema#gYear> .
<http://f/casino> <http://f/minutes> "144"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://f/casino> <http://f/rating> "8.0"^^<http://www.w3.org/2001/XMLSchema#decimal> .
<http://f/casino> <http://f/released> "2006-11-14"^^<http://www.w3.org/2001/XMLSchema#date> .
<http://f/casino> <http://f/colour> "true"^^<http://www.w3.org/2001/XMLSchema#boolean> .
<http://f/casino> <http://f/tag> "spy"@en .
<http://f/casino> <http://f/tag> "a \"cold\" one" .
<http://f/casino> <http://www.w3.org/2000/01/rdf-schema#label> "Casino Royale"@en .
_:b <http://f/watched> <http://f/casino> .
_:b <name> "Bea" .
<http://f/casino> <http://f/minutes> "long"^^<http://www.w3.org/2001/XMLSchema#integer> .
`)
	r := run(t, c, load.Options{Files: []string{path}})
	require.Equal(t, 1, r.Bad)
	require.ErrorContains(t, r.FirstBad[0], `a.nq:13: "long" is not an integer`)
	require.Equal(t, load.Count{New: 7}, r.Values)
	query := `{ q(func: eq(iri, "http://f/casino")) { name starring @facets { name iri } year minutes rating released colour tag ~watched { name } } }`
	want := `[{"name":"Casino Royale","starring":[{"name":"eva","iri":"http://f/eva","starring|since":"2006-01-02T00:00:00Z","starring|role":"Vesper \"V\""}],
		"year":"2006","minutes":144,"rating":8.0,"released":"2006-11-14T00:00:00Z","colour":true,"tag":["spy","a \"cold\" one"],"~watched":[{"name":"Bea"}]}]`
	require.JSONEq(t, want, sorted(read(t, c, query)))
	r = run(t, c, load.Options{Files: []string{path}})
	require.Equal(t, load.Count{Existing: 3}, r.Entities)
	require.Equal(t, load.Count{Existing: 2}, r.Edges)
	require.Equal(t, load.Count{Existing: 7}, r.Values)
	require.JSONEq(t, want, sorted(read(t, c, query)))
}

// sorted puts the two tags in the order of the test: the engine's is by hash.
func sorted(answer string) string {
	return strings.Replace(answer, `["a \"cold\" one","spy"]`, `["spy","a \"cold\" one"]`, 1)
}

func TestTwoLoadersAtOnceCreateEachThingOnce(t *testing.T) {
	c := cluster(t)
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "the entity %d\tis before\tthe entity %d\n", i, i+1)
	}
	path := file(t, "chain.tsv", text.String())
	var group errgroup.Group
	var created, edges atomic.Int64
	for range 3 {
		group.Go(func() error {
			r, err := load.Run(t.Context(), c, load.Options{Files: []string{path}, Now: time.Now}, nil)
			created.Add(int64(r.Entities.New))
			edges.Add(int64(r.Edges.New))
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.EqualValues(t, 3001, created.Load())
	require.GreaterOrEqual(t, edges.Load(), int64(3000))
	require.JSONEq(t, `[{"count":3001}]`, read(t, c, `{ q(func: type(Entity)) { count(uid) } }`))
	require.JSONEq(t, `[{"count":1}]`, read(t, c, `{ q(func: has(evorag.predicate)) { count(uid) } }`))
	require.JSONEq(t, `[{"n":3000}]`, read(t, c, `{ var(func: has(is_before)) { c as count(is_before) } q() { n: sum(val(c)) } }`))
}

// breaking fails for good after some transactions, like a process that is killed.
type breaking struct {
	load.Cluster
	left atomic.Int64
}

var errKilled = errors.New("killed")

func (b *breaking) RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error {
	if b.left.Add(-1) < 0 {
		return errKilled
	}
	return b.Cluster.RunTx(ctx, fn)
}

func TestALoadThatWasCutOffIsCompletedByAnother(t *testing.T) {
	c := cluster(t)
	var text strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&text, "n%d\tr%d\tn%d\n", i, i%7, (i*i+1)%2500)
	}
	path := file(t, "n.tsv", text.String())
	opts := load.Options{Files: []string{path}, Batch: 100, Workers: 2, Now: time.Now}
	for _, after := range []int64{0, 2, 3, 6, 12} {
		killed := &breaking{Cluster: c}
		killed.left.Store(after)
		_, err := load.Run(t.Context(), killed, opts, nil)
		require.ErrorIs(t, err, errKilled)
	}
	r := run(t, c, opts)
	require.Equal(t, 2500, r.Edges.New+r.Edges.Existing)
	require.Positive(t, r.Edges.Existing)
	require.Equal(t, load.Count{Existing: 2500}, run(t, c, opts).Edges)
	require.JSONEq(t, `[{"count":2500}]`, read(t, c, `{ q(func: type(Entity)) { count(uid) } }`))
}

func TestAClusterThatWasNotMigratedIsRefused(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	opts := load.Options{Files: []string{file(t, "a.tsv", "a\tr\tb\n")}, Now: time.Now}
	_, err := load.Run(t.Context(), dial(t, eng), opts, nil)
	require.ErrorIs(t, err, load.ErrNotMigrated)
}

func TestNamesAreIndexedByTheEntityTokenizerWhereTheEngineHasIt(t *testing.T) {
	plugin, err := filepath.Abs("../../../bin/evorag_entity.so")
	require.NoError(t, err)
	if _, err := os.Stat(plugin); err != nil {
		t.Skipf("NO TOKENIZER, NOT TESTED: %v", err)
	}
	c := migrated(t, enginetest.Start(t, engine.Options{Tokenizer: plugin}))
	path := file(t, "a.tsv", "Eva Green\tknows\tb\n")
	run(t, c, load.Options{Files: []string{path}})
	s, err := c.OwnSchema(t.Context())
	require.NoError(t, err)
	require.True(t, s.Predicates["name"].HasTokenizer("evorag_entity"))
	require.JSONEq(t, `[{"name":"Eva Green"}]`, read(t, c, `{ q(func: anyof(name, evorag_entity, "eva green")) { name } }`))
	run(t, c, load.Options{Files: []string{path}})
}

func TestRunRefuses(t *testing.T) {
	c := cluster(t)
	good := file(t, "a.tsv", "a\tr\tb\n")
	for name, tc := range map[string]struct {
		opts load.Options
		want string
	}{
		"no file":                      {load.Options{}, "no file is given"},
		"a file that is not there":     {load.Options{Files: []string{good, "/nowhere/x.tsv"}}, "no such file"},
		"a folder":                     {load.Options{Files: []string{t.TempDir()}}, "is a folder"},
		"a file without a triplet":     {load.Options{Files: []string{file(t, "b.tsv", "nothing\nhere\n")}}, "the first of 2 bad lines"},
		"an empty file":                {load.Options{Files: []string{file(t, "c.tsv", "")}}, "there is no triplet"},
		"standard input twice":         {load.Options{Files: []string{"-", "-"}, Stdin: strings.NewReader("")}, "can be given once"},
		"standard input without one":   {load.Options{Files: []string{"-"}}, "only where there is one"},
		"a name predicate of no sense": {load.Options{Files: []string{good}, NamePredicate: "a b"}, "name predicate cannot be"},
		"an entity type of no sense":   {load.Options{Files: []string{good}, EntityType: "a>b"}, "entity type cannot be"},
		"a negative batch":             {load.Options{Files: []string{good}, Batch: -1}, "at least 1"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.opts.Now = time.Now
			_, err := load.Run(t.Context(), c, tc.opts, nil)
			require.ErrorContains(t, err, tc.want)
		})
	}
	require.Equal(t, "[]", read(t, c, `{ q(func: type(Entity)) { uid } }`), "nothing was written")
}

func TestStandardInputIsRead(t *testing.T) {
	c := cluster(t)
	var phases []string
	r, err := load.Run(t.Context(), c, load.Options{Files: []string{"-"}, Stdin: strings.NewReader("a,knows,b\n"), Now: time.Now}, func(p load.Progress) {
		phases = append(phases, p.Phase)
	})
	require.NoError(t, err)
	require.Equal(t, 1, r.Edges.New)
	require.Subset(t, phases, []string{load.PhaseRead, load.PhasePredicates, load.PhaseEntities, load.PhaseEdges})
}
