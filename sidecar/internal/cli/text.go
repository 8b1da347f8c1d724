package cli

import (
	"io"
	"os"
	"strconv"
)

// isTerminal tells a terminal from a file or pipe.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// grouped writes 1234567 as "1,234,567".
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// counted writes "1 result" or "3 results".
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return grouped(int64(n)) + " " + thing
}
