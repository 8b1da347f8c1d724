package bench_test

import (
	"os"
	"path/filepath"
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
		{Name: "faster", Unit: "ms", Measured: 10, Baseline: 490, Bar: bench.Bar{Faster: 50}},
		{Name: "alone", Unit: "ms", Measured: 12345.6, Bar: bench.Bar{Most: 10}},
		{Name: "pairs", Unit: "ms", Measured: 3, Baseline: 2, Paired: 1.2, Bar: bench.Bar{MostRatio: 1.25}},
		{Name: "no bar", Unit: "ms", Measured: 0.001234, Baseline: 1},
	}))
	require.Equal(t, strings.Join([]string{
		"what    measured       baseline  ratio    bar                       ",
		"added   1.25 ms        1         1.25     at most 0.5 ms more       met",
		"slower  3 ms           2         1.5      ratio at most 1.25        MISSED",
		"rate    900 queries/s  1000      0.9      ratio at least 0.85       met",
		"faster  10 ms          490       0.0204   at least 50 times faster  MISSED",
		"alone   12346 ms                          at most 10 ms             MISSED",
		"pairs   3 ms           2         1.2      ratio at most 1.25        met",
		"no bar  0.00123 ms     1         0.00123                            ",
		"",
	}, "\n"), out.String())
}

func TestTheMedianIsInMilliseconds(t *testing.T) {
	require.Equal(t, 2.0, bench.Median([]time.Duration{3e6, 1e6, 2e6}))
	require.Zero(t, bench.Median(nil))
}

func TestTheRatioIsThatOfTheMiddlePair(t *testing.T) {
	require.Equal(t, 1.5, bench.MedianRatio([]time.Duration{10, 30, 300}, []time.Duration{10, 20, 100}))
	require.Zero(t, bench.MedianRatio(nil, nil))
}

func TestOfRowsWithOneNameTheLastIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows")
	t.Setenv(bench.RowsFile, path)
	last := bench.Row{Name: "a", Unit: "ms", Measured: 3, Baseline: 2, Bar: bench.Bar{MostRatio: 2}}
	for _, r := range []bench.Row{{Name: "a", Measured: 1}, {Name: "b", Measured: 2}, last} {
		require.NoError(t, bench.Record(r))
	}
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	rows, err := bench.Recorded(f)
	require.NoError(t, err)
	require.Equal(t, []bench.Row{last, {Name: "b", Measured: 2}}, rows)
}
