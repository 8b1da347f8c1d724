package config

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Evolution says when the graph evolves by itself, and by which rules (docs/METHOD.md).
type Evolution struct {
	Schedule string `yaml:"schedule"`  // five cron fields, or off
	TimeZone string `yaml:"time_zone"` // of the schedule, like Europe/Berlin

	// Namespaces evolve besides the sidecar's own, login.namespace, by the same rules.
	Namespaces []EvolvingNamespace `yaml:"namespaces"`

	Statistics   string  `yaml:"statistics"`    // touched: thresholds over what feedback has touched; all: over the whole graph
	MinTouched   int     `yaml:"min_touched"`   // triplets that feedback must have touched before any is judged
	Hops         int     `yaml:"hops"`          // longest path that becomes a shortcut, 2..6
	Path         string  `yaml:"path"`          // all: each triplet of a path must be good; average: the path on the whole
	Nested       string  `yaml:"nested"`        // on: paths through shortcuts become shortcuts too; off
	MaxShortcuts int     `yaml:"max_shortcuts"` // of one run
	MaxHidden    int     `yaml:"max_hidden"`    // edges that one run hides
	Runs         int     `yaml:"runs"`          // consecutive low runs after which an edge is hidden
	Decay        float64 `yaml:"decay"`         // share of its way to 100 that a hidden edge goes in one run, 0..1
	Hysteresis   float64 `yaml:"hysteresis"`    // raw points above the threshold at which it shows again, below 15
	Explore      float64 `yaml:"explore"`       // share of hidden edges that one run shows on trial, 0..1

	Gate    string  `yaml:"gate"`     // on: a run stands only if held-out good answers are still retrieved; off
	HeldOut float64 `yaml:"held_out"` // with the gate: share of retrievals whose ratings are not learned from, 0.01..0.5

	KeepUndo time.Duration `yaml:"keep_undo"` // how long a run can be undone; 0s: always
	KeepRuns time.Duration `yaml:"keep_runs"` // how long runs that can't be undone are on record; 0s: always
}

// EvolvingNamespace is another namespace that evolves. On Dgraph only a namespace's own
// users reach it: User is one of its guardians.
type EvolvingNamespace struct {
	Namespace    uint64 `yaml:"namespace"`
	User         string `yaml:"user"`
	PasswordFile string `yaml:"password_file"`
	Schedule     string `yaml:"schedule"`  // empty: evolution.schedule
	TimeZone     string `yaml:"time_zone"` // empty: evolution.time_zone

	Password string `yaml:"-"` // comes from PasswordFile
}

// In is what holds for another namespace.
func (e Evolution) In(n EvolvingNamespace) Evolution {
	if n.Schedule != "" {
		e.Schedule = n.Schedule
	}
	if n.TimeZone != "" {
		e.TimeZone = n.TimeZone
	}
	e.Namespaces = nil
	return e
}

func defaultEvolution() Evolution {
	return Evolution{
		Schedule: "0 3 * * *", TimeZone: "UTC", Namespaces: []EvolvingNamespace{},
		Statistics: "touched", MinTouched: 30, Hops: 3, Path: "all", Nested: "off", MaxShortcuts: 1000, MaxHidden: 1000,
		Runs: 3, Decay: 0.1, Hysteresis: 3, Explore: 0.02,
		Gate: "off", HeldOut: 0.1, KeepUndo: 90 * 24 * time.Hour, KeepRuns: 365 * 24 * time.Hour,
	}
}

// verifyNamespaces checks the other namespaces; own is the sidecar's.
func (e Evolution) verifyNamespaces(own uint64, bad func(field string, value any, write string)) {
	seen := map[uint64]bool{own: true}
	for i, n := range e.Namespaces {
		field := fmt.Sprintf("evolution.namespaces[%d].", i)
		if seen[n.Namespace] {
			bad(field+"namespace", n.Namespace, "each namespace once, without login.namespace, which evolves anyway")
		}
		seen[n.Namespace] = true
		if n.User == "" {
			bad(field+"user", "", "a guardian of that namespace, for instance groot")
		}
		if n.PasswordFile == "" {
			bad(field+"password_file", "", "the file with that user's password")
		}
		e.In(n).verifySchedule(field, bad)
	}
}

func (e Evolution) verifySchedule(field string, bad func(field string, value any, write string)) {
	if _, err := cron.ParseStandard(e.Schedule); err != nil && e.Schedule != "off" {
		bad(field+"schedule", e.Schedule, `five cron fields, for instance "0 3 * * *", or off`)
	}
	if _, err := time.LoadLocation(e.TimeZone); err != nil {
		bad(field+"time_zone", e.TimeZone, "a time zone like Europe/Berlin or UTC")
	}
}

// readSecrets reads the passwords of the other namespaces' users.
func (e *Evolution) readSecrets() error {
	for i := range e.Namespaces {
		n := &e.Namespaces[i]
		b, err := os.ReadFile(n.PasswordFile)
		if err != nil {
			return fmt.Errorf("evolution.namespaces[%d].password_file: %w", i, err)
		}
		n.Password = strings.TrimRight(string(b), "\r\n")
	}
	return nil
}

func (e Evolution) verify(bad func(field string, value any, write string), within func(field string, v, lo, hi int)) {
	e.verifySchedule("evolution.", bad)
	for _, word := range []struct{ field, value, one, other string }{
		{"evolution.statistics", e.Statistics, "touched", "all"},
		{"evolution.path", e.Path, "all", "average"},
		{"evolution.nested", e.Nested, "on", "off"},
		{"evolution.gate", e.Gate, "on", "off"},
	} {
		if word.value != word.one && word.value != word.other {
			bad(word.field, word.value, word.one+" or "+word.other)
		}
	}
	within("evolution.min_touched", e.MinTouched, 1, 1_000_000_000)
	within("evolution.hops", e.Hops, 2, 6)
	within("evolution.max_shortcuts", e.MaxShortcuts, 0, 100_000)
	within("evolution.max_hidden", e.MaxHidden, 0, 1_000_000)
	within("evolution.runs", e.Runs, 1, 1000)
	for _, share := range []struct {
		field string
		value float64
	}{{"evolution.decay", e.Decay}, {"evolution.explore", e.Explore}} {
		if !(share.value >= 0 && share.value <= 1) {
			bad(share.field, share.value, "a number from 0 to 1")
		}
	}
	if !(e.HeldOut >= 0.01 && e.HeldOut <= 0.5) {
		bad("evolution.held_out", e.HeldOut, "a number from 0.01 to 0.5")
	}
	for _, keep := range []struct {
		field string
		value time.Duration
	}{{"evolution.keep_undo", e.KeepUndo}, {"evolution.keep_runs", e.KeepRuns}} {
		if keep.value < 0 {
			bad(keep.field, keep.value, "a duration, for instance 2160h, or 0s for always")
		}
	}
	if !(e.Hysteresis >= 0 && e.Hysteresis < 15) {
		bad("evolution.hysteresis", e.Hysteresis, "a number from 0 to below 15")
	}
}
