package integration_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

const aclSecret = "a secret of thirty-two letters.."

// guarded is an engine with access control and a sidecar in front of it.
type guarded struct {
	eng   *enginetest.Engine
	front app.Addresses
}

// startEngineWithACL starts one; tokens are good for ttl, 0: for hours.
func startEngineWithACL(t testing.TB, ttl time.Duration) *enginetest.Engine {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(aclSecret), 0o600))
	eng := enginetest.Start(t, engine.Options{ACLSecretFile: secret, AccessTTL: ttl})
	require.Eventually(t, func() bool { // the engine makes its first user after it is healthy
		_, answer := caller{}.send(t, eng.HTTPAddr(), "/login", "application/json", `{"userid":"groot","password":"password"}`)
		return strings.Contains(answer, "accessJWT")
	}, time.Minute, 100*time.Millisecond)
	return eng
}

func startGuarded(t testing.TB) *guarded {
	t.Helper()
	g := &guarded{eng: startEngineWithACL(t, 0)}
	g.front = g.serve(t, "codename", "name")
	return g
}

// serve starts a sidecar that shows nodes by the names.
func (g *guarded) serve(t testing.TB, names ...string) app.Addresses {
	t.Helper()
	return g.serveWith(t, 1024, names...)
}

// serveWith is serve with so many MB for the graph.
func (g *guarded) serveWith(t testing.TB, memory int, names ...string) app.Addresses {
	t.Helper()
	c := settings(g.eng.GRPCAddr())
	c.Names, c.Cache.MemoryMB = names, memory
	c.Login.User, c.Login.Password = "groot", "password"
	return serve(t, c)
}

// login takes a token at addr over HTTP.
func login(t testing.TB, addr, user, password string, namespace int) caller {
	t.Helper()
	body, err := json.Marshal(map[string]any{"userid": user, "password": password, "namespace": namespace})
	require.NoError(t, err)
	answer := caller{}.must(t, addr, "/login", "application/json", string(body))
	var got struct {
		Data struct{ AccessJWT, RefreshJWT string }
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &got), answer)
	require.NotEmpty(t, got.Data.AccessJWT, answer)
	return caller{user, got.Data.AccessJWT, got.Data.RefreshJWT}
}

// admin runs a GraphQL mutation of /admin directly.
func (g *guarded) admin(t testing.TB, as caller, text string) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"query": text})
	require.NoError(t, err)
	as.must(t, g.eng.HTTPAddr(), "/admin", "application/json", string(body))
}

// people are the three users of the tests: root may everything in namespace 0, alice may
// read names and who knows whom there, bob everything in namespace 1.
func (g *guarded) people(t testing.TB) (root, alice, bob caller) {
	t.Helper()
	direct := g.eng.HTTPAddr()
	root = login(t, direct, "groot", "password", 0)
	g.admin(t, root, `mutation { addNamespace(input: {password: "password of one"}) { namespaceId } }`)
	bob = login(t, direct, "groot", "password of one", 1)
	g.admin(t, root, `mutation { addUser(input: [{name: "alice", password: "password of alice"}]) { user { name } } }`)
	g.admin(t, root, `mutation { addGroup(input: [{name: "readers"}]) { group { name } } }`)
	g.admin(t, root, `mutation { updateUser(input: {filter: {name: {eq: "alice"}}, set: {groups: [{name: "readers"}]}}) { user { name } } }`)
	g.admin(t, root, `mutation { updateGroup(input: {filter: {name: {eq: "readers"}}, set: {rules: [
		{predicate: "name", permission: 4}, {predicate: "knows", permission: 4}, {predicate: "dgraph.type", permission: 4}]}}) { group { name } } }`)

	root.must(t, direct, "/alter", "application/dql", `
		name: string @index(exact, term) .
		codename: string @index(exact, term) .
		knows: [uid] @reverse .
		informs: [uid] @reverse .
		type Person {
			name
			codename
			knows
			informs
		}`)
	root.must(t, direct, "/mutate?commitNow=true", "application/rdf", `{ set {
		_:ann <name> "Ann Archer" .
		_:bea <name> "Bea Baker" .
		_:bea <codename> "Nightingale" .
		_:cid <name> "Cid Carter" .
		_:spy <codename> "Mata Hari" .
		_:ann <dgraph.type> "Person" .
		_:bea <dgraph.type> "Person" .
		_:ann <knows> _:bea (evorag.score=120.0) .
		_:bea <knows> _:cid .
		_:ann <informs> _:spy (evorag.score=199.125, place="cell seven") .
		_:ann <informs> _:cid .
		_:cid <informs> _:bea (evorag.score=177.375) .
		_:r <evorag.predicate> "informs" .
		_:r <evorag.relation.label> "whispers to" .
	} }`)
	bob.must(t, direct, "/alter", "application/dql", "name: string @index(exact, term) .\nknows: [uid] @reverse .")
	bob.must(t, direct, "/mutate?commitNow=true", "application/rdf", `{ set {
		_:ann <name> "Ann Archer" .
		_:zoe <name> "Zoe Zimmer" .
		_:ann <knows> _:zoe .
	} }`)
	require.Eventually(t, func() bool { // the alpha learns of new users and rules by and by
		alice = login(t, direct, "alice", "password of alice", 0)
		_, answer := alice.send(t, direct, "/query", "application/dql", `{ q(func: has(name)) { name } }`)
		return strings.Contains(answer, "Ann Archer")
	}, 30*time.Second, 200*time.Millisecond)
	return root, alice, bob
}

// hidden are the words that alice can't read directly.
var hidden = []string{"codename", "Nightingale", "Mata Hari", "informs", "whispers to", "cell seven", "199.125", "177.375"} // no number of nanoseconds has a point

const searched = `{ q(func: eq(name, "Ann Archer")) @evorag(query: "who is behind it?", hops: 3, explain: true) { uid name codename } }`

// asked are ranked queries of every form over what alice may read and what she may not.
var asked = []struct{ name, query string }{
	{"written out", `{ q(func: eq(name, "Ann Archer")) @evorag(query: "who is behind it?", explain: true) { uid name codename knows { name codename informs @facets { name codename } } informs @facets { codename name ~informs { name } } } }`},
	{"written out, its counts", `{ q(func: eq(name, "Ann Archer")) @evorag(query: "who?") { name count(informs) count(knows) knows { count(informs) name } } }`},
	{"written out with expand", `{ q(func: eq(name, "Ann Archer")) @evorag(query: "who?") { expand(_all_) { name codename informs { name } } } }`},
	{"written out, pruned", `{ q(func: eq(name, "Ann Archer")) @evorag(query: "who?", paths: 1) { name informs { codename } knows { name } } }`},
	{"hops", searched},
	{"hops, single paths", `{ q(func: eq(name, "Bea Baker")) @evorag(query: "a nightingale?", hops: 2, bundle: false, hidden: true) { name codename } }`},
	{"recurse", `{ q(func: eq(name, "Ann Archer")) @recurse(depth: 3) @evorag(query: "who is behind it?") { name codename knows informs ~informs } }`},
	{"a named relation", `{ q(func: eq(name, "Ann Archer")) @evorag(query: "who?", hops: 2, via: [informs]) { name } }`},
	{"a named inverse relation", `{ q(func: eq(name, "Cid Carter")) @evorag(query: "who?", hops: 2, via: [~informs, knows]) { name } }`},
	{"entities", `{ q(func: evorag.entities(query: "Is Bea Baker the Nightingale?")) @evorag(query: "who is behind it?", hops: 2) { uid name codename } }`},
	{"entities by a name", `{ q(func: evorag.entities(query: "Where is Mata Hari?")) @evorag(query: "where?", hops: 2) { uid name } }`},
	{"beside other blocks", `{ all as var(func: has(name)) n(func: uid(all)) { name codename count(informs) } q(func: uid(all)) @evorag(query: "who?", hops: 1) { name } }`},
}

// retrieved are bodies of /evorag/v1/retrieve.
var retrieved = []string{
	`{"question": "Whom does Ann Archer know?", "hops": 3, "explain": true}`,
	`{"question": "Where is Mata Hari?"}`,
	`{"question": "who?", "entities": ["Mata Hari"]}`,
	`{"question": "who?", "entities": ["Ann Archer"], "via": ["informs", "~informs"]}`,
	`{"question": "who?", "entities": ["Ann Archer"], "bundle": false, "hidden": true}`,
}

// everything asks all of asked and retrieved as the caller, over HTTP and gRPC, and gives
// the answers by what was asked.
func everything(t testing.TB, front app.Addresses, as caller) map[string]string {
	t.Helper()
	out := map[string]string{}
	db := client(t, front.GRPC)
	for _, q := range asked {
		_, answer := as.send(t, front.HTTP, "/query", "application/dql", q.query)
		out["HTTP "+q.query] = same(answer)
		resp, err := db.NewReadOnlyTxn().Query(as.context(t.Context()), q.query)
		if err != nil {
			out["gRPC "+q.query] = err.Error()
			continue
		}
		require.NotEmpty(t, resp.Hdrs["evorag"].GetValue(), q.name)
		out["gRPC "+q.query] = same("[" + string(resp.Json) + "," + resp.Hdrs["evorag"].Value[0] + "]")
	}
	for _, body := range retrieved {
		_, answer := as.send(t, front.HTTP, "/evorag/v1/retrieve", "application/json", body)
		out["retrieve "+body] = same(answer)
	}
	return out
}

func TestNobodySeesMoreThroughTheFrontThanDirectly(t *testing.T) {
	g := startGuarded(t)
	root, alice, bob := g.people(t)

	t.Run("the administrator sees what the others must not", func(t *testing.T) {
		all := ""
		for _, answer := range everything(t, g.front, root) {
			all += answer
		}
		for _, word := range hidden {
			require.Contains(t, all, word)
		}
	})

	t.Run("a user of another namespace sees his own graph, under his own namespace", func(t *testing.T) {
		for question, answer := range everything(t, g.front, bob) {
			for _, foreign := range []string{`"Bea Baker"`, `"Cid Carter"`, `"Nightingale"`, "cell seven", "whispers to"} {
				require.NotContains(t, answer, foreign, question)
			}
		}
		answer := bob.must(t, g.front.HTTP, "/query", "application/dql", searched)
		require.Contains(t, answer, "Zoe Zimmer")
		require.Contains(t, answer, `"namespace":1`)
		require.Contains(t, alice.must(t, g.front.HTTP, "/query", "application/dql", searched), `"namespace":0`)
	})

	t.Run("a forged token opens nothing", func(t *testing.T) {
		for question, answer := range everything(t, g.front, bob.forged(t, `"namespace":1`, `"namespace":0`)) {
			require.Contains(t, answer, "signature is invalid", question)
			require.NotContains(t, answer, "name\"", question)
		}
	})

	t.Run("those without a good token get the engine's own words", func(t *testing.T) {
		plain := `{ q(func: eq(name, "Ann Archer")) { name } }`
		for _, c := range []caller{{name: "no token"}, {name: "nonsense", access: "x.y.z"}, alice.expired(t)} {
			wantCode, want := c.send(t, g.eng.HTTPAddr(), "/query", "application/dql", plain)
			_, wantErr := client(t, g.eng.GRPCAddr()).NewReadOnlyTxn().Query(c.context(t.Context()), plain)
			require.Error(t, wantErr, c.name)
			for _, q := range asked {
				code, got := c.send(t, g.front.HTTP, "/query", "application/dql", q.query)
				require.Equal(t, wantCode, code, c.name)
				require.JSONEq(t, want, got, c.name+", "+q.name)
				_, err := client(t, g.front.GRPC).NewReadOnlyTxn().Query(c.context(t.Context()), q.query)
				require.EqualError(t, err, wantErr.Error(), c.name+", "+q.name)
			}
			for _, body := range retrieved {
				code, answer := c.send(t, g.front.HTTP, "/evorag/v1/retrieve", "application/json", body)
				require.Equal(t, 401, code, c.name+answer)
				require.Contains(t, answer, `"code":"unauthenticated"`)
			}
		}
	})

	t.Run("a nested expand shows no more than the engine itself shows", func(t *testing.T) {
		// The engine leaves the predicates that alice may not read out of the first expand, and out
		// of those below it too, or doesn't: whatever it shows directly is the measure.
		nested := func(directive string) string {
			return `{ q(func: eq(name, "Ann Archer"))` + directive + ` { uid expand(_all_) { uid expand(_all_) { uid expand(_all_) } } } }`
		}
		direct := alice.must(t, g.eng.HTTPAddr(), "/query", "application/dql", nested(""))
		require.Contains(t, direct, "Bea Baker")
		var leaked []string
		for _, word := range hidden {
			if strings.Contains(direct, word) {
				leaked = append(leaked, word)
			}
		}
		t.Logf("of what alice may not read, the engine shows in nested expands: %q", leaked)
		for _, directive := range []string{"", ` @evorag(query: "who is behind it?", explain: true)`} {
			through := alice.must(t, g.front.HTTP, "/query", "application/dql", nested(directive))
			require.Contains(t, through, "Bea Baker")
			resp, err := client(t, g.front.GRPC).NewReadOnlyTxn().Query(alice.context(t.Context()), nested(directive))
			require.NoError(t, err)
			for _, word := range hidden {
				if !slices.Contains(leaked, word) {
					require.NotContains(t, through, word)
					require.NotContains(t, string(resp.Json)+strings.Join(resp.Hdrs["evorag"].GetValue(), ""), word)
				}
			}
		}
	})

	t.Run("what is hidden from a user changes nothing of what he gets", func(t *testing.T) {
		// The second sidecar answers alice out of the graph that it holds in memory, the third out of
		// a part of it, the first can't: its names are not hers.
		var large strings.Builder
		for i := range 600 {
			fmt.Fprintf(&large, "_:n%d <name> \"%s\" .\n", i, strings.Repeat(string(rune('q'+i%8)), 200))
		}
		root.must(t, g.front.HTTP, "/mutate?commitNow=true", "application/rdf", "{ set {\n"+large.String()+"} }")
		fronts := []app.Addresses{g.front, g.serve(t, "name"), g.serveWith(t, 1, "name")}
		for i, mode := range []string{"on demand", "resident", "part"} {
			require.Eventually(t, func() bool {
				return strings.Contains(alice.must(t, fronts[i].HTTP, "/query", "application/dql", searched), `"mode":"`+mode+`"`)
			}, 30*time.Second, 100*time.Millisecond, mode)
		}
		var with []map[string]string
		for _, front := range fronts {
			answers := everything(t, front, alice)
			require.Equal(t, answers, everything(t, front, alice), "the same question has one answer")
			for question, answer := range answers {
				for _, word := range hidden {
					if !strings.Contains(question, word) { // an answer may repeat what was asked
						require.NotContains(t, answer, word, question)
					}
				}
			}
			with = append(with, answers)
		}
		for _, predicate := range []string{"informs", "codename"} {
			root.must(t, g.front.HTTP, "/alter", "application/json", `{"drop_attr": "`+predicate+`"}`)
		}
		require.Eventually(t, func() bool { // views of the schema live for seconds
			return !strings.Contains(root.must(t, fronts[1].HTTP, "/query", "application/dql", searched), "informs")
		}, 30*time.Second, 100*time.Millisecond)
		for i, front := range fronts {
			without := everything(t, front, alice)
			for question := range with[i] {
				require.Equal(t, without[question], with[i][question], question)
			}
		}
	})
}

// claims gives the caller's token with other claims; sign makes its signature.
func (c caller) claims(t testing.TB, change func([]byte) []byte, sign func(signed, was string) string) caller {
	t.Helper()
	parts := strings.Split(c.access, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(change(payload))
	return caller{name: c.name, access: signed + "." + sign(signed, parts[2])}
}

// forged is the caller with a token changed by somebody who doesn't know the secret.
func (c caller) forged(t testing.TB, was, is string) caller {
	return c.claims(t, func(b []byte) []byte {
		require.Contains(t, string(b), was)
		return bytes.Replace(b, []byte(was), []byte(is), 1)
	}, func(_, signature string) string { return signature })
}

// expired is the caller with a token that was good until a minute ago.
func (c caller) expired(t testing.TB) caller {
	c.name += ", expired"
	return c.claims(t, func(b []byte) []byte {
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		var claims map[string]any
		require.NoError(t, d.Decode(&claims))
		claims["exp"] = time.Now().Add(-time.Minute).Unix()
		b, err := json.Marshal(claims)
		require.NoError(t, err)
		return b
	}, func(signed, _ string) string {
		mac := hmac.New(sha256.New, []byte(aclSecret))
		mac.Write([]byte(signed))
		return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	})
}

// mayFollowShortcuts gives alice's group a rule for evorag.shortcut, and none for ~evorag.shortcut.
func (g *guarded) mayFollowShortcuts(t testing.TB, root caller) {
	t.Helper()
	g.admin(t, root, `mutation { updateGroup(input: {filter: {name: {eq: "readers"}}, set: {rules: [{predicate: "evorag.shortcut", permission: 4}]}}) { group { name } } }`)
}

// uid is that of a node of the people's graph.
func (g *guarded) uid(t testing.TB, root caller, name string) string {
	t.Helper()
	var got struct {
		Data struct{ Q []struct{ UID string } }
	}
	answer := root.must(t, g.eng.HTTPAddr(), "/query", "application/dql", `{ q(func: eq(name, "`+name+`")) { uid } }`)
	require.NoError(t, json.Unmarshal([]byte(answer), &got), answer)
	return got.Data.Q[0].UID
}

// Shortcuts of one far end are read in one list, from there, by whoever may read that.
func TestShortcutsAreFoundByWhoMayNotReadThemBackwards(t *testing.T) {
	g := startGuarded(t)
	root, alice, _ := g.people(t)
	g.mayFollowShortcuts(t, root)
	root.must(t, g.front.HTTP, "/mutate?commitNow=true", "application/rdf", `{ set {
		<`+g.uid(t, root, "Ann Archer")+`> <evorag.shortcut> <`+g.uid(t, root, "Bea Baker")+`> (evorag.score=150.0, evorag.label="is near") .
		<`+g.uid(t, root, "Cid Carter")+`> <evorag.shortcut> <`+g.uid(t, root, "Bea Baker")+`> (evorag.score=150.0, evorag.label="is near") .
	} }`)
	resident := g.serve(t, "name")
	for _, who := range []caller{root, alice} {
		require.Eventually(t, func() bool { // the alpha learns of new rules by and by
			answer := who.must(t, resident.HTTP, "/query", "application/dql", `{ q(func: eq(name, ["Ann Archer", "Cid Carter"])) @evorag(query: "who is near?", hops: 1, via: [evorag.shortcut]) { name } }`)
			return strings.Contains(answer, `"mode":"resident"`) && strings.Count(answer, `"label":"is near"`) == 2
		}, 30*time.Second, 200*time.Millisecond, who.name)
	}
}

// A shortcut may stand for a path that a caller who may follow it can't read.
func TestAShortcutIsNotDrawnForWhoMayNotReadItsPath(t *testing.T) {
	g := startGuarded(t)
	root, alice, _ := g.people(t)
	g.mayFollowShortcuts(t, root)
	uid := func(name string) string { return g.uid(t, root, name) }
	ann, bea, cid := uid("Ann Archer"), uid("Bea Baker"), uid("Cid Carter")
	root.must(t, g.front.HTTP, "/mutate?commitNow=true", "application/rdf", `{ set {
		<`+ann+`> <evorag.shortcut> <`+bea+`> (evorag.score=150.0, evorag.label="is near", evorag.via="`+ann+` informs `+cid+` informs `+bea+`") .
	} }`)
	ask := func(who caller) string {
		return who.must(t, g.front.HTTP, "/query", "application/dql", `{ q(func: eq(name, "Ann Archer")) @evorag(query: "who is near?", hops: 1, explain: true) { name } }`)
	}
	require.Contains(t, ask(root), "whispers to")
	var answer string
	require.Eventually(t, func() bool { // the alpha learns of new rules by and by
		answer = ask(alice)
		return strings.Contains(answer, "is near")
	}, 30*time.Second, 200*time.Millisecond)
	require.NotContains(t, answer, "whispers to")
	require.NotContains(t, answer, "informs")
	require.NotContains(t, answer, "Carter")
}
