package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/load"
	"github.com/evorag/dgraph-evorag/sidecar/internal/load/triplefile"
)

func (c *command) loadCommand() *cobra.Command {
	s := &settings{}
	opts := load.Options{Now: time.Now, Stdin: c.In}
	var format string
	var quiet bool
	var offline app.EngineOptions
	cmd := &cobra.Command{
		Use: "load FILE...", Short: "Load triplets: TSV, CSV, JSONL, N-Triples or N-Quads, gzipped or not; - is standard input",
		Long: "Each line of a TSV or CSV file is head, relation, object; a JSONL line has these as keys.\n" +
			"A relation becomes a predicate, its text is kept. What the cluster has already is left\n" +
			"alone, so loading a file twice changes nothing, and a load that was cut off is completed\n" +
			"by running it again. Lines that can't be read are counted and passed over.\n\n" +
			"With --offline the files become the data of a new private engine, by dgraph bulk: several\n" +
			"times faster for a million triplets. dgraph-evorag up --data continues there.",
		Example: "  dgraph-evorag load films.tsv people.nq.gz\n  dgraph-evorag load --offline ./evorag-data freebase.tsv.gz",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("no file is given; name one, or - for standard input"), cmd.CommandPath()}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if opts.Format, err = triplefile.ParseFormat(format); err != nil {
				return usageError{err, cmd.CommandPath()}
			}
			for _, name := range args { // before the cluster is asked: a wrong name is the likelier fault
				if err := readable(name); err != nil {
					return err
				}
			}
			cfg, err := s.load(c.Env)
			if err != nil {
				return err
			}
			opts.Files = args
			if offline.DataDir != "" {
				if offline.Bin == "" {
					offline.Bin = c.Env("DGRAPH_BIN")
				}
				return c.loadOffline(cmd.Context(), offline, opts, quiet)
			}
			client, err := app.Dial(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			defer client.Close()
			show := newProgress(c.Err, quiet)
			report, err := load.Run(cmd.Context(), client, opts, show.tell)
			show.end()
			printReport(c.Out, report, opts.DryRun)
			return err
		},
	}
	s.addTo(cmd, "dgraph", "login.user", "login.password_file")
	f := cmd.Flags()
	f.StringVar(&format, "format", "", "`format` of the files: tsv, csv, jsonl, nt, nq (default: by name and first line)")
	f.BoolVar(&opts.DryRun, "dry-run", false, "tell what would be written, write nothing")
	f.StringVar(&opts.EntityType, "type", "Entity", "dgraph.type of new nodes")
	f.StringVar(&opts.NamePredicate, "name", "name", "`predicate` that holds a node's name")
	f.IntVar(&opts.Batch, "batch", 0, "edges in one transaction (default 2000)")
	f.IntVar(&opts.Workers, "workers", 0, "transactions at once (default 4)")
	f.BoolVar(&quiet, "quiet", false, "no progress lines")
	f.StringVar(&offline.DataDir, "offline", "", "`folder` of a new private engine to fill, instead of a running cluster")
	f.StringVar(&offline.Bin, "dgraph-bin", "", "with --offline: dgraph `binary` (default: DGRAPH_BIN, bin/dgraph, beside this program, or on PATH)")
	return cmd
}

// loadOffline turns the files into the data of an engine that is started later.
func (c *command) loadOffline(ctx context.Context, e app.EngineOptions, opts load.Options, quiet bool) error {
	if opts.DryRun {
		return errors.New("--dry-run asks the running cluster; leave --offline out")
	}
	show := newProgress(c.Err, quiet)
	e.Progress = func(line string) { show.line(func() string { return line }) }
	report, err := app.LoadOffline(ctx, e, opts, show.tell)
	show.end()
	printReport(c.Out, report, false)
	return err
}

func readable(name string) error {
	if name == "-" {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder; name the files in it", name)
	}
	return nil
}

// progress shows how far a command is: one line drawn over again on a terminal, else a line
// every few seconds.
type progress struct {
	out   io.Writer
	tty   bool
	quiet bool
	last  time.Time
	open  bool // a line without its newline stands on the terminal
}

const lineEvery = 5 * time.Second

func newProgress(out io.Writer, quiet bool) *progress {
	return &progress{out: out, tty: isTerminal(out), quiet: quiet, last: time.Now()}
}

func (p *progress) tell(at load.Progress) {
	p.line(func() string { return describe(at) })
}

// line shows what text gives, where it is time for a line.
func (p *progress) line(text func() string) {
	if p.quiet || !p.tty && time.Since(p.last) < lineEvery {
		return
	}
	p.last = time.Now()
	line := text()
	if p.tty {
		fmt.Fprintf(p.out, "\r\x1b[K%s", line)
		p.open = true
		return
	}
	fmt.Fprintln(p.out, line)
}

func (p *progress) end() {
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}

// describe is one line: phase, how much, how fast, how long still.
func describe(at load.Progress) string {
	amount := func(n int64) string {
		if at.Phase == load.PhaseRead {
			return fmt.Sprintf("%.1f MB", float64(n)/1e6)
		}
		return grouped(n)
	}
	line := fmt.Sprintf("%-8s  %s", at.Phase, amount(at.Done))
	if at.Total > 0 {
		line = fmt.Sprintf("%-8s  %3d%%  %s of %s", at.Phase, at.Done*100/at.Total, amount(at.Done), amount(at.Total))
	}
	if at.Rate > 0 {
		line += "  " + amount(int64(at.Rate)) + "/s"
	}
	if at.Remaining > 0 {
		line += "  " + at.Remaining.Round(time.Second).String() + " left"
	}
	return line
}

// printReport tells what a load did.
func printReport(out io.Writer, r load.Report, dry bool) {
	if r.Triplets == 0 && r.Bad == 0 {
		return
	}
	verb := ""
	if dry {
		verb = "would be "
	}
	row := func(name string, n load.Count) {
		if n != (load.Count{}) {
			fmt.Fprintf(out, "  %-9s %12s %snew  %12s there already\n", name, grouped(int64(n.New)), verb, grouped(int64(n.Existing)))
		}
	}
	fmt.Fprintf(out, "%s triplets in %s (%s/s), %d relations\n",
		grouped(int64(r.Triplets)), r.Elapsed.Round(10*time.Millisecond), grouped(int64(r.Rate())), len(r.Relations))
	row("entities", r.Entities)
	row("edges", r.Edges)
	row("values", r.Values)
	if r.Doubles > 0 {
		fmt.Fprintf(out, "  %s triplets stood there more than once\n", grouped(int64(r.Doubles)))
	}
	if r.Ambiguous > 0 {
		fmt.Fprintf(out, "  %s names belong to several nodes; the one with the lowest uid was taken\n", grouped(int64(r.Ambiguous)))
	}
	if r.Bad > 0 {
		fmt.Fprintf(out, "  %s lines could not be read and were passed over:\n", grouped(int64(r.Bad)))
		for _, e := range r.FirstBad {
			fmt.Fprintf(out, "    %v\n", e)
		}
		if more := r.Bad - len(r.FirstBad); more > 0 {
			fmt.Fprintf(out, "    and %s more\n", grouped(int64(more)))
		}
	}
}
