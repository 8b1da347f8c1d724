package graph

import "time"

// Credentials are the caller's, passed on as they came and never widened: gRPC metadata
// keys in lower case ("accessjwt", "auth-token") with their values.
type Credentials map[string][]string

// Call is one read of the engine on behalf of a caller.
type Call struct {
	Query       string
	Vars        map[string]string
	StartTS     uint64 // 0: the engine assigns one
	Hash        string // of an open transaction
	ReadOnly    bool
	BestEffort  bool
	Debug       bool // every node comes with its uid, as with Dgraph's debug=true
	Credentials Credentials
}

// Answer is the engine's reply to a Call. JSON holds the bytes of "data" as they came.
type Answer struct {
	JSON    []byte
	Txn     Txn
	Latency Latency
	NumUIDs map[string]uint64 // Dgraph's extensions.metrics.num_uids
}

// Txn is the transaction context that the engine returned; it goes back to the caller unchanged.
type Txn struct {
	StartTS, CommitTS uint64
	Aborted           bool
	Keys, Preds       []string
	Hash              string
}

// Latency is the engine's own account of a call.
type Latency struct {
	AssignTimestamp, Parsing, Processing, Encoding, Total time.Duration
}
