package render

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Context writes results as numbered lines for a prompt, one a bundle. A relation walked
// from object to head is drawn as an arrow to the left. Paths of one bundle that differ in
// their last node only share a line:
//
//	[1] Alien -[directed by]-> Ridley Scott
//	[2] Alien -[directed by]-> ? <-[directed by]- ?: Ridley Scott: Gladiator, Blade Runner; and 3 more
func Context(results []graph.Result) string { return Numbered(results, Draw(results)) }

// Numbered is Context of results that have been drawn.
func Numbered(results []graph.Result, drawn []string) string {
	var b strings.Builder
	for i, r := range results {
		if drawn[i] != "" {
			fmt.Fprintf(&b, "[%d] %s\n", r.N, drawn[i])
		}
	}
	return b.String()
}

// Draw is the lines of Context without their numbers; empty for a result without paths.
func Draw(results []graph.Result) []string {
	drawn := make([]string, len(results))
	for i, r := range results {
		switch {
		case len(r.Instances) == 0:
		case len(r.Instances) == 1 && r.Total <= 1:
			drawn[i] = Line(r.Instances[0])
		default:
			var b strings.Builder
			bundle(&b, r)
			drawn[i] = b.String()
		}
	}
	return drawn
}

// Line draws one path: "Eva -[knows]-> Bob <-[likes]- Ann".
func Line(p graph.Instance) string {
	var b strings.Builder
	for i, n := range p.Nodes {
		if i > 0 {
			b.WriteString(Arrow(p.Triplets[i-1]))
		}
		b.WriteString(Display(n))
	}
	return b.String()
}

// Arrow draws a triplet between the two nodes of a step.
func Arrow(t graph.ScoredTriplet) string {
	if t.Inverse {
		return " <-[" + t.Label + "]- "
	}
	return " -[" + t.Label + "]-> "
}

// Display is a node's name on one line, else its uid.
func Display(n graph.Node) string {
	if n.Name == "" {
		return n.UID.String()
	}
	if onOneLine(n.Name) {
		return n.Name
	}
	return strings.Join(strings.Fields(n.Name), " ")
}

// onOneLine tells a name that has no other white space than single spaces within.
func onOneLine(name string) bool {
	space := true // before it
	for _, r := range name {
		if unicode.IsSpace(r) && (r != ' ' || space) {
			return false
		}
		space = r == ' '
	}
	return !space
}

func bundle(b *strings.Builder, r graph.Result) {
	b.WriteString(Display(r.Start))
	for _, t := range r.Instances[0].Triplets {
		b.WriteString(Arrow(t) + "?")
	}
	b.WriteString(": ")
	before := ""
	for i, p := range r.Instances {
		through := ""
		for j, n := range p.Nodes[1 : len(p.Nodes)-1] {
			if j > 0 {
				through += " / "
			}
			through += Display(n)
		}
		switch {
		case i > 0 && through == before:
			b.WriteString(", ")
		default:
			if i > 0 {
				b.WriteString("; ")
			}
			if through != "" {
				b.WriteString(through + ": ")
			}
		}
		before = through
		b.WriteString(Display(p.Nodes[len(p.Nodes)-1]))
	}
	if more := r.Total - len(r.Instances); more > 0 {
		fmt.Fprintf(b, "; and %d more", more)
	}
}
