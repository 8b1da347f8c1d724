package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
		"hysteresis that never ends":    {"hysteresis", "15", "write a number from 0 to below 15"},
		"a path that is judged somehow": {"path", "most", "write all or average"},
		"a gate that is ajar":           {"gate", "ajar", "write on or off"},
		"nothing held out":              {"held_out", "0", "write a number from 0.01 to 0.5"},
		"a time that is below nothing":  {"keep_undo", "-1h", "write a duration"},
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

const twoNamespaces = `
login: {namespace: 3}
evolution:
  schedule: "0 3 * * *"
  namespaces:
    - {namespace: 1, user: groot, password_file: %s, schedule: "@hourly", time_zone: Europe/Berlin}
    - {namespace: 2, user: groot, password_file: %[1]s}
`

func TestOtherNamespacesEvolveOnTheirOwnSchedules(t *testing.T) {
	dir := t.TempDir()
	password, file := filepath.Join(dir, "password"), filepath.Join(dir, "settings.yaml")
	require.NoError(t, os.WriteFile(password, []byte("hush\n"), 0o600))
	load := func(text string) (config.Config, error) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return config.Load(config.Sources{File: file})
	}
	c, err := load(fmt.Sprintf(twoNamespaces, password))
	require.NoError(t, err)
	require.Len(t, c.Evolution.Namespaces, 2)
	first, second := c.Evolution.In(c.Evolution.Namespaces[0]), c.Evolution.In(c.Evolution.Namespaces[1])
	require.Equal(t, "hush", c.Evolution.Namespaces[1].Password)
	require.Equal(t, []string{"@hourly", "Europe/Berlin"}, []string{first.Schedule, first.TimeZone})
	require.Equal(t, []string{"0 3 * * *", "UTC"}, []string{second.Schedule, second.TimeZone})
	text, err := c.YAML()
	require.NoError(t, err)
	require.NotContains(t, string(text), "hush")

	for name, f := range map[string]struct{ was, is, want string }{
		"a namespace twice":       {"namespace: 2", "namespace: 1", `evolution.namespaces[1].namespace is "1"`},
		"the sidecar's own":       {"namespace: 2", "namespace: 3", "without login.namespace"},
		"nobody to log in as":     {"user: groot, ", "", "evolution.namespaces[0].user is"},
		"a schedule that is none": {"@hourly", "hourly", "evolution.namespaces[0].schedule is"},
		"a zone that is none":     {"Europe/Berlin", "Berlin", "evolution.namespaces[0].time_zone is"},
		"no password":             {", password_file: %s", "", "evolution.namespaces[0].password_file is"},
		"a password that is gone": {"password_file: %s", "password_file: /nowhere", "evolution.namespaces[0].password_file: open /nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(twoNamespaces, f.was, f.is, 1)
			require.NotEqual(t, twoNamespaces, changed)
			changed = strings.ReplaceAll(strings.ReplaceAll(changed, "%s", password), "%[1]s", password)
			_, err := load(changed)
			require.ErrorContains(t, err, f.want)
		})
	}
}
