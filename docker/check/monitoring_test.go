package check

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

func TestPrometheusReadsItsSettingsAndRules(t *testing.T) {
	file := filepath.Join(root, "docker/prometheus/prometheus.yaml")
	c, err := config.LoadFile(file, false, nil)
	require.NoError(t, err)
	require.Equal(t, "/evorag/metrics", c.ScrapeConfigs[0].MetricsPath)
	require.Equal(t, []string{filepath.Join(root, "docker/prometheus/alerts.yaml")}, c.RuleFiles)

	groups, faults := rulefmt.ParseFile(c.RuleFiles[0], false, model.UTF8Validation, parser.NewParser(parser.Options{}), nil)
	require.Empty(t, faults)
	for _, r := range groups.Groups[0].Rules {
		require.NotEmpty(t, r.Alert)
		require.Contains(t, []string{"page", "ticket"}, r.Labels["severity"], r.Alert)
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		require.NotEmpty(t, r.Annotations["description"], r.Alert)
	}
}

func TestTheDashboardsQueriesAreReadable(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "docker/grafana/dashboard.json"))
	require.NoError(t, err)
	var d struct {
		UID    string
		Panels []struct {
			ID      int
			Title   string
			Type    string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(b, &d))
	variables := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$instance", "x")
	ids, queries := map[int]bool{}, 0
	for _, p := range d.Panels {
		require.False(t, ids[p.ID], "panel %d is there twice", p.ID)
		ids[p.ID] = true
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		require.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
		for _, q := range p.Targets {
			_, err := parser.NewParser(parser.Options{}).ParseExpr(variables.Replace(q.Expr))
			require.NoError(t, err, "%s: %s", p.Title, q.Expr)
			queries++
		}
	}
	require.Greater(t, queries, 30)
}
