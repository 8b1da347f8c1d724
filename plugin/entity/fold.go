package entity

//go:generate go run fold_gen.go

// fold gives the base letters of a lower-case rune: "é" -> "e", "ß" -> "ss". Runes without
// accents stay as they are.
func fold(r rune) string {
	if r < 0x80 {
		return ascii[r : r+1]
	}
	if s, ok := folds[r]; ok {
		return s
	}
	return string(r)
}

var ascii = func() string {
	b := make([]byte, 0x80)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}()

// folds reads foldTable: one entry a field, the rune and then its base letters.
var folds = func() map[rune]string {
	m := make(map[rune]string, len(foldTable)/4)
	var key rune
	from := -1
	for i, r := range foldTable {
		switch {
		case r == ' ':
			m[key] = foldTable[from:i]
			from = -1
		case from < 0:
			key = r
			from = i + len(string(r))
		}
	}
	return m
}()
