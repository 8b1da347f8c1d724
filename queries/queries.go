// Package queries holds the text of every query that the sidecar sends: one file each,
// runnable as it stands.
package queries

import (
	"embed"
	"fmt"
)

// FS holds the *.dql files.
//
//go:embed *.dql
var FS embed.FS

// Text is the content of the file name.dql. It panics where there is none: the names are
// constants of this program.
func Text(name string) string {
	b, err := FS.ReadFile(name + ".dql")
	if err != nil {
		panic(fmt.Sprintf("queries: no file %s.dql", name))
	}
	return string(b)
}
