package render

import (
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/plan"
)

// Reread reads answers to plan.ReRead and plan.Confirm, in one pass: they have thousands of nodes and
// edges. What has no func is passed over.
type Reread struct {
	Names []string                                                   // keys of a node's names, best first
	Node  func(Row)                                                  // of plan.ReReadNodes
	Named func(Row)                                                  // of plan.ConfirmNames
	Edge  func(ends int, near, far graph.UID, is graph.Contribution) // under plan.ConfirmKey(ends)
}

// Read reads an answer. Errors: ErrJSON.
func (r Reread) Read(answer []byte) error {
	s := rowReader{scanner: scanner{text: answer}}
	s.members(func(key []byte) {
		if s.fault {
			return
		}
		name := string(key[1 : len(key)-1])
		ends, ok := plan.ConfirmOf(name)
		switch {
		case name == plan.ReReadNodes && r.Node != nil:
			s.rows(r.Names, r.Node)
		case name == plan.ConfirmNames && r.Named != nil:
			s.rows(r.Names, r.Named)
		case ok && r.Edge != nil:
			s.edges(func(near, far graph.UID, is graph.Contribution) { r.Edge(ends, near, far, is) })
		default:
			s.skip()
		}
	})
	return s.end()
}
