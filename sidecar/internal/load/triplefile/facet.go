package triplefile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// facet matches one key=value and what ends it.
var facet = regexp.MustCompile(`^\s*([\pL_][\pL\pN_.-]*)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s",()=]+)\s*([,)])`)

// facets reads Dgraph's facets: (since=2006-01-02, weight=0.5, close=true, note="text"). It
// refuses what the engine would refuse, or take and then leave out of its answers.
func (c *cursor) facets() (string, error) {
	defer c.space()
	c.rest = c.rest[1:]
	var out []string
	seen := map[string]bool{}
	for {
		m := facet.FindStringSubmatch(c.rest)
		if m == nil {
			return "", fmt.Errorf(`the facets at %s are not readable; write (since=2006-01-02, weight=0.5, note="text")`, c.near())
		}
		c.rest = c.rest[len(m[0]):]
		value, err := facetValue(m[2])
		if err != nil {
			return "", fmt.Errorf("the facet %s: %w", m[1], err)
		}
		if seen[m[1]] {
			return "", fmt.Errorf("the facet %s stands twice", m[1])
		}
		seen[m[1]] = true
		out = append(out, m[1]+"="+value)
		if m[3] == ")" {
			return strings.Join(out, ", "), nil
		}
	}
}

func facetValue(s string) (string, error) {
	if strings.HasPrefix(s, `"`) {
		text, err := unescape(s[1:len(s)-1], true)
		return graph.Quote(text), err
	}
	if s == "true" || s == "false" {
		return s, nil
	}
	if _, err := strconv.ParseInt(s, 10, 64); err == nil {
		return s, nil
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f-f == 0 {
		return s, nil
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02", "2006-01"} {
		if _, err := time.Parse(form, s); err == nil {
			return s, nil
		}
	}
	return "", fmt.Errorf("%s is neither a finite number, true, false nor a date; write text in quotes", s)
}
