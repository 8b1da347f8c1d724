package relevance

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2

//go:noescape
func dotAVX2(a, b *int8, n int) int32

// dot is the product of two vectors of one length, a multiple of block.
func dot(a, b []int8) int32 {
	if !hasAVX2 || len(a) == 0 {
		return dotGeneric(a, b)
	}
	_ = b[len(a)-1]
	return dotAVX2(&a[0], &b[0], len(a))
}
