package docs

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
)

var update = flag.Bool("update", false, "write docs/REFERENCE.md anew")

// TestTheReferenceIsWhatTheCodeSays compares docs/REFERENCE.md with commands, settings and
// metrics as the code has them; "make docs" writes it anew.
func TestTheReferenceIsWhatTheCodeSays(t *testing.T) {
	root := repository(t)
	var b strings.Builder
	b.WriteString("# Reference\n\nMade from the code by `make docs`. The directive's arguments stand in the [README](../README.md#the-directive),\n" +
		"the HTTP services in the OpenAPI document at `/evorag/openapi.json`.\n\n")
	settings(t, root, &b)
	metrics(t, root, &b)
	commands(t, root, &b)
	name := filepath.Join(root, "docs", "REFERENCE.md")
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(b.String()), 0o644))
	}
	have, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(have), "docs/REFERENCE.md is behind the code; run: make docs")
}

// settings lists the configuration: each field with its default and the comment behind it.
func settings(t *testing.T, root string, b *strings.Builder) {
	files, err := filepath.Glob(filepath.Join(root, "sidecar/internal/config/*.go"))
	require.NoError(t, err)
	structs := map[string]*ast.StructType{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				if st, ok := s.Type.(*ast.StructType); ok {
					structs[s.Name.Name] = st
				}
			}
			return true
		})
	}
	b.WriteString("## Settings\n\nIn a YAML file (`--config`, or `DGRAPH_EVORAG_CONFIG`), or each as a variable: `DGRAPH_EVORAG_` and the name in\ncapitals, with `_` for the dots. `dgraph-evorag config` prints what is in force.\n\n| setting | default | meaning |\n|---|---|---|\n")
	var walk func(prefix string, v reflect.Value)
	walk = func(prefix string, v reflect.Value) {
		for _, f := range structs[v.Type().Name()].Fields.List {
			if f.Tag == nil || len(f.Names) == 0 {
				continue
			}
			tag, err := strconv.Unquote(f.Tag.Value)
			require.NoError(t, err)
			key := reflect.StructTag(tag).Get("yaml")
			if key == "-" {
				continue
			}
			value := v.FieldByName(f.Names[0].Name)
			if value.Kind() == reflect.Struct {
				walk(prefix+key+".", value)
				continue
			}
			meaning := cell(f.Doc.Text() + " " + f.Comment.Text())
			require.NotEmpty(t, meaning, "%s%s needs a comment in sidecar/internal/config", prefix, key)
			fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", prefix, key, shownDefault(value), meaning)
		}
	}
	walk("", reflect.ValueOf(config.Default()))
	b.WriteString("\n")
}

func shownDefault(v reflect.Value) string {
	if v.Kind() == reflect.Slice && v.Len() == 0 || v.Kind() == reflect.String && v.Len() == 0 {
		return ""
	}
	return "`" + strings.Trim(fmt.Sprint(v.Interface()), "[]") + "`"
}

func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

// metrics lists every metric that the code makes: options with a Name and a Help, and gauges
// that are watched.
func metrics(t *testing.T, root string, b *strings.Builder) {
	help := map[string]string{}
	err := filepath.WalkDir(filepath.Join(root, "sidecar/internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var name, text string
			switch n := n.(type) {
			case *ast.CompositeLit:
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						switch fmt.Sprint(kv.Key) {
						case "Name":
							name = literal(kv.Value)
						case "Help":
							text = literal(kv.Value)
						}
					}
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Watch" || f.Sel.Name == "Count" || f.Sel.Name == "NewDesc") && len(n.Args) > 2 {
					name, text = literal(n.Args[0]), literal(n.Args[1])
				}
			}
			if strings.HasPrefix(name, "dgraph_evorag_") {
				help[name] = text
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
	b.WriteString("## Metrics\n\nAt `/evorag/metrics`, in Prometheus' form.\n\n| metric | meaning |\n|---|---|\n")
	for _, name := range sorted(help) {
		require.NotEmpty(t, help[name], name)
		fmt.Fprintf(b, "| `%s` | %s |\n", name, cell(help[name]))
	}
	b.WriteString("\n")
}

func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	}
	return ""
}

func sorted(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

var commandLine = regexp.MustCompile(`(?m)^  ([a-z]+) +\S`)

// commands prints the help of each command.
func commands(t *testing.T, root string, b *strings.Builder) {
	bin := filepath.Join(t.TempDir(), "dgraph-evorag")
	build := exec.Command("go", "build", "-o", bin, "./sidecar/cmd/dgraph-evorag")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	help := func(args ...string) string {
		cmd := exec.Command(bin, append(args, "--help")...)
		cmd.Env = []string{"HOME=" + t.TempDir()}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	top := help()
	_, list, found := strings.Cut(top, "Available Commands:\n")
	require.True(t, found, top)
	list, _, _ = strings.Cut(list, "\n\n")
	b.WriteString("## Commands\n")
	for _, m := range commandLine.FindAllStringSubmatch(list, -1) {
		if m[1] == "help" || m[1] == "completion" {
			continue
		}
		fmt.Fprintf(b, "\n### dgraph-evorag %s\n\n```\n%s```\n", m[1], help(m[1]))
	}
}
