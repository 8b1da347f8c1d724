package eval

import (
	"io"
	"strings"
)

// WriteText writes the headline and the bars as Markdown.
func (r *Report) WriteText(w io.Writer) error {
	var parts []string
	for _, t := range []section{r.headline(), r.barSection()} {
		for _, t := range t.Tables {
			parts = append(parts, t.markdown())
		}
	}
	_, err := io.WriteString(w, strings.Join(parts, "\n"))
	return err
}
