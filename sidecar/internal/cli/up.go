package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

func (c *command) upCommand() *cobra.Command {
	s := &settings{}
	var e app.EngineOptions
	cmd := &cobra.Command{
		Use: "up", Short: "Start a private Dgraph and stand in front of it", Args: c.none,
		Long: "up starts a zero and an alpha of its own, with the tokenizer and a change feed, and serves in\n" +
			"front of them. Everything is kept in one folder; a second up on it continues where it was.",
		Example: "  dgraph-evorag up --data ./evorag-data",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := s.load(c.Env)
			if err != nil {
				return err
			}
			if e.Bin == "" {
				e.Bin = c.Env("DGRAPH_BIN")
			}
			if err := os.MkdirAll(e.DataDir, 0o700); err != nil {
				return fmt.Errorf("--data: %w", err)
			}
			file, err := os.OpenFile(filepath.Join(e.DataDir, "evorag.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return fmt.Errorf("--data: %w", err)
			}
			defer file.Close()
			log, err := telemetry.NewLogger(file, cfg.Log.Level, cfg.Log.Format)
			if err != nil {
				return err
			}
			traces, stop, err := telemetry.Traces(cmd.Context(), c.Env, c.Version)
			if err != nil {
				return err
			}
			defer flush(stop, log)
			e.Progress = func(line string) { fmt.Fprintln(c.Err, line) }
			err = app.Up(cmd.Context(), cfg, e, app.Options{Version: c.Version, Log: log, Traces: traces, Ready: c.banner, Force: c.force})
			if err == nil {
				fmt.Fprintln(c.Err, "stopped; the data is in "+e.DataDir)
			}
			return err
		},
	}
	s.addTo(cmd, "http_addr", "grpc_addr", "llm.base_url", "llm.model", "embedding.base_url", "embedding.model", "embedding.way", "log.level", "log.format")
	f := cmd.Flags()
	f.StringVar(&e.DataDir, "data", "evorag-data", "`folder` of the data and the logs")
	f.StringVar(&e.Bin, "dgraph-bin", "", "dgraph `binary` (default: DGRAPH_BIN, bin/dgraph, beside this program, or on PATH)")
	f.IntVar(&e.Ports.AlphaGRPC, "alpha-grpc", 0, "the alpha's gRPC `port`; its HTTP is 1000 lower (default: any that is free)")
	f.IntVar(&e.Ports.ZeroGRPC, "zero-grpc", 0, "the zero's gRPC `port`; its HTTP is 1000 higher (default: any that is free)")
	return cmd
}
