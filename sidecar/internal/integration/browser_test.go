package integration_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// patience is how long a browser test waits for one thing to appear.
const patience = 30 * time.Second

// chromium gives the browser's binary: CHROMIUM, else one on PATH. Without one the test is skipped;
// with EVORAG_REQUIRE_BROWSER=1 it fails.
func chromium(t testing.TB) string {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome", "chromium-headless-shell", "chrome"}
	if named := os.Getenv("CHROMIUM"); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	text := fmt.Sprintf("NO BROWSER, NOT TESTED: none of %s is here; name one in CHROMIUM", strings.Join(names, ", "))
	if os.Getenv("EVORAG_REQUIRE_BROWSER") == "1" {
		t.Fatal(text)
	}
	t.Skip(text)
	return ""
}

// tab is one page of a headless browser, and what went wrong in it.
type tab struct {
	context.Context
	t testing.TB

	mu       sync.Mutex
	faults   []string          // exceptions, console errors, what the page's policy refused
	requests map[string]string // every request by id: method and URL
}

// openTab starts a browser with an empty page, ended with the test.
func openTab(t testing.TB) *tab {
	t.Helper()
	profile, err := os.MkdirTemp("", "chromium") // not t.TempDir: processes of a browser that ends may still write
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(profile), chromedp.WSURLReadTimeout(time.Minute))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // which root may not have
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {})) // it complains of events that it does not know
	t.Cleanup(func() { stop(); end() })
	b := &tab{Context: ctx, t: t, requests: map[string]string{}}
	chromedp.ListenTarget(ctx, b.listen)
	require.NoError(t, chromedp.Run(ctx), "starting the browser") // which lives as long as the first context
	b.run(log.Enable(), network.Enable())
	return b
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeAssert {
			for _, arg := range e.Args {
				b.faults = append(b.faults, string(arg.Value)+arg.Description)
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError && e.Entry.Source != log.SourceNetwork { // a refused call is a matter of the test
			b.faults = append(b.faults, e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		b.requests[e.RequestID.String()] = e.Request.Method + " " + e.Request.URL
	}
}

// run fails the test if the actions don't succeed in time.
func (b *tab) run(actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.Context, patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.shot("failed-" + strings.ReplaceAll(b.t.Name(), "/", "-"))
		var text string
		_ = chromedp.Run(b.Context, chromedp.Evaluate("document.body.innerText", &text))
		require.NoError(b.t, err, "the page says:\n%s\nfaults: %v", text, b.faults)
	}
}

// screen sets the size of the window and whether the system is dark.
func (b *tab) screen(width, height int64, scheme string) {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(width, height), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// open goes to a page.
func (b *tab) open(url string) {
	b.t.Helper()
	b.run(chromedp.Navigate(url))
}

// until waits until a script's value is true.
func (b *tab) until(script string) {
	b.t.Helper()
	b.run(chromedp.Poll(script, nil, chromedp.WithPollingTimeout(patience)))
}

// see waits until the element shows all the words, and gives its whole text.
func (b *tab) see(selector string, words ...string) string {
	b.t.Helper()
	var text string
	for _, w := range append([]string{""}, words...) {
		b.until(fmt.Sprintf(`(() => { const e = document.querySelector(%q); return !!e && e.innerText.includes(%q); })()`, selector, w))
	}
	b.run(chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q).innerText", selector), &text))
	return text
}

// click clicks the first element of a selector once it is there.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.run(chromedp.Click(selector, chromedp.ByQuery, chromedp.NodeVisible))
}

// write puts text into a field in place of what it holds.
func (b *tab) write(selector, text string) {
	b.t.Helper()
	b.run(chromedp.SetValue(selector, text, chromedp.ByQuery))
}

// eval gives a script's value.
func eval[T any](b *tab, script string) (v T) {
	b.t.Helper()
	b.run(chromedp.Evaluate(script, &v, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return v
}

// shot writes a picture of the whole page into the folder EVORAG_SCREENSHOTS, if that is given.
func (b *tab) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("EVORAG_SCREENSHOTS")
	if dir == "" {
		return
	}
	var png []byte
	ctx, cancel := context.WithTimeout(b.Context, patience)
	defer cancel()
	if err := chromedp.Run(ctx, chromedp.CaptureScreenshot(&png)); err != nil {
		b.t.Logf("no picture %s: %v", name, err)
		return
	}
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600))
}

// forgive forgets what went wrong until now.
func (b *tab) forgive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = nil
}

// clean fails if a script failed, the policy refused something, or anything was asked of
// another host than those that are named.
func (b *tab) clean(hosts ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.faults)
	require.NotEmpty(b.t, b.requests)
	for _, line := range b.requests {
		_, address, _ := strings.Cut(line, " ")
		u, err := url.Parse(address)
		require.NoError(b.t, err)
		if u.Scheme == "data" || u.Scheme == "blob" {
			continue
		}
		require.Contains(b.t, hosts, u.Host, line)
	}
}
