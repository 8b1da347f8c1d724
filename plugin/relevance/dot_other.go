//go:build !amd64

package relevance

// dot is the product of two vectors of one length, a multiple of block.
func dot(a, b []int8) int32 { return dotGeneric(a, b) }
