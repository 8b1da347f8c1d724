package triplefile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Format names how a file is written.
type Format string

// The formats. Auto takes the file's extension, else looks at its first line.
const (
	Auto     Format = ""
	TSV      Format = "tsv"
	CSV      Format = "csv"
	JSONL    Format = "jsonl"
	NTriples Format = "nt"
	NQuads   Format = "nq"
)

// MaxLine and MaxField bound what one line and one name, label or value may take, in bytes.
// Dgraph's index keys end a little above MaxField.
const (
	MaxLine  = 1 << 20
	MaxField = 32 << 10
)

var extensions = map[string]Format{
	".tsv": TSV, ".tab": TSV, ".csv": CSV, ".jsonl": JSONL, ".ndjson": JSONL,
	".nt": NTriples, ".nq": NQuads, ".rdf": NQuads,
}

// ParseFormat reads a format's name; empty and "auto" are Auto.
func ParseFormat(s string) (Format, error) {
	switch f := Format(strings.ToLower(s)); f {
	case Auto, TSV, CSV, JSONL, NTriples, NQuads:
		return f, nil
	case "auto":
		return Auto, nil
	}
	return Auto, fmt.Errorf("there is no format %q; write tsv, csv, jsonl, nt, nq or auto", s)
}

// Reader reads one file's statements in order.
type Reader struct {
	file   string
	format Format
	lines  *lines
	parse  func(line string) (Statement, error)
	first  bool
}

// NewReader looks at the beginning of r to find gzip and, for Auto, the format; file is the
// name that its extension is taken from and that errors carry.
func NewReader(r io.Reader, file string, format Format) (*Reader, error) {
	buf := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := buf.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(buf)
		if err != nil {
			return nil, fmt.Errorf("%s: not readable as gzip: %w", file, err)
		}
		buf = bufio.NewReaderSize(z, 1<<16)
	}
	if bom, _ := buf.Peek(3); bytes.Equal(bom, []byte("\uFEFF")) {
		_, _ = buf.Discard(3)
	}
	if format == Auto {
		format = extensions[filepath.Ext(strings.TrimSuffix(strings.ToLower(file), ".gz"))]
	}
	if format == Auto {
		head, err := buf.Peek(1 << 12)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if format = sniff(string(head)); format == Auto && len(head) > 0 {
			return nil, fmt.Errorf("%s: the format cannot be told from its name or first line; name it with --format tsv, csv, jsonl, nt or nq", file)
		}
	}
	out := &Reader{file: file, format: format, lines: &lines{r: buf}, first: true}
	switch format {
	case TSV:
		out.parse = parseTSV
	case CSV:
		out.parse = parseCSV
	case JSONL:
		out.parse = parseJSON
	default:
		out.parse = parseNQuad
	}
	return out, nil
}

// sniff tells the format by the first line that says something.
func sniff(head string) Format {
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasPrefix(line, "{"):
			return JSONL
		case (strings.HasPrefix(line, "<") || strings.HasPrefix(line, "_:")) && strings.Contains(line, " "):
			return NQuads
		case strings.Count(line, "\t") == 2:
			return TSV
		case strings.HasPrefix(line, "#"):
		case strings.Count(line, ",") >= 2:
			return CSV
		default:
			return Auto
		}
	}
	return Auto
}

// Format is the format that is read.
func (r *Reader) Format() Format { return r.format }

// Next gives the next statement, io.EOF at the end, a *LineError for a line that is not
// readable (Next may be called again), or what the underlying reader failed with.
func (r *Reader) Next() (Statement, error) {
	for {
		line, err := r.lines.next()
		if r.format == CSV && err == nil {
			line, err = r.lines.record(line)
		}
		number := r.lines.start
		switch {
		case errors.Is(err, errTooLong):
			return Statement{}, &LineError{r.file, number, fmt.Sprintf("longer than %d bytes", MaxLine)}
		case errors.Is(err, errQuote):
			return Statement{}, &LineError{r.file, number, `a quote is opened and not closed; write a quote inside a field twice: ""`}
		case err != nil && !errors.Is(err, io.EOF):
			return Statement{}, fmt.Errorf("%s:%d: %w", r.file, number, err)
		case err != nil:
			return Statement{}, io.EOF
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if r.first {
			r.first = false
			if r.header(line) {
				continue
			}
		}
		s, err := r.read(line)
		if errors.Is(err, errComment) {
			continue
		}
		if err != nil {
			return Statement{}, &LineError{r.file, number, err.Error()}
		}
		return s, nil
	}
}

func (r *Reader) read(line string) (Statement, error) {
	if !utf8.ValidString(line) {
		return Statement{}, errors.New("not UTF-8; convert the file first")
	}
	s, err := r.parse(line)
	if err != nil {
		return Statement{}, err
	}
	for _, part := range []struct {
		what string
		term *Term
	}{{"head", &s.Head}, {"relation", &s.Relation}, {"object", &s.Object}} {
		if part.term.Kind == Name {
			part.term.Value = strings.TrimSpace(part.term.Value)
		}
		if part.term.Value == "" && part.term.Kind != Literal {
			return Statement{}, fmt.Errorf("the %s is empty", part.what)
		}
		if len(part.term.Value) > MaxField {
			return Statement{}, fmt.Errorf("the %s is %d bytes long; at most %d", part.what, len(part.term.Value), MaxField)
		}
		if strings.ContainsRune(part.term.Value, 0) {
			return Statement{}, fmt.Errorf("the %s holds a NUL byte", part.what)
		}
	}
	return s, nil
}

// header reports whether the first line names the columns instead of holding a triplet.
func (r *Reader) header(line string) bool {
	if r.format != TSV && r.format != CSV {
		return false
	}
	s, err := r.parse(line)
	if err != nil {
		return false
	}
	column := func(t Term, names ...string) bool {
		for _, n := range names {
			if strings.EqualFold(strings.TrimSpace(t.Value), n) {
				return true
			}
		}
		return false
	}
	return column(s.Head, headNames...) && column(s.Relation, relationNames...) && column(s.Object, objectNames...)
}

var (
	errTooLong = errors.New("line too long")
	errQuote   = errors.New("open quote")
	errComment = errors.New("comment")
)

// lines splits its reader, and skips over lines longer than MaxLine instead of holding them.
type lines struct {
	r       *bufio.Reader
	start   int // of the line or record that was given last, from 1
	read    int // how many were read
	pending []string
}

// next gives a line without its end, "\n" or "\r\n".
func (l *lines) next() (string, error) {
	line, err := l.physical()
	l.start = l.read - len(l.pending)
	return line, err
}

func (l *lines) physical() (string, error) {
	if len(l.pending) > 0 {
		line := l.pending[0]
		l.pending = l.pending[1:]
		return line, nil
	}
	var b []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if len(b)+len(part) <= MaxLine {
			b = append(b, part...)
		} else {
			b = append(b[:0], make([]byte, MaxLine+1)...) // remembered by its length only
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (len(b) == 0 || !errors.Is(err, io.EOF)) {
			return "", err
		}
		l.read++
		if len(b) > MaxLine {
			return "", errTooLong
		}
		return string(bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))), nil
	}
}

// maxRecordLines bounds a CSV record, so that one stray quote costs one line and not the file.
const maxRecordLines = 100

// record joins lines until every quote is closed; if that does not happen soon, or makes no
// record, the first line alone is given up and reading goes on with the second.
func (l *lines) record(line string) (string, error) {
	if strings.Count(line, `"`)%2 == 0 {
		return line, nil
	}
	joined, more := line, []string(nil)
	for len(more) < maxRecordLines && len(joined) <= MaxLine {
		next, err := l.physical()
		if errors.Is(err, io.EOF) || errors.Is(err, errTooLong) {
			break
		}
		if err != nil {
			return "", err
		}
		more = append(more, next)
		joined += "\n" + next
		if strings.Count(next, `"`)%2 == 1 {
			if _, err := parseCSV(joined); err == nil {
				return joined, nil
			}
			break
		}
	}
	l.pending = append(more, l.pending...)
	return "", errQuote
}

// Bad is the error of a statement that Next gave and its taker refuses, at its line.
func (r *Reader) Bad(err error) *LineError {
	return &LineError{r.file, r.lines.start, err.Error()}
}
