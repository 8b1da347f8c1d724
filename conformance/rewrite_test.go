package conformance

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	theirs "github.com/dgraph-io/dgraph/v25/dql"
	"github.com/dgraph-io/dgraph/v25/protos/pb"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
)

// rewrite is a text with the directive and what becomes of it.
type rewrite struct {
	plan  *plan.Plan
	plain string // without the directive, as Dgraph would read it
	sent  string // what the engine is sent
	vars  map[string]string
}

// check holds a rewrite against Dgraph's own reading of both texts. An error says which promise
// is broken: that the engine can read what it is sent; that outside the ranked blocks nothing
// changes, by byte and by token; that inside them the user's tokens stay but for what ranking
// takes over; and that what Dgraph reads is the user's query with marks.
func (r rewrite) check() error {
	if !accepted(r.plain, r.vars) {
		return nil // Dgraph's own error will reach the user
	}
	want, err := parsed(r.plain, r.vars)
	if err != nil {
		return err
	}
	got, err := parsed(r.sent, r.vars)
	if err != nil {
		return fmt.Errorf("Dgraph can't read what it is sent: %w", err)
	}
	if err := r.outside(); err != nil {
		return err
	}
	if err := r.inside(); err != nil {
		return err
	}
	if err := r.trees(want, got); err != nil {
		return err
	}
	return r.reReads()
}

// outside checks the bytes and tokens before the first ranked block and after the last.
func (r rewrite) outside() error {
	text := r.plan.Query.Text
	first, last := r.plan.Blocks[0].Field.Span, r.plan.Blocks[len(r.plan.Blocks)-1].Field.Span
	head, tail := text[:first.Start], text[last.End:]
	if !strings.HasPrefix(r.sent, head) || !strings.HasSuffix(r.sent, tail) {
		return fmt.Errorf("a byte outside the ranked blocks changed")
	}
	before, after, err := r.tokens()
	if err != nil {
		return err
	}
	i, j := 0, len(before)
	for i < len(before) && before[i].start < first.Start {
		i++
	}
	for j > i && before[j-1].start >= last.End {
		j--
	}
	n := len(before) - j
	if len(after) < i+n || !sameTokens(before[:i], after[:i]) || !sameTokens(before[j:], after[len(after)-n:]) {
		return fmt.Errorf("a token outside the ranked blocks changed")
	}
	return nil
}

// inside checks that what ranking does not take over is still there, in order.
func (r rewrite) inside() error {
	before, after, err := r.tokens()
	if err != nil {
		return err
	}
	taken := r.taken()
	next := 0
	for _, t := range before {
		if slices.ContainsFunc(taken, func(s dql.Span) bool { return s.Start <= t.start && t.start < s.End }) {
			continue
		}
		for next < len(after) && after[next].text != t.text {
			next++
		}
		if next == len(after) {
			return fmt.Errorf("the token %q at %d is lost", t.text, t.start)
		}
		next++
	}
	return nil
}

func (r rewrite) tokens() (before, after []token, err error) {
	if before, err = lexed(r.plan.Query.Text); err != nil {
		return nil, nil, err
	}
	after, err = lexed(r.sent)
	return before, after, err
}

// taken lists the spans that a plan may replace.
func (r rewrite) taken() []dql.Span {
	var spans []dql.Span
	for _, b := range r.plan.Blocks {
		f := b.Field
		spans = append(spans, f.Directive("evorag").Span)
		if b.Entities > 0 {
			spans = append(spans, f.Func.Span)
		}
		if b.Form == plan.Search {
			spans = append(spans, f.Body)
			if d := f.Directive("recurse"); d != nil {
				spans = append(spans, d.Span)
			}
			continue
		}
		spans = append(spans, pagesAndSpreads(f.Children)...)
	}
	return spans
}

func pagesAndSpreads(fields []*dql.Field) []dql.Span {
	var spans []dql.Span
	for _, f := range fields {
		if f.Kind == dql.Spread {
			spans = append(spans, f.Span)
		}
		if f.HasBody && f.Args.HasParens {
			spans = append(spans, dql.Span{Start: f.Args.Span.Start - 1, End: f.Args.Span.End + 1})
		}
		spans = append(spans, pagesAndSpreads(f.Children)...)
	}
	return spans
}

// trees checks that Dgraph reads the user's query, marked.
func (r rewrite) trees(want, got theirs.Result) error {
	if len(want.Query) != len(got.Query) {
		return fmt.Errorf("%d blocks became %d", len(want.Query), len(got.Query))
	}
	ranked := map[string]*plan.Block{}
	for _, b := range r.plan.Blocks {
		ranked[b.Key] = b
	}
	for i, w := range want.Query {
		g := got.Query[i]
		switch b := ranked[w.Alias]; {
		case b == nil:
		case b.Form == plan.Search:
			if len(g.Children) != 1 || g.Children[0].Alias != plan.UIDKey || g.Recurse {
				return fmt.Errorf("the searched block %s does not only find its start nodes", b.Key)
			}
			w.Children, g.Children = nil, nil
			w.Recurse, w.RecurseArgs, g.RecurseArgs = false, theirs.RecurseArgs{}, theirs.RecurseArgs{}
		default:
			if err := unmark(w, g, true); err != nil {
				return fmt.Errorf("block %s: %w", b.Key, err)
			}
		}
		if err := same(reflect.ValueOf(w), reflect.ValueOf(g)); err != nil {
			return fmt.Errorf("block %s means something else: %w", w.Alias, err)
		}
	}
	return nil
}

var mark = regexp.MustCompile(`^evorag\.(u|o|n\d+)$`)

// unmark takes out of the tree of a written block what ranking put into it, and pages out of both.
func unmark(want, got *theirs.GraphQuery, root bool) error {
	if slices.ContainsFunc(got.Children, func(c *theirs.GraphQuery) bool { return c.Alias == plan.OrderKey }) {
		want.Order, want.NeedsVar = nil, got.NeedsVar // an order by a value moves behind the ranking
	}
	got.Children = slices.DeleteFunc(got.Children, func(c *theirs.GraphQuery) bool { return mark.MatchString(c.Alias) })
	if len(want.Children) != len(got.Children) {
		return fmt.Errorf("%s has %d fields instead of %d", got.Attr, len(got.Children), len(want.Children))
	}
	if !root {
		got.Facets = unlearned(got.Facets, want.Facets)
		for _, key := range []string{"first", "offset"} {
			delete(want.Args, key)
			delete(got.Args, key)
		}
	}
	for i := range want.Children {
		if err := unmark(want.Children[i], got.Children[i], false); err != nil {
			return err
		}
	}
	return nil
}

// unlearned takes the learned facets that were not asked for out of a fetch.
func unlearned(got, want *pb.FacetParams) *pb.FacetParams {
	if got == nil {
		return nil
	}
	asked := map[string]bool{}
	for _, p := range want.GetParam() {
		asked[p.Key] = true
	}
	got.Param = slices.DeleteFunc(got.Param, func(p *pb.FacetParam) bool {
		return strings.HasPrefix(p.Key, "evorag.") && !asked[p.Key]
	})
	if len(got.Param) == 0 && !got.AllKeys && want == nil {
		return nil
	}
	return got
}

// reReads checks that Dgraph can read the query that shows a searched block's nodes.
func (r rewrite) reReads() error {
	for _, b := range r.plan.Blocks {
		if b.Form != plan.Search {
			continue
		}
		text := r.plan.ReRead(b, []graph.UID{1, 2})
		if _, err := parsed(text, r.vars); err != nil {
			return fmt.Errorf("Dgraph can't read the query for the values of %s: %w\n%s", b.Key, err, text)
		}
	}
	return nil
}

func sameTokens(a, b []token) bool {
	return slices.EqualFunc(a, b, func(x, y token) bool { return x.text == y.text })
}

// bookkeeping are the fields of protobuf's own in every message.
var bookkeeping = map[string]bool{"state": true, "sizeCache": true, "unknownFields": true}

// same compares two trees; an empty list or map is as good as none. The error is the way to the
// first difference.
func same(a, b reflect.Value) error {
	if a.Kind() != b.Kind() || a.IsValid() && a.Type() != b.Type() {
		return fmt.Errorf("%v became %v", a, b)
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() != b.IsNil() {
			return fmt.Errorf("%v became %v", a, b)
		}
		if a.IsNil() {
			return nil
		}
		return same(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if bookkeeping[a.Type().Field(i).Name] {
				continue
			}
			if err := same(a.Field(i), b.Field(i)); err != nil {
				return fmt.Errorf("%s: %w", a.Type().Field(i).Name, err)
			}
		}
	case reflect.Slice:
		if a.Len() != b.Len() {
			return fmt.Errorf("%v became %v", a, b)
		}
		for i := range a.Len() {
			if err := same(a.Index(i), b.Index(i)); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
	case reflect.Map:
		if a.Len() != b.Len() {
			return fmt.Errorf("%v became %v", a, b)
		}
		for _, k := range a.MapKeys() {
			if !b.MapIndex(k).IsValid() {
				return fmt.Errorf("%v is gone", k)
			}
			if err := same(a.MapIndex(k), b.MapIndex(k)); err != nil {
				return fmt.Errorf("%v: %w", k, err)
			}
		}
	default:
		if !a.Equal(b) {
			return fmt.Errorf("%v became %v", a, b)
		}
	}
	return nil
}
