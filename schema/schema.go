// Package schema holds today's schema of the extension's own state: what a cluster has
// once every migration has run. A test keeps the two equal.
package schema

import _ "embed"

var (
	//go:embed bookkeeping.schema
	bookkeeping string
	//go:embed evolution.schema
	evolution string
	//go:embed relation.schema
	relation string
	//go:embed feedback.schema
	feedback string
	//go:embed weights.schema
	weights string
)

// Text defines every evorag.* predicate and type, in Dgraph's schema language.
var Text = bookkeeping + relation + feedback + evolution + weights
