package relevance

import (
	"fmt"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Vector is a sparse vector of unit length: Index is strictly ascending, Weight[i] belongs
// to Index[i]. The zero Vector stands for a text without a word; its cosine with anything
// is 0.
type Vector struct {
	Index  []uint16
	Weight []float32
}

// Dot is the cosine of two vectors of one embedder, in [-1,1] up to rounding.
func (v Vector) Dot(w Vector) float64 {
	var sum float64
	for i, j := 0, 0; i < len(v.Index) && j < len(w.Index); {
		switch a, b := v.Index[i], w.Index[j]; {
		case a < b:
			i++
		case a > b:
			j++
		default:
			sum += float64(v.Weight[i]) * float64(w.Weight[j])
			i++
			j++
		}
	}
	return sum
}

// Dense writes the vector out over dim dimensions.
func (v Vector) Dense(dim int) []float32 {
	d := make([]float32, dim)
	for i, x := range v.Index {
		d[x] = v.Weight[i]
	}
	return d
}

// Features of one text. A word and each of its pieces weigh the same.
const (
	stopWeight = 0.1 // of a word that says how a question is asked, not about what, against 1
	gramRunes  = 3   // length of a piece; 2 in scripts that write no spaces between words
)

// Hash is the built-in embedder: words and pieces of words (character trigrams) hashed into
// a fixed number of dimensions with a sign (Weinberger et al., Feature Hashing for Large
// Scale Multitask Learning, 2009). It is deterministic, needs no model, and knows nothing of meaning: two texts
// are near when they share words or pieces of words.
type Hash struct{ mask uint64 }

// DefaultDim is the dimension that NewHash is usually given. On the question sets measured in
// plugin/search more dimensions gain next to nothing; 512 lose up to two answers in a hundred.
const DefaultDim = 1024

// NewHash returns the embedder with the given dimension, a power of two in [64, 65536].
func NewHash(dim int) (*Hash, error) {
	if dim < 64 || dim > 1<<16 || dim&(dim-1) != 0 {
		return nil, fmt.Errorf("dimension %d: write a power of two from 64 to 65536", dim)
	}
	return &Hash{mask: uint64(dim - 1)}, nil
}

// Dim is the number of dimensions.
func (h *Hash) Dim() int { return int(h.mask) + 1 }

// Name identifies everything that a vector depends on, so that vectors and weights learned
// over another embedder are never mixed with these.
func (h *Hash) Name() string { return fmt.Sprintf("hash-v1/%d", h.Dim()) }

// Embed gives the vector of a text; equal texts give equal vectors.
func (h *Hash) Embed(text string) Vector { return h.embed(Words(text)) }

func (h *Hash) embed(words []string) Vector { return h.weigh(words, stopWeight, 1) }

// weigh hashes words and their pieces: a word of form weighs stop against 1, a piece gram
// against its word.
func (h *Hash) weigh(words []string, stop, gram float32) Vector {
	type feature struct {
		index  uint16
		weight float32
	}
	var features []feature
	add := func(kind byte, text string, weight float32) {
		x := hash(kind, text)
		if x>>63 == 1 {
			weight = -weight
		}
		features = append(features, feature{uint16(x & h.mask), weight})
	}
	for _, w := range words {
		weight := float32(1)
		if stopWords[w] {
			weight = stop
		}
		add('w', w, weight)
		for g := range grams(w) {
			add('g', g, weight*gram)
		}
	}
	slices.SortFunc(features, func(a, b feature) int { return int(a.index) - int(b.index) })
	var v Vector
	var square float64
	for i := 0; i < len(features); {
		index, sum := features[i].index, float32(0)
		for ; i < len(features) && features[i].index == index; i++ {
			sum += features[i].weight
		}
		if sum != 0 {
			v.Index = append(v.Index, index)
			v.Weight = append(v.Weight, sum)
			square += float64(sum) * float64(sum)
		}
	}
	norm := float32(math.Sqrt(square))
	for i := range v.Weight {
		v.Weight[i] /= norm
	}
	return v
}

// grams yields the pieces of a word: every three runes in a row, every two where the word
// is written without spaces to its neighbours. A shorter word is its own only piece.
func grams(word string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		n := gramRunes
		if first, _ := utf8.DecodeRuneInString(word); unicode.In(first, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
			n = 2
		}
		var starts []int
		for i := range word {
			starts = append(starts, i)
		}
		starts = append(starts, len(word))
		if len(starts) <= n {
			yield(word)
			return
		}
		for i := 0; i+n < len(starts); i++ {
			if !yield(word[starts[i]:starts[i+n]]) {
				return
			}
		}
	}
}

// hash is FNV-1a of a feature, finished with a multiply-shift so that the low bits (the
// dimension) and the high one (the sign) are independent.
func hash(kind byte, text string) uint64 {
	x := uint64(14695981039346656037)
	x = (x ^ uint64(kind)) * 1099511628211
	for i := range len(text) {
		x = (x ^ uint64(text[i])) * 1099511628211
	}
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// stopWords are the English words that carry a question's form.
var stopWords = func() map[string]bool {
	m := make(map[string]bool)
	for _, w := range []string{
		"a", "an", "and", "are", "as", "at", "be", "been", "by", "did", "do", "does", "for", "from", "had", "has",
		"have", "he", "her", "his", "how", "in", "is", "it", "its", "list", "me", "name", "of", "on", "or", "s",
		"she", "tell", "that", "the", "their", "them", "they", "this", "to", "was", "were", "what", "when",
		"where", "which", "who", "whom", "whose", "why", "with",
	} {
		m[w] = true
	}
	return m
}()
