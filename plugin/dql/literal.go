package dql

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escapes are the characters that Dgraph accepts after a backslash.
const escapes = `uvtbnrf"'\`

var unescaped = map[byte]byte{
	'v': '\v', 't': '\t', 'b': '\b', 'n': '\n', 'r': '\r', 'f': '\f', '"': '"', '\'': '\'', '\\': '\\',
}

// Unquote decodes a string literal. It reads all that Dgraph reads, and besides \' and pairs
// of surrogates, which Dgraph's lexer lets pass but its parser refuses.
func Unquote(literal string) (string, error) {
	if len(literal) < 2 || literal[0] != '"' || literal[len(literal)-1] != '"' {
		return "", fmt.Errorf("%s is not a string; write it in double quotes", literal)
	}
	in := literal[1 : len(literal)-1]
	if strings.IndexByte(in, '\\') < 0 && strings.IndexByte(in, '"') < 0 && utf8.ValidString(in) {
		return in, nil
	}
	var b strings.Builder
	b.Grow(len(in))
	for i := 0; i < len(in); {
		switch c := in[i]; {
		case c == '"':
			return "", errors.New(`a " inside a string is written \"`)
		case c != '\\':
			r, size := utf8.DecodeRuneInString(in[i:])
			b.WriteRune(r)
			i += size
		case i+1 < len(in) && in[i+1] == 'u':
			r, size := unicodeEscape(in[i:])
			if size == 0 {
				return "", errors.New(`\u takes four hexadecimal digits, as in \u00e9; characters above them are a pair, as in \ud83d\ude00`)
			}
			b.WriteRune(r)
			i += size
		default:
			if i+1 == len(in) || unescaped[in[i+1]] == 0 {
				return "", errors.New(`an escape is one of \u \v \t \b \n \r \f \" \' \\`)
			}
			b.WriteByte(unescaped[in[i+1]])
			i += 2
		}
	}
	return b.String(), nil
}

// unicodeEscape decodes the \uXXXX, or the pair of them, that s starts with; size 0 if it is
// none.
func unicodeEscape(s string) (r rune, size int) {
	first, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(first) {
		return first, 6
	}
	second, ok := hex4(s[6:])
	if !ok {
		return 0, 0
	}
	if r = utf16.DecodeRune(first, second); r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for i := 2; i < 6; i++ {
		if !isHex(s[i]) {
			return 0, false
		}
	}
	v, err := strconv.ParseUint(s[2:6], 16, 32)
	return rune(v), err == nil
}
