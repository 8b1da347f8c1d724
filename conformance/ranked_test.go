package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/dgo/v250/protos/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/plan"
)

// TestARankedBlockShowsWhatThePlainOneShows puts every query of the corpus with the directive to
// the sidecar and without it to the alpha. A block with its paths written out, and without pages,
// must show the same but for the order of its lists; any other must be answered, or refused with
// a place; and gRPC must give the data that HTTP gives.
func TestARankedBlockShowsWhatThePlainOneShows(t *testing.T) {
	direct, through := sides(t)
	answered, refused, same := 0, 0, 0
	for _, e := range corpus(t) {
		q, err := dql.Parse(e.text)
		require.NoError(t, err)
		plain, err := dql.Parse(withoutDirectives(t, q))
		require.NoError(t, err)
		texts := []string{e.text}
		if !dql.Mentions(e.text) {
			texts = nil
			for i, b := range plain.Blocks {
				if b.Kind == dql.Root && b.Args.HasParens {
					texts = append(texts, withDirective(plain, i)[0])
				}
			}
		}
		for _, text := range texts {
			vars := values(plain)
			want, _, plainErr := rankedAnswer(direct, plain.Text, vars)
			got, place, err := rankedAnswer(through, text, vars)
			if plainErr != nil && err != nil { // the engine's own error, which may name other columns
				refused++
				continue
			}
			if !assert.NoError(t, err, "%s: %s", e.name, text) {
				continue
			}
			if place {
				refused++
				continue
			}
			answered++
			if showsTheSame(text, vars) {
				require.NoError(t, plainErr, e.name)
				assert.Equal(t, string(sorted(want)), string(sorted(got)), "%s: %s", e.name, text)
				same++
			}
		}
	}
	t.Logf("%d ranked queries answered, %d refused, by us with a place or by the engine; %d show what the plain query shows", answered, refused, same)
}

// rankedAnswer asks over HTTP and gRPC and gives the data; place is true where the query was
// refused with one. Where Dgraph itself leaves an answer to chance, as with the shortest of paths
// of one length, gRPC may give what HTTP has given before.
func rankedAnswer(s side, text string, vars map[string]string) (got json.RawMessage, place bool, err error) {
	given := map[string]bool{}
	for range 8 {
		var same []byte
		if got, same, place, err = bothAnswers(s, text, vars); err != nil || place {
			return nil, place, err
		}
		given[string(sorted(got))] = true
		if given[string(sorted(same))] {
			return got, false, nil
		}
		err = fmt.Errorf("HTTP gives %s, gRPC gives %s", clip(string(got)), clip(string(same)))
	}
	return nil, false, err
}

// bothAnswers are the data over HTTP and over gRPC.
func bothAnswers(s side, text string, vars map[string]string) (overHTTP, overGRPC json.RawMessage, place bool, err error) {
	body, _ := json.Marshal(map[string]any{"query": text, "variables": vars}) // strings only
	raw, err := post("/query", asJSON, string(body)).raw(s)
	if err != nil {
		return nil, nil, false, err
	}
	head, answer, _ := strings.Cut(raw, "\n\n")
	if !strings.HasPrefix(head, "200") {
		return nil, nil, false, errors.New(clip(raw))
	}
	var a struct {
		Data   json.RawMessage
		Errors []struct {
			Message   string
			Locations []struct{ Line, Column int }
		}
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil {
		return nil, nil, false, fmt.Errorf("%w: %s", err, clip(answer))
	}
	out, note, err := query(&api.Request{Query: text, Vars: vars}).raw(s)
	if err != nil {
		return nil, nil, false, err
	}
	if len(a.Errors) > 0 {
		if strings.HasPrefix(note, "OK") {
			return nil, nil, false, fmt.Errorf("an error over HTTP, none over gRPC: %s", clip(answer))
		}
		if len(a.Errors[0].Locations) > 0 {
			return nil, nil, true, nil
		}
		return nil, nil, false, fmt.Errorf("an error without a place: %s", a.Errors[0].Message)
	}
	if !strings.HasPrefix(note, "OK") {
		return nil, nil, false, fmt.Errorf("an error over gRPC, none over HTTP: %s", note)
	}
	return a.Data, out.(*api.Response).Json, false, nil
}

// showsTheSame tells whether a text's ranked blocks are written out and have no pages of their own.
func showsTheSame(text string, vars map[string]string) bool {
	q, err := dql.Parse(text)
	if err != nil {
		return false
	}
	p, err := plan.Build(q, vars, caller, silent)
	return err == nil && len(p.Blocks) > 0 && !slices.ContainsFunc(p.Blocks, func(b *plan.Block) bool {
		return b.Form != plan.Written || b.Prune || b.Entities > 0 || len(pages(b.Field.Children)) > 0
	}) && len(pages(q.Fragments)) == 0
}

// pages are the fields with pages or an order by a value variable. Ranking comes before paging, so
// that other nodes stay; with such an order the engine gives other edges' facets.
func pages(fields []*dql.Field) []*dql.Field {
	var out []*dql.Field
	for _, f := range fields {
		for _, a := range f.Args.List {
			if a.Key == "first" || a.Key == "offset" || strings.HasPrefix(a.Value, "val") {
				out = append(out, f)
			}
		}
		out = append(out, pages(f.Children)...)
	}
	return out
}

// sorted orders keys and lists, and leaves numbers and strings as they are.
func sorted(data json.RawMessage) []byte {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return data
	}
	out, _ := json.Marshal(sortLists(v)) // it was JSON
	return out
}

func sortLists(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = sortLists(v[k])
		}
	case []any:
		for i := range v {
			v[i] = sortLists(v[i])
		}
		slices.SortFunc(v, func(a, b any) int { return cmp.Compare(spelled(a), spelled(b)) })
	}
	return v
}

func spelled(v any) string {
	b, _ := json.Marshal(v) // it was JSON
	return string(b)
}
