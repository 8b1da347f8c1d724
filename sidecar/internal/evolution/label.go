package evolution

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/evorag/dgraph-evorag/plugin/evolve"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

// Bounds of a label that comes from outside.
const (
	longestLabel = 60 // letters
	failures     = 3  // of the labeler in one run, after which it is left alone
)

// labels names shortcuts, each metapath once: by the labeler where there is one and its
// answer is of use, else by joining what the relations are called. An answer of use is kept as
// long as the process lives.
func (r *Runner) labels(ctx context.Context, query facet.Query, shortcuts []evolve.Shortcut, called map[string]string) ([]string, error) {
	out := make([]string, len(shortcuts))
	var nodes map[graph.UID]string
	if r.Labeler != nil {
		seen := map[graph.UID]bool{}
		for _, s := range shortcuts {
			for _, st := range s.Path.Steps {
				seen[st.Head], seen[st.Object] = true, true
			}
		}
		var err error
		if nodes, err = names(ctx, query, r.Names, slices.Sorted(maps.Keys(seen))); err != nil {
			return nil, err
		}
	}
	known := map[string]string{} // by metapath
	failed := 0
	for i, s := range shortcuts {
		var key strings.Builder
		for _, rel := range s.Path.Metapath() {
			key.WriteString(rel.String() + " ")
		}
		label, ok := known[key.String()]
		if named, again := r.named.Load(key.String()); again && !ok {
			label, ok = named.(string), true
		}
		if !ok {
			label = evolve.Label(s.Path, called)
			if r.Labeler != nil && failed < failures {
				text, err := r.Labeler.Label(ctx, draw(s.Path, nodes, called))
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				switch {
				case err != nil:
					failed++
					r.Log.Warn("a shortcut's label is joined from its relations", "error", err)
				case usable(text):
					label = text
					r.named.Store(key.String(), label)
				}
			}
			known[key.String()] = label
		}
		out[i] = label
	}
	return out, nil
}

// usable tells a label that is short and on one line.
func usable(label string) bool {
	return label != "" && len([]rune(label)) <= longestLabel && label == strings.TrimSpace(label) &&
		!strings.ContainsFunc(label, unicode.IsControl)
}

// draw draws a path: "Alien -[directed by]-> Ridley Scott <-[founded]- Scott Free".
func draw(p graph.Path, nodes map[graph.UID]string, called map[string]string) string {
	var b strings.Builder
	b.WriteString(cmp.Or(nodes[p.Start], p.Start.String()))
	for _, s := range p.Steps {
		label := cmp.Or(called[s.Predicate], s.Predicate)
		if s.Inverse {
			b.WriteString(" <-[" + label + "]- ")
		} else {
			b.WriteString(" -[" + label + "]-> ")
		}
		b.WriteString(cmp.Or(nodes[s.To()], s.To().String()))
	}
	return b.String()
}
