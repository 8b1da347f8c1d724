package search

// promise is a prefix, or what is left of a stream, with the greatest z that a path through it
// can have.
type promise struct {
	bound  float64
	prefix int32 // the stream's number where it is one
	stream bool
}

func (a promise) before(b promise) bool {
	if a.bound != b.bound {
		return a.bound > b.bound
	}
	return a.prefix < b.prefix || a.prefix == b.prefix && b.stream && !a.stream
}

// frontier is a binary heap of promises, the greatest bound on top, the older one first
// among equals.
type frontier []promise

func (f *frontier) push(p promise) {
	h := append(*f, p)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !p.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = p
	*f = h
}

func (f *frontier) pop() promise {
	h := *f
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*f = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if down+1 < len(h) && h[down+1].before(h[down]) {
			down++
		}
		if !h[down].before(last) {
			break
		}
		h[i] = h[down]
		i = down
	}
	h[i] = last
	return top
}
