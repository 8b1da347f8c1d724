// Package status is what a person on call wants to know of a running sidecar: one value, the
// verdict on it, and how to ask an alpha for its health.
package status

import "time"

// State is the verdict in one word.
type State string

// The states.
const (
	OK       State = "ok"
	Degraded State = "degraded" // it answers; something wants looking after
	Failing  State = "failing"  // ranked queries or feedback don't work
)

// Report is the answer of GET /evorag/v1/status. Every part that could not be read says why
// in its Error; the others are as they are.
type Report struct {
	State    State    `json:"state"`
	Problems []string `json:"problems"` // what is wrong and what to do; empty where all is well

	Version   string    `json:"version"`
	Started   time.Time `json:"started"`
	UptimeSec int64     `json:"uptime_sec"`
	Namespace uint64    `json:"namespace"` // that this sidecar learns in

	Cluster    Cluster    `json:"cluster"`
	Migrations Migrations `json:"migrations"`
	Cache      Cache      `json:"cache"`
	Feedback   Feedback   `json:"feedback"`
	Alpha      Alpha      `json:"alpha"`
	Evolution  Evolution  `json:"evolution"`
	Models     []Model    `json:"models"`
}

// Cluster is Dgraph behind the sidecar.
type Cluster struct {
	HTTP    string `json:"http"`
	GRPC    string `json:"grpc"`
	Version string `json:"version,omitempty"` // of the alpha that is asked
	Nodes   []Node `json:"nodes"`             // as the alpha tells them: all, or itself alone
	Error   string `json:"error,omitempty"`
}

// Node is a zero or alpha as the cluster sees it.
type Node struct {
	Instance string `json:"instance"` // zero, alpha
	Address  string `json:"address"`
	Status   string `json:"status"` // healthy, unhealthy
	Group    string `json:"group,omitempty"`
	Version  string `json:"version,omitempty"`
}

// Migrations are how far the cluster's schema is.
type Migrations struct {
	Applied int    `json:"applied"`
	Pending int    `json:"pending"`
	Error   string `json:"error,omitempty"`
}

// Cache is the graph in memory.
type Cache struct {
	Mode      string     `json:"mode"`            // on, off
	State     string     `json:"state,omitempty"` // filling, resident, too large (a part is held), failing
	Nodes     int        `json:"nodes"`
	Edges     int        `json:"edges"`
	Hidden    int        `json:"hidden"` // suppressed edges
	Bytes     int64      `json:"bytes"`
	AsOf      *time.Time `json:"as_of,omitempty"`
	BehindSec float64    `json:"behind_sec"` // how far it may be behind the cluster

	// Of a part: nodes that searches found held, had to read, and that were put out for others.
	Hits      uint64 `json:"hits,omitempty"`
	Misses    uint64 `json:"misses,omitempty"`
	Evictions uint64 `json:"evictions,omitempty"`
}

// Feedback is how far learning is, by all replicas together.
type Feedback struct {
	Pending    int     `json:"pending"` // to be applied
	Waiting    int     `json:"waiting"` // for their retrieval or an evaluator
	Applied    int     `json:"applied"`
	Superseded int     `json:"superseded"`
	Held       int     `json:"held"` // kept to check evolution with
	Void       int     `json:"void"`
	LagSec     float64 `json:"lag_sec"` // age of the oldest that is still to be applied
	Batches    int     `json:"batches"` // of the journal
	Error      string  `json:"error,omitempty"`
}

// Alpha is the trade-off between relevance and contribution.
type Alpha struct {
	Now     float64 `json:"now"`
	Learned bool    `json:"learned"`
}

// Evolution is the last run and the next.
type Evolution struct {
	Schedule string     `json:"schedule"`           // five cron fields, or off
	Next     *time.Time `json:"next,omitempty"`     // tick
	Last     *Run       `json:"last_run,omitempty"` // nil: there was none
	Error    string     `json:"error,omitempty"`
}

// Run is a run of evolution in short.
type Run struct {
	ID        string     `json:"id"`
	State     string     `json:"state"`
	Began     time.Time  `json:"began"`
	Ended     *time.Time `json:"ended,omitempty"`
	Shortcuts int        `json:"shortcuts"`
	Hidden    int        `json:"hidden"`
	Note      string     `json:"note,omitempty"`
}

// Model is a model server.
type Model struct {
	Purpose string `json:"purpose"` // chat
	Name    string `json:"name"`
	URL     string `json:"url"`
	OK      bool   `json:"ok"`
	Error   string `json:"error,omitempty"`
}
