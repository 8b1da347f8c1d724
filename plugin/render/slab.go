package render

// slab gives room for many small things out of few large pieces, which are used again after
// reset.
type slab[T any] struct {
	pieces [][]T
	at     int // the piece in use
	used   int // of it
}

const (
	pieceLen   = 512
	piecesKept = 64 // after reset: those of an uncommonly large answer are left to the collector
)

// take gives room for n in a row.
func (s *slab[T]) take(n int) []T {
	for s.at < len(s.pieces) && len(s.pieces[s.at])-s.used < n {
		s.at, s.used = s.at+1, 0
	}
	if s.at == len(s.pieces) {
		s.pieces = append(s.pieces, make([]T, max(n, pieceLen)))
	}
	s.used += n
	return s.pieces[s.at][s.used-n : s.used : s.used]
}

// copy is a copy of items; nil of none.
func (s *slab[T]) copy(items []T) []T {
	if len(items) == 0 {
		return nil
	}
	out := s.take(len(items))
	copy(out, items)
	return out
}

// reset forgets what the pieces hold and makes them free.
func (s *slab[T]) reset() {
	if len(s.pieces) > piecesKept {
		s.pieces = nil
	}
	for i := range min(s.at+1, len(s.pieces)) {
		clear(s.pieces[i])
	}
	s.at, s.used = 0, 0
}
