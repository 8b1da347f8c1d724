package dql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSplice(t *testing.T) {
	edit := func(start, end int, text string) Edit { return Edit{Span{start, end}, text} }
	cases := []struct {
		name  string
		edits []Edit
		want  string // empty: refused
	}{
		{"nothing to do", nil, "abcdef"},
		{"an insertion", []Edit{edit(3, 3, "-")}, "abc-def"},
		{"a replacement", []Edit{edit(1, 3, "-")}, "a-def"},
		{"a cut", []Edit{edit(1, 3, "")}, "adef"},
		{"at both ends", []Edit{edit(6, 6, ">"), edit(0, 0, "<")}, "<abcdef>"},
		{"insertions at one place keep their order", []Edit{edit(3, 3, "1"), edit(3, 3, "2")}, "abc12def"},
		{"an insertion where a replacement starts goes first", []Edit{edit(3, 4, "D"), edit(3, 3, "1")}, "abc1Def"},
		{"an insertion where a replacement ends goes after it", []Edit{edit(4, 4, "1"), edit(3, 4, "D")}, "abcD1ef"},
		{"neighbours", []Edit{edit(2, 4, "x"), edit(0, 2, "y")}, "yxef"},
		{"overlap", []Edit{edit(0, 3, "x"), edit(2, 4, "y")}, ""},
		{"the same span twice", []Edit{edit(1, 3, "x"), edit(1, 3, "x")}, ""},
		{"an insertion inside a replacement", []Edit{edit(1, 3, "x"), edit(2, 2, "y")}, ""},
		{"past the end", []Edit{edit(5, 7, "")}, ""},
		{"before the start", []Edit{edit(-1, 2, "")}, ""},
		{"backwards", []Edit{edit(3, 2, "")}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Splice("abcdef", c.edits)
			if c.want == "" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestUnquote(t *testing.T) {
	cases := []struct {
		name, literal, want string
		ok                  bool
	}{
		{"plain", `"Eva"`, "Eva", true},
		{"empty", `""`, "", true},
		{"every escape", `"\v\t\b\n\r\f\"\'\\\u00e9"`, "\v\t\b\n\r\f\"'\\é", true},
		{"a pair of surrogates", `"\ud83d\ude00"`, "😀", true},
		{"a line break", "\"a\nb\"", "a\nb", true},
		{"half a pair", `"\ud83d"`, "", false},
		{"a pair of the wrong halves", `"\ud83d\u0041"`, "", false},
		{"too few digits", `"\u00e"`, "", false},
		{"an unknown escape", `"\x41"`, "", false},
		{"a quote inside", `"a"b"`, "", false},
		{"an escaped end", `"a\"`, "", false},
		{"no quotes", `Eva`, "", false},
		{"one quote", `"`, "", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Unquote(c.literal)
			require.Equal(t, c.ok, err == nil, err)
			require.Equal(t, c.want, got)
		})
	}
}
