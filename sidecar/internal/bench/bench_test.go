package bench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/bench"
)

func TestATableSaysWhatMeetsItsBar(t *testing.T) {
	var out strings.Builder
	require.NoError(t, bench.Print(&out, []bench.Row{
		{Name: "added", Unit: "ms", Measured: 1.25, Baseline: 1, Bar: bench.Bar{MostAdded: 0.5}},
		{Name: "slower", Unit: "ms", Measured: 3, Baseline: 2, Bar: bench.Bar{MostRatio: 1.25}},
		{Name: "rate", Unit: "queries/s", Measured: 900, Baseline: 1000, Bar: bench.Bar{MinRatio: 0.85}},
		{Name: "alone", Unit: "ms", Measured: 12345.6, Bar: bench.Bar{Most: 10}},
		{Name: "no bar", Unit: "ms", Measured: 0.001234, Baseline: 1},
	}))
	require.Equal(t, strings.Join([]string{
		"what    measured       baseline  ratio    bar                  ",
		"added   1.25 ms        1         1.25     at most 0.5 ms more  met",
		"slower  3 ms           2         1.5      ratio at most 1.25   MISSED",
		"rate    900 queries/s  1000      0.9      ratio at least 0.85  met",
		"alone   12346 ms                          at most 10 ms        MISSED",
		"no bar  0.00123 ms     1         0.00123                       ",
		"",
	}, "\n"), out.String())
}

func TestTheMedianIsInMilliseconds(t *testing.T) {
	require.Equal(t, 2.0, bench.Median([]time.Duration{3e6, 1e6, 2e6}))
	require.Zero(t, bench.Median(nil))
}
