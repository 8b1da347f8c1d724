package conformance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	_ "unsafe" // for go:linkname

	"github.com/dgraph-io/dgraph/v25/dql"
	"github.com/dgraph-io/dgraph/v25/lex"
)

// lexTopLevel is where Dgraph's lexer starts on a query (dql/state.go). The package keeps it to
// itself, hence the linkname; lexer.s lets the declaration stand without a body.
//
//go:linkname lexTopLevel github.com/dgraph-io/dgraph/v25/dql.lexTopLevel
func lexTopLevel(*lex.Lexer) lex.StateFn

// token is a piece of the text as Dgraph's lexer cuts it: its text and the offset of its first byte.
type token struct {
	text  string
	start int
}

// lexed gives all tokens of a text, by Dgraph's lexer.
func lexed(text string) (tokens []token, err error) {
	defer guard("lexer", &err)
	l := &lex.Lexer{}
	l.Reset(text)
	l.Run(lexTopLevel)
	if err := l.ValidateResult(); err != nil {
		return nil, err
	}
	lines := lineStarts(text)
	for it := l.NewIterator(); it.Next(); {
		item := it.Item()
		if item.Typ == lex.ItemEOF {
			break
		}
		start, err := offset(item, lines)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(text[min(start, len(text)):], item.Val) {
			return nil, fmt.Errorf("%v is not where it says", item)
		}
		tokens = append(tokens, token{item.Val, start})
	}
	return tokens, nil
}

var place = regexp.MustCompile(` at (\d+):(\d+)$`)

// offset is an item's place in the text; only its String tells line and column.
func offset(item lex.Item, lines []int) (int, error) {
	m := place.FindStringSubmatch(item.String())
	if m == nil {
		return 0, fmt.Errorf("%v tells no place", item)
	}
	line, err := strconv.Atoi(m[1])
	if err != nil {
		return 0, err
	}
	column, err := strconv.Atoi(m[2])
	if err != nil {
		return 0, err
	}
	if line > len(lines) {
		return 0, fmt.Errorf("%v is below the last line", item)
	}
	return lines[line-1] + column, nil
}

// lineStarts are the offsets at which lines start as Dgraph's lexer counts them: \r and \n each
// end one.
func lineStarts(text string) []int {
	starts := []int{0}
	for i := range len(text) {
		if lex.IsEndOfLine(rune(text[i])) {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// parsed is Dgraph's own reading of a query.
func parsed(text string, vars map[string]string) (result dql.Result, err error) {
	defer guard("parser", &err)
	return dql.Parse(dql.Request{Str: text, Variables: vars})
}

// accepted tells whether Dgraph can read a query.
func accepted(text string, vars map[string]string) bool {
	_, err := parsed(text, vars)
	return err == nil
}

// guard turns a panic of Dgraph's into an error.
func guard(what string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("Dgraph's %s panics: %v", what, r)
	}
}
