package console_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/console"
)

const prefix = "/evorag/ui/"

func ask(method, path string, header ...string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	console.New(prefix).ServeHTTP(w, r)
	return w.Result()
}

// sources are the page's own files: all but the vendored ones.
func sources(t *testing.T) map[string]string {
	out := map[string]string{}
	require.NoError(t, fs.WalkDir(console.Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, "vendor/") {
			return err
		}
		b, err := fs.ReadFile(console.Files(), name)
		out[name] = string(b)
		return err
	}))
	require.Contains(t, out, "js/main.js")
	return out
}

func TestEveryFileIsServedWithAPolicyThatLetsNothingElseIn(t *testing.T) {
	files := slices.Collect(maps.Keys(sources(t)))
	files = append(files, "", "vendor/cytoscape.esm.min.mjs", "vendor/uPlot.iife.min.js", "vendor/uPlot.min.css")
	kinds := map[string]string{"": "text/html", ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
	for _, name := range files {
		resp := ask(http.MethodGet, prefix+name)
		require.Equal(t, http.StatusOK, resp.StatusCode, name)
		require.True(t, strings.HasPrefix(resp.Header.Get("Content-Type"), kinds[path.Ext(name)]), name)
		require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
		again := ask(http.MethodGet, prefix+name, "If-None-Match", resp.Header.Get("ETag"))
		require.Equal(t, http.StatusNotModified, again.StatusCode, name)
		require.Equal(t, console.Policy, again.Header.Get("Content-Security-Policy"))

		directives := map[string]string{}
		for part := range strings.SplitSeq(resp.Header.Get("Content-Security-Policy"), ";") {
			key, value, _ := strings.Cut(strings.TrimSpace(part), " ")
			directives[key] = value
		}
		require.Equal(t, map[string]string{
			"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'", "img-src": "'self' data:",
			"base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
		}, directives)
	}
	require.Zero(t, ask(http.MethodHead, prefix).ContentLength-int64(len(sources(t)["index.html"])), "HEAD tells the length")
}

func TestWhatIsNoPageIsNotFound(t *testing.T) {
	for _, path := range []string{"nothing", "js/", "js", "../console.go", "vendor/VENDORED.md", "vendor/uPlot.LICENSE", "index.html/"} {
		resp := ask(http.MethodGet, prefix+path)
		require.Equal(t, http.StatusNotFound, resp.StatusCode, path)
		require.Equal(t, console.Policy, resp.Header.Get("Content-Security-Policy"))
	}
}

// The bundler reads every file that is imported, and refuses what doesn't parse, an import of a
// file or name that isn't there, and a name that is assigned and constant.
func TestEveryScriptParsesAndImportsOnlyWhatThereIs(t *testing.T) {
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{"static/js/main.js"}, Bundle: true, Write: false, Format: api.FormatESModule, Metafile: true,
		LogLevel: api.LogLevelSilent, LogOverride: map[string]api.LogLevel{"import-is-undefined": api.LogLevelError},
	})
	for _, m := range append(result.Errors, result.Warnings...) {
		t.Errorf("%+v: %s", m.Location, m.Text)
	}
	for name := range sources(t) {
		if path.Ext(name) == ".js" {
			require.Contains(t, result.Metafile, `"static/`+name+`"`, "a script that nobody imports")
		}
	}
}

var (
	usedID    = regexp.MustCompile(`(?:byId\(|labelledby": )"([\w-]+)"`)
	madeID    = regexp.MustCompile(`\bid(?:=|: )"([\w-]+)"`)
	usedClass = regexp.MustCompile(`\bclass(?:=|: )"([\w -]+)`)
	usedColor = regexp.MustCompile(`colour\("([\w-]+)"\)|colour: "([\w-]+)"|var\(--([\w-]+)\)`)
	foreign   = regexp.MustCompile(`(?:src|href)="(?:[a-z]+:)?//|url\(|@import|\bimport\(|https?://`)
	risky     = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\bstyle="|\son\w+="`)
)

func TestNamesThatAreUsedAreThere(t *testing.T) {
	files := sources(t)
	all := strings.Join(slices.Collect(maps.Values(files)), "\n")
	made := map[string]bool{}
	for _, m := range madeID.FindAllStringSubmatch(all, -1) {
		made[m[1]] = true
	}
	ids := usedID.FindAllStringSubmatch(all, -1)
	require.NotEmpty(t, ids)
	for _, m := range ids {
		require.True(t, made[m[1]], "no element has the id %q", m[1])
	}
	css := files["console.css"]
	light, dark, ok := strings.Cut(css, `[data-theme="dark"]`)
	require.True(t, ok)
	colors := usedColor.FindAllStringSubmatch(all, -1)
	require.NotEmpty(t, colors)
	for _, m := range colors {
		name := "--" + m[1] + m[2] + m[3] + ":"
		require.Contains(t, light, name, "a colour of light")
		require.Contains(t, dark, name, "a colour of dark")
	}
	for _, m := range usedClass.FindAllStringSubmatch(files["index.html"]+files["js/ask.js"]+files["js/results.js"]+files["js/rate.js"], -1) {
		for class := range strings.FieldsSeq(m[1]) {
			if class == "choose" || class == "undo" { // found by scripts
				continue
			}
			require.Regexp(t, `\.`+regexp.QuoteMeta(class)+`\b`, css, "a class without a rule")
		}
	}
}

// luminances are the named colours of one theme, as relative luminances (WCAG 2.1).
func luminances(t *testing.T, css string) map[string]float64 {
	out := map[string]float64{}
	for _, m := range regexp.MustCompile(`--([\w-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
		rgb, err := hex.DecodeString(m[2])
		require.NoError(t, err)
		var linear [3]float64
		for i, v := range rgb {
			if linear[i] = float64(v) / 255; linear[i] <= 0.04045 {
				linear[i] /= 12.92
			} else {
				linear[i] = math.Pow((linear[i]+0.055)/1.055, 2.4)
			}
		}
		out[m[1]] = 0.2126*linear[0] + 0.7152*linear[1] + 0.0722*linear[2]
	}
	return out
}

func TestTextIsReadableInBothThemes(t *testing.T) {
	light, rest, ok := strings.Cut(sources(t)["console.css"], `[data-theme="dark"]`)
	require.True(t, ok)
	dark, _, _ := strings.Cut(rest, "}")
	for theme, css := range map[string]string{"light": light, "dark": dark} {
		l := luminances(t, css)
		for _, pair := range [][2]string{
			{"ink", "paper"}, {"ink", "card"}, {"soft", "paper"}, {"soft", "card"}, {"accent", "paper"}, {"accent", "card"}, {"on-accent", "accent"},
			{"good", "card"}, {"bad", "card"}, {"bad", "paper"}, {"warn", "paper"},
		} {
			a, b := l[pair[0]], l[pair[1]]
			require.GreaterOrEqual(t, (max(a, b)+.05)/(min(a, b)+.05), 4.5, "%s on %s in %s", pair[0], pair[1], theme)
		}
	}
}

func TestNothingIsLoadedFromElsewhereOrRunFromText(t *testing.T) {
	for name, text := range sources(t) {
		text = strings.ReplaceAll(text, `xmlns="http://www.w3.org/2000/svg"`, "")
		require.NotRegexp(t, foreign, text, name)
		require.NotRegexp(t, risky, text, name)
	}
}

func TestVendoredFilesAreThoseThatAreNamed(t *testing.T) {
	list, err := fs.ReadFile(console.Files(), "vendor/VENDORED.md")
	require.NoError(t, err)
	files, err := fs.ReadDir(console.Files(), "vendor")
	require.NoError(t, err)
	require.Len(t, files, 6)
	for _, f := range files {
		if f.Name() == "VENDORED.md" {
			continue
		}
		b, err := fs.ReadFile(console.Files(), "vendor/"+f.Name())
		require.NoError(t, err)
		sum := sha256.Sum256(b)
		require.Regexp(t, `(?m)^\| `+regexp.QuoteMeta(f.Name())+` \|.* `+hex.EncodeToString(sum[:])+` \|$`, string(list))
	}
}
