package triplefile_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/sidecar/internal/load/triplefile"
)

// readAll gives the statements as "head|relation|object" and the bad lines as their errors.
func readAll(t require.TestingT, r io.Reader, file string, format triplefile.Format) (good, bad []string) {
	reader, err := triplefile.NewReader(r, file, format)
	require.NoError(t, err)
	for {
		s, err := reader.Next()
		line := (*triplefile.LineError)(nil)
		switch {
		case errors.Is(err, io.EOF):
			return good, bad
		case errors.As(err, &line):
			bad = append(bad, err.Error())
		default:
			require.NoError(t, err)
			good = append(good, s.Head.Value+"|"+s.Relation.Value+"|"+s.Object.Value)
		}
	}
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", triplefile.MaxField+1)
	for name, c := range map[string]struct {
		file, text string
		good, bad  []string
	}{
		"TSV takes quotes, commas and unicode as they stand": {
			file: "a.tsv", text: "\"Eva\"\tdirected by\tL'été, 1\nÉva\tзнает\t日本\n",
			good: []string{`"Eva"|directed by|L'été, 1`, "Éva|знает|日本"},
		},
		"TSV has no comments, since a name may begin with #": {file: "a.tsv", text: "#Thatpower\tartist\tBieber", good: []string{"#Thatpower|artist|Bieber"}},
		"a byte order mark, CRLF and blank lines pass":       {file: "a.tsv", text: "\uFEFFa\tb\tc\r\n\r\n  \nd\te\tf\r\n", good: []string{"a|b|c", "d|e|f"}},
		"space around a name is not part of it":              {file: "a.tsv", text: " a \tb\t c\n", good: []string{"a|b|c"}},
		"an empty field is a bad line with its number":       {file: "a.tsv", text: "a\tb\tc\n\ta\tb\na\t \tb\na\tb\t\nd\te\tf\n", good: []string{"a|b|c", "d|e|f"}, bad: []string{"a.tsv:2: the head is empty", "a.tsv:3: the relation is empty", "a.tsv:4: the object is empty"}},
		"too few and too many columns are bad lines":         {file: "a.tsv", text: "a\tb\na\tb\tc\td\n", bad: []string{"a.tsv:1: 2 columns instead of 3 (head TAB relation TAB object)", "a.tsv:2: 4 columns instead of 3 (head TAB relation TAB object)"}},
		"bytes that are not UTF-8 are a bad line":            {file: "a.tsv", text: "a\tb\t\xff\na\tb\tc\n", good: []string{"a|b|c"}, bad: []string{"a.tsv:1: not UTF-8; convert the file first"}},
		"a NUL byte is a bad line":                           {file: "a.tsv", text: "a\x00\tb\tc\n", bad: []string{"a.tsv:1: the head holds a NUL byte"}},
		"a name beyond the limit is a bad line":              {file: "a.tsv", text: "a\tb\t" + long + "\na\tb\tc\n", good: []string{"a|b|c"}, bad: []string{"a.tsv:1: the object is 32769 bytes long; at most 32768"}},
		"a line beyond the limit is a bad line":              {file: "a.tsv", text: "a\tb\t" + strings.Repeat("x", 3*triplefile.MaxLine) + "\na\tb\tc\n", good: []string{"a|b|c"}, bad: []string{"a.tsv:1: longer than 1048576 bytes"}},
		"a header names the columns":                         {file: "a.csv", text: "Head,Relation,Object\na,b,c\n", good: []string{"a|b|c"}},
		"a first line that is no header is a triplet":        {file: "a.csv", text: "head,knows,c\n", good: []string{"head|knows|c"}},
		"CSV unquotes": {
			file: "a.csv", text: "\"a \"\"b\"\", c\",r,\"two\tparts\"\n\"line\nbreak\",r,o\nx,y,z\n",
			good: []string{"a \"b\", c|r|two\tparts", "line\nbreak|r|o", "x|y|z"},
		},
		"a stray quote in CSV costs its line and not the file": {
			file: "a.csv", text: "a,b,c\n\"d,e,f\ng,h,i\nj,k,l\n", good: []string{"a|b|c", "g|h|i", "j|k|l"},
			bad: []string{`a.csv:2: a quote is opened and not closed; write a quote inside a field twice: ""`},
		},
		"two stray quotes in CSV cost their two lines and nothing between": {
			file: "a.csv", text: "5\" disk,is,old\na,b,c\n3\" disk,is,new\nd,e,f\n", good: []string{"a|b|c", "d|e|f"},
			bad: []string{`a.csv:1: a quote is opened and not closed; write a quote inside a field twice: ""`, `a.csv:3: a quote is opened and not closed; write a quote inside a field twice: ""`},
		},
		"a bare quote in CSV is a bad line": {file: "a.csv", text: "a\"b\",c,d\n", bad: []string{`a.csv:1: bare " in non-quoted-field; put the field in quotes and write a quote inside it twice: ""`}},
		"JSONL takes its three keys, their synonyms and no notice of others": {
			file: "a.jsonl", text: `{"head":"a\t\"b\"","relation":"r","object":"é\n","id":7}` + "\n" + `{"subject":"a","predicate":"p","tail":"o"}`,
			good: []string{"a\t\"b\"|r|é", "a|p|o"},
		},
		"JSONL takes a value in the object's place": {
			file: "a.jsonl", text: `{"head":"a","relation":"text","value":"o \"x\""}` + "\n" + `{"head":"a","relation":"r","value":1}` + "\n" + `{"head":"a","relation":"r","value":"v","object":"o"}`,
			good: []string{`a|text|o "x"`}, bad: []string{`a.jsonl:2: "value" is not a string`, `a.jsonl:3: both "object" and "value" are there; write "object" for a node's name or "value" for a text`},
		},
		"JSONL that is not three strings is a bad line": {
			file: "a.jsonl", text: `{"head":"a","relation":"r"}` + "\n" + `{"head":1,"relation":"r","object":"o"}` + "\n" + `{"head":null,"relation":"r","object":"o"}` + "\n" + "[1]\n",
			bad: []string{`a.jsonl:1: there is no "object"`, `a.jsonl:2: "head" is not a string`, `a.jsonl:3: "head" is not a string`, `a.jsonl:4: not a JSON object on one line (json: cannot unmarshal array into Go value of type map[string]json.RawMessage); write {"head": "...", "relation": "...", "object": "..."}`},
		},
		"N-Quads pass over comments":                   {file: "a.nq", text: "# one\n<a> <b> <c> . # two\n", good: []string{"a|b|c"}},
		"the format is told by a first line of TSV":    {file: "-", text: "a\tb\tc\n", good: []string{"a|b|c"}},
		"the format is told by a first line of CSV":    {file: "-", text: "a,b,c\n", good: []string{"a|b|c"}},
		"the format is told by a first line of JSON":   {file: "-", text: "\n{\"head\":\"a\",\"relation\":\"b\",\"object\":\"c\"}\n", good: []string{"a|b|c"}},
		"the format is told by a first line of RDF":    {file: "-", text: "# x\n_:a <b> <c> .\n", good: []string{"a|b|c"}},
		"an empty file has no statements":              {file: "-", text: ""},
		"a file without a last line end is read fully": {file: "a.tsv", text: "a\tb\tc", good: []string{"a|b|c"}},
	} {
		t.Run(name, func(t *testing.T) {
			good, bad := readAll(t, strings.NewReader(c.text), c.file, triplefile.Auto)
			require.Equal(t, c.good, good)
			require.Equal(t, c.bad, bad)
		})
	}
}

func TestGzipIsFoundByItsFirstBytes(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte("\uFEFFa\tb\tc\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for _, file := range []string{"a.tsv.gz", "a.tsv", "-"} {
		good, bad := readAll(t, bytes.NewReader(b.Bytes()), file, triplefile.Auto)
		require.Equal(t, []string{"a|b|c"}, good)
		require.Empty(t, bad)
	}
	reader, err := triplefile.NewReader(bytes.NewReader(b.Bytes()[:b.Len()-4]), "cut.tsv.gz", triplefile.Auto)
	require.NoError(t, err)
	_, err = reader.Next()
	if err == nil {
		_, err = reader.Next()
	}
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "a file that was cut off is an error, not the end")
}

func TestNewReaderRefuses(t *testing.T) {
	_, err := triplefile.NewReader(strings.NewReader("hello world\n"), "notes.txt", triplefile.Auto)
	require.ErrorContains(t, err, "--format")
	_, err = triplefile.NewReader(strings.NewReader("\x1f\x8bno"), "x.gz", triplefile.Auto)
	require.ErrorContains(t, err, "gzip")
	_, err = triplefile.ParseFormat("xml")
	require.ErrorContains(t, err, "tsv, csv, jsonl, nt, nq")
}

func TestAReadThatFailsIsNotTheEnd(t *testing.T) {
	reader, err := triplefile.NewReader(io.MultiReader(strings.NewReader("a\tb\tc\n"), iotest.ErrReader(io.ErrClosedPipe)), "a.tsv", triplefile.Auto)
	require.NoError(t, err)
	_, err = reader.Next()
	require.NoError(t, err)
	_, err = reader.Next()
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

func TestEveryInputEndsAndEveryLineIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.SampledFrom([]triplefile.Format{triplefile.TSV, triplefile.JSONL, triplefile.NQuads, triplefile.CSV}).Draw(t, "format")
		lines := rapid.SliceOfN(rapid.StringMatching(`[a"\\<>_:@^.,\t {}()=é#-]{1,12}x`), 1, 8).Draw(t, "lines")
		good, bad := readAll(t, strings.NewReader(strings.Join(lines, "\n")), "f", format)
		if format == triplefile.TSV || format == triplefile.JSONL {
			require.Equal(t, len(lines), len(good)+len(bad))
		}
		require.LessOrEqual(t, len(good)+len(bad), len(lines))
	})
}
