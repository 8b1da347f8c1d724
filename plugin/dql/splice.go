package dql

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Splice applies edits to text; everything outside their spans stays byte for byte. Order in
// the list does not matter, except that insertions at one place keep it; an insertion where a
// replaced span starts goes before the replacement. Spans that overlap, or lie outside the
// text, are an error.
func Splice(text string, edits []Edit) (string, error) {
	if len(edits) == 0 {
		return text, nil
	}
	sorted := slices.Clone(edits)
	slices.SortStableFunc(sorted, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(sign(a.Span), sign(b.Span)))
	})
	var b strings.Builder
	done := 0
	for _, e := range sorted {
		if e.Span.Start < 0 || e.Span.End < e.Span.Start || e.Span.End > len(text) {
			return "", fmt.Errorf("edit of bytes %d to %d of a text of %d bytes", e.Span.Start, e.Span.End, len(text))
		}
		if e.Span.Start < done {
			return "", fmt.Errorf("edit of bytes %d to %d overlaps the one that ends at %d", e.Span.Start, e.Span.End, done)
		}
		b.WriteString(text[done:e.Span.Start])
		b.WriteString(e.Text)
		done = e.Span.End
	}
	b.WriteString(text[done:])
	return b.String(), nil
}

// sign sorts insertions before replacements that start at the same place.
func sign(s Span) int {
	if s.Empty() {
		return 0
	}
	return 1
}
