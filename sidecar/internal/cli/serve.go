package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

func (c *command) serveCommand() *cobra.Command {
	s := &settings{}
	cmd := &cobra.Command{
		Use: "serve", Short: "Stand in front of a cluster that is there already", Args: c.none,
		Example: "  dgraph-evorag serve --dgraph localhost:9080",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := s.load(c.Env)
			if err != nil {
				return err
			}
			log, err := telemetry.NewLogger(c.Err, cfg.Log.Level, cfg.Log.Format)
			if err != nil {
				return err
			}
			traces, stop, err := telemetry.Traces(cmd.Context(), c.Env, c.Version)
			if err != nil {
				return err
			}
			defer flush(stop, log)
			return app.Serve(cmd.Context(), cfg, app.Options{Version: c.Version, Log: log, Traces: traces, Ready: c.banner, Force: c.force})
		},
	}
	s.addTo(cmd, "dgraph", "dgraph_http", "http_addr", "grpc_addr", "login.user", "login.password_file", "llm.base_url", "llm.model", "embedding.base_url", "embedding.model", "embedding.way", "log.level", "log.format")
	return cmd
}

// tracesTime is for the last spans to be sent.
const tracesTime = 5 * time.Second

// flush sends the last spans.
func flush(stop func(context.Context) error, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), tracesTime)
	defer cancel()
	if err := stop(ctx); err != nil {
		log.Warn("the last traces could not be sent", "error", err)
	}
}

// banner tells where everything answers and how to stop it.
func (c *command) banner(at app.Addresses) {
	row := func(name, text string) { fmt.Fprintf(c.Out, "  %-9s %s\n", name, text) }
	fmt.Fprintf(c.Out, "dgraph-evorag %s in front of Dgraph %s\n", c.Version, at.EngineVersion)
	scheme := "http://"
	if at.TLS {
		scheme = "https://"
	}
	row("HTTP", scheme+at.HTTP+"   (alpha "+at.AlphaHTTP+")")
	row("gRPC", at.GRPC+"   (alpha "+at.AlphaGRPC+"), for dgo and other clients")
	row("Ratel", "enter "+scheme+at.HTTP+" as the server")
	if at.DataDir != "" {
		row("data", at.DataDir+"   (logs there too)")
	}
	row("try", `dgraph-evorag retrieve --server `+scheme+at.HTTP+` "your question"`)
	row("stop", "Ctrl-C")
}
