package integration_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

// A chain of three good triplets, an owner of the past, and neutral ones.
const rated = `
_:alien <name> "Alien" .
_:studio <name> "Brandywine" .
_:hill <name> "Walter Hill" .
_:beach <name> "Long Beach" .
_:fox <name> "21st Century Fox" .
_:disney <name> "Disney" .
_:alien <produced_by> _:studio (evorag.score=160.0, evorag.n=3) .
_:studio <founded_by> _:hill (evorag.score=155.5, evorag.n=2) .
_:hill <born_in> _:beach (evorag.score=170.5, evorag.n=2) .
_:studio <owned_by> _:fox (evorag.score=40.0, evorag.n=4) .
_:studio <owned_by> _:disney (evorag.score=100.0, evorag.n=1) .
_:fox <owned_by> _:disney (evorag.score=100.0, evorag.n=1) .
_:fox <produced_by> _:disney (evorag.score=100.0, evorag.n=1) .
_:disney <founded_by> _:fox (evorag.score=100.0, evorag.n=1) .
_:disney <owned_by> _:alien (evorag.score=100.0, evorag.n=1) .
_:disney <produced_by> _:alien (evorag.score=100.0, evorag.n=1) .
_:alien <evorag.touched> "produced_by" .
_:studio <evorag.touched> "founded_by" .
_:studio <evorag.touched> "owned_by" .
_:hill <evorag.touched> "born_in" .
_:fox <evorag.touched> "owned_by" .
_:fox <evorag.touched> "produced_by" .
_:disney <evorag.touched> "founded_by" .
_:disney <evorag.touched> "owned_by" .
_:disney <evorag.touched> "produced_by" .
`

func TestAnEvolvedGraphAnswersWithinFewerHopsAndUndoRestores(t *testing.T) {
	for _, cache := range []string{"on", "off"} {
		t.Run("cache "+cache, func(t *testing.T) {
			eng := enginetest.Shared(t)
			eng.Reset(t)
			c := settings(eng.GRPCAddr())
			c.Evolution.MinTouched, c.Evolution.Runs, c.Evolution.Explore, c.Evolution.Schedule = 5, 1, 0, "off"
			c.Cache.Mode = cache
			at := serve(t, c)
			eng.Alter(t, "name: string @index(exact, term) .\nproduced_by: [uid] .\nfounded_by: [uid] .\nborn_in: [uid] .\nowned_by: [uid] .")
			eng.Mutate(t, rated)
			anybody := caller{}
			retrieve := func(question, arguments string) graph.Retrieval {
				code, body := anybody.send(t, at.HTTP, "/evorag/v1/retrieve", "application/json", fmt.Sprintf(`{"question": %q, "entities": ["Alien"], %s}`, question, arguments))
				require.Equal(t, http.StatusOK, code, body)
				var r graph.Retrieval
				require.NoError(t, json.Unmarshal([]byte(body), &r))
				return r
			}
			where := "Where was the founder of the studio that produced Alien born?"
			if cache == "on" {
				require.Eventually(t, func() bool { return retrieve(where, `"hops": 2`).Cache.Mode == graph.CacheResident }, time.Minute, 50*time.Millisecond)
			}
			require.NotContains(t, retrieve(where, `"hops": 2`).Context, "Long Beach")
			require.Contains(t, retrieve("Who owns the studio?", `"hops": 2`).Context, "21st Century Fox")

			code, body := anybody.send(t, at.HTTP, "/evorag/v1/runs", "application/json", `{"dry_run": true}`)
			require.Equal(t, http.StatusOK, code, body)
			require.Contains(t, body, `"state":"planned"`)
			require.NotContains(t, retrieve(where, `"hops": 2`).Context, "Long Beach")

			code, body = anybody.send(t, at.HTTP, "/evorag/v1/runs", "application/json", `{}`)
			require.Equal(t, http.StatusOK, code, body)
			var run struct {
				ID     string `json:"id"`
				State  string `json:"state"`
				Counts struct{ Shortcuts, Hidden int }
			}
			require.NoError(t, json.Unmarshal([]byte(body), &run))
			require.Equal(t, "done", run.State)
			require.Equal(t, 1, run.Counts.Hidden, body)
			require.Equal(t, 3, run.Counts.Shortcuts, body)

			require.Contains(t, retrieve(where, `"hops": 2`).Context, "Long Beach", "used at once, in the graph in memory too")
			short := retrieve(where, `"hops": 1, "explain": true`)
			require.Contains(t, short.Context, "-[produced_by, founded_by, born_in]-> Long Beach", "a shortcut is shown by its label")
			require.Contains(t, fmt.Sprint(short.Results), "Alien -[produced_by]-> Brandywine -[founded_by]-> Walter Hill -[born_in]-> Long Beach", "it expands to the path that it stands for")
			require.NotContains(t, retrieve("Who owns the studio?", `"hops": 2`).Context, "Brandywine -[owned_by]-> 21st Century Fox")

			plain := string(eng.Query(t, `{ q(func: eq(name, "Alien")) { evorag.shortcut @facets { name } } }`, nil))
			require.Contains(t, plain, "Long Beach", "any client sees it")
			require.Contains(t, plain, `"evorag.shortcut|evorag.run":"`+run.ID+`"`)
			written := anybody.must(t, at.HTTP, "/query", "application/dql", `{ q(func: eq(name, "Alien")) @evorag(query: "Where was its founder born?") { name evorag.shortcut { name } } }`)
			require.Contains(t, written, "Long Beach", "so does a path that is written out")
			require.NotContains(t, written, "evorag.shortcut|")
			for form, query := range map[string]string{
				"flat":      `{ q(func: eq(name, "Alien")) @evorag(query: "Where was its founder born?", hops: 1) { name } }`,
				"recursion": `{ q(func: eq(name, "Alien")) @recurse(depth: 2) @evorag(query: "Where was its founder born?") { name produced_by } }`,
			} {
				found := anybody.must(t, at.HTTP, "/query", "application/dql", query)
				require.Contains(t, found, `"evorag.shortcut":[{`, form+" follows shortcuts by itself")
				require.Contains(t, found, "Long Beach", form)
			}

			resp, err := http.Get("http://" + at.HTTP + "/evorag/v1/runs")
			require.NoError(t, err)
			defer resp.Body.Close()
			require.Equal(t, http.StatusOK, resp.StatusCode)
			code, body = anybody.send(t, at.HTTP, "/evorag/v1/runs/"+run.ID+"/undo", "application/json", "")
			require.Equal(t, http.StatusOK, code, body)
			require.Contains(t, body, `"state":"undone"`)
			code, body = anybody.send(t, at.HTTP, "/evorag/v1/runs/"+run.ID+"/undo", "application/json", "")
			require.Equal(t, http.StatusConflict, code, body)
			code, body = anybody.send(t, at.HTTP, "/evorag/v1/runs/nothing/undo", "application/json", "")
			require.Equal(t, http.StatusNotFound, code, body)
			require.NotContains(t, retrieve(where, `"hops": 2`).Context, "Long Beach")
			require.Contains(t, retrieve("Who owns the studio?", `"hops": 2`).Context, "21st Century Fox")
		})
	}
}

func TestTheGraphEvolvesOnItsSchedule(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	c := settings(eng.GRPCAddr())
	c.Evolution.MinTouched, c.Evolution.Schedule = 5, "@every 1s"
	first, second := serve(t, c), serve(t, c)
	eng.Alter(t, "name: string @index(exact, term) .\nproduced_by: [uid] .\nfounded_by: [uid] .\nborn_in: [uid] .\nowned_by: [uid] .")
	eng.Mutate(t, rated)
	require.Eventually(t, func() bool {
		return strings.Contains(string(eng.Query(t, `{ q(func: has(evorag.shortcut)) { uid } }`, nil)), "0x")
	}, 30*time.Second, 200*time.Millisecond)
	require.NotEqual(t, first.HTTP, second.HTTP)
	ticks := string(eng.Query(t, `{ q(func: has(evorag.run.tick), orderasc: evorag.run.tick) { evorag.run.tick } }`, nil))
	var answer struct {
		Q []map[string]string
	}
	require.NoError(t, json.Unmarshal([]byte(ticks), &answer))
	seen := map[string]bool{}
	for _, tick := range answer.Q {
		require.False(t, seen[tick["evorag.run.tick"]], "of two replicas one serves a tick: %s", ticks)
		seen[tick["evorag.run.tick"]] = true
	}
}

func TestTheGraphEvolvesUnderAccessControl(t *testing.T) {
	eng := startEngineWithACL(t, 0)
	c := settings(eng.GRPCAddr())
	c.Login.User, c.Login.Password = "groot", "password"
	c.Evolution.MinTouched, c.Evolution.Runs, c.Evolution.Explore, c.Evolution.Schedule = 5, 1, 0, "off"
	at := serve(t, c)
	root := login(t, eng.HTTPAddr(), "groot", "password", 0)
	root.must(t, eng.HTTPAddr(), "/alter", "application/dql", "name: string @index(exact, term) .\nproduced_by: [uid] .\nfounded_by: [uid] .\nborn_in: [uid] .\nowned_by: [uid] .")
	root.must(t, eng.HTTPAddr(), "/mutate?commitNow=true", "application/rdf", "{ set {"+rated+"} }")
	code, body := root.send(t, at.HTTP, "/evorag/v1/runs", "application/json", "")
	require.Equal(t, http.StatusOK, code, body)
	var run struct{ ID, State string }
	require.NoError(t, json.Unmarshal([]byte(body), &run))
	require.Equal(t, "done", run.State)
	shortcuts := `{ q(func: has(evorag.shortcut)) { uid } }`
	require.Contains(t, root.must(t, eng.HTTPAddr(), "/query", "application/dql", shortcuts), "0x")
	code, body = root.send(t, at.HTTP, "/evorag/v1/runs/"+run.ID+"/undo", "application/json", "")
	require.Equal(t, http.StatusOK, code, body)
	require.NotContains(t, root.must(t, eng.HTTPAddr(), "/query", "application/dql", shortcuts), `"uid":"0x`)
}

func TestEachNamespaceEvolvesOnItsOwnSchedule(t *testing.T) {
	eng := startEngineWithACL(t, 0)
	direct := eng.HTTPAddr()
	groot := login(t, direct, "groot", "password", 0)
	groot.must(t, direct, "/admin", "application/json", `{"query": "mutation { addNamespace(input: {password: \"password of one\"}) { namespaceId } }"}`)
	one := login(t, direct, "groot", "password of one", 1)
	for _, who := range []caller{groot, one} {
		who.must(t, direct, "/alter", "application/dql", "name: string @index(exact, term) .\nproduced_by: [uid] .\nfounded_by: [uid] .\nborn_in: [uid] .\nowned_by: [uid] .")
	}
	c := settings(eng.GRPCAddr())
	c.Login.User, c.Login.Password = "groot", "password"
	c.Evolution.MinTouched, c.Evolution.Explore, c.Evolution.Schedule = 5, 0, "off"
	c.Evolution.Namespaces = []config.EvolvingNamespace{{Namespace: 1, User: "groot", Password: "password of one", Schedule: "@every 1s", TimeZone: "Asia/Tokyo"}}
	at := serve(t, c)
	for _, who := range []caller{groot, one} {
		who.must(t, direct, "/mutate?commitNow=true", "application/rdf", "{ set {"+rated+"} }")
	}
	shortcuts := func(who caller) string {
		return who.must(t, direct, "/query", "application/dql", `{ q(func: has(evorag.shortcut)) { uid } }`)
	}
	require.Eventually(t, func() bool { return strings.Contains(shortcuts(one), "0x") }, 30*time.Second, 200*time.Millisecond)
	require.NotContains(t, shortcuts(groot), "0x", "the other namespace has no schedule")

	runs := func(path, order string) (int, string) {
		if order == "" {
			resp, err := http.Get("http://" + at.HTTP + path)
			require.NoError(t, err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			return resp.StatusCode, string(body)
		}
		return groot.send(t, at.HTTP, path, "application/json", order)
	}
	code, body := runs("/evorag/v1/runs?namespace=1", "")
	require.Equal(t, http.StatusOK, code, body)
	require.Contains(t, body, `"tick":`)
	code, body = runs("/evorag/v1/runs", "")
	require.Equal(t, http.StatusOK, code, body)
	require.JSONEq(t, `{"runs": []}`, body, "each namespace has its own records")
	code, body = runs("/evorag/v1/runs", `{"namespace": 7}`)
	require.Equal(t, http.StatusBadRequest, code)
	require.Contains(t, body, "evolves namespace 0, 1, not 7")
	code, body = runs("/evorag/v1/runs", `{"namespace": 0}`)
	require.Equal(t, http.StatusOK, code, body)
	require.Contains(t, shortcuts(groot), "0x")
	var run struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(body), &run))
	require.Eventually(t, func() bool { // not while a scheduled run is under way there
		code, body = runs("/evorag/v1/runs/"+run.ID+"/undo", `{"namespace": 1}`)
		return code != http.StatusConflict
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, http.StatusNotFound, code, body)
	code, body = runs("/evorag/v1/runs/"+run.ID+"/undo", `{"namespace": 0}`)
	require.Equal(t, http.StatusOK, code, body)
	require.NotContains(t, shortcuts(groot), "0x")
	require.Contains(t, shortcuts(one), "0x", "an undo in one namespace is none in the other")

	for _, drop := range []string{`{"drop_attr": "evorag.predicate"}`, `{"drop_op": "DATA"}`} {
		one.must(t, at.HTTP, "/alter", "application/json", drop)
		schema := one.must(t, direct, "/query", "application/dql", `schema(pred: [evorag.predicate, evorag.shortcut, evorag.run.id]) {}`)
		for _, predicate := range []string{"evorag.predicate", "evorag.shortcut", "evorag.run.id"} {
			require.Contains(t, schema, `"predicate":"`+predicate+`"`, "%s is mended before its caller hears that it is done", drop)
		}
		require.Contains(t, one.must(t, direct, "/query", "application/dql", `{ q(func: type(evorag.Migration)) { uid } }`), "0x", drop)
	}

	c.Evolution.Namespaces[0].Password = "wrong"
	err := app.Serve(t.Context(), c, app.Options{Version: "test", Log: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "evolution.namespaces[0]: ")
	require.ErrorContains(t, err, "logging in to Dgraph as groot in namespace 1")
}

func TestTheGateUndoesARunThatLosesGoodAnswers(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	c := settings(eng.GRPCAddr())
	c.Evolution.MinTouched, c.Evolution.Runs, c.Evolution.Explore, c.Evolution.Schedule = 5, 1, 0, "off"
	c.Evolution.Gate, c.Evolution.HeldOut, c.Feedback.Wait = "on", 0.5, 50*time.Millisecond
	c.Ranking.Margin = 0 // the good answer's edge has a bad score here, and is to be shown all the same
	at := serve(t, c)
	eng.Alter(t, "name: string @index(exact, term) .\nproduced_by: [uid] .\nfounded_by: [uid] .\nborn_in: [uid] .\nowned_by: [uid] .")
	eng.Mutate(t, rated)
	anybody := caller{}
	owner := func() (id, text string) {
		code, body := anybody.send(t, at.HTTP, "/evorag/v1/retrieve", "application/json", `{"question": "Who owns the studio that produced Alien?", "entities": ["Alien"], "hops": 2}`)
		require.Equal(t, http.StatusOK, code, body)
		var r graph.Retrieval
		require.NoError(t, json.Unmarshal([]byte(body), &r))
		return r.ID, r.Context
	}
	status := func(delivery string) string {
		resp, err := http.Get("http://" + at.HTTP + "/evorag/v1/feedback/status?id=" + delivery)
		require.NoError(t, err)
		defer resp.Body.Close()
		var got struct{ Status string }
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&got))
		return got.Status
	}
	seen := map[string]int{}
	for n := 0; seen["held"] == 0 || seen["applied"] == 0; n++ { // the id's hash decides which
		require.Less(t, n, 30)
		id, text := owner()
		require.Contains(t, text, "21st Century Fox")
		delivery := fmt.Sprintf("d%d", n)
		code, body := anybody.send(t, at.HTTP, "/evorag/v1/feedback", "application/json", fmt.Sprintf(`{"id": %q, "retrieval": %q, "score": 5, "response": "21st Century Fox"}`, delivery, id))
		require.Equal(t, http.StatusAccepted, code, body)
		require.Eventually(t, func() bool { return status(delivery) == "held" || status(delivery) == "applied" }, 30*time.Second, 50*time.Millisecond)
		seen[status(delivery)]++
	}
	var run struct {
		State, Note string
		Gate        struct{ Before, After float64 }
	}
	code, body := anybody.send(t, at.HTTP, "/evorag/v1/runs", "application/json", `{}`)
	require.Equal(t, http.StatusOK, code, body)
	require.NoError(t, json.Unmarshal([]byte(body), &run))
	require.Equal(t, "undone", run.State, body)
	require.Contains(t, run.Note, "undone by the gate")
	require.InDelta(t, 1, run.Gate.Before, 1e-9)
	require.Zero(t, run.Gate.After)
	_, text := owner()
	require.Contains(t, text, "21st Century Fox")
	require.NotContains(t, string(eng.Query(t, `{ q(func: has(evorag.shortcut)) { uid } }`, nil)), "0x")

	c.Evolution.Gate = "off"
	at = serve(t, c)
	code, body = anybody.send(t, at.HTTP, "/evorag/v1/runs", "application/json", `{}`)
	require.Equal(t, http.StatusOK, code, body)
	require.Contains(t, body, `"state":"done"`)
	_, text = owner()
	require.NotContains(t, text, "Brandywine -[owned_by]-> 21st Century Fox", "without the gate it goes live")
}

func TestAShortcutEarnsScoresLikeAnyEdge(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	c := settings(eng.GRPCAddr())
	c.Evolution.MinTouched, c.Evolution.Explore, c.Evolution.Schedule, c.Feedback.Wait = 5, 0, "off", 50*time.Millisecond
	at := serve(t, c)
	eng.Alter(t, "name: string @index(exact, term) .\nproduced_by: [uid] .\nfounded_by: [uid] .\nborn_in: [uid] .\nowned_by: [uid] .")
	eng.Mutate(t, rated)
	anybody := caller{}
	send := func(path, body string, code int) string {
		got, answer := anybody.send(t, at.HTTP, path, "application/json", body)
		require.Equal(t, code, got, answer)
		return answer
	}
	var run struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(send("/evorag/v1/runs", `{}`, http.StatusOK)), &run))
	var shown graph.Retrieval
	answer := send("/evorag/v1/retrieve", `{"question": "Where was the founder of the studio that produced Alien born?", "entities": ["Alien"], "hops": 2}`, http.StatusOK)
	require.NoError(t, json.Unmarshal([]byte(answer), &shown))
	require.Contains(t, shown.Context, "Long Beach")
	send("/evorag/v1/feedback", fmt.Sprintf(`{"id": "d", "retrieval": %q, "score": 5, "response": "Long Beach"}`, shown.ID), http.StatusAccepted)
	shortcut := `{ q(func: eq(name, "Alien")) { evorag.shortcut @filter(eq(name, "Long Beach")) @facets(evorag.score, evorag.n, evorag.label) { name } } }`
	require.Eventually(t, func() bool {
		return strings.Contains(string(eng.Query(t, shortcut, nil)), `"evorag.shortcut|evorag.n":1`)
	}, 30*time.Second, 100*time.Millisecond)
	var got struct {
		Q []struct {
			Shortcut []struct {
				Score float64 `json:"evorag.shortcut|evorag.score"`
				Label string  `json:"evorag.shortcut|evorag.label"`
			} `json:"evorag.shortcut"`
		}
	}
	require.NoError(t, json.Unmarshal(eng.Query(t, shortcut, nil), &got))
	require.Greater(t, got.Q[0].Shortcut[0].Score, 162.0, "above the average of its path")
	require.Equal(t, "produced_by, founded_by, born_in", got.Q[0].Shortcut[0].Label, "its own facets stay")

	require.Contains(t, send("/evorag/v1/runs/"+run.ID+"/undo", ``, http.StatusConflict), "touched_since")
	require.Contains(t, send("/evorag/v1/runs/"+run.ID+"/undo", `{"keep_feedback": true}`, http.StatusOK), `"state":"undone"`)
	require.Contains(t, string(eng.Query(t, shortcut, nil)), "Long Beach", "a rated shortcut stays")
}
