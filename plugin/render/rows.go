package render

import (
	"math"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
)

// Row is a node that was read again. Its bytes are pieces of the answer.
type Row struct {
	UID     graph.UID
	Name    []byte // decoded; empty where it has none
	Members []byte // as the engine wrote them, without brackets and without what a plan has put there
}

// rows reads a list of nodes, or the one that stands in its place, each with its plan.UIDKey; those
// without are passed over.
func (s *scanner) rows(names []string, each func(Row)) {
	s.items(func() {
		if s.next() != '{' {
			s.skip()
			return
		}
		if row, ok := s.node(names); ok {
			each(row)
		}
	})
}

// node reads one node; ok is false where it has no uid.
func (s *scanner) node(names []string) (r Row, ok bool) {
	best := math.MaxInt
	var shown span // members so far, in one piece
	s.take('{')
	for first := true; !s.fault && s.more('}', first); first = false {
		key := s.key()
		value := s.skip()
		if s.fault {
			return r, false
		}
		called := string(unescaped(s.text[key.start+1 : key.end-1]))
		if called == plan.UIDKey {
			r.UID, ok = uidIn(value.of(s.text))
		}
		for i, name := range names {
			if i < best && name == called {
				if t, is := text(value.of(s.text)); is {
					r.Name, best = t, i
				}
			}
		}
		switch {
		case plan.Spliced(called):
			if shown.end > shown.start { // what follows it stands in another piece
				r.Members = joined(r.Members, shown.of(s.text))
				shown = span{}
			}
		case shown.end == 0:
			shown = span{key.start, value.end}
		default:
			shown.end = value.end
		}
	}
	r.Members = joined(r.Members, shown.of(s.text))
	return r, ok
}

// joined is the members of two pieces of an object; it is the second itself where there is no other.
func joined(a, b []byte) []byte {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	out := make([]byte, 0, len(a)+1+len(b))
	return append(append(append(out, a...), ','), b...)
}
