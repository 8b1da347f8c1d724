package graph

import "context"

// Tx is one read-write transaction of the extension's own work. Nothing is kept until the
// function that was given the Tx returns nil and the commit succeeds; when the engine
// aborts it, that function runs again with a new Tx.
type Tx interface {
	// Query reads at the transaction's timestamp, its own writes included.
	Query(ctx context.Context, text string, vars map[string]string) (data []byte, err error)
	// Set writes N-Quads and returns the uids given to their blank nodes, keyed without "_:".
	Set(ctx context.Context, nquads []byte) (map[string]UID, error)
	// Delete removes N-Quads; "<0x1> <pred> * ." removes all values.
	Delete(ctx context.Context, nquads []byte) error
	// Commit deletes, sets, and deletes more N-Quads, in that order, and commits, all in one
	// round trip. Nothing may follow it. It returns as Set does.
	Commit(ctx context.Context, deletes, sets, last []byte) (map[string]UID, error)
}

// Conditional is a mutation of an upsert: N-Quads to set where a condition over the query's
// variables holds, such as "@if(eq(len(v), 0))".
type Conditional struct {
	If  string
	Set []byte
}
