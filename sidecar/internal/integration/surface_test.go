package integration_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func get(t *testing.T, addr, path string) (*http.Response, string) {
	t.Helper()
	resp, err := http.Get("http://" + addr + path)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(b)
}

func TestWhatDgraphTellsAboutItselfIsToldThroughTheFront(t *testing.T) {
	front, eng, _ := open(t)
	for path, word := range map[string]string{"/health": `"version"`, "/health?all": `"version"`, "/state": `"groups"`} {
		wantResp, _ := get(t, eng.HTTPAddr(), path)
		resp, body := get(t, front.HTTP, path)
		require.Equal(t, wantResp.StatusCode, resp.StatusCode)
		require.Equal(t, wantResp.Header.Get("Content-Type"), resp.Header.Get("Content-Type"))
		require.Equal(t, []string{"*"}, resp.Header.Values("Access-Control-Allow-Origin"))
		require.Contains(t, body, word, path)
	}
	_, body := get(t, front.HTTP, "/health")
	require.Equal(t, byte('['), body[0], "as Ratel reads it")

	_, want := get(t, eng.HTTPAddr(), "/ui/keywords")
	_, words := get(t, front.HTTP, "/ui/keywords")
	require.Contains(t, words, want[:len(want)-3], "the alpha's own words")
	require.Contains(t, words, `"name":"@evorag"`)

	for _, path := range []string{"/debug/vars", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/prometheus_metrics", "/debug/jemalloc", "/debug/z"} {
		resp, _ := get(t, eng.HTTPAddr(), path)
		t.Logf("%s: %d directly", path, resp.StatusCode)
		resp, body := get(t, front.HTTP, path)
		require.Equal(t, http.StatusNotFound, resp.StatusCode, path)
		require.Contains(t, body, "is not served here")
	}
}

func TestOnlyAdminNetworksAdminister(t *testing.T) {
	_, eng, _ := open(t)
	c := settings(eng.GRPCAddr())
	c.Access.AdminNetworks = []string{"192.0.2.0/24"}
	front := serve(t, c)
	var me caller
	for path, body := range map[string]string{
		"/alter": `{"drop_all": true}`, "/admin": `{"query": "mutation { shutdown { response { code } } }"}`,
		"/admin/schema": "type T { a: String }", "/admin/shutdown": "", "/admin/draining?enable=true": "", "/login": "{}",
	} {
		code, answer := me.send(t, front.HTTP, path, "application/json", body)
		require.Equal(t, http.StatusForbidden, code, path+answer)
		require.Contains(t, answer, "open to access.admin_networks only")
	}
	db := client(t, front.GRPC)
	err := db.Alter(t.Context(), &api.Operation{DropAll: true})
	require.Equal(t, codes.PermissionDenied, status.Code(err), "%v", err)
	require.ErrorContains(t, db.Login(t.Context(), "groot", "password"), "open to access.admin_networks only")

	resp, err := db.NewReadOnlyTxn().Query(t.Context(), forms("Ann Archer")["hops"])
	require.NoError(t, err)
	require.Contains(t, string(resp.Json), "Bea Baker", "nothing was dropped, and who may not administer may ask")
}
