package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A page is Markdown whose blocks of sh are run in order, in one shell. The word after "sh"
// says how:
//
//	sh              as it stands; it has to succeed
//	sh background   goes on running while the rest does; the next block waits for the sidecar
//	sh repository   builds or tests the repository itself; the tests of CI run it, not this one
//
// A block of text right behind one of sh holds lines that its output has, with … for whatever
// is left out. A comment "setup: ..." in the page's first line names what has to be there.
type page struct {
	name, setup string
	blocks      []block
}

type block struct {
	line     int
	how      string
	commands string
	shows    []string
}

var setupLine = regexp.MustCompile(`^<!-- setup: ([a-z ]+) -->`)

func readPage(t testing.TB, root, name string) page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	p := page{name: name}
	lines := strings.Split(string(text), "\n")
	if m := setupLine.FindStringSubmatch(lines[0]); m != nil {
		p.setup = m[1]
	}
	behind := false // only blank lines since the last block of sh
	for i := 0; i < len(lines); i++ {
		info, fence := strings.CutPrefix(strings.TrimSpace(lines[i]), "```")
		if !fence {
			behind = behind && strings.TrimSpace(lines[i]) == ""
			continue
		}
		from := i + 1
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
		}
		require.Less(t, i, len(lines), "%s:%d: the block is not closed", name, from)
		body := lines[from:i]
		switch how, isCommand := strings.CutPrefix(info, "sh"); {
		case isCommand && (how == "" || how[0] == ' '):
			p.blocks = append(p.blocks, block{line: from, how: strings.TrimSpace(how), commands: strings.Join(body, "\n")})
			behind = true
			continue
		case info == "text" && behind:
			p.blocks[len(p.blocks)-1].shows = body
		}
		behind = false
	}
	return p
}

// matches reports whether a line of the output has, in order, the parts of want around its …
func matches(output, want string) bool {
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for line := range strings.Lines(output) {
		rest, found := squeeze(line), true
		for _, part := range strings.Split(want, "…") {
			_, after, ok := strings.Cut(rest, squeeze(part))
			if found = ok; !ok {
				break
			}
			rest = after
		}
		if found {
			return true
		}
	}
	return false
}

// script is the shell's text: the prelude, then each block with a mark before it.
func (p page) script(server, prelude string) string {
	var b strings.Builder
	// With job control every background job is a process group of its own, which Ctrl-C reaches.
	b.WriteString("set -euom pipefail\ntrap 'for job in $(jobs -p); do kill -INT -- -$job 2>/dev/null || true; done; wait' EXIT\n")
	fmt.Fprintf(&b, "ready() { for _ in $(seq 600); do curl -sf %s/health >/dev/null && return; sleep 0.1; done; echo 'the sidecar is not ready'; cat *.log; exit 1; }\n", server)
	b.WriteString(prelude)
	waits := false
	for i, k := range p.blocks {
		fmt.Fprintf(&b, "printf '\\n@@@ %d\\n'\n", i)
		if waits {
			b.WriteString("ready\n")
			waits = false
		}
		switch k.how {
		case "background":
			fmt.Fprintf(&b, "{\n%s\n} >background-%d.log 2>&1 &\n", k.commands, i)
			waits = true
		case "repository":
		default:
			b.WriteString(k.commands + "\n")
		}
	}
	return b.String()
}
