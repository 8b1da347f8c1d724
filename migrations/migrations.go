// Package migrations holds the numbered steps that bring a cluster to today's schema:
// NNNN_name.up.schema is given to the engine as it stands, NNNN_name.down.drop lists what
// to take away again, a "predicate X" or "type X" a line. A step that was released is never
// edited: its checksum is recorded in the clusters that had it.
package migrations

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed *.schema *.drop
var files embed.FS

// Migration is one step.
type Migration struct {
	Version  int // from 1, without gaps
	Name     string
	Up       string // schema text; applying it twice changes nothing
	Down     []Drop // in order
	Checksum string // SHA-256 of both files, hexadecimal
}

// Drop takes one predicate with its values, or one type, out of the cluster.
type Drop struct {
	Type bool // else a predicate
	Name string
}

// All returns every migration in order.
func All() ([]Migration, error) { return read(files) }

func read(dir fs.FS) ([]Migration, error) {
	ups, err := fs.Glob(dir, "*.up.schema") // sorted
	if err != nil {
		return nil, err
	}
	all := make([]Migration, 0, len(ups))
	for i, file := range ups {
		stem := strings.TrimSuffix(file, ".up.schema")
		number, name, _ := strings.Cut(stem, "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 || name == "" {
			return nil, fmt.Errorf("migrations: %s should be named %04d_what.up.schema", file, i+1)
		}
		up, err := fs.ReadFile(dir, file)
		if err != nil {
			return nil, err
		}
		down, err := fs.ReadFile(dir, stem+".down.drop")
		if err != nil {
			return nil, fmt.Errorf("migrations: %s has no way back: %w", file, err)
		}
		drops, err := parseDrops(string(down))
		if err != nil {
			return nil, fmt.Errorf("migrations: %s.down.drop: %w", stem, err)
		}
		sum := sha256.Sum256(append(append(up, 0), down...))
		all = append(all, Migration{version, name, string(up), drops, hex.EncodeToString(sum[:])})
	}
	return all, nil
}

func parseDrops(text string) ([]Drop, error) {
	var drops []Drop
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case len(f) == 2 && (f[0] == "predicate" || f[0] == "type") && strings.HasPrefix(f[1], "evorag."):
			drops = append(drops, Drop{Type: f[0] == "type", Name: f[1]})
		default:
			return nil, fmt.Errorf("%q; write \"predicate evorag.x\" or \"type evorag.X\"", strings.TrimSpace(line))
		}
	}
	return drops, nil
}
