package conformance

import (
	"encoding/json"
	"strings"
	"testing"
)

const (
	asDQL  = "application/dql"
	asJSON = "application/json"
	asRDF  = "application/rdf"
)

// all is what every scenario looks at after each change.
var all = post("/query", asDQL, `{ q(func: has(s.name), orderasc: s.name) { uid expand_name: s.name s.age s.friend @facets { uid s.name } ~s.friend @facets { s.name } } }`)

func mutate(contentType, body string) request {
	return post("/mutate?commitNow=true", contentType, lines(contentType, body))
}

// lines puts each quad on a line of its own, as Dgraph wants them.
func lines(contentType, body string) string {
	if contentType == asJSON {
		return body
	}
	return strings.ReplaceAll(body, " . ", " .\n")
}

func TestMutationsOverHTTPAreAnsweredAlike(t *testing.T) {
	playBothWays(t, []scenario{
		{"RDF set and delete", func(c *client) {
			c.do(mutate(asRDF, `{ set { <0x3001> <s.name> "A" . <0x3002> <s.name> "B"^^<xs:string> . <0x3001> <s.friend> <0x3002> (since=2020-01-02, w=1.5, ok=true, note="x") . } }`))
			c.do(all)
			c.do(mutate(asRDF, `{ delete { <0x3001> <s.friend> <0x3002> . } set { <0x3001> <s.age> "9007199254740993" . } }`))
			c.do(all)
			c.do(mutate(asRDF, `{ delete { <0x3001> * * . <0x3002> <s.name> * . } }`))
			c.do(all)
		}},
		{"JSON set and delete", func(c *client) {
			c.do(mutate(asJSON, `{"set": [{"uid": "0x3001", "s.name": "A", "s.age": 9007199254740993, "s.friend": [{"uid": "0x3002", "s.name": "B", "s.friend|w": 0.5, "s.friend|n": 2, "s.friend|s": "2024"}]}]}`))
			c.do(all)
			c.do(mutate(asJSON, `{"delete": [{"uid": "0x3001", "s.friend": {"uid": "0x3002"}}]}`))
			c.do(all)
			c.do(mutate(asJSON, `{"delete": {"uid": "0x3001"}}`))
			c.do(all)
		}},
		{"bare JSON lists and objects", func(c *client) {
			c.do(mutate(asJSON, `{"set": {"uid": "0x3001", "s.name": "A"}, "delete": {"uid": "0x3002", "s.name": null}}`))
			c.do(mutate("application/json; charset=utf-8", `{"set": []}`))
			c.do(all)
		}},
		{"an edge written again loses its facets", func(c *client) {
			c.do(mutate(asRDF, `{ set { <0x3001> <s.name> "A" . <0x3001> <s.friend> <0x3002> (w=1.5) . <0x3002> <s.name> "B" . } }`))
			c.do(mutate(asRDF, `{ set { <0x3001> <s.friend> <0x3002> . } }`))
			c.do(all)
		}},
		{"a transaction sees its own writes and nobody else does, until it commits", func(c *client) {
			x := c.txnOf(c.do(post("/mutate", asRDF, `{ set { <0x3001> <s.name> "A" . } }`)))
			c.do(post(x.in("/query"), asDQL, all.body))
			c.do(all)
			y := c.txnOf(c.do(post(x.in("/mutate"), asRDF, `{ set { <0x3002> <s.name> "B" . } }`)))
			x.Keys, x.Preds = append(x.Keys, y.Keys...), append(x.Preds, y.Preds...)
			c.do(post(x.in("/query?debug=true"), asDQL, all.body))
			c.do(x.end(false))
			c.do(all)
		}},
		{"keys as a bare list, as old clients commit", func(c *client) {
			x := c.txnOf(c.do(post("/mutate", asRDF, `{ set { <0x3001> <s.name> "A" . } }`)))
			keys, _ := json.Marshal(x.Keys) // strings only
			c.do(post(x.in("/commit"), asJSON, string(keys)))
			c.do(all)
		}},
		{"an aborted transaction leaves nothing", func(c *client) {
			x := c.txnOf(c.do(post("/mutate", asRDF, `{ set { <0x3001> <s.name> "A" . } }`)))
			c.do(x.end(true))
			c.do(all)
			c.do(x.end(false))
		}},
		{"the second of two conflicting transactions is aborted", func(c *client) {
			x := c.txnOf(c.do(post("/mutate", asRDF, `{ set { <0x3001> <s.name> "A" . } }`)))
			y := c.txnOf(c.do(post("/mutate", asRDF, `{ set { <0x3001> <s.name> "B" . } }`)))
			c.do(y.end(false))
			c.do(x.end(false))
			c.do(all)
		}},
		{"a transaction with a wrong hash", func(c *client) {
			x := c.txnOf(c.do(post("/mutate", asRDF, `{ set { <0x3001> <s.name> "A" . } }`)))
			x.Hash = strings.Repeat("0", 64)
			c.do(post(x.in("/query"), asDQL, all.body))
			c.do(post(x.in("/mutate"), asRDF, `{ set { <0x3002> <s.name> "B" . } }`))
			c.do(x.end(false))
		}},
		{"an upsert block", func(c *client) {
			upsert := `upsert { query { q(func: eq(s.name, "A")) { v as uid a as s.age b as math(a + 1) } } mutation @if(eq(len(v), 0)) { set { uid(v) <s.name> "A" . uid(v) <s.age> "1" . } } mutation @if(gt(len(v), 0)) { set { uid(v) <s.age> val(b) . } } }`
			for range 3 {
				c.do(mutate(asRDF, upsert))
				c.do(all)
			}
			c.do(mutate(asRDF, `upsert { query { q(func: eq(s.name, "A")) { v as uid } } mutation { delete { uid(v) <s.age> * . } } }`))
			c.do(all)
		}},
		{"an upsert with fragments, comments and odd braces", func(c *client) {
			c.do(mutate(asRDF, "upsert { # {\nquery { q(func: eq(s.name, \"}\")) { ...f } } fragment f { v as uid # note\n } mutation { set { uid(v) <s.name> \"} {\" . } } }"))
			c.do(mutate(asRDF, "upsert { query { q(func: eq(s.name, \"x\")) { v as uid # }\n } } mutation { set { uid(v) <s.name> \"x\" . } } }"))
			c.do(all)
		}},
		{"an upsert in JSON", func(c *client) {
			body := `{"query": "{ q(func: eq(s.name, \"J\")) { v as uid s.name } }", "cond": "@if(eq(len(v), 0))", "set": {"uid": "uid(v)", "s.name": "J", "s.age": 3}}`
			c.do(mutate(asJSON, body))
			c.do(mutate(asJSON, body))
			c.do(all)
			c.do(mutate(asJSON, `{"query": "{ v as var(func: eq(s.name, \"J\")) }", "mutations": [{"set": {"uid": "uid(v)", "s.age": 4}}, {"cond": "@if(eq(len(v), 9))", "delete": {"uid": "uid(v)"}}]}`))
			c.do(all)
		}},
		{"new nodes get uids", func(c *client) {
			c.do(mutate(asRDF, `{ set { _:a <s.name> "A" . _:b <s.name> "B" . _:a <s.friend> _:b . } }`))
			c.do(mutate(asJSON, `{"set": {"uid": "_:x", "s.name": "X", "s.friend": [{"uid": "_:y", "s.name": "Y"}, {"s.name": "Z"}]}}`))
		}},
		{"gzip both ways", func(c *client) {
			c.do(post("/mutate?commitNow=true", asRDF, zipped(`{ set { <0x3001> <s.name> "A" . } }`), "Content-Encoding", "gzip", "Accept-Encoding", "gzip"))
			c.do(post("/query", asDQL, zipped(all.body), "Content-Encoding", "gzip"))
		}},
		{"five megabytes in and out", func(c *client) {
			c.do(mutate(asJSON, `{"set": {"uid": "0x3001", "s.name": "A", "s.more": "`+strings.Repeat("0123456789", 500_000)+`"}}`))
			c.do(post("/query", asDQL, "{ q(func: uid(0x3001)) { s.more } }"))
			c.do(post("/query", asDQL, "{ q(func: uid(0x3001)) { s.more } }", "Accept-Encoding", "gzip"))
		}},
		{"faults in mutations", func(c *client) {
			for _, body := range []string{
				"", "{", "{ set { } }", "{ set { <0x3001> <s.name> } }", `{ set { <0x3001> <s.age> "x" . } }`, `{ set { <0x3001> <s.friend> "x" . } }`,
				`{ set { <0xffffffffffffffff> <s.name> "x" . } }`, `{ set { <0x3001> <s.friend> <0x3002> (c=NaN) . } }`, `{ sett { } }`, `{ set { <0x3001> <s.name> "a`,
				"upsert { }", "upsert { query { q(func: uid(1)) { v as uid } } }", `upsert { query { q(func: nope(x)) { v as uid } } mutation { set { uid(v) <s.name> "x" . } } }`,
				`upsert { query { q(func: uid(1)) { uid } } mutation { set { uid(v) <s.name> "x" . } } }`, `upsert { query { q(func: uid(1)) @what { v as uid } } mutation { set { uid(v) <s.name> "x" . } } }`,
			} {
				c.do(mutate(asRDF, body))
			}
			for _, body := range []string{"", "{", "[]", "{}", `{"set": 1}`, `{"set": {"uid": 1}}`, `{"set": {"uid": "x", "s.age": "y"}}`, `{"query": 1}`, `{"set": {"s.name": {"a": "b"}}}`} {
				c.do(mutate(asJSON, body))
			}
			c.do(mutate("text/plain", `{ set { <0x3001> <s.name> "A" . } }`))
			c.do(mutate("", `{ set { <0x3001> <s.name> "A" . } }`))
			c.do(mutate("application/rdf; charset=latin1", `{ set { <0x3001> <s.name> "A" . } }`))
			c.do(post("/mutate?commitNow=maybe", asRDF, `{ set { <0x3001> <s.name> "A" . } }`))
			c.do(post("/mutate?startTs=x", asRDF, `{ set { <0x3001> <s.name> "A" . } }`))
			c.do(post("/mutate?commitNow=true", asRDF, "no gzip", "Content-Encoding", "gzip"))
			c.do(request{"GET", "/mutate", nil, ""})
			c.do(post("/commit", asJSON, "{}"))
			c.do(post("/commit?startTs=0", asJSON, "{}"))
			c.do(post("/commit?startTs=1", asJSON, "{"))
			c.do(post("/commit?startTs=1&abort=maybe", asJSON, "{}"))
			c.do(all)
		}},
		{"alter", func(c *client) {
			for _, body := range []string{
				"s.more: [string] @index(term) @count .", "s.more: int @index(term) .", "s.more: nonsense .", "type S { s.name s.more }", "", "s.name", "s.more: uid @reverse . # done",
				`{"schema": "s.more: default ."}`, `{"drop_attr": "s.more"}`, `{"drop_attr": "s.nothing"}`, `{"drop_op": "TYPE", "drop_value": "S"}`, `{"drop_op": "WHAT"}`, `{"what": 1}`, `{`,
			} {
				c.do(post("/alter", "", body))
				c.do(post("/query", asDQL, "schema(pred: [s.name, s.more]) {}"))
			}
			c.do(post("/alter?runInBackground=maybe", "", "s.more: int ."))
			c.do(request{"GET", "/alter", nil, ""})
		}},
	})
}
