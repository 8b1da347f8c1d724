package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/cli"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm/llmtest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/status"
)

// command runs the program as a shell would.
func command(env map[string]string, in io.Reader, args ...string) (code int, out, faults string) {
	var o, e bytes.Buffer
	code = cli.Run(cli.Process{Args: args, Env: func(k string) string { return env[k] }, In: in, Out: &o, Err: &e, Version: "test"})
	return code, o.String(), e.String()
}

func TestStatusTellsWhatAPersonOnCallWantsToKnow(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	model := llmtest.New(t, llmtest.AnswersJSON(200, map[string]any{"object": "list", "data": []any{map[string]any{"id": "scripted"}}}))
	c := settings(eng.GRPCAddr())
	c.LLM.BaseURL, c.LLM.Model = model.URL+"/v1", "scripted"
	c.Evolution.MinTouched = 5
	at := serve(t, c)
	eng.Alter(t, "name: string @index(exact, term) .\nproduced_by: [uid] .\nfounded_by: [uid] .\nborn_in: [uid] .\nowned_by: [uid] .")
	eng.Mutate(t, rated)
	server := "http://" + at.HTTP
	var retrieval struct{ Retrieval string }
	require.NoError(t, json.Unmarshal([]byte(caller{}.must(t, at.HTTP, "/evorag/v1/retrieve", "application/json", `{"question": "Who founded the studio that produced Alien?"}`)), &retrieval))
	code, _, faults := command(nil, nil, "rate", retrieval.Retrieval, "--score", "5", "--response", "Walter Hill", "--wait", "--server", server)
	require.Zero(t, code, faults)
	caller{}.must(t, at.HTTP, "/evorag/v1/runs", "application/json", `{}`)

	var r status.Report
	require.Eventually(t, func() bool {
		code, out, _ := command(nil, nil, "status", "-o", "json", "--server", server)
		r = status.Report{}
		return code == 0 && json.Unmarshal([]byte(out), &r) == nil && r.Cache.State == "resident" && r.Cache.Edges > 0
	}, time.Minute, 100*time.Millisecond)
	require.Equal(t, status.OK, r.State, "%v", r.Problems)
	require.Equal(t, "test", r.Version)
	require.Equal(t, at.EngineVersion, r.Cluster.Version)
	require.Equal(t, "healthy", r.Cluster.Nodes[0].Status)
	require.Zero(t, r.Migrations.Pending)
	require.Positive(t, r.Migrations.Applied)
	require.Positive(t, r.Cache.Edges)
	require.NotNil(t, r.Cache.AsOf)
	require.Equal(t, 1, r.Feedback.Applied)
	require.Equal(t, 1, r.Feedback.Batches)
	require.Zero(t, r.Feedback.LagSec, "nothing waits")
	require.True(t, r.Alpha.Learned)
	require.Equal(t, "done", r.Evolution.Last.State)
	require.True(t, r.Evolution.Next.After(time.Now()))
	require.True(t, r.Models[0].OK)

	code, out, faults := command(nil, nil, "status", "--server", server)
	require.Zero(t, code, faults)
	for _, line := range []string{"OK: dgraph-evorag test in front of Dgraph " + at.EngineVersion, "migrations  ", "1 applied", "learned", "next run", "chat scripted"} {
		require.Contains(t, out, line)
	}
	require.LessOrEqual(t, strings.Count(out, "\n"), 24, "one screen")
	model.Close()
	_, out, _ = command(nil, nil, "status", "--server", server)
	require.Contains(t, out, "DEGRADED")
	require.Contains(t, out, "! the chat model scripted at")
}

func TestDoctorFindsNothingWrongWithASoundCluster(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	c := settings(eng.GRPCAddr())
	at := serve(t, c)
	eng.Alter(t, "name: string @index(exact, term) .\nproduced_by: [uid] .")
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte("0123456789abcdef"), 0o600))
	env := map[string]string{"DGRAPH_EVORAG_RETRIEVAL_KEY_FILE": key}
	code, out, faults := command(env, nil, "doctor", "--dgraph", eng.GRPCAddr(), "--http", at.HTTP)
	require.Zero(t, code, out+faults)
	for _, line := range []string{"Dgraph " + at.EngineVersion + " answers at", "clock", "the migrations are all there", "name is indexed", "1 relations", "a sidecar answers at " + at.HTTP, "no access control"} {
		require.Contains(t, out, line)
	}
	require.NotContains(t, out, "warning")

	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := gone.Addr().String()
	require.NoError(t, gone.Close())
	code, out, faults = command(env, nil, "doctor", "--dgraph", nobody, "--http", at.HTTP)
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "no Dgraph answers at "+nobody)
	require.Contains(t, out, "--dgraph host:port")
	require.Contains(t, faults, "something doesn't work")

	code, out, _ = command(map[string]string{"DGRAPH_EVORAG_RANKING_HOPS": "9"}, nil, "doctor")
	require.Equal(t, 1, code)
	require.Contains(t, out, `ranking.hops is "9"; write a number from 1 to 6`)

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	code, out, _ = command(env, nil, "doctor", "--dgraph", eng.GRPCAddr(), "--http", taken.Addr().String())
	require.Equal(t, 1, code)
	require.Contains(t, out, taken.Addr().String()+" can't be had")
}

func TestDoctorTellsAGuardianFromOthers(t *testing.T) {
	eng := startEngineWithACL(t, 0)
	root := login(t, eng.HTTPAddr(), "groot", "password", 0)
	root.must(t, eng.HTTPAddr(), "/admin", "application/json", `{"query": "mutation { addUser(input: [{name: \"ann\", password: \"anns-password\"}]) { user { name } } }"}`)
	doctor := func(user, password string) (int, string) {
		code, out, _ := command(map[string]string{"DGRAPH_EVORAG_LOGIN_PASSWORD": password, "DGRAPH_EVORAG_LOGIN_USER": user}, nil, "doctor", "--dgraph", eng.GRPCAddr(), "--http", "127.0.0.1:0")
		return code, out
	}
	code, out := doctor("groot", "password")
	require.Zero(t, code, out)
	require.Contains(t, out, "groot in namespace 0 is a guardian")
	code, out = doctor("groot", "wrong")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "login.password_file")
	code, out = doctor("ann", "anns-password")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "ann in namespace 0 is not in the group guardians")
	code, out = doctor("", "")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "the cluster has access control and the sidecar has no user")
}

func TestALanguageModelAsksRatesAndLooksAhead(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	c := settings(eng.GRPCAddr())
	c.Evolution.MinTouched, c.Evolution.Schedule = 5, "off"
	at := serve(t, c)
	eng.Alter(t, "name: string @index(exact, term) .\nproduced_by: [uid] .\nfounded_by: [uid] .\nborn_in: [uid] .\nowned_by: [uid] .")
	eng.Mutate(t, rated)

	in, toCommand := io.Pipe()
	fromCommand, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run(cli.Process{Args: []string{"mcp", "--server", "http://" + at.HTTP}, Env: func(string) string { return "" }, In: in, Out: out, Err: io.Discard, Version: "test"})
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(ctx, &sdk.IOTransport{Reader: fromCommand, Writer: toCommand}, nil)
	require.NoError(t, err)
	call := func(tool string, arguments map[string]any) (string, map[string]any) {
		got, err := session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
		require.NoError(t, err)
		text := got.Content[0].(*sdk.TextContent).Text
		require.False(t, got.IsError, text)
		structured, _ := got.StructuredContent.(map[string]any)
		return text, structured
	}
	text, retrieval := call("retrieve", map[string]any{"question": "Who founded the studio that produced Alien?", "hops": 2})
	require.Contains(t, text, "Walter Hill")
	require.Contains(t, text, "retrieval id: "+retrieval["retrieval"].(string))
	_, stored := call("rate", map[string]any{"retrieval": retrieval["retrieval"], "score": 5, "response": "Walter Hill", "rater": "model"})
	require.Equal(t, "stored", stored["status"])
	edge := map[string]any{"head": "Brandywine", "predicate": "founded_by", "object": "Walter Hill"}
	require.Eventually(t, func() bool {
		_, explained := call("explain", edge)
		return len(explained["history"].([]any)) == 1
	}, 30*time.Second, 100*time.Millisecond)
	_, explained := call("explain", edge)
	step := explained["history"].([]any)[0].(map[string]any)
	require.Equal(t, "model", step["rater"])
	_, run := call("evolve_dry_run", map[string]any{})
	require.Equal(t, "planned", run["state"])
	require.NotEmpty(t, run["changes"])
	require.NotContains(t, string(eng.Query(t, `{ q(func: has(`+graph.ShortcutPredicate+`)) { uid } }`, nil)), "0x", "nothing was written")

	require.NoError(t, session.Close())
	require.NoError(t, toCommand.Close())
	select {
	case code := <-ended:
		require.Zero(t, code)
	case <-ctx.Done():
		t.Fatal("the command doesn't end with its input")
	}
}
