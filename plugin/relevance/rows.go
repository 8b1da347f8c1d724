package relevance

import (
	"runtime"
	"slices"
	"sync"
)

// rowsPerPage is how many vectors are kept in one piece of memory.
const rowsPerPage = 1024

// NoRow stands for a text without a vector.
const NoRow = 0

// Rows are vectors of one model by number, from 1 on. It is a value: Append gives a longer one
// and leaves the others as they are, though they share memory. So one writer may go on while
// others read what they hold.
type Rows struct {
	dim   int
	n     int // rows, that of NoRow included
	pages []*rowPage
}

type rowPage struct {
	weight []int8 // rowsPerPage vectors, each padded to whole blocks
	scale  [rowsPerPage]float32
}

// Dim is the number of dimensions, 0 before the first vector.
func (r Rows) Dim() int { return r.dim }

// Len is the number of vectors.
func (r Rows) Len() int { return max(0, r.n-1) }

// RowBytes is the memory that a vector of so many dimensions takes.
func RowBytes(dim int) int { return stride(dim) + 4 }

// Bytes is the memory that all take.
func (r Rows) Bytes() int { return len(r.pages) * rowsPerPage * RowBytes(r.dim) }

// Append adds a vector and gives its number. Only the newest Rows may be appended to. A vector
// of another dimension than the first is not taken: ok is false.
func (r Rows) Append(d Dense) (longer Rows, row uint32, ok bool) {
	if d.None() || r.dim != 0 && len(d.Weight) != r.dim {
		return r, NoRow, false
	}
	if r.dim == 0 {
		r.dim, r.n = len(d.Weight), 1
	}
	if r.n/rowsPerPage == len(r.pages) {
		r.pages = append(slices.Clip(r.pages), &rowPage{weight: make([]int8, rowsPerPage*stride(r.dim))})
	}
	page, at := r.pages[r.n/rowsPerPage], r.n%rowsPerPage
	copy(page.weight[at*stride(r.dim):], d.Weight)
	page.scale[at] = d.Scale
	r.n++
	return r, uint32(r.n - 1), true
}

// cosine is that of a row with a padded vector.
func (r Rows) cosine(row uint32, x Dense) float32 {
	page, at := r.pages[row/rowsPerPage], int(row%rowsPerPage)
	n := len(x.Weight)
	return cosine(float32(dot(page.weight[at*n:(at+1)*n], x.Weight)) * page.scale[at] * x.Scale)
}

// has tells whether the question can be compared with the rows.
func (r Rows) has(q *Question) bool { return !q.Model.None() && len(q.Model.Weight) == r.dim }

// alone is how many products are left to one goroutine.
const alone = 8192

// inParts has work done on 0..n-1, in parts by several goroutines where that is worth it.
func inParts(n int, work func(from, to int)) {
	workers := min(runtime.GOMAXPROCS(0), n/alone+1)
	part := (n + workers - 1) / workers
	var others sync.WaitGroup
	for from := part; from < n; from += part {
		others.Go(func() { work(from, min(from+part, n)) })
	}
	work(0, min(part, n))
	others.Wait()
}

// overwrite writes the cosines with x of all ids that have a row over dst, which is as long as
// of. It takes some 10 ms for 200,000 vectors of 384 dimensions on one core.
func (r Rows) overwrite(dst []float32, of []uint32, x Dense) {
	inParts(len(of), func(from, to int) {
		for id := from; id < to; id++ {
			if row := of[id]; row != NoRow {
				dst[id] = r.cosine(row, x)
			}
		}
	})
}

// Cosines are those of x with the rows of some ids; 0 for NoRow, and for all where x is of another
// dimension.
func (r Rows) Cosines(of []uint32, x Dense) []float32 {
	cos := make([]float32, len(of))
	if len(x.Weight) == r.dim && !x.None() {
		r.overwrite(cos, of, x.padded())
	}
	return cos
}
