package render

import (
	"bytes"
	"math/big"
	"slices"
)

// byValue orders elements of the answer text as Dgraph orders by a value variable: those without a
// value are left out, equal ones keep their order.
func byValue(text []byte, elements []*Element, descending bool) []*Element {
	kept := slices.DeleteFunc(elements, func(e *Element) bool { return e.by == span{} })
	slices.SortStableFunc(kept, func(a, b *Element) int {
		c := compareScalars(a.by.of(text), b.by.of(text))
		if descending {
			return -c
		}
		return c
	})
	return kept
}

// compareScalars orders two JSON scalars of one type: numbers by size, exactly, however large;
// strings (datetimes among them, which the engine writes in one form) by their bytes.
func compareScalars(a, b []byte) int {
	x, okX := new(big.Rat).SetString(string(a))
	y, okY := new(big.Rat).SetString(string(b))
	if okX && okY {
		return x.Cmp(y)
	}
	s, _ := text(a)
	t, _ := text(b)
	if c := bytes.Compare(s, t); c != 0 {
		return c
	}
	return bytes.Compare(a, b) // false before true
}
