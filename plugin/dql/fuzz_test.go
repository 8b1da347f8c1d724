package dql

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// FuzzParse states the room's promises for any text: no panic, errors with a place inside the
// text, spans that nest, and a text that comes back as it was.
func FuzzParse(f *testing.F) {
	names, texts := corpus(f)
	for _, name := range names {
		f.Add(texts[name])
		f.Add("upsert { query " + texts[name] + " mutation { set { uid(x) <a> \"}\" . } } }")
	}
	f.Fuzz(func(t *testing.T, text string) {
		mentions := Mentions(text)
		for _, parse := range []func(string) (*Query, error){Parse, ParseUpsert} {
			q, err := parse(text)
			if err != nil {
				var place *Error
				require.ErrorAs(t, err, &place)
				require.LessOrEqual(t, place.Line, 1+strings.Count(text, "\n")+strings.Count(text, "\r"))
				require.Positive(t, place.Line)
				require.Positive(t, place.Column)
				require.LessOrEqual(t, place.Column, 1+utf8.RuneCountInString(text))
				require.NotEmpty(t, place.Msg)
				continue
			}
			require.Equal(t, text, q.Text)
			requireSpans(t, q)
			edits := cutDirectives(q)
			if len(edits) > 0 {
				require.True(t, mentions, "a text with the directive is never passed through")
			}
			cut, err := Splice(text, edits)
			require.NoError(t, err)
			again, err := parse(cut)
			require.NoError(t, err, "a text stays readable without its directives")
			require.Len(t, again.Blocks, len(q.Blocks))
			for _, b := range q.Blocks {
				if d := q.Directive(b); d != nil {
					_, _ = ReadEvoRAG(q, d, nil)
				}
			}
		}
	})
}

// FuzzSplice checks that bytes outside the edits stay, whatever the edits are.
func FuzzSplice(f *testing.F) {
	f.Add("abcdef", 1, 2, "x", 4, 4, "y")
	f.Add("abcdef", 4, 4, "", 0, 6, "yy")
	f.Fuzz(func(t *testing.T, text string, s1, e1 int, t1 string, s2, e2 int, t2 string) {
		edits := []Edit{{Span{s1, e1}, t1}, {Span{s2, e2}, t2}}
		got, err := Splice(text, edits)
		inside := 0 <= s1 && s1 <= e1 && e1 <= len(text) && 0 <= s2 && s2 <= e2 && e2 <= len(text)
		apart := e1 <= s2 || e2 <= s1
		if !inside || !apart {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		first, second := edits[0], edits[1]
		if s2 < s1 || s2 == s1 && e2 == s2 && e1 > s1 {
			first, second = second, first
		}
		want := text[:first.Span.Start] + first.Text + text[first.Span.End:second.Span.Start] + second.Text + text[second.Span.End:]
		require.Equal(t, want, got)
	})
}

func TestQuotedTextIsReadBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		literal := graph.Quote(s)
		got, err := Unquote(literal)
		require.NoError(t, err)
		require.Equal(t, strings.ToValidUTF8(s, "\uFFFD"), got)
		end, err := endOfString(literal, 0)
		require.NoError(t, err)
		require.Equal(t, len(literal), end)
		require.NotContains(t, literal, "\n")
	})
}
