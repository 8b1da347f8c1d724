package eval

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// series is one line or one colour of bars. Low and High, where given, are its intervals.
type series struct {
	Name      string
	X, Y      []float64
	Low, High []float64
}

// Measures of a chart, in SVG's units.
const (
	chartW, chartH = 460.0, 260.0
	left, right    = 52.0, 10.0
	top, bottom    = 14.0, 42.0
	colours        = 8 // classes c0 to c7 of the style sheet
)

// canvas maps values to places.
type canvas struct {
	b              strings.Builder
	x0, x1, y0, y1 float64
}

func (c *canvas) x(v float64) float64 {
	return left + (v-c.x0)/(c.x1-c.x0)*(chartW-left-right)
}

func (c *canvas) y(v float64) float64 {
	return chartH - bottom - (v-c.y0)/(c.y1-c.y0)*(chartH-top-bottom)
}

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(&c.b, format, args...) }

// open begins the drawing with its y axis.
func (c *canvas) open(name, yLabel string) {
	c.printf(`<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, chartW, chartH, html.EscapeString(name))
	step := nice((c.y1 - c.y0) / 6)
	for v := math.Ceil(c.y0/step-1e-9) * step; v <= c.y1+step*1e-6; v += step {
		y := c.y(v)
		c.printf(`<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/><text class="tick" x="%.1f" y="%.1f" text-anchor="end">%s</text>`, left, chartW-right, y, y, left-5, y+3.5, number(v, step))
	}
	c.printf(`<text class="axis" transform="translate(12 %.1f) rotate(-90)" text-anchor="middle">%s</text>`, (chartH-bottom+top)/2, html.EscapeString(yLabel))
}

// close ends it, with what stands below the x axis.
func (c *canvas) close(xLabel string) template.HTML {
	c.printf(`<text class="axis" x="%.1f" y="%.1f" text-anchor="middle">%s</text></svg>`, (left+chartW-right)/2, chartH-6, html.EscapeString(xLabel))
	return template.HTML(c.b.String()) //nolint:gosec // every text in it is escaped
}

func number(v, step float64) string {
	return fmt.Sprintf("%.*f", max(0, int(math.Ceil(-math.Log10(step)-1e-9))), v+0)
}

// nice is a round step near x: 1, 2 or 5 times a power of ten.
func nice(x float64) float64 {
	if !(x > 0) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*unit >= x-1e-12 {
			return m * unit
		}
	}
	return 10 * unit
}

// span is a range that holds all values, with some air; from zero where they are near it.
func span(all []series) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, s := range all {
		for _, ys := range [][]float64{s.Y, s.Low, s.High} {
			for _, y := range ys {
				lo, hi = min(lo, y), max(hi, y)
			}
		}
	}
	if lo > hi {
		return 0, 1
	}
	if lo > 0 && lo < hi/2 {
		lo = 0
	}
	air := (hi - lo) * .06
	if air == 0 {
		air = max(.01, math.Abs(hi)*.05)
	}
	if lo != 0 {
		lo -= air
	}
	return lo, hi + air
}

// lines draws a chart of lines.
func lines(name, xLabel, yLabel string, all []series) template.HTML {
	c := &canvas{x0: math.Inf(1), x1: math.Inf(-1)}
	for _, s := range all {
		for _, x := range s.X {
			c.x0, c.x1 = min(c.x0, x), max(c.x1, x)
		}
	}
	if c.x0 >= c.x1 {
		c.x0, c.x1 = c.x0-1, c.x0+1
	}
	c.y0, c.y1 = span(all)
	c.open(name, yLabel)
	step := nice((c.x1 - c.x0) / 7)
	if whole(all) {
		step = max(1, math.Ceil(step))
	}
	for v := math.Ceil(c.x0/step-1e-9) * step; v <= c.x1+step*1e-6; v += step {
		c.printf(`<text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, c.x(v), chartH-bottom+14, number(v, step))
	}
	for i, s := range all {
		var points, band []string
		for j := range s.X {
			points = append(points, fmt.Sprintf("%.1f,%.1f", c.x(s.X[j]), c.y(s.Y[j])))
		}
		if len(s.Low) == len(s.X) {
			for j := range s.X {
				band = append(band, fmt.Sprintf("%.1f,%.1f", c.x(s.X[j]), c.y(s.High[j])))
			}
			for j := len(s.X) - 1; j >= 0; j-- {
				band = append(band, fmt.Sprintf("%.1f,%.1f", c.x(s.X[j]), c.y(s.Low[j])))
			}
			c.printf(`<polygon class="band c%d" points="%s"/>`, i%colours, strings.Join(band, " "))
		}
		c.printf(`<polyline class="line c%d" points="%s"/>`, i%colours, strings.Join(points, " "))
		for j := range s.X {
			c.printf(`<circle class="dot c%d" cx="%.1f" cy="%.1f" r="2.6"><title>%s: %.4g at %.4g</title></circle>`, i%colours, c.x(s.X[j]), c.y(s.Y[j]), html.EscapeString(s.Name), s.Y[j], s.X[j])
		}
	}
	return c.close(xLabel) + legend(all)
}

// columns draws groups of bars, one of each series in every group.
func columns(name, yLabel string, groups []string, all []series) template.HTML {
	c := &canvas{x0: 0, x1: float64(max(1, len(groups)))}
	c.y0, c.y1 = span(all)
	c.y0, c.y1 = min(0, c.y0), max(0, c.y1)
	c.open(name, yLabel)
	width := (c.x(1) - c.x(0)) * .8 / float64(max(1, len(all)))
	for g, group := range groups {
		c.printf(`<text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, c.x(float64(g)+.5), chartH-bottom+14, html.EscapeString(group))
		for i, s := range all {
			if g >= len(s.Y) || math.IsNaN(s.Y[g]) {
				continue
			}
			x := c.x(float64(g)+.1) + float64(i)*width
			lo, hi := c.y(max(0, s.Y[g])), c.y(min(0, s.Y[g]))
			c.printf(`<rect class="bar c%d" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s, %s: %.4g</title></rect>`, i%colours, x, lo, max(1, width-1.5), max(.5, hi-lo), html.EscapeString(s.Name), html.EscapeString(group), s.Y[g])
			if len(s.Low) == len(s.Y) {
				c.printf(`<line class="whisker" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, x+width/2, x+width/2, c.y(s.Low[g]), c.y(s.High[g]))
			}
		}
	}
	c.printf(`<line class="zero" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, left, chartW-right, c.y(0), c.y(0))
	return c.close("") + legend(all)
}

// whole tells whether all places on the x axis are whole numbers.
func whole(all []series) bool {
	for _, s := range all {
		for _, x := range s.X {
			if x != math.Trunc(x) {
				return false
			}
		}
	}
	return true
}

func legend(all []series) template.HTML {
	var b strings.Builder
	b.WriteString(`<p class="legend">`)
	for i, s := range all {
		fmt.Fprintf(&b, `<span><i class="c%d"></i>%s</span> `, i%colours, html.EscapeString(s.Name))
	}
	b.WriteString(`</p>`)
	return template.HTML(b.String()) //nolint:gosec // every text in it is escaped
}
