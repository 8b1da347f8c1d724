// Package bench prints what was measured beside its baseline of the same run and the bar that
// it has to meet, and holds the benchmarks of the fronts.
package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// Row is one measurement.
type Row struct {
	Name     string
	Unit     string  // of Measured and Baseline: "ms", "queries/s"
	Measured float64 // with the sidecar
	Baseline float64 // without it, or by the other way to do the same; 0: there is none
	Paired   float64 // the ratio as MedianRatio has it; 0: that of Measured and Baseline
	Bar      Bar     // the zero Bar: none
}

// Bar is what a Row has to meet. Of its fields one is set.
type Bar struct {
	MostAdded float64 // Measured-Baseline, in Unit
	MostRatio float64 // Ratio
	MinRatio  float64 // likewise
	Faster    float64 // Baseline/Measured, at least
	Most      float64 // Measured
}

// Ratio is Paired, else Measured/Baseline; 0 without a baseline.
func (r Row) Ratio() float64 {
	if r.Baseline == 0 || r.Paired != 0 {
		return r.Paired
	}
	return r.Measured / r.Baseline
}

// Met tells whether the row meets its bar; a row without one does.
func (r Row) Met() bool {
	b := r.Bar
	switch {
	case b.MostAdded != 0:
		return r.Measured-r.Baseline <= b.MostAdded
	case b.MostRatio != 0:
		return r.Ratio() <= b.MostRatio
	case b.MinRatio != 0:
		return r.Ratio() >= b.MinRatio
	case b.Faster != 0:
		return r.Measured*b.Faster <= r.Baseline
	case b.Most != 0:
		return r.Measured <= b.Most
	}
	return true
}

// in says the bar in words.
func (b Bar) in(unit string) string {
	switch {
	case b.MostAdded != 0:
		return "at most " + number(b.MostAdded) + " " + unit + " more"
	case b.MostRatio != 0:
		return "ratio at most " + number(b.MostRatio)
	case b.MinRatio != 0:
		return "ratio at least " + number(b.MinRatio)
	case b.Faster != 0:
		return "at least " + number(b.Faster) + " times faster"
	case b.Most != 0:
		return "at most " + number(b.Most) + " " + unit
	}
	return ""
}

// RowsFile names the environment variable that names the file to which Record writes.
const RowsFile = "EVORAG_BENCH_ROWS"

// Record keeps a row for the table at the end of "make bench"; without RowsFile it does nothing.
func Record(r Row) error {
	path := os.Getenv(RowsFile)
	if path == "" {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// Recorded reads what Record has written. Of rows with one name the last counts: a benchmark
// runs several times, the longest last.
func Recorded(from io.Reader) ([]Row, error) {
	var rows []Row
	for d := json.NewDecoder(from); ; {
		var r Row
		switch err := d.Decode(&r); {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, err
		}
		if i := slices.IndexFunc(rows, func(old Row) bool { return old.Name == r.Name }); i >= 0 {
			rows[i] = r
		} else {
			rows = append(rows, r)
		}
	}
}

// Print writes the rows as a table.
func Print(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what\tmeasured\tbaseline\tratio\tbar\t")
	for _, r := range rows {
		baseline, ratio, verdict := "", "", ""
		if r.Baseline != 0 {
			baseline, ratio = number(r.Baseline), number(r.Ratio())
		}
		if r.Bar != (Bar{}) {
			verdict = "met"
			if !r.Met() {
				verdict = "MISSED"
			}
		}
		fmt.Fprintf(t, "%s\t%s %s\t%s\t%s\t%s\t%s\n", r.Name, number(r.Measured), r.Unit, baseline, ratio, r.Bar.in(r.Unit), verdict)
	}
	return t.Flush()
}

// number prints three significant digits.
func number(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Median is the middle of the durations, in milliseconds; it sorts them.
func Median(d []time.Duration) float64 {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return float64(d[len(d)/2].Nanoseconds()) / 1e6
}

// MedianRatio is the middle of measured[i]/baseline[i]: both of a pair were taken next to each other,
// so that it shows what lies between them even where the machine is faster at one time than at
// another. 0 without pairs.
func MedianRatio(measured, baseline []time.Duration) float64 {
	if len(measured) == 0 {
		return 0
	}
	ratios := make([]float64, len(measured))
	for i := range measured {
		ratios[i] = float64(measured[i]) / float64(baseline[i])
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}
