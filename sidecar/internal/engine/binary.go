package engine

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"time"
)

// pluginFile is the tokenizer's file beside the engine.
const pluginFile = "evorag_entity.so"

const getEngine = "run `make engine` or set DGRAPH_BIN to a dgraph binary"

// Locate gives the absolute path of the engine: bin where it is not empty, else the first of bin/dgraph
// below the working directory, dgraph beside this program, and dgraph on PATH. The error says
// how to get one.
func Locate(bin string) (string, error) {
	if bin != "" {
		if err := executable(bin); err != nil {
			return "", err
		}
		return filepath.Abs(bin)
	}
	places := []string{filepath.Join("bin", "dgraph")}
	if self, err := os.Executable(); err == nil {
		places = append(places, filepath.Join(filepath.Dir(self), "dgraph"))
	}
	for _, place := range places {
		if executable(place) == nil {
			return filepath.Abs(place)
		}
	}
	if path, err := exec.LookPath("dgraph"); err == nil {
		return filepath.Abs(path)
	}
	return "", errors.New("no dgraph engine was found in bin/dgraph or on PATH; " + getEngine)
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no dgraph engine at %s; %s", path, getEngine)
	case err != nil:
		return fmt.Errorf("the dgraph engine can't be used: %w; %s", err, getEngine)
	case info.IsDir():
		return fmt.Errorf("%s is a folder, not a dgraph engine; %s", path, getEngine)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable; make it so with chmod +x, or %s", path, getEngine)
	}
	return nil
}

var versionLine = regexp.MustCompile(`(?m)^Dgraph version\s*:\s*(\S+)`)

// versionOf asks the binary, which takes about 0.3 s.
func versionOf(ctx context.Context, bin string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "version")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	m := versionLine.FindSubmatch(out)
	switch {
	case m != nil:
		return string(m[1]), nil
	case err != nil:
		return "", fmt.Errorf("%s can't be run as a dgraph engine (%w); %s", bin, err, getEngine)
	}
	return "", fmt.Errorf("%s is not a dgraph engine: `%[1]s version` names no Dgraph version; %s", bin, getEngine)
}

// chooseTokenizer gives the absolute path of the plugin to load, or "" where there is none. An
// alpha ends at once when it can't load its plugin, so one that doesn't fit is left out with an
// error that says why.
func chooseTokenizer(bin, asked string) (string, error) {
	file := asked
	if file == "" {
		file = besides(bin)
	}
	if file == "" {
		return "", nil
	}
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("tokenizer left out: %w", err)
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	if why := misfit(bin, file); why != "" {
		return "", fmt.Errorf("tokenizer left out: %s; run `make engine` to build both alike", why)
	}
	return file, nil
}

// besides finds the plugin beside the engine, beside this program or in bin below the working
// directory, "" where there is none.
func besides(bin string) string {
	places := []string{filepath.Dir(bin)}
	if self, err := os.Executable(); err == nil {
		places = append(places, filepath.Dir(self))
	}
	for _, dir := range append(places, "bin") {
		file := filepath.Join(dir, pluginFile)
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}

// misfit says why the engine would refuse the plugin, or "": both must come from the same Go
// release and settings. Where a file has no build information (a wrapper script, say), they
// are taken to fit.
func misfit(bin, plugin string) string {
	engine, err := buildinfo.ReadFile(bin)
	if err != nil {
		return ""
	}
	so, err := buildinfo.ReadFile(plugin)
	if err != nil {
		return ""
	}
	if engine.GoVersion != so.GoVersion {
		return fmt.Sprintf("the engine was built by %s, %s by %s", engine.GoVersion, filepath.Base(plugin), so.GoVersion)
	}
	for _, key := range []string{"CGO_ENABLED", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "-trimpath", "-race"} {
		if a, b := setting(engine, key), setting(so, key); a != b {
			return fmt.Sprintf("the engine was built with %s=%q, %s with %q", key, a, filepath.Base(plugin), b)
		}
	}
	return ""
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
