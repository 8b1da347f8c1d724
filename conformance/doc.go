// Package conformance shows that the sidecar is Dgraph until a query says @evorag. Its tests
// hold what the project does with a query's text against Dgraph's own parser and lexer, and the
// answers that come through the sidecar against those of the alpha behind it, byte for byte.
//
// The queries are those of plugin/dql/testdata/corpus.txt, the data they are put to is in testdata.
package conformance
