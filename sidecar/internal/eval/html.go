package eval

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Parse(page))

// section is one part of the page.
type section struct {
	ID, Title string
	Text      string
	Charts    []chart
	Tables    []table
}

type chart struct {
	Title string
	SVG   template.HTML
}

type table struct {
	Title string
	Head  []string
	Rows  [][]string
}

// WriteHTML writes the report as one page that needs nothing else.
func (r *Report) WriteHTML(w io.Writer) error {
	return pageTemplate.Execute(w, struct {
		*Report
		Sections []section
		Took     string
	}{r, r.sections(), duration(r.Seconds)})
}

func duration(seconds float64) string {
	if seconds < 120 {
		return fmt.Sprintf("%.0f s", seconds)
	}
	return fmt.Sprintf("%.0f min", seconds/60)
}

// sections are the parts that have something to show.
func (r *Report) sections() []section {
	all := []section{
		r.barSection(), r.headline(), r.iterations(), r.compared(), r.ablation("gate", "Gate on and off (Figure 11)", "A result counts only if it contributed and does not contradict the response; with the gate off every result does.", evolving, "gate off"),
		r.ablation("noise", "Inverted ratings (Figure 9)", "A share of the ratings is turned around (6 minus the rating).", evolving, "10% inverted", "20% inverted", "30% inverted"),
		r.ablation("control", "Control: shuffled ratings", "Responses are drawn by chance from what was shown, and carry the ratings of other questions. What is gained from that did not come from feedback.", evolving, shuffled),
		r.ablation("sources", "Sources of ratings (Figure 8)", "By F1 with the reference answers, by the built-in embedder's cosine with them, by a chat model; and F1 ratings attributed to paths by the reference answers instead of the response.", evolving, "embedding ratings", goldJudge, llmJudge),
		r.ablation("paper", "The paper's own rule", "The rule of the paper as it stands, over single paths.", evolving, paperRule),
		r.widths(), r.tokens(), r.planted(), r.refined(), r.changes(), r.batches(), r.chunks(), r.answers(), r.sizes(),
	}
	var out []section
	for _, s := range all {
		if len(s.Charts)+len(s.Tables) > 0 {
			out = append(out, s)
		}
	}
	return out
}
