package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/eval"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

func (c *command) evalCommand() *cobra.Command {
	s := &settings{}
	e := evaluation{command: c, settings: s}
	cmd := &cobra.Command{
		Use: "eval", Short: "Measure on question sets whether feedback helps", Args: c.none,
		Long: "eval loads question sets into private clusters and lets them be asked, rated and evolved through\n" +
			"the sidecar's public interfaces; held-out questions tell what was gained. It writes report.html and\n" +
			"report.json. A set is a folder with triples.tsv[.gz] and questions.jsonl; see docs/EVALUATION.md.\n" +
			"With --dgraph a cluster of yours is used; what it has learned is forgotten.",
		Example: "  dgraph-evorag eval --data ./sets --sets pq-2h --out ./report",
		RunE:    func(cmd *cobra.Command, _ []string) error { return e.run(cmd) },
	}
	s.addTo(cmd, "dgraph", "login.user", "login.password_file", "llm.base_url", "llm.model")
	f := cmd.Flags()
	f.StringVar(&e.data, "data", "", "`folder` with a question set, or with a folder for each (default: EVORAG_DATA)")
	f.StringVar(&e.out, "out", "eval-report", "`folder` of report.html and report.json")
	f.StringSliceVar(&e.sets, "sets", nil, "`names` of the sets (default: all that are in the folder)")
	f.StringSliceVar(&e.kinds, "splits", []string{"paraphrase", "unseen"}, "`what` is held out: paraphrase, unseen, chronological, protocol")
	f.StringSliceVar(&e.experiments, "experiments", []string{"compare"}, "`names` of the experiments, or all: "+names(eval.Experiments))
	f.IntVar(&e.detail, "detail", 1, "`number` of sets, the smallest first, for the experiments besides compare, control and planted")
	f.IntVar(&e.most, "max-triples", 0, "leave out sets with more than this `number` of triplets (default: none)")
	f.StringSliceVar(&e.detailKinds, "detail-splits", []string{"paraphrase"}, "`splits` for the experiments besides compare, control and planted")
	f.IntVar(&e.plan.DetailSeeds, "detail-seeds", 1, "`number` of seeds for the experiments besides compare")
	f.IntVar(&e.plan.Seeds, "seeds", 1, "`number` of seeds")
	f.IntVar(&e.plan.Iterations, "iterations", 6, "`number` of iterations of asking, rating, learning and evolving")
	f.IntVar(&e.plan.Sizes.Train, "train", 200, "`number` of questions rated in an iteration")
	f.IntVar(&e.plan.Sizes.Test, "test", 200, "`number` of questions held out")
	f.IntVar(&e.options.Batch, "batch", 40, "`number` of questions that are asked, then rated, before the next")
	f.IntVar(&e.options.Concurrency, "concurrency", 8, "`number` of calls at once")
	f.BoolVar(&e.options.Linked, "linked", false, "find the topic entities in the question, instead of taking those of the set")
	f.BoolVar(&e.yes, "yes", false, "with --dgraph: really load into that cluster, and forget what it has learned")
	f.BoolVar(&e.check, "check", false, "fail where a bar is missed")
	f.StringVar(&e.engine.DataDir, "work", "", "`folder` for the private clusters (default: a temporary one)")
	f.StringVar(&e.engine.Bin, "dgraph-bin", "", "dgraph `binary` (default: DGRAPH_BIN, bin/dgraph, beside this program, or on PATH)")
	return cmd
}

func names(all []eval.Experiment) string {
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = string(e)
	}
	return strings.Join(out, ", ")
}

// evaluation is one run of the command.
type evaluation struct {
	*command
	settings                              *settings
	data, out                             string
	sets, kinds, detailKinds, experiments []string
	plan                                  eval.Plan
	options                               eval.Options
	engine                                app.EngineOptions
	check, yes                            bool
	detail, most                          int
}

func (e *evaluation) run(cmd *cobra.Command) (err error) {
	if e.data == "" {
		e.data = e.Env("EVORAG_DATA")
	}
	if e.data == "" {
		return usageError{errors.New("no question sets; name their folder with --data"), cmd.CommandPath()}
	}
	for _, k := range e.kinds {
		e.plan.Kinds = append(e.plan.Kinds, eval.Kind(k))
	}
	for _, k := range e.detailKinds {
		e.plan.DetailKinds = append(e.plan.DetailKinds, eval.Kind(k))
	}
	for _, x := range e.experiments {
		if x == "all" {
			e.plan.Experiments = eval.Experiments
			break
		}
		e.plan.Experiments = append(e.plan.Experiments, eval.Experiment(x))
	}
	if err := e.plan.Verify(); err != nil {
		return usageError{err, cmd.CommandPath()}
	}
	if cmd.Flags().Changed("dgraph") && !e.yes {
		return errors.New("eval loads its sets into the cluster at --dgraph and forgets all that was learned there, before each trial; add --yes if that is what you want, or leave --dgraph out")
	}
	cfg, err := e.settings.load(e.Env)
	if err != nil {
		return err
	}
	sets, err := eval.ReadSets(e.data, e.sets)
	if err != nil {
		return err
	}
	if e.most > 0 {
		sets = slices.DeleteFunc(sets, func(s *eval.Set) bool { return s.Size > e.most })
		if len(sets) == 0 {
			return fmt.Errorf("every set has more than %d triplets; write a larger --max-triples, or leave it out", e.most)
		}
	}
	e.plan.Detail = eval.First(sets, e.detail)
	lab, done, err := e.lab(cmd, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	e.options.Iterations, e.options.Model = e.plan.Iterations, cfg.LLM.BaseURL != ""
	if e.options.Model {
		if e.options.Judge, err = app.NewRater(cfg); err != nil {
			return err
		}
	}
	e.options.Progress = func(format string, args ...any) { fmt.Fprintf(e.Err, format+"\n", args...) }
	report, err := eval.Run(cmd.Context(), lab, sets, e.plan, e.options)
	report.Version, report.Model = e.Version, cfg.LLM.Model
	report.Command = "dgraph-evorag " + strings.Join(e.Args, " ")
	if len(report.Trials) > 0 || err == nil { // what was measured before a failure is worth keeping
		err = errors.Join(err, e.write(report))
	}
	if err == nil && e.check {
		err = report.Check()
	}
	return err
}

// lab is where the clusters come from; done takes away what was made for it.
func (e *evaluation) lab(cmd *cobra.Command, cfg config.Config) (*app.Lab, func() error, error) {
	if e.engine.Bin == "" {
		e.engine.Bin = e.Env("DGRAPH_BIN")
	}
	done := func() error { return nil }
	if err := os.MkdirAll(e.out, 0o755); err != nil {
		return nil, nil, fmt.Errorf("--out: %w", err)
	}
	file, err := os.Create(filepath.Join(e.out, "sidecar.log"))
	if err != nil {
		return nil, nil, fmt.Errorf("--out: %w", err)
	}
	log, err := telemetry.NewLogger(file, cfg.Log.Level, cfg.Log.Format)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	lab := &app.Lab{Engine: e.engine, Given: cmd.Flags().Changed("dgraph"), Version: e.Version, Log: log}
	lab.Sources = e.settings.sources(e.Env)
	if lab.Engine.DataDir == "" {
		if lab.Engine.DataDir, err = os.MkdirTemp("", "evorag-eval-"); err != nil {
			return nil, nil, errors.Join(err, file.Close())
		}
		dir := lab.Engine.DataDir
		done = func() error { return os.RemoveAll(dir) }
	}
	return lab, func() error { return errors.Join(done(), file.Close()) }, nil
}

func (e *evaluation) write(r *eval.Report) error {
	for name, write := range map[string]func(*os.File) error{
		"report.json": func(f *os.File) error { return r.WriteJSON(f) },
		"report.html": func(f *os.File) error { return r.WriteHTML(f) },
	} {
		f, err := os.Create(filepath.Join(e.out, name))
		if err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		if err := errors.Join(write(f), f.Close()); err != nil {
			return err
		}
	}
	return r.WriteText(e.Out)
}
