package conformance

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
)

// caller is the schema that plans are made with; the corpus uses these predicates.
var caller = graph.Schema{Predicates: predicates(map[string]string{
	"friend": "uid", "works_at": "uid", "works-at": "uid", "film.actor": "uid", "made-by": "uid", "http://x.org/a#b": "uid",
	"http://x.org/c": "uid", "name": "string", "title": "string", "age": "int", "dob": "datetime",
})}

func predicates(types map[string]string) map[string]graph.PredicateSchema {
	out := map[string]graph.PredicateSchema{}
	for name, typ := range types {
		out[name] = graph.PredicateSchema{Name: name, Type: typ, List: typ == "uid", Reverse: typ == "uid"}
	}
	return out
}

var silent = plan.Defaults{Hops: 2, Paths: 10, Instances: 20, Entities: 10, Alpha: 0.5, Names: []string{"name", "title"}}

// directives are put onto every root block of the corpus, in turn.
var directives = []string{
	` @evorag(query: "who") `,
	` @EvoRAG(Query: "who # is \" } this?", paths: 5, fanout: 7, explain: true)`,
	` @evorag(query: "who", hops: 3, via: [friend, ~friend]) # ranked }
`,
	` @evorag(query: "who", alpha: 0.3, bundle: false, hidden: true, instances: 4) `,
}

func TestATextWithoutTheDirectiveIsNotEvenLookedInto(t *testing.T) {
	n := 0
	for _, e := range corpus(t) {
		q, err := dql.Parse(e.text)
		require.NoError(t, err, e.name)
		text := withoutDirectives(t, q)
		require.False(t, dql.Mentions(text), e.name)
		same, err := dql.Splice(text, nil)
		require.NoError(t, err)
		require.Equal(t, text, same)
		_, err = parsed(text, values(q))
		require.NoError(t, err, "%s: every text of the corpus is one that Dgraph reads", e.name)
		n++
	}
	t.Logf("%d texts stay as they are", n)
}

func TestWhatTheEngineIsSentIsTheCallersQueryMarked(t *testing.T) {
	var tally tally
	for _, e := range corpus(t) {
		q, err := dql.Parse(e.text)
		require.NoError(t, err, e.name)
		vars := values(q)
		if dql.Mentions(e.text) {
			assert.NoError(t, tally.rewrite(e.text, vars), "%s: %s", e.name, e.text)
		}
		plain, err := dql.Parse(withoutDirectives(t, q))
		require.NoError(t, err)
		for i := range plain.Blocks {
			for _, text := range withDirective(plain, i) {
				assert.NoError(t, tally.rewrite(text, vars), "%s: %s", e.name, text)
			}
		}
	}
	require.Greater(t, tally.planned, 500)
	t.Log(&tally)
}

// withDirective writes each of the directives onto a root block, behind its parentheses and
// before its body, and links the question once.
func withDirective(q *dql.Query, i int) []string {
	b := q.Blocks[i]
	if b.Kind != dql.Root || !b.Args.HasParens {
		return nil
	}
	var texts []string
	put := func(edits ...dql.Edit) {
		if text, err := dql.Splice(q.Text, edits); err == nil {
			texts = append(texts, text)
		}
	}
	at := func(offset int, text string) dql.Edit {
		return dql.Edit{Span: dql.Span{Start: offset, End: offset}, Text: text}
	}
	for _, d := range directives {
		put(at(b.Args.Span.End+1, d))
		if b.HasBody {
			put(at(b.Body.Start-1, d))
		}
	}
	if b.Func != nil {
		put(at(b.Args.Span.End+1, directives[0]), dql.Edit{Span: b.Func.Span, Text: `evorag.entities(query: "who")`})
	}
	return texts
}

// tally counts what became of texts with the directive.
type tally struct{ planned, refused int }

func (y *tally) String() string {
	return fmt.Sprintf("%d texts with the directive were planned and are sound, %d were refused with a place and a reason", y.planned, y.refused)
}

// rewrite plans a text and checks the result; an error of ours must be one with a place.
func (y *tally) rewrite(text string, vars map[string]string) error {
	if !dql.Mentions(text) {
		return errors.New("the directive is not noticed")
	}
	q, err := dql.Parse(text)
	if err == nil {
		var p *plan.Plan
		if p, err = plan.Build(q, vars, caller, silent); err == nil {
			y.planned++
			return checked(p, vars)
		}
	}
	y.refused++
	var at *dql.Error
	if !errors.As(err, &at) || at.Line < 1 || at.Column < 1 || at.Msg == "" {
		return fmt.Errorf("an error without a place: %w", err)
	}
	return nil
}

func checked(p *plan.Plan, vars map[string]string) error {
	if len(p.Blocks) == 0 { // the directive stands where it is none
		if accepted(p.Query.Text, vars) {
			return errors.New("nothing is ranked")
		}
		return nil
	}
	starts := map[string][]graph.UID{}
	var edits []dql.Edit
	for _, b := range p.Blocks {
		edits = append(edits, dql.Edit{Span: b.Field.Directive("evorag").Span})
		if b.Entities > 0 {
			starts[b.Key] = []graph.UID{1}
			edits = append(edits, dql.Edit{Span: b.Field.Func.Span, Text: "uid(1)"})
		}
	}
	plain, err := dql.Splice(p.Query.Text, edits)
	if err != nil {
		return err
	}
	sent, err := p.Text(starts)
	if err != nil {
		return err
	}
	if dql.Mentions(sent) {
		return errors.New("the directive reaches the engine")
	}
	if err := (rewrite{p, plain, sent, vars}).check(); err != nil {
		return fmt.Errorf("%w\nsent: %s", err, sent)
	}
	return nil
}
