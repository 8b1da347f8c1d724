//go:build tools

// Package engine pins the sources of the Dgraph engines that build.sh builds. It is never compiled.
package engine

import (
	_ "github.com/dgraph-io/dgraph/v25/dgraph"
	_ "github.com/hypermodeinc/dgraph/v25/dgraph"
)
