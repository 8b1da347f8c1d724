// Package triplefile reads triplets from files: TSV, CSV, JSONL, N-Triples and N-Quads,
// plain or gzipped. It knows nothing of Dgraph but the facets that its N-Quads may carry.
package triplefile

import "fmt"

// Kind tells what a Term is.
type Kind uint8

// The kinds of terms.
const (
	Name    Kind = iota // of an entity or relation, as TSV, CSV and JSONL have them
	IRI                 // <http://...>
	Blank               // _:b0, known within its file only
	Literal             // a value
)

// Term is a head, a relation or an object.
type Term struct {
	Kind     Kind
	Value    string // without brackets, "_:" or quotes; escapes decoded
	Datatype string // of a Literal: the IRI, empty for a plain one
	Lang     string // of a Literal: the tag without @
}

// Statement is one triplet of a file.
type Statement struct {
	Head, Relation, Object Term
	Facets                 string // "since=2006, close=true" as written; empty where there are none
}

// LineError is a line that could not be read. The reader goes on after it.
type LineError struct {
	File string
	Line int // from 1
	Msg  string
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg) }
