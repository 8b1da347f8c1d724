package cli

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/extract"
	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
)

// spending counts what the calls of a model cost.
type spending struct {
	calls, in, out    atomic.Int64
	priceIn, priceOut float64 // of a million tokens
}

func (s *spending) observe(c llm.Call) {
	s.calls.Add(1)
	s.in.Add(int64(c.Usage.PromptTokens))
	s.out.Add(int64(c.Usage.CompletionTokens))
}

func (s *spending) String() string {
	in, out := s.in.Load(), s.out.Load()
	text := fmt.Sprintf("%s tokens in, %s out", grouped(in), grouped(out))
	if s.priceIn > 0 || s.priceOut > 0 {
		text += fmt.Sprintf(", cost %.4f", (float64(in)*s.priceIn+float64(out)*s.priceOut)/1e6)
	}
	return text
}

func (c *command) extractCommand() *cobra.Command {
	s := &settings{}
	opts := extract.Options{Stdin: c.In}
	spent := &spending{}
	var quiet bool
	cmd := &cobra.Command{
		Use: "extract FILE...", Short: "Read triplets out of text with the chat model, for load; - is standard input",
		Long: "extract cuts texts into chunks, lets the model name the entities and facts of each, and writes\n" +
			"triplets for \"dgraph-evorag load\". A chunk becomes a node with its text and an edge \"mentions\" to\n" +
			"each entity, so that an answer can be traced to where it stands; these edges learn like any other.\n" +
			"Names that a chunk does not hold are left out. What the model said is kept in OUTPUT.said: a run\n" +
			"that was cut off goes on, and a text that has changed costs only its new chunks. With llm.prompt_price\n" +
			"and llm.completion_price set, the cost is shown.",
		Example: "  dgraph-evorag extract notes.txt report.md -o triplets.jsonl --llm-url http://127.0.0.1:11434/v1 --llm-model qwen3\n" +
			"  dgraph-evorag load triplets.jsonl",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("no file is given; name one, or - for standard input"), cmd.CommandPath()}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				if err := readable(name); err != nil {
					return err
				}
			}
			cfg, err := s.load(c.Env)
			if err != nil {
				return err
			}
			model, err := app.NewExtractor(cfg, spent.observe)
			if err != nil {
				return err
			}
			opts.Files, opts.Extractor = args, model
			spent.priceIn, spent.priceOut = cfg.LLM.PromptPrice, cfg.LLM.CompletionPrice
			show, began := newProgress(c.Err, quiet), time.Now()
			fresh := 0
			opts.Progress = func(p extract.Progress) {
				fresh = int(spent.calls.Load())
				show.line(func() string { return reading(p, fresh, time.Since(began), spent) })
			}
			report, err := extract.Run(cmd.Context(), opts)
			show.end()
			if err != nil {
				if report.Chunks > 0 {
					err = fmt.Errorf("%w (what was read is kept: the same command goes on)", err)
				}
				return err
			}
			return c.printExtract(report, opts.Output, spent)
		},
	}
	s.addTo(cmd, "llm.base_url", "llm.model")
	f := cmd.Flags()
	f.StringVarP(&opts.Output, "output", "o", "triplets.jsonl", "`file` for the triplets")
	f.IntVar(&opts.Tokens, "tokens", 512, "longest chunk, in tokens (cl100k_base)")
	f.IntVar(&opts.Workers, "workers", 4, "calls of the model at once")
	f.BoolVar(&quiet, "quiet", false, "no progress lines")
	return cmd
}

// reading is one line: how many chunks, how long still, what it cost. Only calls take time,
// so the remaining time is counted from them.
func reading(p extract.Progress, calls int, took time.Duration, spent *spending) string {
	line := fmt.Sprintf("%3d%%  %s of %s chunks", p.Done*100/p.Total, grouped(int64(p.Done)), grouped(int64(p.Total)))
	if calls > 0 && p.Done < p.Total {
		line += "  " + (took / time.Duration(calls) * time.Duration(p.Total-p.Done)).Round(time.Second).String() + " left"
	}
	return line + "  " + spent.String()
}

func (c *command) printExtract(r extract.Report, output string, spent *spending) error {
	fmt.Fprintf(c.Out, "%s: %s and %s from %s of %s\n", output, counted(r.Facts, "fact"), counted(r.Mentions, "mention"), counted(r.Chunks, "chunk"), counted(r.Files, "file"))
	if r.Known > 0 {
		fmt.Fprintf(c.Out, "  %s had been read before\n", counted(r.Known, "chunk"))
	}
	if r.Dropped > 0 {
		fmt.Fprintf(c.Out, "  %s left out: not in the text\n", counted(r.Dropped, "name or fact"))
	}
	fmt.Fprintf(c.Out, "  %s\n", spent)
	for _, b := range r.Failed {
		fmt.Fprintf(c.Err, "%s: %v\n", b.Chunk, b.Err)
	}
	if n := len(r.Failed); n > 0 {
		return fmt.Errorf("%s could not be read; the same command tries them again", counted(n, "chunk"))
	}
	return nil
}
