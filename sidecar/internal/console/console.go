// Package console is the web page under /evorag/ui: static files that are part of the program. They
// load nothing from elsewhere and call the services of this sidecar only.
package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed static
var embedded embed.FS

// Files are what is served, by the paths under which it is.
func Files() fs.FS {
	files, err := fs.Sub(embedded, "static")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return files
}

// Policy is the Content-Security-Policy of every answer: scripts, styles and connections of this
// origin only, no inline code, no frame around the page.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// types are the media types of the files, by extension. What is not named is not served.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".mjs":  "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// file is one answer.
type file struct {
	body []byte
	kind string
	etag string
}

type handler map[string]file

// New serves the console under a prefix that ends with a slash, index.html at the prefix itself.
func New(prefix string) http.Handler {
	h := handler{}
	files := Files()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		kind := types[path.Ext(name)]
		if err != nil || d.IsDir() || kind == "" {
			return err
		}
		body, err := fs.ReadFile(files, name)
		sum := sha256.Sum256(body)
		h[prefix+name] = file{body, kind, `"` + hex.EncodeToString(sum[:16]) + `"`}
		return err
	})
	if err != nil {
		panic(err) // the files are in memory
	}
	h[prefix] = h[prefix+"index.html"]
	return h
}

// ServeHTTP answers GET and HEAD.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", Policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	f, ok := h[r.URL.Path]
	if !ok {
		http.Error(w, "there is no such page; the console is at /evorag/ui/", http.StatusNotFound)
		return
	}
	header.Set("Cache-Control", "no-cache") // ask whether it is still the same
	header.Set("ETag", f.etag)
	if strings.Contains(r.Header.Get("If-None-Match"), f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Type", f.kind)
	header.Set("Content-Length", strconv.Itoa(len(f.body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(f.body) // a caller that has gone needs no answer
	}
}
