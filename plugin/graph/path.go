package graph

import (
	"fmt"
	"strings"
)

// ShortcutPredicate joins the ends of paths that evolution has fused. Its edges may be
// followed as the user's own, although it is the extension's.
const ShortcutPredicate = "evorag.shortcut"

// ShortcutLabel is what a shortcut is called that has no label of its own.
const ShortcutLabel = "shortcut"

// Facets that a shortcut has beside the learned ones.
const (
	LabelFacet = "evorag.label" // what it is shown as
	ViaFacet   = "evorag.via"   // Path.String of the path that it stands for
	RunFacet   = "evorag.run"   // the evolution run that made it
)

// String writes the path as the facet evorag.via has it: uids and relations by turns,
// "0x1 directed_by 0x2 ~starring 0x3". Scores are not part of it.
func (p Path) String() string {
	var b strings.Builder
	b.WriteString(p.Start.String())
	for _, s := range p.Steps {
		fmt.Fprintf(&b, " %s %s", s.Relation(), s.To())
	}
	return b.String()
}

// ParsePath reads what String writes. Its steps have no scores.
func ParsePath(text string) (Path, error) {
	words := strings.Fields(text)
	if len(words)%2 == 0 {
		return Path{}, fmt.Errorf("%q is not a path; write uids and predicates by turns, like 0x1 directed_by 0x2", text)
	}
	var p Path
	from := UID(0)
	for i := 0; i < len(words); i += 2 {
		to, err := ParseUID(words[i])
		if err != nil {
			return Path{}, fmt.Errorf("the path %q: %w", text, err)
		}
		if i == 0 {
			p.Start, from = to, to
			continue
		}
		r := ParseRelation(words[i-1])
		s := Step{Triplet: Triplet{Head: from, Predicate: r.Predicate, Object: to}, Inverse: r.Inverse}
		if r.Inverse {
			s.Head, s.Object = to, from
		}
		p.Steps = append(p.Steps, s)
		from = to
	}
	return p, nil
}
