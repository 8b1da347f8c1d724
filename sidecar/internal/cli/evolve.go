package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/evolution"
)

// evolving are the flags of commands about runs: they ask a running sidecar, which knows the
// rules and holds the graph in memory.
type evolving struct {
	administrator
	namespace uint64
	output    string
}

func (e *evolving) addTo(cmd *cobra.Command) {
	e.administrator.addTo(cmd)
	f := cmd.Flags()
	f.Uint64Var(&e.namespace, "namespace", 0, "in this `namespace`, one that the sidecar evolves (default: its own)")
	f.StringVarP(&e.output, "output", "o", "table", "table or json")
}

// show prints an answer: as it came, or by table.
func show[T any](c *command, e *evolving, raw json.RawMessage, table func(io.Writer, T)) error {
	if e.output == "json" {
		return c.printJSON(raw)
	}
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("the answer is not about runs: %w", err)
	}
	table(c.Out, v)
	return nil
}

func (e *evolving) check(cmd *cobra.Command) error {
	if e.output != "table" && e.output != "json" {
		return usageError{fmt.Errorf("--output is %q; write table or json", e.output), cmd.CommandPath()}
	}
	return nil
}

// get asks for runs.
func (e *evolving) get(c *command, cmd *cobra.Command, path string, query url.Values) (raw json.RawMessage, err error) {
	if err := e.check(cmd); err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("namespace") {
		query.Set("namespace", strconv.FormatUint(e.namespace, 10))
	}
	err = e.administrator.get(cmd.Context(), c, path, query, &raw)
	return raw, err
}

// post orders a run or an undo.
func (e *evolving) post(c *command, cmd *cobra.Command, path string, order map[string]any) (json.RawMessage, error) {
	if err := e.check(cmd); err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("namespace") {
		order["namespace"] = e.namespace
	}
	resp, err := e.administrator.post(cmd.Context(), c, path, order)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, largestAnswer))
}

const runsPath = "/evorag/v1/runs"

func (c *command) evolveCommand() *cobra.Command {
	var e evolving
	var dryRun bool
	cmd := &cobra.Command{
		Use: "evolve", Short: "Let the graph evolve now: shortcuts, suppression, recovery", Args: c.none,
		Long: "evolve makes shortcuts between the ends of paths that feedback has found good, hides edges that\n" +
			"stay bad, and shows again what deserves another chance. It prints what it does; \"runs undo\"\n" +
			"brings back what was before. A sidecar does the same by itself on evolution.schedule.",
		Example: "  dgraph-evorag evolve --dry-run",
		RunE: func(cmd *cobra.Command, _ []string) error {
			raw, err := e.post(c, cmd, runsPath, map[string]any{"dry_run": dryRun})
			if err != nil {
				return err
			}
			return show(c, &e, raw, printRun)
		},
	}
	e.addTo(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be done, and write nothing")
	return cmd
}

func (c *command) runsCommand() *cobra.Command {
	runs := &cobra.Command{Use: "runs", Short: "List, show and undo runs of evolution"}
	runs.AddCommand(c.runsListCommand(), c.runsShowCommand(), c.runsUndoCommand())
	return runs
}

func (c *command) runsListCommand() *cobra.Command {
	var e evolving
	var first int
	cmd := &cobra.Command{
		Use: "list", Short: "List the newest runs", Args: c.none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			raw, err := e.get(c, cmd, runsPath, url.Values{"first": {strconv.Itoa(first)}})
			if err != nil {
				return err
			}
			return show(c, &e, raw, printRuns)
		},
	}
	e.addTo(cmd)
	cmd.Flags().IntVar(&first, "first", 20, "how many")
	return cmd
}

func (c *command) runsShowCommand() *cobra.Command {
	var e evolving
	cmd := &cobra.Command{
		Use: "show RUN", Short: "Show what a run did", Args: c.one("one run's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			raw, err := e.get(c, cmd, runsPath+"/"+url.PathEscape(args[0]), url.Values{})
			if err != nil {
				return err
			}
			return show(c, &e, raw, printRun)
		},
	}
	e.addTo(cmd)
	return cmd
}

func (c *command) runsUndoCommand() *cobra.Command {
	var e evolving
	var keep bool
	cmd := &cobra.Command{
		Use: "undo RUN", Short: "Bring back what was there before a run", Args: c.one("one run's id"),
		Long: "undo restores exactly what was there before the run. Where feedback has touched one of its edges\n" +
			"since, it refuses and says which; --keep-feedback takes back the run's own part only, and leaves\n" +
			"rated shortcuts where they are. What you have deleted since stays deleted.",
		RunE: func(cmd *cobra.Command, args []string) error {
			raw, err := e.post(c, cmd, runsPath+"/"+url.PathEscape(args[0])+"/undo", map[string]any{"keep_feedback": keep})
			if err != nil {
				return err
			}
			return show(c, &e, raw, func(out io.Writer, r evolution.Run) { fmt.Fprintf(out, "run %s is undone\n", r.ID) })
		},
	}
	e.addTo(cmd)
	cmd.Flags().BoolVar(&keep, "keep-feedback", false, "let feedback that came after the run stand")
	return cmd
}

func printRuns(out io.Writer, listed evolution.Listed) {
	all := listed.Runs
	if len(all) == 0 {
		fmt.Fprintln(out, "no runs yet")
		return
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "run\tstate\tbegan\tby\tshortcuts\tremoved\thidden\tshown")
	for _, r := range all {
		by := "request"
		if r.Tick != nil {
			by = "schedule"
		}
		n := r.Counts
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\n", r.ID, r.State, r.Began.Local().Format(time.DateTime), by, n.Shortcuts, n.Removed, n.Hidden, n.Shown)
	}
	_ = t.Flush() // out reports its own failures
}

// printRun prints a run as a diff: + for new shortcuts, - for those taken away, ~ for edges.
func printRun(out io.Writer, r evolution.Run) {
	t := r.Thresholds
	fmt.Fprintf(out, "run %s: %s\n", r.ID, r.State)
	fmt.Fprintf(out, "good above %.1f, low below %.1f (mean %.1f, spread %.1f, %d triplets touched by feedback)\n", t.High, t.Low, t.Mu, t.Sigma, t.Touched)
	if r.Note != "" {
		fmt.Fprintln(out, r.Note)
	}
	if g := r.Gate; g != nil {
		fmt.Fprintf(out, "of the paths that earned %d held-out good ratings %.1f%% were retrieved before, %.1f%% after\n", g.Ratings, 100*g.Before, 100*g.After)
	}
	for _, c := range r.Changes {
		fmt.Fprintln(out, changeLine(r, c))
		if c.Kind == evolution.NewShortcut {
			fmt.Fprintln(out, "    for "+pathLine(r, c.Via))
		}
		if c.Note != "" {
			fmt.Fprintln(out, "    not done: "+c.Note)
		}
	}
	if len(r.Changes) == 0 {
		fmt.Fprintln(out, "nothing to change")
		return
	}
	n := r.Counts
	if r.State == evolution.Planned {
		fmt.Fprint(out, "nothing is written; this would be: ")
	}
	fmt.Fprintf(out, "%d shortcuts made, %d removed; %d edges hidden, %d shown again, %d counted on", n.Shortcuts, n.Removed, n.Hidden, n.Shown, n.Counted)
	if n.Dropped > 0 {
		fmt.Fprintf(out, "; %d not done", n.Dropped)
	}
	fmt.Fprintln(out)
}

func changeLine(r evolution.Run, c evolution.Change) string {
	name := func(u graph.UID) string { return cmp.Or(printable(r.Names[u]), u.String()) }
	label := printable(cmp.Or(c.Label, r.Labels[c.Predicate], c.Predicate))
	edge := fmt.Sprintf("%s -[%s]-> %s", name(c.Head), label, name(c.Object))
	switch c.Kind {
	case evolution.NewShortcut:
		return fmt.Sprintf("+ %s  score %.1f", edge, c.After.Score)
	case evolution.OldShortcut:
		return "- " + name(c.Head) + " -[shortcut]-> " + name(c.Object) + "  for " + pathLine(r, c.Via) + ", which is gone"
	}
	var parts []string
	if c.Before.Score != c.After.Score {
		parts = append(parts, fmt.Sprintf("score %.1f -> %.1f", c.Before.Score, c.After.Score))
	} else {
		parts = append(parts, fmt.Sprintf("score %.1f", c.After.Score))
	}
	if c.Before.Low != c.After.Low {
		parts = append(parts, "low runs "+strconv.Itoa(c.Before.Low)+" -> "+strconv.Itoa(c.After.Low))
	}
	if c.Why != "" {
		parts = append(parts, string(c.Why))
	}
	return "~ " + edge + "  " + strings.Join(parts, ", ")
}

// pathLine draws the path of a shortcut with names and labels.
func pathLine(r evolution.Run, via string) string {
	p, err := graph.ParsePath(via)
	if err != nil {
		return printable(via)
	}
	name := func(u graph.UID) string { return cmp.Or(printable(r.Names[u]), u.String()) }
	var b strings.Builder
	b.WriteString(name(p.Start))
	for _, s := range p.Steps {
		label := printable(cmp.Or(r.Labels[s.Predicate], s.Predicate))
		if s.Inverse {
			b.WriteString(" <-[" + label + "]- " + name(s.To()))
		} else {
			b.WriteString(" -[" + label + "]-> " + name(s.To()))
		}
	}
	return b.String()
}
