//go:build tools

// Package engine pins the sources of Dgraph v24.1.2, which build.sh builds. It is never compiled.
package engine

import _ "github.com/hypermodeinc/dgraph/v24/dgraph"
