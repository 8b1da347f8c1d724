// Package relevance gives Sr, the semantic relevance of a triplet to a question: the
// second half of equation (2), Sr = (1+cos)/2 in (0,1].
//
// Texts become vectors once: an entity's name and a relation's label each have a compact
// vector in a Table, under the caller's dense id. For a question a triplet's cosine is
// composed from its three parts, without touching text and without allocating, so a
// search can afford Sr for every edge it looks at.
//
// The built-in embedder is Hash: no model, no key, no state.
package relevance

// MinSr keeps Sr above zero, so that it can never take a path out by itself.
const MinSr = 1e-6

// Sr is the relevance that a cosine in [-1,1] stands for; what lies outside is clamped.
func Sr(cos float64) float64 {
	return max(MinSr, min(1, (1+cos)/2))
}
