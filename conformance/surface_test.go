package conformance

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFaultsOverHTTPAreAnsweredAlike(t *testing.T) {
	direct, through := sides(t)
	var compared comparison
	const good = "{ q(func: uid(1)) { name } }"
	requests := []request{
		post("/query", asDQL, ""), post("/query", asDQL, "{"), post("/query", asDQL, "}"), post("/query", asDQL, "{ q }"),
		post("/query", asDQL, "{ q(func: nope(name)) { uid } }"), post("/query", asDQL, "{ q(func: uid(1)) @what { uid } }"),
		post("/query", asDQL, "{ q(func: uid(1)) { name"), post("/query", asDQL, "{ q(func: eq(name, 'x')) { uid } }"),
		post("/query", asDQL, "{ q(func: uid(1)) { имя } }"), post("/query", asDQL, "{ q(func: uid(1)) /* no */ { name } }"),
		post("/query", asDQL, "{ q(func: uid(1))\u00a0{ name } }"), post("/query", asDQL, `{ q(func: eq(name, "\x")) { uid } }`),
		post("/query", asDQL, "{ q(func: uid(1)) { friend @facets(a) @facets(b) { uid } } }"), post("/query", asDQL, "{ q(func: uid(1)) { expand(_all_) @facets } }"),
		post("/query", asDQL, "{ q(func: uid(x)) { uid } }"), post("/query", asDQL, "{ x as var(func: uid(1)) }"), post("/query", asDQL, "{ q(func: uid(1)) { uid } q(func: uid(2)) { uid } }"),
		post("/query", asDQL, "schema {} { q(func: uid(1)) { uid } }"), post("/query", asDQL, "{ q(func: uid(1)) { ...f } }"),
		post("/query", asDQL, "{ q(func: uid(1)) { ...f } } fragment f { ...f }"), post("/query", asDQL, "upsert { query { q(func: uid(1)) { uid } } }"),
		post("/query", asDQL, "{ set { <1> <name> \"x\" . } }"), post("/query", asDQL, "\xff\xfe{ q(func: uid(1)) { name } }"),
		post("/query", asDQL, "{ q(func: eq(name, \"\xff\")) { name } }"),
		post("/query", asJSON, ""), post("/query", asJSON, "{"), post("/query", asJSON, "[]"), post("/query", asJSON, "{}"), post("/query", asJSON, `{"query": 1}`),
		post("/query", asJSON, `{"query": "`+good+`", "variables": {"$a": 1}}`), post("/query", asJSON, `{"query": "`+good+`", "variables": []}`),
		post("/query", asJSON, `{"query": "`+good+`", "what": 1}`), post("/query", asJSON, `{"query": "`+good+`"} trailing`),
		post("/query", asJSON, `{"query": "query q($a: string) { q(func: eq(name, $a)) { uid } }"}`), post("/query", asJSON, `{"query": "{ q(func: uid(1)) { n\u0061me } }"}`),
		post("/query", "", good), post("/query", "text/plain", good), post("/query", "application/graphql+-", good), post("/query", "application/dql;", good),
		post("/query", "application/dql; charset=latin1", good), post("/query", "APPLICATION/DQL", good), post("/query", "application/json, application/dql", good),
		post("/query?timeout=x", asDQL, good), post("/query?timeout=1ns", asDQL, good), post("/query?timeout=-1s", asDQL, good), post("/query?startTs=x", asDQL, good),
		post("/query?startTs=-1", asDQL, good), post("/query?ro=maybe", asDQL, good), post("/query?be=maybe", asDQL, good), post("/query?be=true", asDQL, good),
		post("/query?debug=maybe", asDQL, good), post("/query?respFormat=xml", asDQL, good), post("/query?respFormat=json", asDQL, good), post("/query?what=1&what=2", asDQL, good),
		post("/query?%zz", asDQL, good), post("/query?a=1;b=2", asDQL, good), post("/query/", asDQL, good),
		post("/query", asDQL, "no gzip", "Content-Encoding", "gzip"), post("/query", asDQL, good, "Content-Encoding", "br"), post("/query", asDQL, good, "Content-Encoding", "identity"),
		post("/query", asDQL, good, "Accept-Encoding", "br, gzip;q=0"), post("/query", asDQL, good, "X-Dgraph-AccessToken", "nonsense"), post("/query", asDQL, good, "X-Dgraph-AuthToken", "nonsense"),
		{"GET", "/query", nil, ""}, {"GET", "/query?query=" + "%7B%20q(func%3A%20uid(1))%20%7B%20uid%20%7D%20%7D", nil, ""}, {"PUT", "/query", http.Header{"Content-Type": {asDQL}}, good}, {"DELETE", "/query", nil, ""}, {"HEAD", "/query", nil, ""},
		{"OPTIONS", "/query", nil, ""}, {"OPTIONS", "/mutate", http.Header{"Origin": {"http://x"}, "Access-Control-Request-Headers": {"X-Dgraph-AccessToken"}}, ""}, {"OPTIONS", "/commit", nil, ""}, {"OPTIONS", "/alter", nil, ""},
		post("/commit", asJSON, "x"), post("/login", asJSON, `{"userid": "groot", "password": "password"}`), post("/login", asJSON, "{"),
		post("/graphql", asJSON, `{"query": "{ a }"}`), post("/graphql", asJSON, "{"), {"GET", "/graphql?query=x", nil, ""}, {"OPTIONS", "/graphql", nil, ""}, {"GET", "/probe/graphql", nil, ""},
		post("/admin", asJSON, `{"query": "{ getGQLSchema { schema } }"}`), post("/admin", asJSON, `{"query": "{ nothing }"}`), post("/admin/schema", "text/plain", "type {"), post("/admin/schema/validate", "text/plain", "type T { id: ID! }"),
		{"GET", "/admin/draining", nil, ""}, {"GET", "/admin/config/cache_mb", nil, ""},
		post("/evorag", asDQL, good),
	}
	own := 0
	for _, r := range requests {
		if strings.HasPrefix(r.path, "/evorag") { // ours, if anybody's
			answer, err := r.raw(through)
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(answer, "404"), answer)
			own++
			continue
		}
		if err := compared.alike(direct, through, r); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d requests with faults or odd forms compared", len(requests)-own)
}

// What a front answers otherwise, on purpose: our words are among the keywords, what is not on
// its list is not forwarded, and counters and clocks differ from one request to the next.
func TestWhatTheFrontAnswersByItself(t *testing.T) {
	direct, through := sides(t)
	get := func(s side, path string) string {
		answer, err := (request{"GET", path, nil, ""}).raw(s)
		require.NoError(t, err)
		return answer
	}
	for _, path := range []string{"/debug/vars", "/debug/pprof/", "/debug/prometheus_metrics", "/debug/store", "/nothing", "/", "/admin/nothing", "/query/nothing"} {
		require.True(t, strings.HasPrefix(get(through, path), "404"), path)
	}
	words := get(through, "/ui/keywords")
	require.Contains(t, words, `"@evorag"`)
	theirs := get(direct, "/ui/keywords")
	theirs = theirs[strings.Index(theirs, `{"keywords":[`):]
	require.Contains(t, words, strings.TrimSuffix(strings.TrimSpace(theirs), "]}"))

	for _, path := range []string{"/health", "/health?all", "/state"} {
		a, b := get(direct, path), get(through, path)
		require.Equal(t, shape(a), shape(b), path)
	}
}

// shape leaves the digits out.
func shape(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}
