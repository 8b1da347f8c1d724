package app

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/graphcache"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

func TestEveryMetricOfTheDashboardAndTheAlertsExistsAndEachIsUsed(t *testing.T) {
	m := telemetry.New("test")
	watch(m, graphcache.New(graphcache.Options{Now: time.Now}))
	watchVectors(m, nil) // nothing is read here
	watchLearning(m, config.Default(), nil, nil, nil)
	names := m.Names()
	used := map[string]bool{}
	for _, file := range []string{"../../../docker/grafana/dashboard.json", "../../../docker/prometheus/alerts.yaml"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		found := regexp.MustCompile(`dgraph_evorag_[a-z_]+`).FindAllString(string(text), -1)
		require.NotEmpty(t, found, file)
		for _, name := range found {
			for _, part := range []string{"_bucket", "_sum", "_count"} {
				if !slices.Contains(names, name) {
					name = strings.TrimSuffix(name, part)
				}
			}
			require.Contains(t, names, name, file)
			used[name] = true
		}
	}
	for _, name := range names {
		if strings.HasPrefix(name, "dgraph_evorag_") {
			require.True(t, used[name], "%s is on no panel and in no alert", name)
		}
	}
}
