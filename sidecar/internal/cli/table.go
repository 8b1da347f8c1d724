package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// indent of a path's lines: under "  #       z      p  ".
const indent = 21

// table draws a retrieval for a terminal of the given width: one line per result with rank,
// z, p and its best path, broken before an arrow where it is too long; below it where the
// other paths of the bundle end.
func table(r graph.Retrieval, width int) string {
	var b strings.Builder
	starts := make([]string, len(r.Entities))
	for i, e := range r.Entities {
		starts[i] = shown(e.Node)
		if e.Why != "" {
			starts[i] += " (" + e.Why + ")"
		}
	}
	if len(starts) > 0 {
		wrap(&b, "from  ", 6, starts, ", ", width)
	}
	if len(r.Results) == 0 {
		b.WriteString("no path leads on from there\n")
		return b.String()
	}
	fmt.Fprintf(&b, "%3s  %7s  %5s  %s\n", "#", "z", "p", "path, each edge with its score of 200")
	for _, res := range r.Results {
		row(&b, res, width)
	}
	fmt.Fprintf(&b, "alpha %s, %s", short(r.Alpha), counted(len(r.Results), "result"))
	if r.Timings.Total > 0 {
		fmt.Fprintf(&b, " in %s ms", short(float64(r.Timings.Total)))
	}
	b.WriteByte('\n')
	if r.LeftOut > 0 {
		fmt.Fprintf(&b, "feedback has put %d more far behind; --hidden shows them\n", r.LeftOut)
	}
	if r.ID != "" {
		fmt.Fprintf(&b, "retrieval %s\n", r.ID)
	}
	if r.Partial {
		fmt.Fprintf(&b, "partial: %s\n", r.Reason)
	}
	return b.String()
}

func row(b *strings.Builder, res graph.Result, width int) {
	head := fmt.Sprintf("%3d  %7.3f  %5.3f  ", res.N, res.Z, res.P)
	if len(res.Instances) == 0 {
		fmt.Fprintf(b, "%s%s %s\n", head, shown(res.Start), strings.Join(res.Metapath, " "))
		return
	}
	best := res.Instances[0]
	wrap(b, head, indent, hops(best), " ", width)
	if len(best.Parts) > 0 {
		parts := make([]string, 0, len(best.Parts))
		for _, name := range slices.Sorted(maps.Keys(best.Parts)) {
			parts = append(parts, name+" "+short(float64(best.Parts[name])))
		}
		wrap(b, strings.Repeat(" ", indent), indent, parts, ", ", width)
	}
	for _, t := range best.Triplets {
		if t.Via != "" {
			wrap(b, strings.Repeat(" ", indent), indent, append([]string{"shortcut for"}, strings.Fields(printable(t.Via))...), " ", width)
		}
	}
	if others := ends(res); len(others) > 0 {
		fit(b, others, res.Total-1, width)
	}
}

// hops splits a path where a line may break: "Eva", "-[directed_by 100]-> X", ...
func hops(i graph.Instance) []string {
	name := func(n int) string {
		if n < len(i.Nodes) {
			return shown(i.Nodes[n])
		}
		return "?"
	}
	pieces := []string{name(0)}
	for n, t := range i.Triplets {
		label := printable(t.Label)
		if label == "" {
			label = t.Predicate
		}
		arrow := "-[" + label + " " + short(t.Score) + "]->"
		if t.Inverse {
			arrow = "<-[" + label + " " + short(t.Score) + "]-"
		}
		pieces = append(pieces, arrow+" "+name(n+1))
	}
	return pieces
}

// ends are the last nodes of all instances but the best, each once, in rank order.
func ends(res graph.Result) []string {
	var names []string
	seen := map[graph.UID]bool{}
	for n, i := range res.Instances {
		if len(i.Nodes) == 0 {
			continue
		}
		end := i.Nodes[len(i.Nodes)-1]
		if n > 0 && !seen[end.UID] {
			names = append(names, shown(end))
		}
		seen[end.UID] = true
	}
	return names
}

// fit writes as many of the names as one line holds, and how many of total are left.
func fit(b *strings.Builder, names []string, total, width int) {
	const more = len(" +99999 more")
	line := strings.Repeat(" ", indent) + "also "
	for n, name := range names {
		sep := ""
		if n > 0 {
			sep = ", "
		}
		if n > 0 && utf8.RuneCountInString(line+sep+name)+more > width {
			names = names[:n]
			break
		}
		line += sep + name
	}
	if left := total - len(names); left > 0 {
		line += fmt.Sprintf(" +%d more", left)
	}
	b.WriteString(line + "\n")
}

// wrap writes the pieces behind first, on new lines from column indent where they don't fit.
func wrap(b *strings.Builder, first string, indent int, pieces []string, sep string, width int) {
	line := first
	for n, piece := range pieces {
		switch {
		case n == 0:
			line += piece
		case utf8.RuneCountInString(line+sep+piece) > width:
			b.WriteString(line + strings.TrimRight(sep, " ") + "\n")
			line = strings.Repeat(" ", indent) + piece
		default:
			line += sep + piece
		}
	}
	b.WriteString(line + "\n")
}

// shown is a node's name on one line, or its uid. A name is other people's text: what
// could steer a terminal is left out.
func shown(n graph.Node) string {
	if s := printable(n.Name); s != "" {
		return s
	}
	return n.UID.String()
}

func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return -1
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// short writes a number with at most four digits: 100, 104.3, 0.5.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
