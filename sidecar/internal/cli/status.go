package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/sidecar/internal/status"
)

// statusTime bounds the wait for a report, which itself waits for the cluster.
const statusTime = 10 * time.Second

func (c *command) statusCommand() *cobra.Command {
	var admin administrator
	var output string
	cmd := &cobra.Command{
		Use: "status", Short: "Show in one screen how a running sidecar is", Args: c.none,
		Long: "status asks a running sidecar for its versions, the cluster's health, the cache, feedback, evolution\n" +
			"and model servers, and says what wants looking after. It exits with 1 where the sidecar is failing\n" +
			"or doesn't answer.",
		Example: "  dgraph-evorag status --server http://127.0.0.1:8180",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "table" && output != "json" {
				return usageError{fmt.Errorf("--output is %q; write table or json", output), cmd.CommandPath()}
			}
			raw, err := c.report(cmd.Context(), admin)
			if err != nil {
				return err
			}
			var r status.Report
			if err := json.Unmarshal(raw, &r); err != nil {
				return fmt.Errorf("the answer is not a status report: %w", err)
			}
			if output == "json" {
				err = c.printJSON(raw)
			} else {
				err = printStatus(c.Out, r, time.Now())
			}
			if err == nil && r.State == status.Failing {
				err = errors.New("the sidecar is failing: " + strings.Join(r.Problems, "; "))
			}
			return err
		},
	}
	admin.addTo(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	return cmd
}

// report reads a report, also that of a failing sidecar.
func (c *command) report(ctx context.Context, admin administrator) (raw json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	err = admin.get(ctx, c, "/evorag/v1/status", nil, &raw)
	var refused statusError
	if errors.As(err, &refused) && refused.code == http.StatusServiceUnavailable && json.Valid(refused.body) {
		return refused.body, nil
	}
	return raw, err
}

// printStatus fits one screen.
func printStatus(out io.Writer, r status.Report, now time.Time) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, text string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, printable(fmt.Sprintf(text, args...)))
	}
	fmt.Fprintf(out, "%s: dgraph-evorag %s in front of Dgraph %s\n", strings.ToUpper(string(r.State)), r.Version, orDash(r.Cluster.Version))
	for _, p := range r.Problems {
		fmt.Fprintln(out, "  ! "+printable(p))
	}
	row("up", "%s, since %s, namespace %d", age(time.Duration(r.UptimeSec)*time.Second), clock(r.Started), r.Namespace)
	row("cluster", "%s, %s", r.Cluster.GRPC, r.Cluster.HTTP)
	for _, n := range r.Cluster.Nodes {
		row("", "%s %s: %s %s", n.Instance, n.Address, n.Status, n.Version)
	}
	row("migrations", "%d applied, %d pending", r.Migrations.Applied, r.Migrations.Pending)
	switch k := r.Cache; {
	case k.Mode != "on":
		row("cache", "off")
	case k.State == "too large":
		row("cache", "%s: a part, %s, %d MB; of %s asked for %s held; %s put out", k.State, counted(k.Nodes, "node"), k.Bytes>>20,
			counted(int(k.Hits+k.Misses), "node"), grouped(int64(k.Hits)), grouped(int64(k.Evictions)))
	case k.AsOf == nil:
		row("cache", "%s, %s read", k.State, counted(k.Edges, "edge"))
	default:
		row("cache", "%s: %s, %s, %d suppressed, %d MB, %.1f s behind", k.State, counted(k.Nodes, "node"), counted(k.Edges, "edge"), k.Hidden, k.Bytes>>20, k.BehindSec)
	}
	f := r.Feedback
	row("feedback", "%s pending, %s waiting, oldest %s; %s applied, %s superseded, %s held out, %s void", grouped(int64(f.Pending)), grouped(int64(f.Waiting)), age(time.Duration(f.LagSec*float64(time.Second))),
		grouped(int64(f.Applied)), grouped(int64(f.Superseded)), grouped(int64(f.Held)), grouped(int64(f.Void)))
	learned := "configured"
	if r.Alpha.Learned {
		learned = "learned"
	}
	row("alpha", "%.3f, %s", r.Alpha.Now, learned)
	lastAndNext(row, r.Evolution, now)
	for _, m := range r.Models {
		state := "answers"
		if !m.OK {
			state = m.Error
		}
		row("model", "%s %s at %s: %s", m.Purpose, m.Name, m.URL, state)
	}
	if len(r.Models) == 0 {
		row("model", "none is set")
	}
	return t.Flush()
}

func lastAndNext(row func(string, string, ...any), e status.Evolution, now time.Time) {
	if l := e.Last; l != nil {
		row("last run", "%s %s, %s ago: %d shortcuts, %d hidden %s", l.ID, l.State, age(now.Sub(l.Began)), l.Shortcuts, l.Hidden, l.Note)
	} else {
		row("last run", "never")
	}
	if e.Next != nil {
		row("next run", "%s, in %s (%s)", clock(*e.Next), age(e.Next.Sub(now)), e.Schedule)
	} else {
		row("next run", "on request only")
	}
}

func clock(t time.Time) string { return t.Local().Format(time.DateTime) }

// age writes a duration for people: 3d4h, 2h5m, 12s.
func age(d time.Duration) string {
	switch d = max(0, d.Round(time.Second)); {
	case d >= 24*time.Hour:
		return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return d.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
