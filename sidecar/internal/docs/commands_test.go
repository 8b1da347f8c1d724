package docs

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm/llmtest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

const patience = 2 * time.Minute

func repository(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	return root
}

// pages are all Markdown files that users read.
func pages(t testing.TB, root string) []page {
	var out []page
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, n := range names {
			rel, err := filepath.Rel(root, n)
			require.NoError(t, err)
			out = append(out, readPage(t, root, rel))
		}
	}
	return out
}

// TestEveryCommandInTheDocumentationRuns pastes the pages, line by line, into a shell.
func TestEveryCommandInTheDocumentationRuns(t *testing.T) {
	enginetest.Long(t)
	root := repository(t)
	dgraph := enginetest.Bin(t)
	bin := filepath.Join(t.TempDir(), "bin")
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "dgraph-evorag"), "./sidecar/cmd/dgraph-evorag")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, p := range pages(t, root) {
		if len(p.blocks) == 0 {
			continue
		}
		t.Run(p.name, func(t *testing.T) { p.run(t, root, bin, dgraph) })
	}
}

func (p page) run(t *testing.T, root, bin, dgraph string) {
	front, grpc := freePort(t), freePort(t)
	replace := []string{"localhost:8180", front, "localhost:9180", grpc}
	// A reader who begins: nothing of the tester's settings, and nothing that an earlier page, or an
	// earlier run of this test, left in a home.
	home := t.TempDir()
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "DGRAPH_EVORAG_") })
	env = append(env, "HOME="+home, "XDG_CACHE_HOME="+home+"/.cache", "DGRAPH_BIN="+dgraph,
		"DGRAPH_EVORAG_SERVER=http://"+front, "DGRAPH_EVORAG_HTTP_ADDR="+front, "DGRAPH_EVORAG_GRPC_ADDR="+grpc)
	prelude := ""
	switch setup, known := setups[p.setup]; {
	case p.setup == "demo":
		prelude = demo
	case known:
		replace = append(replace, setup(t)...)
	case p.setup != "":
		t.Fatalf("%s: there is no setup %q", p.name, p.setup)
	}
	folder := t.TempDir()
	require.NoError(t, os.Symlink(bin, filepath.Join(folder, "bin")))
	for _, name := range []string{"demo", "docker", "docs"} {
		require.NoError(t, os.Symlink(filepath.Join(root, name), filepath.Join(folder, name)))
	}
	shell := exec.Command("bash", "-c", strings.NewReplacer(replace...).Replace(p.script("http://"+front, prelude)))
	shell.Dir, shell.Env = folder, env
	shell.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &out
	require.NoError(t, shell.Start())
	late := time.AfterFunc(patience, func() { _ = shell.Process.Signal(syscall.SIGTERM) })
	err := shell.Wait()
	require.True(t, late.Stop(), "%s: not done after %v\n%s", p.name, patience, &out)
	output := strings.Split(out.String(), "\n@@@ ")
	last := p.blocks[max(0, len(output)-2)]
	require.NoError(t, err, "%s:%d: this block fails\n%s\n%s", p.name, last.line, last.commands, output[len(output)-1])
	require.Len(t, output, len(p.blocks)+1)
	for i, b := range p.blocks {
		for _, want := range b.shows {
			require.True(t, matches(output[i+1], want), "%s:%d: the output has no line\n%s\nbut is\n%s", p.name, b.line, want, output[i+1])
		}
	}
}

// demo is what "make up" leaves running.
const demo = `export DGRAPH_EVORAG_EVOLUTION_MIN_TOUCHED=5 DGRAPH_EVORAG_EVOLUTION_RUNS=2
bin/dgraph-evorag up >up.log 2>&1 &
ready
bin/dgraph-evorag load --dgraph localhost:9180 demo/films.tsv
`

// setups make what a page's commands need, and give pairs of what the page writes and what
// stands there in the test.
var setups = map[string]func(t *testing.T) []string{
	// A cluster of the reader's own.
	"cluster": func(t *testing.T) []string { return cluster(t, engine.Options{}) },
	// The same with access control.
	"access control": func(t *testing.T) []string {
		secret := filepath.Join(t.TempDir(), "secret")
		require.NoError(t, os.WriteFile(secret, []byte("0123456789abcdef0123456789abcdef"), 0o600))
		return cluster(t, engine.Options{ACLSecretFile: secret})
	},
	// A server of chat and embeddings models.
	"model": func(t *testing.T) []string {
		s := llmtest.New(t, chat)
		return []string{"http://localhost:11434/v1", s.URL + "/v1", "http://localhost:8000/v1", s.URL + "/v1"}
	},
}

func cluster(t *testing.T, o engine.Options) []string {
	e := enginetest.Start(t, o)
	require.Eventually(t, func() bool { // with access control the first user is made after the alpha is healthy
		if o.ACLSecretFile == "" {
			return true
		}
		r, err := http.Post("http://"+e.HTTPAddr()+"/login", "application/json", strings.NewReader(`{"userid":"groot","password":"password"}`))
		if err != nil {
			return false
		}
		defer r.Body.Close()
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		return strings.Contains(body.String(), "accessJWT")
	}, time.Minute, 100*time.Millisecond)
	return []string{"localhost:9080", e.GRPCAddr(), "localhost:8080", e.HTTPAddr()}
}

// chat answers what each of our prompts asks for, and embeds.
func chat(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/embeddings") {
		llmtest.Embeds(384, nil)(w, r)
		return
	}
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	switch prompt := body.String(); {
	case strings.Contains(prompt, "turn text into"):
		llmtest.Says(`{"entities":["Alien","Ridley Scott"],"facts":[{"head":"Alien","relation":"directed by","object":"Ridley Scott"}]}`)(w, r)
	case strings.Contains(prompt, "Rate the response"):
		llmtest.Says(`{"reason":"It is right.","score":5}`)(w, r)
	case strings.Contains(prompt, `"stream":true`):
		llmtest.Streams("The Walt Disney Company [1].", llmtest.Stops, llmtest.Usage, llmtest.Done)(w, r)
	default:
		llmtest.Says("The Walt Disney Company [1].")(w, r)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return fmt.Sprintf("localhost:%d", l.Addr().(*net.TCPAddr).Port)
}
