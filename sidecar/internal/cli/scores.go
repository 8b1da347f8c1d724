package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
)

// shortcut is the one predicate of ours that is scored like the user's.
const shortcut = "evorag.shortcut"

func (c *command) scoresCommand() *cobra.Command {
	s := &settings{}
	var yes bool
	cmd := &cobra.Command{
		Use: "scores export|import|reset [FILE]", Short: "Save, restore or forget what was learned about edges",
		Long: "export writes a JSON line for each scored edge, and alpha; import gives the edges that are there\n" +
			"those scores; reset takes all scores and alpha away. Other facets of the edges stay as they are.\n" +
			"FILE is - or left out for standard input and output.",
		Example: "  dgraph-evorag scores export --dgraph localhost:9080 scores.jsonl",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 || (args[0] != "export" && args[0] != "import" && args[0] != "reset") || (args[0] == "reset" && len(args) == 2) {
				return usageError{errors.New("write export, import or reset, and a file for the first two"), cmd.CommandPath()}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "reset" && !yes {
				return errors.New("scores reset forgets what was learned, for good; add --yes if that is what you want")
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
			file := "-"
			if len(args) == 2 {
				file = args[1]
			}
			switch args[0] {
			case "export":
				return c.exportScores(cmd.Context(), client, file)
			case "import":
				return c.importScores(cmd.Context(), client, file)
			}
			predicates, err := scorable(cmd.Context(), client)
			if err != nil {
				return err
			}
			n, err := feedback.Reset(cmd.Context(), client, predicates)
			fmt.Fprintf(c.Out, "%s forgotten\n", counted(n, "score"))
			return err
		},
	}
	s.addTo(cmd, "dgraph", "login.user", "login.password_file")
	cmd.Flags().BoolVar(&yes, "yes", false, "really forget (reset)")
	return cmd
}

func scorable(ctx context.Context, client *dgraph.Client) ([]string, error) {
	schema, err := client.OwnSchema(ctx)
	predicates := schema.UIDPredicates()
	if _, ok := schema.Predicates[shortcut]; ok {
		predicates = append(predicates, shortcut)
	}
	return predicates, err
}

func (c *command) exportScores(ctx context.Context, client *dgraph.Client, file string) (err error) {
	predicates, err := scorable(ctx, client)
	if err != nil {
		return err
	}
	out := c.Out
	if file != "-" {
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	}
	buffered := bufio.NewWriter(out)
	lines, n := json.NewEncoder(buffered), 0
	err = feedback.Export(ctx, client, predicates, func(l feedback.Line) error {
		if l.Alpha == nil {
			n++
		}
		return lines.Encode(l)
	})
	if err = errors.Join(err, buffered.Flush()); err == nil {
		fmt.Fprintf(c.Err, "%s exported\n", counted(n, "score"))
	}
	return err
}

func (c *command) importScores(ctx context.Context, client *dgraph.Client, file string) error {
	in := c.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	done, err := feedback.Import(ctx, client, in)
	fmt.Fprintf(c.Out, "%s imported", counted(done.Edges, "score"))
	if done.Missing > 0 {
		fmt.Fprintf(c.Out, ", %s not in this graph", counted(done.Missing, "edge"))
	}
	fmt.Fprintln(c.Out)
	return err
}
