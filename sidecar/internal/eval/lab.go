package eval

import "context"

// Lab gives clusters to measure on.
type Lab interface {
	// Open gives a cluster with the triplets of a file, and nothing learned.
	Open(ctx context.Context, name, file string) (Cluster, error)
	// Fresh tells whether each Open gives a cluster of its own, empty before.
	Fresh() bool
}

// Cluster is a cluster with one graph in it.
type Cluster interface {
	// Serve starts a sidecar in front of it with settings by their path, for instance
	// "feedback.min_fidelity", and gives its URL; stop ends it.
	Serve(ctx context.Context, settings map[string]string) (url string, stop func() error, err error)
	// Reset takes away all that was learned: runs are undone, scores forgotten. No sidecar may
	// be running.
	Reset(ctx context.Context) error
	Close() error
}
