package eval

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// report is one as Run makes it, of made-up outcomes: the learned arms find every answer first,
// the static system at the second place and behind the budget.
func report() *Report {
	point := func(i int, o Outcome) Point {
		outcomes := []Outcome{o, o, o, o}
		return Point{Iteration: i, Outcomes: outcomes, Score: mean(outcomes)}
	}
	before := Outcome{MRR: .5, Found: 1, First: 200, Tokens: 350, Within: 1}
	after := Outcome{MRR: 1, Hit: 1, Found: 1, First: 40, Tokens: 350, Within: 1, ACC: 1, EM: 1, F1: 1}
	r := &Report{Version: "v0 <&>", Command: "dgraph-evorag eval", Began: time.Unix(0, 0), Budget: Budget, Plan: Plan{
		Kinds: []Kind{Paraphrase}, Seeds: 2, Iterations: 1, Experiments: Experiments, Detail: []string{"films"}, DetailKinds: []Kind{Paraphrase}, DetailSeeds: 1,
	}}
	for seed := range 2 {
		for _, arm := range r.Plan.arms("films", Paraphrase, 1, true) {
			t := &Trial{Set: "films", Split: Paraphrase, Seed: uint64(seed), Arm: arm.Name, Points: []Point{point(0, before), point(1, after)}}
			if arm.Name == shuffled {
				t.Points[1] = point(1, before)
			}
			for _, p := range arm.Probes {
				for i, o := range []Outcome{before, after} {
					at := point(i, o)
					at.Probe = p.Name
					t.Probes = append(t.Probes, at)
				}
			}
			r.Trials = append(r.Trials, t)
		}
	}
	r.Gains, r.Curves = gains(r.Trials, against), curves(r.Trials, evolving)
	r.Bars = bars(r)
	return r
}

func TestGainsAndBarsSayWhatWasMeasured(t *testing.T) {
	r := report()
	require.Equal(t, Interval{Mean: .5, Low: .5, High: .5, N: 8}, r.Gains[0].MRR)
	require.Equal(t, static, r.Gains[0].Baseline)
	bar := map[string]Bar{}
	for _, b := range r.Bars {
		bar[b.Name] = b
	}
	require.Equal(t, .5, bar["MRR gained on paraphrases of rated facts, mean over sets"].Measured)
	require.True(t, bar["MRR gained on paraphrases of rated facts, mean over sets"].Met)
	require.False(t, bar["points of answer within 300 tokens gained, mean over sets and splits"].Met, "all were within it before")
	require.Equal(t, 40./200, bar["context tokens at static's recall, against static's"].Measured)
	require.True(t, bar["MRR points gained from shuffled ratings"].Met)
	require.ErrorIs(t, r.Check(), ErrBars)
}

func TestThePageNeedsNothingElse(t *testing.T) {
	r := report()
	r.Trials[0].Set = "films" // what follows must be escaped
	r.Notes = []string{"<script>alert(1)</script>"}
	var page bytes.Buffer
	require.NoError(t, r.WriteHTML(&page))
	text := page.String()
	require.NotRegexp(t, regexp.MustCompile(`(?i)(src|href)\s*=\s*"[^#"]|@import|url\(|<script`), text)
	require.Contains(t, text, "v0 &lt;&amp;&gt;")
	require.NotContains(t, text, "NaN")
	require.NotContains(t, text, "Inf")
	for _, title := range []string{"Figure 7", "Figure 8", "Figure 9", "Figure 10", "Figure 11", "Figure 12", "Figure 14", "Table 4"} {
		require.Contains(t, text, title)
	}
	require.Equal(t, strings.Count(text, "<svg"), strings.Count(text, "</svg>"))
	require.Greater(t, strings.Count(text, "<svg"), 8)
}

func TestTheReportIsReadByMachinesToo(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, report().WriteJSON(&out))
	var back Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	require.Equal(t, report().Gains, back.Gains)
	require.Equal(t, report().Bars, back.Bars)
	out.Reset()
	require.NoError(t, report().WriteText(&out))
	require.Contains(t, out.String(), "| films | paraphrase | 0.500 | 1.000 | +0.500 [+0.500, +0.500] |")
}
