package dql

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrorAt is an Error at a byte offset of the text; offsets outside it are moved to its ends.
func (q *Query) ErrorAt(offset int, format string, args ...any) *Error {
	line, column := position(q.Text, offset)
	return &Error{Line: line, Column: column, Msg: fmt.Sprintf(format, args...)}
}

// position counts lines and columns from 1, columns in runes. A line ends at \n, \r\n or \r.
func position(text string, offset int) (line, column int) {
	offset = min(max(offset, 0), len(text))
	line = 1
	start := 0
	for i := range offset {
		switch text[i] {
		case '\n':
			line++
			start = i + 1
		case '\r':
			if i+1 == len(text) || text[i+1] != '\n' {
				line++
				start = i + 1
			}
		}
	}
	return line, utf8.RuneCountInString(text[start:offset]) + 1
}

// located turns a fault into an *Error; nil and other errors stay what they are.
func (q *Query) located(err error) error {
	var f *fault
	if errors.As(err, &f) {
		return q.ErrorAt(f.offset, "%s", f.msg)
	}
	return err
}
