// Package integration holds the tests of a whole sidecar in front of a real engine: who may
// see what, transactions, upserts, encryption. It has no code of its own.
package integration
