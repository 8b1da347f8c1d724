package httpfront

import (
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strings"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// cors are Dgraph's own headers: what the alpha puts on its answers goes on ours too.
var cors = map[string]string{
	"Access-Control-Allow-Origin":  "*",
	"Access-Control-Allow-Methods": "GET, POST, OPTIONS",
	"Access-Control-Allow-Headers": "X-Dgraph-AccessToken, X-Dgraph-AuthToken, " +
		"Content-Type, Content-Length, Accept-Encoding, Cache-Control, " +
		"X-CSRF-Token, X-Auth-Token, X-Requested-With",
	"Access-Control-Allow-Credentials": "true",
}

// addCORS sets what is not there yet: browsers refuse a header that stands twice.
func addCORS(h http.Header) {
	for name, value := range cors {
		if h.Get(name) == "" {
			h.Set(name, value)
		}
	}
}

// withCORS adds the headers to what another room answers.
func withCORS(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		addCORS(w.Header())
		h(w, r)
	}
}

// isAdmin tells whether the peer is in AdminNetworks, where forwarding headers are not believed,
// or shows the administrators' token to a service of our own. The alpha's services are not
// opened by it: their callers have Dgraph's own ways to say who they are.
func (f *Front) isAdmin(r *http.Request) bool {
	return f.isNear(r) || strings.HasPrefix(r.URL.Path, "/evorag/") && f.hasToken(r)
}

// hasToken tells a request with the administrators' token.
func (f *Front) hasToken(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return f.AdminToken != "" && strings.EqualFold(scheme, "bearer") &&
		subtle.ConstantTimeCompare([]byte(strings.TrimSpace(token)), []byte(f.AdminToken)) == 1
}

func (f *Front) isNear(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	ip := peer.Addr().Unmap().WithZone("")
	for _, n := range f.AdminNetworks {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}

// credentials maps the headers as the alpha does: x.AttachAccessJwt and x.AttachAuthToken.
func credentials(h http.Header) graph.Credentials {
	c := graph.Credentials{}
	for header, key := range map[string]string{
		"X-Dgraph-AccessToken": "accessjwt",
		"X-Dgraph-AuthToken":   "auth-token",
	} {
		if v := h.Get(header); v != "" {
			c[key] = []string{v}
		}
	}
	return c
}

func notFound(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		addCORS(w.Header())
		return
	}
	writeFault(w, http.StatusNotFound, fault{Message: r.URL.Path + " is not served here", code: codeError})
}

func (f *Front) refuseAdmin(w http.ResponseWriter, r *http.Request) {
	text := "unauthorized ip address: " + r.RemoteAddr + "; " + r.URL.Path + " is open to access.admin_networks only"
	if f.AdminToken != "" && strings.HasPrefix(r.URL.Path, "/evorag/") {
		text += ", and to who sends the token of access.token_file as Authorization: Bearer"
	}
	writeFault(w, http.StatusForbidden, fault{Message: text, code: codeUnauthorized})
}

func wrongMethod(w http.ResponseWriter, r *http.Request, methods []string) {
	w.Header().Set("Allow", strings.Join(append(methods[:len(methods):len(methods)], http.MethodOptions), ", "))
	if r.Method == http.MethodOptions {
		addCORS(w.Header())
		return
	}
	writeAPIError(w, http.StatusMethodNotAllowed, "method_not_allowed", r.URL.Path+" takes "+strings.Join(methods, ", "))
}
