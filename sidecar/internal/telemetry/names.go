package telemetry

import (
	"regexp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// fqName is how a prometheus.Desc writes its name; it has no other way to tell it.
var fqName = regexp.MustCompile(`fqName: "([^"]+)"`)

// Names are those of all metrics that are registered, in order, also of those that nothing has
// set yet. Histograms are named without _bucket, _sum and _count.
func (m *Metrics) Names() []string {
	descs := make(chan *prometheus.Desc)
	go func() { defer close(descs); m.registry.Describe(descs) }()
	var names []string
	for d := range descs {
		if found := fqName.FindStringSubmatch(d.String()); found != nil {
			names = append(names, found[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
