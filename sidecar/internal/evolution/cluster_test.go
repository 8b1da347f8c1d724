package evolution_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/evolution"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
	"github.com/evorag/dgraph-evorag/sidecar/internal/migrate"
)

func TestMain(m *testing.M) {
	if alpha := os.Getenv(childAlpha); alpha != "" { // a process that a test has started
		if err := childMain(alpha); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	enginetest.Main(m, func() error { return goleak.Find() })
}

// cluster is a migrated engine with films in it, and a clock.
type cluster struct {
	*enginetest.Engine
	*dgraph.Client
	uids  map[string]graph.UID
	runs  atomic.Int32
	ahead time.Duration // of processes started from now on, by the real clock
}

// The films: a chain of three good triplets, a pair of good ones that meet in one object, an
// outdated owner, and facets of the user's of every type.
const films = `
_:alien <name> "Alien" .
_:studio <name> "Brandywine" .
_:hill <name> "Walter Hill" .
_:beach <name> "Long Beach" .
_:aliens <name> "Aliens" .
_:weaver <name> "Sigourney Weaver" .
_:fox <name> "21st Century Fox" .
_:disney <name> "Disney" .
_:alien <produced_by> _:studio (evorag.score=160.0, evorag.n=3, since=1979, share=1.0, note="2024-01-01T00:00:00Z", day=1979-05-25T00:00:00Z, sure=true) .
_:studio <founded_by> _:hill (evorag.score=155.5, evorag.n=2) .
_:hill <born_in> _:beach (evorag.score=170.5, evorag.n=2, source="a \"b\"") .
_:weaver <starred_in> _:alien (evorag.score=155.0, evorag.n=1) .
_:weaver <starred_in> _:aliens (evorag.score=151.0, evorag.n=1) .
_:studio <owned_by> _:fox (evorag.score=60.0, evorag.n=4, until=2019) .
_:studio <owned_by> _:disney (evorag.score=100.0, evorag.n=1) .
_:alien <sequel> _:aliens .
_:aliens <produced_by> _:studio (evorag.score=99.0, evorag.n=1) .
_:a <produced_by> _:b (evorag.score=100.0, evorag.n=1) .
_:b <produced_by> _:a (evorag.score=100.0, evorag.n=1) .
_:a <founded_by> _:b (evorag.score=100.0, evorag.n=1) .
_:b <founded_by> _:a (evorag.score=100.0, evorag.n=1) .
_:a <owned_by> _:b (evorag.score=100.0, evorag.n=1) .
_:b <owned_by> _:a (evorag.score=100.0, evorag.n=1) .
_:a <evorag.touched> "produced_by" .
_:b <evorag.touched> "produced_by" .
_:a <evorag.touched> "founded_by" .
_:b <evorag.touched> "founded_by" .
_:a <evorag.touched> "owned_by" .
_:b <evorag.touched> "owned_by" .
_:alien <evorag.touched> "produced_by" .
_:aliens <evorag.touched> "produced_by" .
_:studio <evorag.touched> "founded_by" .
_:studio <evorag.touched> "owned_by" .
_:hill <evorag.touched> "born_in" .
_:weaver <evorag.touched> "starred_in" .
`

func start(t *testing.T) *cluster {
	t.Helper()
	eng := enginetest.Shared(t)
	eng.Reset(t)
	return fill(t, eng)
}

func dial(t *testing.T, eng *enginetest.Engine) *dgraph.Client {
	t.Helper()
	client, err := dgraph.Dial(dgraph.Options{Target: dgraph.Target{Addr: eng.GRPCAddr()}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func fill(t *testing.T, eng *enginetest.Engine) *cluster {
	t.Helper()
	client := dial(t, eng)
	m, err := migrate.New(client, "test", time.Now)
	require.NoError(t, err)
	_, err = m.Up(t.Context())
	require.NoError(t, err)
	eng.Alter(t, `
		name: string @index(exact) .
		produced_by: [uid] .
		founded_by: [uid] .
		born_in: uid .
		owned_by: [uid] @reverse .
		starred_in: [uid] @reverse .
		sequel: uid .`)
	c := &cluster{Engine: eng, Client: client, uids: map[string]graph.UID{}}
	for name, text := range eng.Mutate(t, films) {
		c.uids[name], err = graph.ParseUID(text)
		require.NoError(t, err)
	}
	return c
}

// options are a runner's that judges from the first triplet on and tries nothing out.
func (c *cluster) options() evolution.Options {
	o := filmOptions(c.Client, c.ahead)
	o.NewID = func() string { return fmt.Sprintf("run-%d", c.runs.Add(1)) }
	return o
}

func (c *cluster) runner(t *testing.T, change ...func(*evolution.Options)) *evolution.Runner {
	t.Helper()
	o := c.options()
	for _, f := range change {
		f(&o)
	}
	r, err := evolution.New(o)
	require.NoError(t, err)
	return r
}

// state lists all edges with their facets, by name, in order.
func (c *cluster) state(t *testing.T) []string {
	t.Helper()
	names := map[string]string{}
	for name, u := range c.uids {
		names[u.String()] = name
	}
	predicates := []string{"produced_by", "founded_by", "born_in", "owned_by", "starred_in", "sequel", graph.ShortcutPredicate}
	var out []string
	for _, p := range predicates {
		var answer struct {
			Q []map[string]json.RawMessage
		}
		require.NoError(t, json.Unmarshal(c.Query(t, "{ Q(func: has(<"+p+">)) { uid e: <"+p+"> @facets { uid } } }", nil), &answer))
		for _, n := range answer.Q {
			var head string
			require.NoError(t, json.Unmarshal(n["uid"], &head))
			var edges []map[string]any
			if n["e"][0] == '{' {
				n["e"] = append(append([]byte("["), n["e"]...), ']')
			}
			require.NoError(t, json.Unmarshal(n["e"], &edges))
			for _, e := range edges {
				line := fmt.Sprintf("%s %s %s", names[head], p, names[e["uid"].(string)])
				var facets []string
				for k, v := range e {
					if k = strings.TrimPrefix(k, "e|"); k != "uid" && k != graph.ViaFacet {
						facets = append(facets, fmt.Sprintf("%s=%v", k, v))
					}
				}
				slices.Sort(facets)
				out = append(out, strings.TrimSpace(line+" "+strings.Join(facets, " ")))
			}
		}
	}
	slices.Sort(out)
	return out
}

// Query hides that of the client.
func (c *cluster) Query(t *testing.T, text string, vars map[string]string) json.RawMessage {
	return c.Engine.Query(t, text, vars)
}

// export is the engine's own export of all data, without the records of runs and the lease.
func (c *cluster) export(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	body, err := json.Marshal(map[string]string{"query": fmt.Sprintf(`mutation { export(input: {format: "rdf", destination: %q}) { taskId response { message } } }`, dir)})
	require.NoError(t, err)
	resp, err := http.Post("http://"+c.HTTPAddr()+"/admin", "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NotContains(t, string(answer), "errors", string(answer))
	var file string
	require.Eventually(t, func() bool {
		found, err := filepath.Glob(filepath.Join(dir, "*", "*.schema.gz")) // written last
		require.NoError(t, err)
		data, err := filepath.Glob(filepath.Join(dir, "*", "*.rdf.gz"))
		require.NoError(t, err)
		if len(found) == 1 && len(data) == 1 {
			file = data[0]
			_, err = os.ReadFile(file)
			return err == nil && complete(file)
		}
		return false
	}, time.Minute, 50*time.Millisecond, string(answer))
	lines := strings.Split(gunzip(t, file), "\n")
	own := map[string]bool{} // records of runs, and the lease
	for _, l := range lines {
		for _, p := range []string{"<evorag.run.", "<evorag.change.", "<evorag.lease."} {
			if strings.Contains(l, " "+p) {
				own[strings.Fields(l)[0]] = true
			}
		}
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" || own[strings.Fields(l)[0]] })
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func complete(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, z)
	return err == nil
}

func gunzip(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(b)
}

// rate changes an edge's score as feedback does.
func (c *cluster) rate(t *testing.T, head, predicate, object string, by float64) {
	t.Helper()
	edge := graph.Triplet{Head: c.uids[head], Predicate: predicate, Object: c.uids[object]}
	require.NoError(t, c.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error {
		edges, err := facet.Read(ctx, tx.Query, []graph.Triplet{edge})
		if err != nil {
			return err
		}
		e := edges[edge]
		e.Triplet = edge
		e.Score += by
		e.Updates++
		_, err = tx.Set(ctx, e.AppendTo(nil))
		return err
	}))
}

// delete removes N-Quads as a user does, around the sidecar.
func (c *cluster) delete(t *testing.T, nquads string) {
	t.Helper()
	require.NoError(t, c.RunTx(t.Context(), func(ctx context.Context, tx graph.Tx) error { return tx.Delete(ctx, []byte(nquads)) }))
}

// sameButLearned compares two lines of state without the facets that runs change.
func sameButLearned(a, b string) bool {
	return slices.Equal(withoutRuns(a), withoutRuns(b))
}

func withoutRuns(line string) []string {
	return slices.DeleteFunc(strings.Fields(line), func(w string) bool {
		return strings.HasPrefix(w, "evorag.low=") || strings.HasPrefix(w, "evorag.hidden=")
	})
}

func isShortcut(line string) bool { return strings.Fields(line)[1] == graph.ShortcutPredicate }
