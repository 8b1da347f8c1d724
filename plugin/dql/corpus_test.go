package dql

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var corpusName = regexp.MustCompile(`(?m)^-- (.*) --\n`)

// corpus reads testdata/corpus.txt: names in order, texts by name.
func corpus(t testing.TB) (names []string, texts map[string]string) {
	t.Helper()
	file, err := os.ReadFile("testdata/corpus.txt")
	require.NoError(t, err)
	texts = map[string]string{}
	at := corpusName.FindAllSubmatchIndex(file, -1)
	for i, m := range at {
		end := len(file)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name := string(file[m[2]:m[3]])
		require.NotContains(t, texts, name)
		names = append(names, name)
		texts[name] = string(file[m[1]:end])
	}
	return names, texts
}

func TestCorpusIsReadAndComesBackUnchanged(t *testing.T) {
	names, texts := corpus(t)
	require.Greater(t, len(names), 150)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			q, err := Parse(texts[name])
			require.NoError(t, err)
			requireSpans(t, q)

			ranked := 0
			for _, b := range q.Blocks {
				if q.Directive(b) != nil {
					ranked++
				}
			}
			require.Equal(t, ranked > 0, Mentions(q.Text))
			same, err := Splice(q.Text, nil)
			require.NoError(t, err)
			require.Equal(t, q.Text, same)

			cut, err := Splice(q.Text, cutDirectives(q))
			require.NoError(t, err)
			require.False(t, Mentions(cut))
			_, err = Parse(cut)
			require.NoError(t, err)
		})
	}
}

// cutDirectives are the edits that take every @evorag out.
func cutDirectives(q *Query) []Edit {
	var edits []Edit
	for _, b := range q.Blocks {
		if d := q.Directive(b); d != nil {
			edits = append(edits, Edit{Span: d.Span})
		}
	}
	return edits
}

// requireSpans checks what the package promises of every span of a parsed query.
func requireSpans(t testing.TB, q *Query) {
	t.Helper()
	whole := Span{0, len(q.Text)}
	last := 0
	for _, b := range q.Blocks {
		require.LessOrEqual(t, last, b.Span.Start, "blocks are in order and apart")
		last = b.Span.End
		requireField(t, q, b, whole)
	}
	last = 0
	for _, f := range q.Fragments {
		require.LessOrEqual(t, last, f.Span.Start)
		last = f.Span.End
		requireField(t, q, f, whole)
	}
	for _, v := range q.Vars {
		requireInside(t, v.Span, whole)
		require.Equal(t, byte('$'), q.Text[v.Span.Start])
	}
}

func requireField(t testing.TB, q *Query, f *Field, outer Span) {
	t.Helper()
	requireInside(t, f.Span, outer)
	requireInside(t, f.NameSpan, f.Span)
	name := q.Text[f.NameSpan.Start:f.NameSpan.End]
	if name == f.Name || name == "<"+f.Name+">" {
		name = f.Name
	}
	if !regexp.MustCompile(`[-<#\s]`).MatchString(name) {
		require.Equal(t, f.Name, name)
	}
	if f.HasBody {
		requireInside(t, f.Body, f.Span)
		require.Equal(t, byte('{'), q.Text[f.Body.Start-1])
		require.Equal(t, byte('}'), q.Text[f.Body.End])
	} else {
		require.Zero(t, f.Body)
		require.Empty(t, f.Children)
	}
	requireArgs(t, q, f.Args, f.Span)
	if f.Func != nil {
		requireInside(t, f.Func.Span, f.Args.Span)
		requireInside(t, f.Func.Args, f.Func.Span)
		requireList(t, q, f.Func.List, f.Func.Args)
	}
	last := f.Span.Start
	for _, d := range f.Directives {
		requireInside(t, d.Span, f.Span)
		require.LessOrEqual(t, last, d.Span.Start, "directives are in order and apart")
		last = d.Span.End
		require.Equal(t, byte('@'), q.Text[d.Span.Start])
		requireArgs(t, q, d.Args, d.Span)
	}
	last = f.Body.Start
	for _, c := range f.Children {
		require.LessOrEqual(t, last, c.Span.Start, "children are in order and apart")
		last = c.Span.End
		requireField(t, q, c, f.Body)
	}
}

func requireArgs(t testing.TB, q *Query, a Args, outer Span) {
	t.Helper()
	if !a.HasParens {
		require.Zero(t, a)
		return
	}
	requireInside(t, a.Span, outer)
	require.Equal(t, byte('('), q.Text[a.Span.Start-1])
	require.Equal(t, byte(')'), q.Text[a.Span.End])
	requireList(t, q, a.List, a.Span)
}

func requireList(t testing.TB, q *Query, list []Arg, outer Span) {
	t.Helper()
	last := outer.Start
	for _, a := range list {
		requireInside(t, a.Span, outer)
		requireInside(t, a.ValueSpan, a.Span)
		require.LessOrEqual(t, last, a.Span.Start)
		last = a.Span.End
		require.Equal(t, q.Text[a.ValueSpan.Start:a.ValueSpan.End], a.Value)
		require.NotEmpty(t, a.Value)
	}
}

func requireInside(t testing.TB, s, outer Span) {
	t.Helper()
	require.True(t, outer.Start <= s.Start && s.Start <= s.End && s.End <= outer.End, "%v inside %v", s, outer)
}
