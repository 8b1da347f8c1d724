package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/embed"
)

func (c *command) indexCommand() *cobra.Command {
	s := &settings{}
	var opts embed.IndexOptions
	var dataDir string
	var quiet bool
	cmd := &cobra.Command{
		Use: "index", Short: "Embed the graph's texts ahead of questions", Args: c.none,
		Long: "index reads the graph's names and labels, with embedding.way: triplet its triplets too, and has the\n" +
			"embeddings model make vectors of those that have none yet. Vectors are kept on local disk\n" +
			"(embedding.dir) by model and text: a run that was cut off goes on, a text that occurs twice is paid\n" +
			"for once, and a sidecar that uses the same folder takes new vectors in while it runs. --dry-run\n" +
			"counts texts and estimates tokens, and with embedding.price the cost.",
		Example: "  dgraph-evorag index --dgraph localhost:9080 --embedding-url http://127.0.0.1:11434/v1 --embedding-model all-minilm --dry-run",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := s.load(c.Env)
			if err != nil {
				return err
			}
			show := newProgress(c.Err, quiet)
			opts.Progress = func(p embed.Progress) { show.line(func() string { return indexing(p) }) }
			reading := func(edges int) { show.line(func() string { return "reading   " + grouped(int64(edges)) + " edges" }) }
			log := slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
			report, err := app.Index(cmd.Context(), cfg, dataDir, opts, reading, log)
			show.end()
			if report.Texts > 0 {
				c.printIndex(report, opts.DryRun, cfg.Embedding.Price)
			}
			if err == nil && report.Bad > 0 {
				err = fmt.Errorf("the model's vectors of %s are zero or no numbers; these texts count by their hashed words", counted(report.Bad, "text"))
			}
			return ended(cmd.Context(), err)
		},
	}
	s.addTo(cmd, "dgraph", "login.user", "login.password_file", "embedding.base_url", "embedding.model", "embedding.way")
	f := cmd.Flags()
	f.BoolVar(&opts.DryRun, "dry-run", false, "count texts and estimate what they take, embed nothing")
	f.IntVar(&opts.Workers, "workers", 2, "calls of the model at once")
	f.StringVar(&dataDir, "data", "", "data `folder` of \"dgraph-evorag up\", where its vectors are")
	f.BoolVar(&quiet, "quiet", false, "no progress lines")
	return cmd
}

// ended is the interrupt where there was one, whatever else it led to.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// indexing is one line: how many texts, how fast, how long still, what it cost.
func indexing(p embed.Progress) string {
	line := fmt.Sprintf("%3d%%  %s of %s texts  %s/s", p.Done*100/p.Total, grouped(int64(p.Done)), grouped(int64(p.Total)), grouped(int64(p.Rate)))
	if p.Remaining > 0 {
		line += "  " + p.Remaining.Round(time.Second).String() + " left"
	}
	return line + "  " + grouped(int64(p.Tokens)) + " tokens"
}

func (c *command) printIndex(r embed.Report, dry bool, price float64) {
	cost := ""
	if price > 0 {
		cost = fmt.Sprintf(", cost %.4f", float64(r.Tokens)*price/1e6)
	}
	if dry {
		fmt.Fprintf(c.Out, "%s, %s have a vector; the other %s would take about %s tokens%s\n",
			counted(r.Texts, "different text"), grouped(int64(r.Known)), grouped(int64(r.Texts-r.Known)), grouped(int64(r.Tokens)), cost)
		return
	}
	rate := ""
	if s := r.Took.Seconds(); s > 0 && r.Embedded > 0 {
		rate = fmt.Sprintf(" (%s/s)", grouped(int64(float64(r.Embedded)/s)))
	}
	fmt.Fprintf(c.Out, "%s, %s had a vector, %s embedded in %s%s, %s tokens%s\n",
		counted(r.Texts, "different text"), grouped(int64(r.Known)), grouped(int64(r.Embedded)), r.Took.Round(10*time.Millisecond), rate, grouped(int64(r.Tokens)), cost)
}
