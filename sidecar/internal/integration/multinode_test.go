package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

// node is an alpha of a test's own.
type node struct{ http, grpc string }

// alpha joins the engine's zero as a group of its own.
func alpha(t *testing.T, eng *enginetest.Engine) node {
	t.Helper()
	offset := freeOffset(t)
	dir := t.TempDir()
	log, err := os.Create(dir + "/alpha.log")
	require.NoError(t, err)
	cmd := exec.Command(enginetest.Bin(t), "alpha", "--bindall=false", "--my", fmt.Sprintf("localhost:%d", 7080+offset),
		"--zero", fmt.Sprintf("localhost:%d", eng.Ports().ZeroGRPC), "--port_offset", fmt.Sprint(offset), "--postings", "p", "--wal", "w", "--tmp", "tmp",
		"--telemetry", "reports=false", "--security", "whitelist=127.0.0.1")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		_ = log.Close()
	})
	n := node{fmt.Sprintf("127.0.0.1:%d", 8080+offset), fmt.Sprintf("127.0.0.1:%d", 9080+offset)}
	db := client(t, n.grpc)
	require.Eventually(t, func() bool {
		select {
		case <-ended:
			out, _ := os.ReadFile(log.Name())
			t.Fatalf("the second alpha ended:\n%s", out[max(0, len(out)-2000):])
		default:
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := db.NewTxn().Mutate(ctx, &api.Mutation{SetNquads: []byte(`_:x <evorag_ready> "1" .`), CommitNow: true})
		return err == nil
	}, 2*time.Minute, 100*time.Millisecond)
	return n
}

// groups tells which group serves a predicate, as the zero sees it.
func groups(t *testing.T, eng *enginetest.Engine) map[string]string {
	t.Helper()
	resp, err := http.Get(fmt.Sprintf("http://localhost:%d/state", eng.Ports().ZeroHTTP))
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var state struct {
		Groups map[string]struct {
			Tablets map[string]json.RawMessage `json:"tablets"`
		} `json:"groups"`
	}
	require.NoError(t, json.Unmarshal(body, &state))
	of := map[string]string{}
	for id, g := range state.Groups {
		for tablet := range g.Tablets {
			of[strings.TrimPrefix(tablet, "0-")] = id
		}
	}
	return of
}

// TestTwoGroupsAndTwoReplicas runs one zero, two alphas in two groups, and a sidecar in front of
// each: a path leads through predicates of both groups, and what is written through one replica
// is what the other shows.
func TestTwoGroupsAndTwoReplicas(t *testing.T) {
	eng := enginetest.Start(t, engine.Options{})
	second := alpha(t, eng)
	eng.Alter(t, "name: string @index(exact, term) .\ndirected_by: [uid] @reverse .")
	require.NoError(t, client(t, second.grpc).Alter(t.Context(), &api.Operation{Schema: "born_in: [uid] @reverse .\nproduced_by: [uid] ."}))
	of := groups(t, eng)
	require.NotEqual(t, of["directed_by"], of["born_in"], "both groups serve edges: %v", of)

	config := settings(eng.GRPCAddr())
	config.DgraphHTTP = "http://" + eng.HTTPAddr()
	one := serve(t, config)
	config.Dgraph, config.DgraphHTTP = second.grpc, "http://"+second.http
	two := serve(t, config)
	config.Cache.Mode = "off"
	plain := serve(t, config)

	var anyone caller
	const text = `{ q(func: eq(name, "Alien")) @evorag(query: "Where was the director born?", hops: 2) { name } }`
	ask := func(addr string) (answer string, r graph.Retrieval) {
		answer = anyone.must(t, addr, "/query", "application/dql", text)
		var body struct {
			Extensions struct {
				Evorag graph.Retrieval `json:"evorag"`
			} `json:"extensions"`
		}
		require.NoError(t, json.Unmarshal([]byte(answer), &body))
		return answer, body.Extensions.Evorag
	}
	// agree waits until both replicas, from their graphs in memory, say what the cluster says.
	agree := func(want string) graph.Retrieval {
		truth, _ := ask(plain.HTTP)
		require.Contains(t, truth, want)
		var r graph.Retrieval
		for _, addr := range []string{one.HTTP, two.HTTP} {
			var got string
			require.Eventually(t, func() bool {
				got, r = ask(addr)
				return r.Cache.Mode == graph.CacheResident && same(got) == same(truth)
			}, time.Minute, 20*time.Millisecond, "%s\nis not\n%s", got, truth)
		}
		return r
	}
	write := func(addr, rdf string) {
		anyone.must(t, addr, "/mutate?commitNow=true", "application/rdf", rdf)
	}

	write(one.HTTP, `{ set {
		_:alien <name> "Alien" .
		_:scott <name> "Ridley Scott" .
		_:town <name> "South Shields" .
		_:studio <name> "Brandywine" .
		_:alien <directed_by> _:scott (since=1979) .
		_:scott <born_in> _:town (evorag.score=180.0) .
		_:alien <produced_by> _:studio .
	} }`)
	r := agree("South Shields")
	path := r.Results[0].Instances[0]
	require.Equal(t, []string{"directed_by", "born_in"}, r.Results[0].Metapath, "a path through both groups")
	require.EqualValues(t, 180, path.Triplets[1].Score)

	// A score on an edge of the other group survives a write through the other replica.
	born := path.Triplets[1].Triplet
	write(two.HTTP, fmt.Sprintf(`{ set { <%s> <born_in> <%s> (since=1937) . } }`, born.Head, born.Object))
	r = agree("South Shields")
	require.EqualValues(t, 180, r.Results[0].Instances[0].Triplets[1].Score)
	require.JSONEq(t, `{"q":[{"born_in":[{"name":"South Shields","born_in|evorag.score":180,"born_in|since":1937}]}]}`,
		string(eng.Query(t, `{ q(func: eq(name, "Ridley Scott")) { born_in @facets { name } } }`, nil)))

	// What one replica deletes neither shows.
	write(one.HTTP, fmt.Sprintf(`{ delete { <%s> <born_in> <%s> . } }`, born.Head, born.Object))
	r = agree("Ridley Scott")
	for _, result := range r.Results {
		require.NotContains(t, result.Metapath, "born_in")
	}
}
