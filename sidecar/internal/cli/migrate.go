package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/migrate"
)

func (c *command) migrateCommand() *cobra.Command {
	s := &settings{}
	var reverse []string
	var yes bool
	var to int
	cmd := &cobra.Command{
		Use: "migrate up|down|status", Short: "Bring the cluster's schema to today's, or back",
		Long: "up runs the migrations that the cluster hasn't had; serve and up do it by themselves.\n" +
			"down takes them back, with all that was learned and recorded; facets on your edges stay.\n" +
			"Your own predicates are never touched, unless you name them with --reverse.",
		Example:   "  dgraph-evorag migrate up --dgraph localhost:9080 --reverse directed_by,starring",
		ValidArgs: []string{"up", "down", "status"},
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)(cmd, args); err != nil {
				return usageError{err, cmd.CommandPath()}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != "up" && len(reverse) > 0 {
				return usageError{errors.New("--reverse belongs to migrate up"), cmd.CommandPath()}
			}
			if args[0] == "down" && !yes {
				return errors.New("migrate down removes evorag's predicates with all that was learned and recorded, for good; add --yes if that is what you want")
			}
			cfg, err := s.load(c.Env)
			if err != nil {
				return err
			}
			client, err := app.Dial(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			defer client.Close()
			m, err := app.Migrator(client)
			if err != nil {
				return err
			}
			switch args[0] {
			case "up":
				return c.migrateUp(cmd.Context(), m, reverse)
			case "down":
				done, err := m.Down(cmd.Context(), to)
				printStates(c.Out, done, "taken back", "nothing to take back")
				return err
			}
			all, err := m.Status(cmd.Context())
			printStates(c.Out, all, "", "no migrations")
			return err
		},
	}
	s.addTo(cmd, "dgraph", "login.user", "login.password_file")
	cmd.Flags().StringSliceVar(&reverse, "reverse", nil, "`predicates` of yours to give @reverse, so that paths can follow them backwards (up)")
	cmd.Flags().BoolVar(&yes, "yes", false, "really take back (down)")
	cmd.Flags().IntVar(&to, "to", 0, "`version` to go back to (down)")
	return cmd
}

func (c *command) migrateUp(ctx context.Context, m *migrate.Migrator, reverse []string) error {
	done, err := m.Up(ctx)
	printStates(c.Out, done, "done", "the cluster is up to date")
	if err != nil || len(reverse) == 0 {
		return err
	}
	changed, err := m.AddReverse(ctx, reverse)
	if err != nil {
		return err
	}
	if len(changed) == 0 {
		fmt.Fprintln(c.Out, "every predicate named has @reverse already")
		return nil
	}
	fmt.Fprintln(c.Out, "@reverse added: "+strings.Join(changed, ", "))
	return nil
}

// printStates prints one line per migration: its number, name, and when it was applied, or
// done where that is the same for all.
func printStates(out io.Writer, states []migrate.State, done, none string) {
	if len(states) == 0 {
		fmt.Fprintln(out, none)
		return
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range states {
		when := done
		if done == "" {
			when = "to run"
			if !s.Applied.IsZero() {
				when = "applied " + s.Applied.Local().Format(time.DateTime)
			}
		}
		fmt.Fprintf(t, "%04d\t%s\t%s\n", s.Version, s.Name, when)
	}
	_ = t.Flush() // out reports its own failures
}
