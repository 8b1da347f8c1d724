package integration_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

// ratelAt is an origin that is not the front's, as Ratel's always is.
const ratelAt = "http://localhost:8000"

// startRatelFilms serves the rated films with inverses, a type, and shortcuts.
func startRatelFilms(t *testing.T) (*enginetest.Engine, app.Addresses) {
	t.Helper()
	eng := enginetest.Shared(t)
	eng.Reset(t)
	c := settings(eng.GRPCAddr())
	c.Evolution.MinTouched, c.Evolution.Runs, c.Evolution.Explore, c.Evolution.Schedule = 5, 1, 0, "off"
	at := serve(t, c)
	eng.Alter(t, filmSchema)
	eng.Mutate(t, rated+filmTypes)
	code, body := caller{}.send(t, at.HTTP, "/evorag/v1/runs", "application/json", `{}`)
	require.Equal(t, http.StatusOK, code, body)
	return eng, at
}

const filmSchema = `
name: string @index(exact, term) .
produced_by: [uid] @reverse .
founded_by: [uid] .
born_in: [uid] .
owned_by: [uid] @reverse .
type Thing {
  name
  produced_by
  founded_by
  born_in
  owned_by
}`

const filmTypes = `
_:alien <dgraph.type> "Thing" .
_:studio <dgraph.type> "Thing" .
_:hill <dgraph.type> "Thing" .
`

// drawn are the same question in each form, with the scores that Ratel's edge panel is to show.
var drawn = map[string]string{
	"written out": `{ q(func: eq(name, "Alien")) @evorag(query: "Where was the founder of its studio born?") { name
		produced_by @facets(evorag.score) { name founded_by @facets(evorag.score) { name born_in @facets(evorag.score) { name } } } } }`,
	"hops":    `{ q(func: eq(name, "Alien")) @evorag(query: "Where was the founder of its studio born?", hops: 3, explain: true) { name } }`,
	"recurse": `{ q(func: eq(name, "Alien")) @recurse(depth: 4) @evorag(query: "Where was the founder of its studio born?", explain: true) { name produced_by founded_by born_in evorag.shortcut } }`,
}

// ask sends a request as Ratel's page does and gives the whole answer.
func ask(t testing.TB, at app.Addresses, method, path, contentType, body string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+at.HTTP+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Origin", ratelAt)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, []string{"*"}, resp.Header.Values("Access-Control-Allow-Origin"), "%s %s: a browser takes one such header, on every answer", method, path)
	return resp, b
}

func TestRatelGetsEveryAnswerItAsksFor(t *testing.T) {
	_, at := startRatelFilms(t)

	t.Run("preflights allow the headers that it sends", func(t *testing.T) {
		for _, path := range []string{"/health", "/state", "/ui/keywords", "/query", "/query?debug=true", "/mutate?commitNow=true", "/commit", "/alter", "/login", "/admin"} {
			for _, header := range []string{"X-Dgraph-AccessToken", "X-Auth-Token", "X-Dgraph-AuthToken", "content-type"} {
				r, err := http.NewRequest(http.MethodOptions, "http://"+at.HTTP+path, nil)
				require.NoError(t, err)
				r.Header.Set("Origin", ratelAt)
				r.Header.Set("Access-Control-Request-Method", http.MethodPost)
				r.Header.Set("Access-Control-Request-Headers", header)
				resp, err := http.DefaultClient.Do(r)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				require.Equal(t, http.StatusOK, resp.StatusCode, path)
				require.Equal(t, []string{"*"}, resp.Header.Values("Access-Control-Allow-Origin"), path)
				require.Contains(t, strings.ToLower(resp.Header.Get("Access-Control-Allow-Headers")), strings.ToLower(header), path)
				require.Contains(t, resp.Header.Get("Access-Control-Allow-Methods"), http.MethodPost, path)
			}
		}
	})
	t.Run("health, state and words", func(t *testing.T) {
		for _, path := range []string{"/health", "/health?all"} {
			_, body := ask(t, at, http.MethodGet, path, "", "")
			var health []struct {
				Version  *string
				Features []string `json:"ee_features"`
			}
			require.NoError(t, json.Unmarshal(body, &health), "%s", body)
			require.NotEmpty(t, health)
			require.NotNil(t, health[0].Version)
			if path == "/health" {
				require.Contains(t, string(body), `"ee_features":[`)
			}
		}
		_, body := ask(t, at, http.MethodGet, "/state", "", "")
		var state struct {
			Groups map[string]struct{ Members, Tablets map[string]any }
			Zeros  map[string]any
		}
		require.NoError(t, json.Unmarshal(body, &state))
		require.NotEmpty(t, state.Groups["1"].Members, "the cluster page")
		require.NotEmpty(t, state.Groups["1"].Tablets)
		require.NotEmpty(t, state.Zeros)
		_, body = ask(t, at, http.MethodGet, "/ui/keywords", "", "")
		var words struct{ Keywords []struct{ Name string } }
		require.NoError(t, json.Unmarshal(body, &words))
		require.Greater(t, len(words.Keywords), 50)
		require.Contains(t, string(body), `"name":"@evorag"`)
	})
	t.Run("the probe", func(t *testing.T) {
		_, body := ask(t, at, http.MethodPost, "/query", "application/dql", `{ q(func: uid(1)) { uid } }`)
		require.Contains(t, string(body), `"uid":"0x1"`)
	})
	t.Run("a query raw and with variables, and its faults", func(t *testing.T) {
		with := `{"query": "query q($n: string) { q(func: eq(name, $n)) @evorag(query: $n, hops: 1) { name } }", "variables": {"$n": "Alien"}}`
		for _, c := range []struct{ path, contentType, body string }{
			{"/query?timeout=20s&debug=true", "application/dql", drawn["hops"]},
			{"/query?debug=true&ro=true&be=true", "application/dql", drawn["hops"]},
			{"/query?timeout=20s&debug=true", "application/json", with},
			{"/query?timeout=20s", "application/dql", `{ q(func: eq(name, "Alien")) { name } }`},
		} {
			resp, body := ask(t, at, http.MethodPost, c.path, c.contentType, c.body)
			require.Equal(t, http.StatusOK, resp.StatusCode)
			var answer map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(body, &answer))
			require.NotContains(t, answer, "errors", "Ratel drops the data where that key is, even if it is empty")
			require.Contains(t, answer, "extensions")
			require.Contains(t, string(answer["data"]), "Alien")
		}
		for _, fault := range []string{`{ q(func: eq(name, "Alien")) @evorag { name } }`, `{ q(func: `, `{ q(func: uid(1)) @evorag(nonsense: 1) { name } }`} {
			resp, body := ask(t, at, http.MethodPost, "/query?debug=true", "application/dql", fault)
			require.Equal(t, http.StatusOK, resp.StatusCode)
			var answer struct{ Errors []struct{ Message string } }
			require.NoError(t, json.Unmarshal(body, &answer))
			require.NotEmpty(t, answer.Errors[0].Message)
		}
	})
	t.Run("schema, mutations and administration", func(t *testing.T) {
		_, body := ask(t, at, http.MethodPost, "/query", "application/dql", "schema {}")
		var schema struct {
			Data struct{ Schema, Types []map[string]any }
		}
		require.NoError(t, json.Unmarshal(body, &schema))
		require.NotEmpty(t, schema.Data.Schema)
		require.NotEmpty(t, schema.Data.Types)
		_, body = ask(t, at, http.MethodPost, "/alter", "application/dql", "seen: int .")
		require.Contains(t, string(body), `"code":"Success"`)
		_, body = ask(t, at, http.MethodPost, "/mutate?commitNow=true", "application/rdf", `{ set { _:x <name> "By Ratel" . } }`)
		require.Contains(t, string(body), `"uids":{"x":"0x`)
		_, body = ask(t, at, http.MethodPost, "/mutate?commitNow=true", "application/json", `{"set": [{"name": "By Ratel, in JSON"}]}`)
		require.Contains(t, string(body), `"code":"Success"`)
		_, body = ask(t, at, http.MethodPost, "/mutate", "application/rdf", `{ set { _:x <name> "Later" . } }`)
		var open struct {
			Extensions struct {
				Txn struct {
					StartTS uint64 `json:"start_ts"`
					Hash    string
					Keys    []string
					Preds   []string
				}
			}
		}
		require.NoError(t, json.Unmarshal(body, &open))
		keys, err := json.Marshal(map[string]any{"keys": open.Extensions.Txn.Keys, "preds": open.Extensions.Txn.Preds})
		require.NoError(t, err)
		_, body = ask(t, at, http.MethodPost, fmt.Sprintf("/commit?startTs=%d&hash=%s", open.Extensions.Txn.StartTS, open.Extensions.Txn.Hash), "application/json", string(keys))
		require.Contains(t, string(body), `"code":"Success"`)
		_, body = ask(t, at, http.MethodPost, "/admin", "application/json", `{"query": "{ health { status version } }"}`)
		require.Contains(t, string(body), `"healthy"`)
		_, body = ask(t, at, http.MethodPost, "/login", "application/json", `{"userid": "groot", "password": "x"}`)
		require.Contains(t, string(body), `"errors"`, "this cluster has no access control, and says so")
	})
	t.Run("refusals of our own", func(t *testing.T) {
		resp, _ := ask(t, at, http.MethodGet, "/nothing", "", "")
		require.Equal(t, http.StatusNotFound, resp.StatusCode)
		resp, _ = ask(t, at, http.MethodGet, "/evorag/v1/retrieve", "", "")
		require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
		resp, _ = ask(t, at, http.MethodPost, "/evorag/v1/retrieve", "application/json", `{}`)
		require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	})
}

func TestRatelDrawsRankedPaths(t *testing.T) {
	eng, at := startRatelFilms(t)
	for form, query := range drawn {
		t.Run(form, func(t *testing.T) {
			_, body := ask(t, at, http.MethodPost, "/query?timeout=20s&debug=true", "application/dql", query)
			var answer struct {
				Data       json.RawMessage
				Extensions struct{ EvoRAG graph.Retrieval }
			}
			require.NoError(t, json.Unmarshal(body, &answer), "%s", body)
			g := drawnByRatel(t, answer.Data)
			require.Zero(t, g.left, "an edge came twice, and ended the drawing: %s", answer.Data)
			require.NotEmpty(t, answer.Extensions.EvoRAG.Results)

			names, edges := map[string]string{}, map[string]float64{}
			for _, r := range answer.Extensions.EvoRAG.Results {
				for _, i := range r.Instances {
					for n, node := range i.Nodes {
						names[node.UID.String()] = node.Name
						if n > 0 {
							relation := i.Triplets[n-1].Predicate
							if i.Triplets[n-1].Inverse {
								relation = "~" + relation
							}
							edges[fmt.Sprintf("%s %s %s", i.Nodes[n-1].UID, relation, node.UID)] = i.Triplets[n-1].Score
						}
					}
				}
			}
			for uid, name := range names {
				require.Equal(t, name, g.nodes[uid]["name"], "the first occurrence of %s has its attributes", uid)
			}
			require.Len(t, g.nodes, len(names))
			for edge, facets := range g.edges {
				score, ok := edges[edge]
				if !ok { // a triplet that paths take in both directions is drawn in one
					from, relation, to := words(edge)
					score, ok = edges[to+" "+strings.TrimPrefix("~"+relation, "~~")+" "+from]
				}
				require.True(t, ok, "%s is on no path", edge)
				shown, err := facets["evorag.score"].(json.Number).Float64()
				require.NoError(t, err, "the edge panel shows the score of %s", edge)
				require.InDelta(t, score, shown, 1e-6)
			}
			if form != "written out" {
				require.Contains(t, strings.Join(sortedKeys(g.edges), "\n"), " evorag.shortcut ", "shortcuts stand under their own predicate")
			}
		})
	}
	t.Run("a shortcut with what it is", func(t *testing.T) {
		_, body := ask(t, at, http.MethodPost, "/query?debug=true", "application/dql", `{ q(func: eq(name, "Alien")) @evorag(query: "born?") { name evorag.shortcut @facets(evorag.label, evorag.score) { name } } }`)
		var answer struct{ Data json.RawMessage }
		require.NoError(t, json.Unmarshal(body, &answer))
		g := drawnByRatel(t, answer.Data)
		require.NotEmpty(t, g.edges)
		for edge, facets := range g.edges {
			require.Contains(t, edge, " evorag.shortcut ")
			require.Contains(t, facets, "evorag.label")
			require.Contains(t, facets, "evorag.score")
		}
	})
	t.Run("expanding a node", func(t *testing.T) {
		var found struct{ Q []struct{ UID string } }
		require.NoError(t, json.Unmarshal(eng.Query(t, `{ q(func: eq(name, "Brandywine")) { uid } }`, nil), &found))
		expand := fmt.Sprintf(`{ node(func: uid(%s)) { expand(_all_) { uid expand(_all_) } } }`, found.Q[0].UID)
		_, body := ask(t, at, http.MethodPost, "/query?timeout=20s&debug=true", "application/dql", expand)
		var answer struct{ Data json.RawMessage }
		require.NoError(t, json.Unmarshal(body, &answer))
		g := drawnByRatel(t, answer.Data)
		require.Equal(t, "Brandywine", g.nodes[found.Q[0].UID]["name"])
		require.GreaterOrEqual(t, len(g.edges), 3)
		require.NotContains(t, string(body), "evorag.", "nothing of ours shows unasked")
	})
}

func words(edge string) (from, relation, to string) {
	w := strings.Fields(edge)
	return w[0], w[1], w[2]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
