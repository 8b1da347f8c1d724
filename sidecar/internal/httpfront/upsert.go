package httpfront

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/mutation"
	"github.com/evorag/dgraph-evorag/plugin/render"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// upsert is a mutation whose query carries the directive.
type upsert struct {
	proxy.Request
	parameters url.Values
	body       func(text string) (string, error) // with the query's text as the engine takes it
}

// readUpsert tells whether a mutation's query carries the directive. One with parameters that
// the alpha would refuse counts as none.
func readUpsert(r *http.Request, m mutation.Text, text string) (up upsert, ok bool) {
	switch media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case media == "application/rdf" && dql.Mentions(text):
		up.Query = text
		up.body = func(text string) (string, error) { return text, nil }
	case media == "application/json" && dql.Mentions(m.Query):
		up.Query = m.Query
		up.body = func(query string) (string, error) {
			b, err := json.Marshal(query)
			if err != nil {
				return "", err
			}
			return dql.Splice(text, []dql.Edit{{Span: m.QuerySpan, Text: string(b)}})
		}
	default:
		return up, false
	}
	var err error
	if up.parameters, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		return up, false
	}
	if v := up.parameters.Get("startTs"); v != "" {
		if up.StartTS, err = strconv.ParseUint(v, 0, 64); err != nil {
			return up, false
		}
	}
	up.Upsert = true
	up.Hash, up.Credentials = up.parameters.Get("hash"), credentials(r.Header)
	return up, true
}

// upsert ranks the query first, then runs the upsert once, at the timestamp at which the
// query was read, so that the ranking is of what the mutations see. Variables hold all that
// the query finds, whatever is shown.
func (f *Front) upsert(w http.ResponseWriter, r *http.Request, up upsert) {
	ranked, err := f.Ranker.Query(r.Context(), up.Request)
	if err != nil {
		writeQueryError(w, err)
		return
	}
	text, err := up.body(ranked.Text)
	if err != nil {
		writeQueryError(w, err)
		return
	}
	out := r.Clone(r.Context())
	up.parameters.Set("startTs", strconv.FormatUint(ranked.Txn.StartTS, 10))
	if ranked.Txn.Hash != "" {
		up.parameters.Set("hash", ranked.Txn.Hash)
	}
	out.URL.RawQuery = up.parameters.Encode()
	setBody(out, text)
	m, _ := readMutation(out, []byte(text))
	kept, err := f.kept(out, m, text)
	if err != nil {
		writeQueryError(w, err)
		return
	}
	f.forwardChanged(w, kept, func(answer []byte) []byte { return withRanking(answer, ranked) })
}

// withRanking puts a ranking into the answer to an upsert. One without data, an error that
// is, stays as it is.
func withRanking(answer []byte, ranked *proxy.Response) []byte {
	whole, err := render.ParseMembers(answer)
	if err != nil {
		return answer
	}
	data, extensions := whole.Get("data"), whole.Get("extensions")
	if data == nil || extensions == nil {
		return answer
	}
	inner, err := render.ParseMembers(data.Raw)
	if err != nil || !inner.IsObject() {
		return answer
	}
	for i := range inner.Members {
		if inner.Members[i].Key == "queries" {
			inner.Members[i].Value = render.Raw(ranked.JSON)
		}
	}
	*data = *inner
	told, err := json.Marshal(ranked.Retrieval)
	if err != nil {
		return answer
	}
	if inner, err = render.ParseMembers(extensions.Raw); err != nil || !inner.IsObject() {
		return answer
	}
	inner.Set("evorag", render.Raw(told))
	*extensions = *inner
	return whole.AppendTo(nil)
}
