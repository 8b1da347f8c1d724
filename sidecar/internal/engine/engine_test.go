package engine_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

// A process that starts an engine and waits to be killed, for the test that kills it.
const parentDir = "EVORAG_TEST_PARENT_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentDir); dir != "" {
		e, err := engine.Start(context.Background(), engine.Options{Bin: os.Getenv("DGRAPH_BIN"), DataDir: dir})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("ready", e.HTTPAddr())
		select {}
	}
	enginetest.Main(m, func() error { return goleak.Find() })
}

const schema = "name: string @index(exact) .\nfriend: [uid] ."

func names(t *testing.T, e *enginetest.Engine, name string) string {
	t.Helper()
	return string(e.Query(t, `query q($n: string) { q(func: eq(name, $n)) { name friend @facets { name } } }`, map[string]string{"$n": name}))
}

// pid finds a child by the log that it writes.
func pid(t *testing.T, e *engine.Engine, name string) int {
	t.Helper()
	log, err := filepath.EvalSymlinks(filepath.Join(e.DataDir(), name+".log"))
	require.NoError(t, err)
	links, err := filepath.Glob("/proc/[0-9]*/fd/2")
	require.NoError(t, err)
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == log {
			var p int
			_, err := fmt.Sscanf(link, "/proc/%d/", &p)
			require.NoError(t, err)
			return p
		}
	}
	t.Fatalf("no process writes %s", log)
	return 0
}

func stop(t *testing.T, e *engine.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	require.NoError(t, e.Stop(ctx))
}

func TestDataIsKeptOnTheSameFolder(t *testing.T) {
	dir := t.TempDir()
	var lines []string
	first := enginetest.Start(t, engine.Options{DataDir: dir, Progress: func(l string) { lines = append(lines, l) }})
	require.GreaterOrEqual(t, len(lines), 2, "progress is told")
	first.Alter(t, schema)
	first.Mutate(t, "_:a <name> \"Eva\" .\n_:b <name> \"Bond\" .\n_:a <friend> _:b (evorag.score=120.5) .")
	want := names(t, first, "Eva")
	require.Contains(t, want, "120.5")
	ports := first.Ports()
	stop(t, first.Engine)
	require.NoError(t, first.Err(), "an ordered stop is no crash")
	stop(t, first.Engine)

	t.Run("on the same ports where they are free", func(t *testing.T) {
		e := enginetest.Start(t, engine.Options{DataDir: dir})
		require.Equal(t, ports, e.Ports())
		require.JSONEq(t, want, names(t, e, "Eva"))
		stop(t, e.Engine)
	})
	t.Run("on other ports where one is taken", func(t *testing.T) {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", ports.AlphaInternal))
		require.NoError(t, err)
		defer l.Close()
		if old := first.Version(); strings.HasPrefix(old, "v24.") || strings.HasPrefix(old, "v25.0.") {
			_, err := engine.Start(t.Context(), engine.Options{Bin: enginetest.Bin(t), DataDir: dir})
			require.ErrorContains(t, err, "(alpha internal) is in use")
			t.Skipf("Dgraph %s can't continue a folder on other ports", old)
		}
		start := time.Now()
		e := enginetest.Start(t, engine.Options{DataDir: dir})
		t.Logf("ready after %v", time.Since(start))
		require.NotEqual(t, ports, e.Ports())
		require.JSONEq(t, want, names(t, e, "Eva"))
		e.Mutate(t, `_:c <name> "Camille" .`)
		require.Contains(t, names(t, e, "Camille"), "Camille")
		stop(t, e.Engine)
	})
}

func TestAKilledAlphaIsReportedAndItsDataIsThereAfterwards(t *testing.T) {
	dir := t.TempDir()
	e := enginetest.Start(t, engine.Options{DataDir: dir})
	e.Alter(t, schema)
	e.Mutate(t, `_:a <name> "Eva" .`)
	require.NoError(t, e.Err())
	require.NoError(t, syscall.Kill(pid(t, e.Engine, "alpha"), syscall.SIGKILL))
	select {
	case <-e.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the end of the alpha wasn't noticed")
	}
	require.ErrorContains(t, e.Err(), "alpha ended by itself (signal: killed)")
	require.ErrorContains(t, e.Err(), "alpha.log")
	require.Greater(t, strings.Count(e.Err().Error(), "\n"), 5, "the tail of the log is shown")
	stop(t, e.Engine)

	again := enginetest.Start(t, engine.Options{DataDir: dir})
	require.Contains(t, names(t, again, "Eva"), "Eva")
}

func TestChildrenDieWithTheirParent(t *testing.T) {
	bin := enginetest.Bin(t)
	dir := t.TempDir()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentDir+"="+dir, "DGRAPH_BIN="+bin)
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	defer parent.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(line, "ready "), line)
	addr := strings.TrimSpace(strings.TrimPrefix(line, "ready "))

	_, err = engine.Start(t.Context(), engine.Options{Bin: bin, DataDir: dir})
	require.ErrorContains(t, err, fmt.Sprintf("in use by process %d", parent.Process.Pid))

	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	}, 10*time.Second, 20*time.Millisecond)
	enginetest.Start(t, engine.Options{DataDir: dir}) // the folder is free again
}

func TestWhatCannotStartSaysSoInOneLine(t *testing.T) {
	bin := enginetest.Bin(t)
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close()
	busyPort := busy.Addr().(*net.TCPAddr).Port

	for _, c := range []struct {
		name string
		o    engine.Options
		want []string
	}{
		{"a missing binary", engine.Options{Bin: filepath.Join(dir, "nothing")}, []string{"there is no dgraph engine at", "make engine", "DGRAPH_BIN"}},
		{"a folder as binary", engine.Options{Bin: dir}, []string{"is a folder", "make engine"}},
		{"a file that is not executable", engine.Options{Bin: file("plain", "x", 0o644)}, []string{"not executable", "chmod +x"}},
		{"another program", engine.Options{Bin: file("other", "#!/bin/sh\necho hello\n", 0o755)}, []string{"names no Dgraph version", "make engine"}},
		{"a broken program", engine.Options{Bin: file("broken", "\x7fELFx", 0o755)}, []string{"can't be run", "make engine"}},
		{"no data folder", engine.Options{Bin: bin}, []string{"--data"}},
		{"a file as data folder", engine.Options{Bin: bin, DataDir: file("data", "", 0o644)}, []string{"data folder can't be made"}},
		{"a taken alpha port", engine.Options{Bin: bin, DataDir: t.TempDir(), Ports: engine.Ports{AlphaHTTP: busyPort}},
			[]string{fmt.Sprintf("port %d (alpha HTTP) is in use", busyPort), "another port"}},
		{"a taken zero port", engine.Options{Bin: bin, DataDir: t.TempDir(), Ports: engine.Ports{ZeroHTTP: busyPort}},
			[]string{fmt.Sprintf("port %d (zero HTTP) is in use", busyPort)}},
		{"ports that don't go together", engine.Options{Bin: bin, DataDir: t.TempDir(), Ports: engine.Ports{AlphaHTTP: 18080, AlphaGRPC: 18081}},
			[]string{"alpha HTTP port 18080 and alpha gRPC port 18081", "19080"}},
		{"a port outside the range", engine.Options{Bin: bin, DataDir: t.TempDir(), Ports: engine.Ports{AlphaHTTP: 65000}}, []string{"1..65535"}},
		{"zero and alpha on the same port", engine.Options{Bin: bin, DataDir: t.TempDir(), Ports: engine.Ports{ZeroHTTP: 18080, AlphaHTTP: 18080}}, []string{"meet"}},
		{"a missing ACL secret", engine.Options{Bin: bin, DataDir: t.TempDir(), ACLSecretFile: filepath.Join(dir, "nothing")}, []string{"ACL secret", "32"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := engine.Start(t.Context(), c.o)
			require.Error(t, err)
			for _, w := range c.want {
				require.ErrorContains(t, err, w)
			}
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// fakeEngine is a program that calls itself Dgraph and then runs the lines of shell.
func fakeEngine(t *testing.T, shell string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dgraph")
	text := "#!/bin/sh\nif [ \"$1\" = version ]; then echo 'Dgraph version   : v25.4.0'; exit 0; fi\n" + shell + "\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	return path
}

func TestAPortTakenBetweenProbeAndBindHasOthersTried(t *testing.T) {
	bin := fakeEngine(t, "echo \"$@\"; echo 'listen tcp 127.0.0.1:5080: bind: address already in use' >&2; exit 1")
	dir := t.TempDir()
	_, err := engine.Start(t.Context(), engine.Options{Bin: bin, DataDir: dir})
	require.ErrorContains(t, err, "the zero ended: a port was taken: listen tcp 127.0.0.1:5080")
	log, err := os.ReadFile(filepath.Join(dir, "zero.log"))
	require.NoError(t, err)
	require.Equal(t, 5, strings.Count(string(log), "--port_offset"))
}

func TestAnEngineThatNeverGetsReadyIsGivenUp(t *testing.T) {
	dir := t.TempDir()
	_, err := engine.Start(t.Context(), engine.Options{
		Bin: fakeEngine(t, "trap '' TERM; while :; do sleep 0.1; done"), DataDir: dir,
		StartTimeout: 3 * time.Second, StopGrace: 100 * time.Millisecond,
	})
	require.ErrorContains(t, err, "wasn't ready within 3s; look into the logs in "+dir)
	require.NotContains(t, err.Error(), "\n")
}

func TestAFolderIsOpenedOnce(t *testing.T) {
	e := enginetest.Shared(t)
	_, err := engine.Start(t.Context(), engine.Options{Bin: enginetest.Bin(t), DataDir: e.DataDir()})
	require.ErrorContains(t, err, fmt.Sprintf("is in use by process %d", os.Getpid()))
}

func TestAnEndedContextLeavesNoChild(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	_, err := engine.Start(ctx, engine.Options{Bin: enginetest.Bin(t), DataDir: dir, Progress: func(line string) {
		if strings.Contains(line, "alpha") {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	e := enginetest.Start(t, engine.Options{DataDir: dir})
	require.NoError(t, e.Err())
}

func TestAnAlphaThatCannotStartIsReported(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("short"), 0o600))
	_, err := engine.Start(t.Context(), engine.Options{Bin: enginetest.Bin(t), DataDir: t.TempDir(), ACLSecretFile: secret})
	require.ErrorContains(t, err, "alpha ended by itself")
	require.ErrorContains(t, err, "ACL key length")
	require.NotContains(t, err.Error(), ".go:", "the stack is left to the log")
}

func TestChangesAreWrittenToTheCDCFolder(t *testing.T) {
	e := enginetest.Shared(t)
	e.Reset(t)
	e.Alter(t, schema)
	e.Mutate(t, `_:a <name> "Vesper" .`)
	require.Eventually(t, func() bool {
		b, _ := os.ReadFile(filepath.Join(e.CDCDir(), "sink.log"))
		return strings.Contains(string(b), "Vesper")
	}, 20*time.Second, 50*time.Millisecond)
}

func TestAccessControlIsOnWithASecret(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("0123456789abcdef0123456789abcdef"), 0o600))
	e := enginetest.Start(t, engine.Options{ACLSecretFile: secret})
	resp, err := http.Post("http://"+e.HTTPAddr()+"/query", "application/dql", strings.NewReader("{ q(func: has(name)) { uid } }"))
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "no accessJwt available")
	http.DefaultClient.CloseIdleConnections()
}
