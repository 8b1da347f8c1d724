package graph

import (
	"fmt"
	"strings"
)

// Quote writes s as a string of DQL and of N-Quads alike, quotes included. Dgraph reads
// the escapes \" \\ \n \r \t \b \f \v and \uXXXX, and no others. Text that is not UTF-8
// comes out with replacement characters.
func Quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
