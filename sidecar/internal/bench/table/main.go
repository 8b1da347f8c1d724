// Command table prints the rows that benchmarks have recorded and fails where one misses its
// bar, or where there is none.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/evorag/dgraph-evorag/sidecar/internal/bench"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: table FILE, of rows that benchmarks have recorded")
	}
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := bench.Recorded(f)
	if err != nil {
		return err
	}
	if err := bench.Print(os.Stdout, rows); err != nil {
		return err
	}
	missed := 0
	for _, r := range rows {
		if !r.Met() {
			missed++
		}
	}
	switch {
	case len(rows) == 0:
		return errors.New("no benchmark has recorded a row")
	case missed > 0:
		return fmt.Errorf("%d of %d rows miss their bars", missed, len(rows))
	}
	return nil
}
