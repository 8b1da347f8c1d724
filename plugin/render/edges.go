package render

import (
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
)

// rowReader reads rows of nodes with their edges.
type rowReader struct {
	scanner
	far []farEnd // of the row at hand
}

// edges reads what there is of edges that plan.Confirm asks for, a list of rows, and gives each with its ends.
func (r *rowReader) edges(each func(near, far graph.UID, is graph.Contribution)) {
	r.items(func() {
		near, ok := r.row()
		for _, e := range r.far {
			if ok {
				each(near, e.uid, e.Contribution)
			}
		}
	})
}

type farEnd struct {
	uid graph.UID
	graph.Contribution
}

// Keys as they are written.
const (
	quotedUID    = `"` + plan.ConfirmUID + `"`
	quotedEdge   = `"` + plan.ConfirmEdge + `"`
	quotedScore  = `"` + plan.ConfirmScore + `"`
	quotedHidden = `"` + plan.ConfirmHidden + `"`
)

// row reads a node and what is at the far ends of its edges; ok is false where it has no uid.
func (r *rowReader) row() (near graph.UID, ok bool) {
	r.far = r.far[:0]
	r.members(func(key []byte) {
		switch string(key) {
		case quotedUID:
			near, ok = uidIn(r.scalar().of(r.text))
		case quotedEdge:
			r.items(func() {
				if e, has := r.edge(); has {
					r.far = append(r.far, e)
				}
			})
		default:
			r.skip()
		}
	})
	return near, ok
}

// edge reads the far end of one edge; ok is false where it has no uid.
func (r *rowReader) edge() (e farEnd, ok bool) {
	e.Contribution = graph.Neutral()
	r.members(func(key []byte) {
		switch string(key) {
		case quotedUID:
			e.uid, ok = uidIn(r.scalar().of(r.text))
		case quotedScore:
			e.Score = number(r.scalar().of(r.text))
		case quotedHidden:
			e.Hidden = string(r.scalar().of(r.text)) == "true"
		default:
			r.skip()
		}
	})
	return e, ok
}
