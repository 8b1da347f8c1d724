package graph

import (
	"fmt"
	"unicode/utf8"
)

// Quote writes s as a string of DQL and of N-Quads alike, quotes included. Dgraph reads
// the escapes \" \\ \n \r \t \b \f \v and \uXXXX, and no others. Text that is not UTF-8
// comes out with replacement characters.
func Quote(s string) string {
	return string(AppendQuote(make([]byte, 0, len(s)+2), s))
}

// AppendQuote appends what Quote gives.
func AppendQuote(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r < 0x20 || r == 0x7f:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
