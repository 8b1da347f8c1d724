// Package cli is the command line: it reads flags, calls the rooms that do the work, and
// prints what they return.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
)

// Process is what a command gets from the operating system.
type Process struct {
	Args     []string
	Env      func(string) string
	In       io.Reader
	Out, Err io.Writer
	Version  string
}

// command is one run of the program.
type command struct {
	Process
	force chan struct{} // closed by the second interrupt
}

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT
)

// Run runs one command and returns its exit code. Errors are one line on Err each; an
// interrupt stops in order, a second one at once.
func Run(p Process) int {
	c := &command{Process: p, force: make(chan struct{})}
	ctx, stop := c.interruptible()
	defer stop()
	return c.run(ctx)
}

func (c *command) run(ctx context.Context) int {
	root := c.root()
	root.SetArgs(c.Args)
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		fmt.Fprintln(c.Err, "dgraph-evorag: interrupted")
		return exitInterrupted
	}
	// Further lines are the tail of a log, or more faults of the same kind.
	fmt.Fprintln(c.Err, "dgraph-evorag: "+strings.ReplaceAll(err.Error(), "\n", "\n  "))
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(c.Err, "Run %q to see what can be written.\n", usage.command+" --help")
		return exitUsage
	}
	return exitFailed
}

// interruptible is done at the first interrupt; the second closes c.force.
func (c *command) interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-signals:
			case <-ended:
				return
			}
			switch n {
			case 0:
				cancel()
			case 1:
				close(c.force)
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); close(ended); cancel() }
}

// usageError is a fault in what was written on the command line.
type usageError struct {
	error
	command string
}

func (e usageError) Unwrap() error { return e.error }

func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "dgraph-evorag",
		Short: "Dgraph that ranks paths and learns from feedback",
		Long: "dgraph-evorag stands in front of a Dgraph cluster, speaks its HTTP and gRPC, and adds one\n" +
			"directive to DQL: @evorag. Queries without it pass through untouched.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       c.Version,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{err, cmd.CommandPath()} })
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(c.upCommand(), c.serveCommand(), c.loadCommand(), c.extractCommand(), c.indexCommand(), c.generateCommand(), c.retrieveCommand(), c.askCommand(), c.judgeCommand(),
		c.rateCommand(), c.explainCommand(), c.scoresCommand(), c.evalCommand(),
		c.evolveCommand(), c.runsCommand(), c.statusCommand(), c.doctorCommand(), c.mcpCommand(), c.migrateCommand(), c.configCommand(), c.versionCommand())
	return root
}

func (c *command) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: c.none,
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintf(c.Out, "dgraph-evorag %s (%s, %s/%s)\n", c.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}

func (c *command) configCommand() *cobra.Command {
	s := &settings{}
	cmd := &cobra.Command{
		Use: "config", Short: "Print the settings that are in force, without secrets", Args: c.none,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := s.load(c.Env)
			if err != nil {
				return err
			}
			text, err := cfg.YAML()
			if err != nil {
				return err
			}
			_, err = c.Out.Write(text)
			return err
		},
	}
	s.addTo(cmd, "dgraph", "dgraph_http", "http_addr", "grpc_addr", "log.level", "log.format")
	return cmd
}

// none is for commands that take flags only; one is for those that take the thing named.
func (c *command) none(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%q is one word too many", args[0]), cmd.CommandPath()}
	}
	return nil
}

func (c *command) one(thing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError{fmt.Errorf("%d arguments; write %s, in quotes where it has spaces", len(args), thing), cmd.CommandPath()}
		}
		return nil
	}
}

// settings are the flags that stand for fields of the configuration.
type settings struct {
	file  string
	flags map[string]*string // by field path
	cmd   *cobra.Command
}

// flagOf names the flag of each field that has one.
var flagOf = map[string]struct{ name, usage string }{
	"dgraph":              {"dgraph", "`address` of the cluster: host:port of an alpha's gRPC, or dgraph://host:port?... (default 127.0.0.1:9080)"},
	"dgraph_http":         {"dgraph-http", "`URL` of the alpha's HTTP (default: the gRPC port minus 1000)"},
	"http_addr":           {"http", "`host:port` where Dgraph's HTTP is served (default 127.0.0.1:8180)"},
	"grpc_addr":           {"grpc", "`host:port` where Dgraph's gRPC is served (default 127.0.0.1:9180)"},
	"log.level":           {"log-level", "debug, info, warn or error (default info)"},
	"log.format":          {"log-format", "text or json (default text)"},
	"llm.base_url":        {"llm-url", "`URL` of an OpenAI-compatible server whose chat model answers and judges, for instance http://127.0.0.1:11434/v1"},
	"llm.model":           {"llm-model", "`name` of the model on that server"},
	"embedding.base_url":  {"embedding-url", "`URL` of an OpenAI-compatible server whose embeddings model gives vectors of texts, for instance http://127.0.0.1:11434/v1"},
	"embedding.model":     {"embedding-model", "`name` of the model on that server"},
	"embedding.way":       {"relevance", "how relevance comes about: hash, triplet or composed (default hash)"},
	"login.user":          {"user", "the sidecar's own `user` on a cluster with access control"},
	"login.password_file": {"password-file", "`file` with that user's password"},
}

// addTo gives cmd the flag --config and those of the fields.
func (s *settings) addTo(cmd *cobra.Command, fields ...string) {
	s.cmd, s.flags = cmd, map[string]*string{}
	cmd.Flags().StringVar(&s.file, "config", "", "settings `file` (YAML; see \"dgraph-evorag config\")")
	for _, f := range fields {
		s.flags[f] = cmd.Flags().String(flagOf[f].name, "", flagOf[f].usage)
	}
}

// load gathers the settings: defaults, file, environment, then the flags that were given.
// A secret inside a flag is refused: other users of the machine could read it.
func (s *settings) load(env func(string) string) (config.Config, error) {
	from := s.sources(env)
	if target := from.Flags["dgraph"]; target != "" {
		if err := app.RefuseSecrets(target); err != nil {
			return config.Config{}, err
		}
	}
	return config.Load(from)
}

// sources are where the settings come from.
func (s *settings) sources(env func(string) string) config.Sources {
	given := map[string]string{}
	for field, value := range s.flags {
		if s.cmd.Flags().Changed(flagOf[field].name) {
			given[field] = *value
		}
	}
	file := s.file
	if file == "" {
		file = env(config.EnvPrefix + "CONFIG")
	}
	return config.Sources{File: file, Env: env, Flags: given}
}
