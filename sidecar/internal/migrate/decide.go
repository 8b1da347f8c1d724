package migrate

import (
	"errors"
	"fmt"

	"github.com/evorag/dgraph-evorag/migrations"
)

// Errors of a decision.
var (
	// ErrChecksum: the cluster had another text of a migration than this program has.
	ErrChecksum = errors.New("a migration differs from the one the cluster has had")
	// ErrNewer: the cluster has had migrations that this program does not know.
	ErrNewer = errors.New("the cluster is ahead of this program")
)

// pending gives the steps that the cluster has not had, in order.
func pending(all []migrations.Migration, applied []Record) ([]migrations.Migration, error) {
	had, err := check(all, applied)
	if err != nil {
		return nil, err
	}
	var out []migrations.Migration
	for _, m := range all {
		if !had[m.Version] {
			out = append(out, m)
		}
	}
	return out, nil
}

// undoing gives the steps above version that the cluster has had, the newest first.
func undoing(all []migrations.Migration, applied []Record, version int) ([]migrations.Migration, error) {
	if version < 0 || version > len(all) {
		return nil, fmt.Errorf("there is no version %d; write one from 0 (nothing of evorag) to %d", version, len(all))
	}
	had, err := check(all, applied)
	if err != nil {
		return nil, err
	}
	var out []migrations.Migration
	for i := len(all) - 1; i >= version; i-- {
		if had[all[i].Version] {
			out = append(out, all[i])
		}
	}
	return out, nil
}

func check(all []migrations.Migration, applied []Record) (map[int]bool, error) {
	had := make(map[int]bool, len(applied))
	for _, r := range applied {
		if r.Version < 1 || r.Version > len(all) {
			return nil, fmt.Errorf("%w: it has had migration %d (%s), the newest here is %d; use the dgraph-evorag that migrated it, or a newer one", ErrNewer, r.Version, r.Name, len(all))
		}
		if m := all[r.Version-1]; m.Checksum != r.Checksum {
			return nil, fmt.Errorf("%w: migration %d (%s) was applied with checksum %.12s, here it is %.12s; use a released dgraph-evorag", ErrChecksum, r.Version, r.Name, r.Checksum, m.Checksum)
		}
		had[r.Version] = true
	}
	return had, nil
}
