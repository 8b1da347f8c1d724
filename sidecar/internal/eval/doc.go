// Package eval measures whether feedback helps on questions that it was not given for. It loads
// a question set into a real cluster, and lets it be asked, rated and evolved through the
// sidecar's public HTTP interfaces only; what it measures goes into a report.
//
// The experiments are those of section 6 of the paper, where docs/EVALUATION.md says how each is
// carried out here.
package eval
