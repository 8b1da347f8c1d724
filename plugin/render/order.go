package render

import (
	"cmp"
	"math/big"
	"slices"
)

// byValue orders elements as Dgraph orders by a value variable: those without a value are
// left out, equal ones keep their order.
func byValue(elements []*Element, descending bool) []*Element {
	kept := slices.DeleteFunc(elements, func(e *Element) bool { return e.by == nil })
	slices.SortStableFunc(kept, func(a, b *Element) int {
		c := compareScalars(a.by, b.by)
		if descending {
			return -c
		}
		return c
	})
	return kept
}

// compareScalars orders two JSON scalars of one type: numbers by size, exactly, however large;
// strings (datetimes among them, which the engine writes in one form) by their bytes.
func compareScalars(a, b *Value) int {
	x, okX := new(big.Rat).SetString(string(a.Raw))
	y, okY := new(big.Rat).SetString(string(b.Raw))
	if okX && okY {
		return x.Cmp(y)
	}
	s, _ := a.Text()
	t, _ := b.Text()
	if c := cmp.Compare(s, t); c != 0 {
		return c
	}
	return cmp.Compare(string(a.Raw), string(b.Raw)) // false before true
}
