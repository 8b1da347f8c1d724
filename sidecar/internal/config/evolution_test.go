package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
)

func TestBadSettingsOfEvolutionAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ field, value, want string }{
		"a schedule of four fields":     {"schedule", "0 3 * *", "write five cron fields"},
		"a time zone that is none":      {"time_zone", "Mars/Olympus", "write a time zone like Europe/Berlin"},
		"statistics over something":     {"statistics", "some", "write touched or all"},
		"one hop":                       {"hops", "1", "write a number from 2 to 6"},
		"a share above one":             {"explore", "1.5", "write a number from 0 to 1"},
		"hysteresis that never ends":    {"hysteresis", "5", "write a number from 0 to below 5"},
		"a path that is judged somehow": {"path", "most", "write all or average"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Load(config.Sources{Flags: map[string]string{"evolution." + c.field: c.value}})
			require.ErrorContains(t, err, "evolution."+c.field+" is ")
			require.ErrorContains(t, err, c.want)
		})
	}
	for _, schedule := range []string{"off", "@daily", "*/5 2-4 * * mon"} {
		_, err := config.Load(config.Sources{Flags: map[string]string{"evolution.schedule": schedule}})
		require.NoError(t, err, schedule)
	}
}
