package conformance

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dgraph-io/dgo/v250/protos/api"
	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/dql"
)

// sender is a request or a call.
type sender interface{ send(side) (string, error) }

// comparison counts what was compared.
type comparison struct {
	answers  atomic.Int64
	shuffled atomic.Int64 // of them, those whose order Dgraph itself leaves to chance
}

// alike sends the same both ways. Where Dgraph's own answers come in random order, as with
// expand(), one that was given before or has the same bytes in another order will do.
func (c *comparison) alike(direct, through side, s sender) error {
	given := map[string]bool{}
	var a, b string
	for i := range 8 {
		var err error
		if a, err = s.send(direct); err != nil {
			return fmt.Errorf("%s: %w", direct.name, err)
		}
		if b, err = s.send(through); err != nil {
			return fmt.Errorf("%s: %w", through.name, err)
		}
		if !strings.Contains(a, allowOrigin) {
			b = accessControl.ReplaceAllString(b, "") // the front adds these for browsers
		}
		given[a] = true
		if a == b || len(given) > 1 && (given[b] || sameBytes(a, b)) {
			c.answers.Add(1)
			if i > 0 {
				c.shuffled.Add(1)
			}
			return nil
		}
	}
	return fmt.Errorf("%v\ndirect:\n%s\n\nthrough the sidecar:\n%s", s, clip(a), clip(b))
}

const allowOrigin = "\nAccess-Control-Allow-Origin: "

var accessControl = regexp.MustCompile(`(?m)^Access-Control-Allow-.*\n`)

func sameBytes(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return bytes.Equal(x, y)
}

func clip(s string) string { return s[:min(len(s), 3000)] }

// asked are the ways in which each query is put.
func asked(text string, vars map[string]string) []sender {
	body, _ := json.Marshal(map[string]any{"query": text, "variables": vars}) // strings only
	rdf, ro, be := request4(text, vars), request4(text, vars), request4(text, vars)
	rdf.RespFormat = api.Request_RDF
	ro.ReadOnly = true
	be.ReadOnly, be.BestEffort = true, true
	return []sender{
		post("/query", "application/dql", text),
		post("/query", "application/json", string(body)),
		post("/query?respFormat=rdf", "application/json", string(body)),
		post("/query?debug=true&ro=true", "application/json", string(body)),
		post("/query?be=true&ro=true&timeout=30s", "application/json", string(body), "Accept-Encoding", "gzip"),
		post("/query", "application/dql; charset=utf-8", zipped(text), "Content-Encoding", "gzip", "Accept-Encoding", "gzip"),
		query(request4(text, vars)),
		query(rdf),
		query(ro),
		query(be),
		call{method: "RunDQL", in: &api.RunDQLRequest{DqlQuery: text, Vars: vars, ReadOnly: true}, out: &api.Response{}},
	}
}

func request4(text string, vars map[string]string) *api.Request {
	return &api.Request{Query: text, Vars: vars}
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // a buffer takes everything
	_ = z.Close()
	return b.String()
}

var nothing = regexp.MustCompile(`^(null|\{("[^"]*":\[\],?)*\})$`)

func TestEveryQueryOfTheCorpusIsAnsweredAlike(t *testing.T) {
	direct, through := sides(t)
	var compared comparison
	var full, errored atomic.Int64
	entries := corpus(t)
	work := make(chan entry)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for e := range work {
				q, err := dql.Parse(e.text)
				if err != nil {
					t.Errorf("%s: %v", e.name, err)
					continue
				}
				text, vars := withoutDirectives(t, q), values(q)
				raw, err := asked(text, vars)[1].(request).raw(direct)
				if err != nil {
					t.Errorf("%s: %v", e.name, err)
				}
				switch found := string(data(raw)); {
				case strings.Contains(raw, `"errors":`):
					errored.Add(1)
					if testing.Verbose() {
						t.Logf("%s: %s", e.name, clip(raw[strings.Index(raw, "\n\n")+2:]))
					}
				case nothing.MatchString(found):
					if testing.Verbose() {
						t.Logf("%s gives nothing", e.name)
					}
				default:
					full.Add(1)
				}
				for _, s := range asked(text, vars) {
					if err := compared.alike(direct, through, s); err != nil {
						t.Errorf("%s: %v", e.name, err)
					}
				}
			}
		})
	}
	for _, e := range entries {
		work <- e
	}
	close(work)
	wg.Wait()
	t.Logf("%d queries, %d answers each way compared; %d queries give data, %d an error of Dgraph's; %d answers come in random order",
		len(entries), compared.answers.Load(), full.Load(), errored.Load(), compared.shuffled.Load())
	require.Greater(t, full.Load(), int64(len(entries))*2/3, "most queries of the corpus should find something")
}
