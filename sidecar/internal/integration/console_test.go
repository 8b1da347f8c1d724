package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

// startConsole serves the rated films, ready to evolve.
func startConsole(t *testing.T) (*enginetest.Engine, app.Addresses) {
	t.Helper()
	eng := enginetest.Shared(t)
	eng.Reset(t)
	c := settings(eng.GRPCAddr())
	c.Evolution.MinTouched, c.Evolution.Runs, c.Evolution.Explore, c.Evolution.Schedule = 5, 1, 0, "off"
	at := serve(t, c)
	eng.Alter(t, "name: string @index(exact, term) .\nproduced_by: [uid] .\nfounded_by: [uid] .\nborn_in: [uid] .\nowned_by: [uid] .")
	eng.Mutate(t, rated)
	return eng, at
}

func TestTheConsoleIsServedByTheFront(t *testing.T) {
	_, at := startConsole(t)
	resp, body := get(t, at.HTTP, "/evorag/ui")
	require.Equal(t, "/evorag/ui/", resp.Request.URL.Path, "a shorter address leads there")
	require.Contains(t, body, `<script src="js/main.js" type="module">`)
	for _, path := range []string{"js/main.js", "console.css", "vendor/cytoscape.esm.min.mjs"} {
		resp, _ := get(t, at.HTTP, "/evorag/ui/"+path)
		require.Equal(t, http.StatusOK, resp.StatusCode, path)
		require.Contains(t, resp.Header.Get("Content-Security-Policy"), "script-src 'self'")
	}
	resp, _ = get(t, at.HTTP, "/evorag/ui/nothing.js")
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
	code, _ := caller{}.send(t, at.HTTP, "/evorag/ui/", "text/plain", "")
	require.Equal(t, http.StatusMethodNotAllowed, code)
}

const owners = "Who is Brandywine owned by?"

// askConsole asks the question on the page and waits for the results.
func (b *tab) askConsole(question string) {
	b.t.Helper()
	b.see("#ask-form", "Question")
	b.write("[name=question]", question)
	b.write("[name=hops]", "1")
	b.click("#ask-form button")
	b.see("#ask-status", "round trips")
	b.see(".results", "owned_by")
}

func TestTheConsoleInABrowser(t *testing.T) {
	eng, at := startConsole(t)
	b := openTab(t)
	b.screen(1280, 900, "light")
	page := "http://" + at.HTTP + "/evorag/ui/"
	b.open(page)
	fox := func() float64 {
		var got struct {
			Q []struct {
				Owned []struct {
					Name  string
					Score float64 `json:"owned_by|evorag.score"`
				} `json:"owned_by"`
			}
		}
		require.NoError(t, json.Unmarshal(eng.Query(t, `{ q(func: eq(name, "Brandywine")) { owned_by @facets(evorag.score) { name } } }`, nil), &got))
		for _, o := range got.Q[0].Owned {
			if o.Name == "21st Century Fox" {
				return o.Score
			}
		}
		require.Fail(t, "the edge is gone")
		return 0
	}

	t.Run("a question's bundles are drawn, with the parts of each score", func(t *testing.T) {
		b.t = t
		b.askConsole(owners)
		for _, part := range []string{"relevance", "contribution", "question", "hops", "z"} {
			b.see(".results > li .parts", part)
		}
		sum := eval[float64](b, `(() => { const n = [...document.querySelectorAll(".results > li:first-child .parts dd .numbers")].map((e) => Number(e.textContent.replace("−", "-")));
			return n.slice(0, -1).reduce((a, x) => a + x, 0) - n.at(-1); })()`)
		require.InDelta(t, 0, sum, .003, "the parts make z")
		ink := eval[int](b, `(() => { let n = 0; for (const c of document.querySelectorAll(".graph canvas")) { const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; } return n; })()`)
		require.Greater(t, ink, 500, "something is drawn")
		b.click(".results button.choose")
		require.Equal(t, "true", eval[string](b, `document.querySelector(".results button.choose").getAttribute("aria-pressed")`))
		b.shot("console-ask-light")
	})
	t.Run("a rating moves scores, before and after are shown", func(t *testing.T) {
		b.t = t
		before := fox()
		b.write("[name=response]", "It belongs to 21st Century Fox.")
		b.write("[name=rater]", "ann")
		b.click(`#rate-form input[value="1"]`)
		b.click(`#rate-form button[value=score]`)
		b.see("#rate-status", "Applied in batch 1")
		text := b.see("#changes", "Brandywine → owned_by → 21st Century Fox")
		after := fox()
		require.Less(t, after, before)
		require.Contains(t, text, fmt.Sprintf("%.1f", before))
		require.Contains(t, text, fmt.Sprintf("%.1f", after))
		b.click("#rate-form button[value=up]")
		b.see("#rate-status", "Applied in batch 2")
		b.shot("console-rated-light")
	})
	t.Run("the distribution has its lines", func(t *testing.T) {
		b.t = t
		b.open(page + "#/scores")
		text := b.see("#page", "Touched edges", "Mean μ", "τ high", "τ low", "Lowest", "21st Century Fox")
		var want struct{ Thresholds struct{ Mu float64 } }
		_, body := get(t, at.HTTP, "/evorag/v1/scores")
		require.NoError(t, json.Unmarshal([]byte(body), &want))
		require.Contains(t, text, fmt.Sprintf("%.2f", want.Thresholds.Mu))
		b.see("#histogram .u-wrap")
		b.shot("console-scores-light")
	})
	t.Run("the inbox shows what came", func(t *testing.T) {
		b.t = t
		b.open(page + "#/inbox")
		b.see("#inbox-status", "1 applied", "1 superseded")
		b.see("#inbox", owners, "ann", "It belongs to 21st Century Fox.", "superseded")
		b.write("[name=status]", "void")
		b.run(chromedp.Evaluate(`document.querySelector("[name=status]").dispatchEvent(new Event("change"))`, nil))
		b.see("#inbox", "Nothing here.")
	})
	t.Run("an edge has a history", func(t *testing.T) {
		b.t = t
		b.open(page + "#/edge?head=Brandywine&predicate=owned_by&object=" + strings.ReplaceAll("21st Century Fox", " ", "+"))
		b.see("#history", "Steps, in their order", owners, "reversed")
		b.see("#history .u-wrap")
		b.shot("console-edge-light")
		b.open(page + "#/edge?head=Brandywine&predicate=owned_by&object=Nowhere")
		b.see("#edge-status", "Nowhere")
	})
	t.Run("evolution is planned, done and undone", func(t *testing.T) {
		b.t = t
		b.open(page + "#/runs")
		b.see("#runs", "No run yet")
		b.click("main button.quiet")
		b.see("#run", "Dry run: planned", "hide", "21st Century Fox")
		require.NotContains(t, string(eng.Query(t, `{ q(func: has(evorag.shortcut)) { uid } }`, nil)), "0x", "nothing was written")
		b.click("main button:not(.quiet)")
		b.see("#run", ": done", "hide", "21st Century Fox", "+", "Alien →")
		b.see("#runs", "done")
		b.shot("console-runs-light")
		require.Contains(t, string(eng.Query(t, `{ q(func: has(evorag.shortcut)) { uid } }`, nil)), "0x")
		b.click("button.undo")
		b.see("#undo-dialog", "Undo this run?")
		b.click("#undo-yes")
		b.see("#runs-status", "is undone")
		b.see("#runs", "undone")
		require.NotContains(t, string(eng.Query(t, `{ q(func: has(evorag.shortcut)) { uid } }`, nil)), "0x")
	})
	b.t = t
	b.clean(at.HTTP)
}

func TestTheConsoleByKeyboardOnAPhoneInTheDark(t *testing.T) {
	_, at := startConsole(t)
	b := openTab(t)
	page := "http://" + at.HTTP + "/evorag/ui/"
	b.screen(390, 844, "dark")
	b.open(page)
	b.see("#ask-form", "Question")
	press := func(keys ...string) {
		for _, k := range keys {
			b.run(chromedp.KeyEvent(k))
		}
	}
	focus := `(() => { const e = document.activeElement, s = getComputedStyle(e); return [e.id || e.name || e.textContent.trim(), s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2]; })()`

	press(kb.Tab)
	require.Equal(t, "skip", eval[string](b, "document.activeElement.id"), "the first is the way past the menu")
	press(kb.Enter)
	require.Equal(t, "page", eval[string](b, "document.activeElement.id"))
	press(kb.Tab)
	require.Equal(t, "question", eval[string](b, "document.activeElement.name"))
	press(owners)
	press(kb.Enter)
	b.see(".results", "owned_by")
	var seen []string
	for range 40 {
		press(kb.Tab)
		at := eval[[]any](b, focus)
		require.Equal(t, true, at[1], "%s shows that it has the focus", at[0])
		seen = append(seen, at[0].(string))
		if strings.Contains(seen[len(seen)-1], "1 Brandywine") {
			press(" ")
			require.Equal(t, "true", eval[string](b, `document.activeElement.getAttribute("aria-pressed")`), "a result is chosen by the space bar")
		}
		if at[0] == "Rate" {
			break
		}
	}
	for _, want := range []string{"hops", "Ask", "Fit", "This was the answer", "response", "Thumb up", "Thumb down", "rater", "Rate"} {
		require.Contains(t, seen, want)
	}
	b.shot("console-ask-phone-dark")

	for _, name := range []string{"ask", "scores", "inbox", "runs", "edge"} {
		b.open(page + "#/" + name)
		b.see(`nav [aria-current]`)
		b.see("main h2")
		for _, scheme := range []string{"light", "dark"} {
			b.screen(390, 844, scheme)
			b.until(fmt.Sprintf("document.documentElement.dataset.theme === %q", scheme)) // as the system has it
			require.LessOrEqual(t, eval[int](b, "document.documentElement.scrollWidth"), 390, "%s is not wider than the phone", name)
		}
		b.named()
	}
	b.click("#theme")
	require.Equal(t, "light", eval[string](b, "document.documentElement.dataset.theme"), "chosen, though the system is dark")
	b.click("#access")
	b.see("#access-dialog", "Administrators' token")
	b.named()
	press(kb.Escape)
	require.False(t, eval[bool](b, `document.querySelector("#access-dialog").open`))
	b.clean(at.HTTP)
}

// named fails if something that takes the focus has no name for who can't see it.
func (b *tab) named() {
	b.t.Helper()
	nodes := 0
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		tree, err := accessibility.GetFullAXTree().Do(ctx)
		if err != nil {
			return err
		}
		for _, n := range tree {
			focusable := false
			for _, p := range n.Properties {
				focusable = focusable || p.Name == "focusable" && string(p.Value.Value) == "true"
			}
			if !focusable || n.Ignored || n.Role == nil || string(n.Role.Value) == `"RootWebArea"` || string(n.Role.Value) == `"main"` {
				continue
			}
			nodes++
			if n.Name == nil || strings.Trim(string(n.Name.Value), `" `) == "" {
				return fmt.Errorf("a %s that takes the focus has no name", n.Role.Value)
			}
		}
		return nil
	}))
	require.Greater(b.t, nodes, 5)
}

func TestTheConsoleFromOutsideNeedsTheToken(t *testing.T) {
	eng, _ := startConsole(t)
	c := settings(eng.GRPCAddr())
	c.Access.AdminNetworks, c.Access.Token = []string{"192.0.2.0/24"}, "a token of administrators"
	c.Feedback.SecretFile = filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(c.Feedback.SecretFile, nil, 0o600))
	c.Feedback.Secrets = []string{"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}
	at := serve(t, c)
	b := openTab(t)
	b.screen(1000, 800, "light")
	b.open("http://" + at.HTTP + "/evorag/ui/#/inbox")
	b.see("#inbox-status", "access.token_file")
	b.click("#access")
	b.write("[name=admin]", "a token of administrators")
	b.click("#access-save")
	b.see("#inbox-status", "0 applied")

	b.open("http://" + at.HTTP + "/evorag/ui/#/ask")
	b.askConsole(owners)
	b.write("[name=response]", "The Disney company")
	b.click("#rate-form button[value=up]")
	b.see("#rate-status", "Applied in batch 1")

	b.open("http://" + at.HTTP + "/evorag/ui/#/ask")
	b.click("#access")
	b.click("#forget")
	b.askConsole(owners)
	b.write("[name=response]", "The Disney company")
	b.click("#rate-form button[value=up]")
	b.see("#rate-status.error", "webhook-id")
	b.clean(at.HTTP)
}

func TestTheConsoleLogsInToAClusterWithAccessControl(t *testing.T) {
	chromium(t)
	eng := startEngineWithACL(t, 0)
	c := settings(eng.GRPCAddr())
	c.Login.User, c.Login.Password = "groot", "password"
	at := serve(t, c)
	root := login(t, eng.HTTPAddr(), "groot", "password", 0)
	root.must(t, eng.HTTPAddr(), "/alter", "application/dql", "name: string @index(exact, term) .\nowned_by: [uid] .")
	root.must(t, eng.HTTPAddr(), "/mutate?commitNow=true", "application/rdf", "{ set {\n_:a <name> \"Brandywine\" .\n_:b <name> \"Disney\" .\n_:a <owned_by> _:b .\n} }")
	b := openTab(t)
	b.screen(1000, 800, "light")
	b.open("http://" + at.HTTP + "/evorag/ui/")
	b.see("#ask-form", "Question")
	b.write("[name=question]", owners)
	b.click("#ask-form button")
	b.see("#ask-status.error") // nobody is logged in

	enter := func(password string) {
		b.click("#access")
		b.write("[name=user]", "groot")
		b.write("[name=password]", password)
		b.click("#access-save")
	}
	enter("wrong")
	b.see("#access-error", "invalid username or password")
	b.click("#access-cancel")
	enter("password")
	b.until(`!document.querySelector("#access-dialog").open`)
	b.askConsole(owners)
	b.see(".results", "Disney")
	require.Empty(t, eval[string](b, `localStorage.getItem("evorag.jwt") ?? ""`), "tokens live as long as the tab")
	b.clean(at.HTTP)
}
