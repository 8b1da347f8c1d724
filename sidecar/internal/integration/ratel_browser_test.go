package integration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
)

// ratelDir is the folder of Ratel's built page (client/build), from RATEL_DIR.
func ratelDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("RATEL_DIR")
	if dir == "" {
		t.Skip("NO RATEL, NOT TESTED: build github.com/dgraph-io/ratel and name its client/build in RATEL_DIR")
	}
	require.FileExists(t, filepath.Join(dir, "index.html"))
	return dir
}

// ratel is Ratel's page in a browser, connected to a front.
type ratel struct {
	*tab
	front app.Addresses
	as    caller
}

// react gives the state behind the drawing: the component that holds the graph is the first
// above the canvas that has a document.
const react = `(() => { const at = document.querySelector(".graph-container canvas").parentElement;
	let f = at[Object.keys(at).find((k) => k.startsWith("__reactFiber") || k.startsWith("__reactInternalInstance"))];
	while (!f.stateNode?.document?.nodes) f = f.return;
	return f.stateNode; })()`

// press presses the button that says so.
func (r *ratel) press(selector, text string) {
	r.t.Helper()
	button := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((b) => b.textContent.includes(%q) && !b.disabled && !b.classList.contains("disabled"))`, selector, text)
	r.until("!!" + button)
	r.run(chromedp.Evaluate(button+".click()", nil))
}

// execute writes a text into the editor and runs it.
func (r *ratel) execute(kind, text string) {
	r.t.Helper()
	r.press("button.action", kind)
	b, err := json.Marshal(text)
	require.NoError(r.t, err)
	r.run(chromedp.Evaluate(`document.querySelector(".CodeMirror").CodeMirror.setValue(`+string(b)+`)`, nil))
	r.press("button.action", "Run")
}

// edges are what Ratel has drawn, in the spelling of ratelGraph, with the scores of the panel.
func (r *ratel) edges() map[string]string {
	r.t.Helper()
	return eval[map[string]string](r.tab, `Object.fromEntries([...`+react+`.document.edges.values()].map((e) => [e.source.uid + " " + e.predicate + " " + e.target.uid, String(e.facets["evorag.score"])]))`)
}

func TestRatelInABrowser(t *testing.T) {
	dir := ratelDir(t)
	page := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(page.Close)
	b := openTab(t)

	eng := startEngineWithACL(t, 0)
	c := settings(eng.GRPCAddr())
	c.Login.User, c.Login.Password = "groot", "password"
	c.Evolution.MinTouched, c.Evolution.Runs, c.Evolution.Explore, c.Evolution.Schedule = 5, 1, 0, "off"
	at := serve(t, c)
	root := login(t, eng.HTTPAddr(), "groot", "password", 0)
	root.must(t, eng.HTTPAddr(), "/alter", "application/dql", filmSchema)
	root.must(t, eng.HTTPAddr(), "/mutate?commitNow=true", "application/rdf", "{ set {"+rated+filmTypes+"} }")
	code, body := root.send(t, at.HTTP, "/evorag/v1/runs", "application/json", "")
	require.Equal(t, http.StatusOK, code, body)

	r := &ratel{tab: b, front: at, as: root}
	b.screen(1280, 900, "light")
	b.open(page.URL + "/?addr=" + url.QueryEscape("http://"+at.HTTP))
	b.see(".sidebar-menu", at.HTTP)

	b.click(`.sidebar-menu a[href="#connection"]`)
	b.run(chromedp.WaitVisible("#useridInput"), chromedp.SendKeys("#passwordInput", "password", chromedp.ByQuery))
	r.press(".modal.server-connection button.btn-primary", "Login")
	b.see(".modal.server-connection .modal-body", "Logged in as", "groot")
	b.shot("ratel-connected")
	b.forgive() // before the login it complained of what is refused without one

	for form, query := range drawn {
		t.Run(form, func(t *testing.T) {
			b.t = t
			b.click(`.sidebar-menu a[href="#"]`)
			code, body := root.send(t, at.HTTP, "/query?debug=true", "application/dql", query)
			require.Equal(t, http.StatusOK, code)
			var answer struct{ Data json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(body), &answer))
			want := drawnByRatel(t, answer.Data)
			require.NotEmpty(t, want.edges)

			r.execute("Query", query)
			b.see(".graph-container", fmt.Sprintf("Showing %d nodes and %d edges", len(want.nodes), len(want.edges)))
			got := r.edges()
			require.Len(t, got, len(want.edges))
			shortcuts := 0
			for edge, facets := range want.edges {
				require.Equal(t, fmt.Sprint(facets["evorag.score"]), got[edge], edge)
				if strings.Contains(edge, " evorag.shortcut ") {
					shortcuts++
				}
			}
			require.Equal(t, form != "written out", shortcuts > 0)
			r.choose(t)
			b.shot("ratel-" + strings.ReplaceAll(form, " ", "-"))
		})
	}
	b.t = t
	t.Run("a mutation", func(t *testing.T) {
		b.t = t
		r.execute("Mutate", `{ set { _:x <name> "Set by Ratel" . } }`)
		b.see(".main-content", "Message: Done")
		b.shot("ratel-mutation")
		require.Contains(t, root.must(t, at.HTTP, "/query", "application/dql", `{ q(func: eq(name, "Set by Ratel")) { name } }`), "Set by Ratel")
	})
	for name, words := range map[string][]string{
		"schema":  {"born_in", "evorag.batch.body"}, // those of the list that are in sight
		"cluster": {"Zeros (1)", "Group #1", "0-produced_by"},
		"acl":     {"groot", "guardians"},
	} {
		t.Run("the page "+name, func(t *testing.T) {
			b.t = t
			b.click(`.sidebar-menu a[href="#` + name + `"]`)
			b.see(".main-content", words...)
			b.shot("ratel-" + name)
		})
	}
	b.t = t
	b.clean(at.HTTP, strings.TrimPrefix(page.URL, "http://"), "unpkg.com") // whose style sheet Ratel's own page names
}

// choose clicks an edge and sees its score in the panel. The drawing moves while it settles, so
// the click is tried again.
func (r *ratel) choose(t *testing.T) {
	r.until(`(() => { const d = ` + react + `.document; return [...d.edges.values()].every((e) => e.arc); })()`)
	require.Eventually(t, func() bool {
		xy := eval[[]float64](r.tab, `(() => { const s = `+react+`, box = document.querySelector(".graph-container canvas").getBoundingClientRect();
			const e = [...s.document.edges.values()].sort((a, b) => b.arc.distance - a.arc.distance)[0]; const [x, y] = s.state.transform.apply([e.arc.centerX, e.arc.centerY]);
			return [box.left + x, box.top + y]; })()`)
		r.run(chromedp.MouseClickXY(xy[0], xy[1]))
		return eval[bool](r.tab, `document.querySelector(".graph-container").innerText.includes("evorag.score")`)
	}, patience, 200*time.Millisecond)
}
